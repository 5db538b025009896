//! Puts the system message together: the base prompt with the agent's memory rendered into it.
//!
//! The message is a stored row and is rewritten only if its memory section changed, not because time went on: a
//! rewritten first message costs the vendor's whole prompt cache. [`needs_rebuild`] therefore looks past the times and
//! counts of `<memory_metadata>`, and it does so by position, not by searching, because a block may hold text that
//! looks like our tags. Only what archival memory holds is worth a rewrite: an agent must know that it stored something.

use std::borrow::Cow;

use domain::{AgentType, Archival, Memory, Timestamp, ToolRule};

use crate::directories::{Directories, render_directories};
use crate::memory::render_blocks;
use crate::rule_text;
use crate::time::{format_local, format_local_date};

/// Where a base prompt wants its memory. A prompt without it gets the memory at its end.
pub const CORE_MEMORY: &str = "{CORE_MEMORY}";

const GAP: &str = "\n\n";
const METADATA_START: &str = "<memory_metadata>\n";
const METADATA_END: &str = "\n</memory_metadata>";
const DATE: &str = "- The current system date is: ";
const MODIFIED: &str = "- Memory blocks were last modified: ";
const RECALL: &str =
    " previous messages between you and the user are stored in recall memory (use tools to access them)";
const ARCHIVAL: &str = " total memories you created are stored in archival memory (use tools to access them)";
/// Tags that a model is shown: more would only crowd out its memory.
const MAX_TAGS_SHOWN: usize = 100;
const TAGS: &str = "- Available archival memory tags: ";

/// All that a change of the system message depends on.
#[derive(Debug, Clone, Copy)]
pub struct SystemInput<'a> {
    /// The base prompt, before memory is rendered into it.
    pub base: &'a str,
    pub kind: AgentType,
    pub memory: &'a Memory,
    pub tool_rules: &'a [ToolRule],
    pub directories: Option<&'a Directories>,
    /// Whether the model edits better with numbered lines. Only some kinds of agent are shown them.
    pub line_numbers: bool,
}

/// What is told beside the memory. It may grow old: by itself it never causes a rewrite.
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'a> {
    pub now: Timestamp,
    /// The agent's time zone.
    pub zone: &'a str,
    pub memory_modified_at: Timestamp,
    /// Messages that are kept but no longer in context.
    pub previous_messages: u64,
    pub archival_memories: u64,
    pub archival_tags: &'a [String],
}

/// The blocks, tool rules and directories as the model sees them; empty where the agent has none.
pub fn memory_section(input: &SystemInput<'_>) -> String {
    let sections = [
        render_blocks(input.memory, input.kind, input.line_numbers),
        rule_text::compile(input.tool_rules),
        input.directories.and_then(render_directories),
    ];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    sections.join(GAP)
}

/// The whole system message.
pub fn render(input: &SystemInput<'_>, metadata: &Metadata<'_>) -> String {
    let mut memory = memory_before_metadata(input);
    memory.push_str(&metadata_section(metadata));
    around_memory(input.base).join(&memory)
}

/// Whether `current` shows another base prompt, another memory or other archives than the agent has.
pub fn needs_rebuild(current: &str, input: &SystemInput<'_>, archival: &Archival) -> bool {
    shown_metadata(current, input)
        .is_none_or(|metadata| !tells(metadata, &archival_lines(archival.passages, &archival.tags)))
}

/// The metadata of `current`, if all else of it is what `input` renders to.
fn shown_metadata<'a>(current: &'a str, input: &SystemInput<'_>) -> Option<&'a str> {
    let memory = memory_before_metadata(input);
    let around = around_memory(input.base);
    let places = around.len() - 1;
    let fixed: usize = around.iter().map(|piece| piece.len()).sum::<usize>() + places * memory.len();
    match current.len().checked_sub(fixed) {
        // All but the metadata is known, so its length follows, and with it the place of everything.
        Some(rest) if rest.is_multiple_of(places) => metadata_between(current, &around, &memory, rest / places),
        _ => None,
    }
}

/// The section `<memory_metadata>` of a rendered system message.
pub fn metadata_of(text: &str) -> Option<&str> {
    let start = text.rfind(METADATA_START)?;
    let end = text[start..].find(METADATA_END)?;
    Some(&text[start..start + end + METADATA_END.len()])
}

/// The metadata, if `current` is `around` with the memory and some metadata of that length in each gap.
fn metadata_between<'a>(
    current: &'a str,
    around: &[Cow<'_, str>],
    memory: &str,
    metadata_len: usize,
) -> Option<&'a str> {
    let mut pieces = around.iter();
    let first = pieces.next().map_or("", |piece| piece.as_ref());
    let mut rest = current.strip_prefix(first)?;
    let mut found = None;
    for piece in pieces {
        let (metadata, tail) = rest.strip_prefix(memory)?.split_at_checked(metadata_len)?;
        rest = tail.strip_prefix(piece.as_ref())?;
        found = Some(metadata).filter(|metadata| is_metadata(metadata));
        found?;
    }
    found.filter(|_| rest.is_empty())
}

/// Whether the metadata ends with exactly these lines about archival memory.
fn tells(metadata: &str, lines: &str) -> bool {
    let told = metadata.strip_suffix(METADATA_END).and_then(|text| text.split_once(RECALL));
    told.is_some_and(|(_, told)| told == lines)
}

/// Strict, so that a longer memory section can't pass for a shorter one with odd metadata.
fn is_metadata(text: &str) -> bool {
    let lines = text.strip_prefix(METADATA_START).and_then(|text| text.strip_suffix(METADATA_END));
    let Some(lines) = lines else {
        return false;
    };
    let mut lines = lines.split('\n');
    let starts = [DATE, MODIFIED].iter().all(|start| lines.next().is_some_and(|line| line.starts_with(start)));
    starts
        && lines.next().is_some_and(|line| line.ends_with(RECALL))
        && lines.all(|line| line.ends_with(ARCHIVAL) || line.starts_with(TAGS))
}

fn memory_before_metadata(input: &SystemInput<'_>) -> String {
    let mut memory = memory_section(input);
    if !memory.is_empty() {
        memory.push_str(GAP);
    }
    memory
}

fn metadata_section(metadata: &Metadata<'_>) -> String {
    let Metadata { zone, previous_messages, .. } = metadata;
    let date = format_local_date(metadata.now, zone);
    let modified = format_local(metadata.memory_modified_at, zone);
    let mut text = format!("{METADATA_START}{DATE}{date}\n{MODIFIED}{modified}\n- {previous_messages}{RECALL}");
    text.push_str(&archival_lines(metadata.archival_memories, metadata.archival_tags));
    text.push_str(METADATA_END);
    text
}

/// What is told of archival memory; nothing where there is nothing.
fn archival_lines(memories: u64, tags: &[String]) -> String {
    let mut text = String::new();
    if memories > 0 {
        text.push_str(&format!("\n- {memories}{ARCHIVAL}"));
    }
    if !tags.is_empty() {
        // A line break inside a tag would look like a line of ours.
        let shown = tags.iter().take(MAX_TAGS_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        text.push_str(&format!("\n{TAGS}{}", shown.replace(char::is_control, " ")));
        if tags.len() > MAX_TAGS_SHOWN {
            text.push_str(&format!(" and {} more", tags.len() - MAX_TAGS_SHOWN));
        }
    }
    text
}

/// The texts before, between and after the places of the memory; always at least two. Only the base prompt is
/// searched for places, so a block that mentions the placeholder is left as it is.
fn around_memory(base: &str) -> Vec<Cow<'_, str>> {
    if base.contains(CORE_MEMORY) {
        return base.split(CORE_MEMORY).map(Cow::Borrowed).collect();
    }
    if base.is_empty() {
        return vec![Cow::Borrowed(""), Cow::Borrowed("")];
    }
    vec![Cow::Owned(format!("{base}{GAP}")), Cow::Borrowed("")]
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
