//! Renders memory blocks into the part of the system message that the agent can edit.
//!
//! Values stand exactly as they are stored, even where they look like tags: an agent edits them by quoting them, so
//! what it is shown must be what is kept. The order is the order in which blocks were attached.

use std::fmt::Write as _;

use domain::{AgentType, Block, Memory};

use crate::{modes, overlay};

const INTRODUCTION: &str = "The following memory blocks are currently engaged in your core memory unit:";
const LINE_NUMBER_WARNING: &str = "# NOTE: Line numbers shown below (with arrows like '1→') are to help during editing. Do NOT include line number prefixes in your memory edit tool calls.";

/// The section `<memory_blocks>`; None where there is nothing to show.
pub(crate) fn render_blocks(memory: &Memory, kind: AgentType, line_numbers: bool) -> Option<String> {
    // What an application says to the agent is shown by every kind, or it would answer under no prompt at all.
    let is_instruction = |block: &Block| [overlay::LABEL, modes::LABEL].contains(&block.label.as_str());
    let shown: Vec<&Block> = memory
        .blocks()
        .iter()
        .map(|block| &**block)
        .filter(|block| shows_blocks(kind) || is_instruction(block))
        .collect();
    if shown.is_empty() {
        return None;
    }
    let numbered = line_numbers && edits_by_line(kind);
    let values: usize = shown.iter().map(|block| block.value().len() + 400).sum();
    let mut text = String::with_capacity(values);
    text.push_str("<memory_blocks>\n");
    text.push_str(INTRODUCTION);
    text.push('\n');
    for block in shown {
        text.push('\n');
        render_block(&mut text, block, numbered && !is_instruction(block));
    }
    text.push_str("\n</memory_blocks>");
    Some(text)
}

/// The lines of `<metadata>`, for blocks and files alike.
pub(crate) fn push_metadata(text: &mut String, read_only: bool, chars_current: usize, chars_limit: u32) {
    text.push_str("<metadata>\n");
    if read_only {
        text.push_str("- read_only=true\n");
    }
    // Writing to a String can't fail.
    let _ = writeln!(text, "- chars_current={chars_current}\n- chars_limit={chars_limit}\n</metadata>");
}

fn render_block(text: &mut String, block: &Block, numbered: bool) {
    let label = &block.label;
    let description = block.description.as_deref().unwrap_or_default();
    let value = block.value();
    let _ = writeln!(text, "<{label}>\n<description>\n{description}\n</description>");
    push_metadata(text, block.read_only, value.chars().count(), block.limit());
    if numbered {
        let _ = writeln!(text, "<warning>\n{LINE_NUMBER_WARNING}\n</warning>");
    }
    text.push_str("<value>\n");
    if numbered {
        push_numbered(text, value);
    } else {
        text.push_str(value);
        text.push('\n');
    }
    let _ = writeln!(text, "</value>\n</{label}>");
}

/// An empty value has no lines, so nothing is numbered; a line break at the end makes one more, empty line.
fn push_numbered(text: &mut String, value: &str) {
    if value.is_empty() {
        return;
    }
    for (index, line) in value.split('\n').enumerate() {
        let _ = writeln!(text, "{}→ {line}", index + 1);
    }
}

/// Agents that live by their tools alone are not shown blocks.
fn shows_blocks(kind: AgentType) -> bool {
    match kind {
        AgentType::React | AgentType::Workflow => false,
        AgentType::Memgpt
        | AgentType::MemgptV2
        | AgentType::LettaV1
        | AgentType::SplitThread
        | AgentType::Sleeptime
        | AgentType::VoiceConvo
        | AgentType::VoiceSleeptime => true,
    }
}

/// Agents whose memory tools take line numbers.
fn edits_by_line(kind: AgentType) -> bool {
    match kind {
        AgentType::Sleeptime | AgentType::MemgptV2 | AgentType::LettaV1 => true,
        AgentType::Memgpt
        | AgentType::React
        | AgentType::Workflow
        | AgentType::SplitThread
        | AgentType::VoiceConvo
        | AgentType::VoiceSleeptime => false,
    }
}
