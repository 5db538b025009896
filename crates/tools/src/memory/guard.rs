//! What every edit of a block must respect: the block exists, may be written, has room, and gets no line numbers.

use domain::block::MAX_LABEL_CHARS;
use domain::{Block, BlockError, Label, Memory, MemoryChange};

use super::{ToolError, refuse};
use crate::fields::excerpt;

/// How the note begins that stands over line-numbered blocks in the system message.
const LINE_NUMBER_NOTE: &str = "NOTE: Line numbers shown below (with arrows like '1→')";
/// At most so many places are listed in an error.
const LISTED: usize = 8;

/// The block of that label, to be looked at.
pub(super) fn find<'a>(memory: &'a Memory, label: &str) -> Result<&'a Block, ToolError> {
    memory.by_label(label).map(|block| &**block).ok_or_else(|| {
        let labels: Vec<String> = memory.blocks().iter().map(|block| format!("`{}`", block.label)).collect();
        let label = excerpt(label);
        if labels.is_empty() {
            return refuse!("There is no memory block `{label}`: you have no memory blocks.");
        }
        refuse!("There is no memory block `{label}`. The blocks that you have: {}.", labels.join(", "))
    })
}

/// The block of that label, to be changed.
pub(super) fn find_writable<'a>(memory: &'a Memory, label: &str) -> Result<&'a Block, ToolError> {
    let block = find(memory, label)?;
    if block.read_only {
        return Err(refuse!("The memory block `{}` is read-only: you can't change it.", block.label));
    }
    Ok(block)
}

/// A label as the model wrote it, checked.
pub(super) fn label(text: &str) -> Result<Label, ToolError> {
    Label::new(text).map_err(|_| {
        refuse!(
            "`{}` can't be the name of a memory block: use 1 to {MAX_LABEL_CHARS} characters without `<`, `>`, line \
             breaks or control characters.",
            excerpt(text)
        )
    })
}

/// The change that gives `block` a new text, if it fits; nothing if it has that text already.
pub(super) fn set_value(block: &Block, value: String) -> Result<Vec<MemoryChange>, ToolError> {
    check_room(block.label.as_str(), &value, block.limit())?;
    if value == block.value() {
        return Ok(Vec::new());
    }
    Ok(vec![MemoryChange::SetValue { block: block.id, value }])
}

/// Refuses a text with more characters than the limit, with the numbers that the model needs to shorten it.
pub(super) fn check_room(label: &str, value: &str, limit: u32) -> Result<(), ToolError> {
    let length = value.chars().count();
    let room = limit as usize;
    if length <= room {
        return Ok(());
    }
    let label = excerpt(label);
    let over = length - room;
    Err(refuse!(
        "The memory block `{label}` would have {length} characters, but its limit is {room}: that is {over} too many. \
         Nothing was changed. Write less, or shorten the block first."
    ))
}

/// What the domain says about a new block, in a tool's words.
pub(super) fn refused_block(error: &BlockError) -> ToolError {
    refuse!("The memory block can't be made: {error}.")
}

/// Refuses text that was copied together with the line numbers of the system message.
pub(super) fn no_line_numbers(argument: &str, text: &str) -> Result<(), ToolError> {
    if text.contains(LINE_NUMBER_NOTE) {
        return Err(refuse!(
            "`{argument}` holds the note about line numbers, which is not part of the block. Write it again without \
             the note."
        ));
    }
    match text.lines().find_map(line_number_prefix) {
        None => Ok(()),
        Some(prefix) => Err(refuse!(
            "`{argument}` holds the line number `{prefix}`. Line numbers are only shown to you and are not part of \
             the block: write every line again without its number."
        )),
    }
}

/// The line number that `line` begins with, as the system message (`12→`) or older prompts (`Line 12: `) show it.
fn line_number_prefix(line: &str) -> Option<&str> {
    let start = line.trim_start();
    let worded = start.strip_prefix("Line ").and_then(|rest| after_digits(rest)?.strip_prefix(": "));
    let rest = worded.or_else(|| after_digits(start)?.strip_prefix('→'))?;
    Some(start[..start.len() - rest.len()].trim_end())
}

fn after_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

/// The text of `block` with `new` in place of `old`, which must stand there exactly once.
///
/// `names` are the arguments that held the two, for errors.
pub(super) fn replace_once(block: &Block, old: &str, new: &str, names: [&str; 2]) -> Result<String, ToolError> {
    let [old_name, new_name] = names;
    if old.is_empty() {
        return Err(refuse!(
            "`{old_name}` is empty. Give the text to replace, copied exactly from the block; to add text without \
             replacing any, insert or append it."
        ));
    }
    let value = block.value();
    let places = occurrences(value, old);
    match places.as_slice() {
        [] => {
            no_line_numbers(old_name, old)?;
            Err(refuse!(
                "`{old_name}` stands 0 times in the memory block `{}`, so nothing was replaced. Copy the text exactly, \
                 spaces and line breaks included. What was looked for: `{}`.",
                block.label,
                excerpt(old)
            ))
        }
        [place] => {
            no_line_numbers(new_name, new)?;
            Ok([&value[..*place], new, &value[place + old.len()..]].concat())
        }
        many => Err(refuse!(
            "`{old_name}` stands {} times in the memory block `{}` ({}), so nothing was replaced. Give more of the \
             text around the place that you mean, until it stands there only once.",
            many.len(),
            block.label,
            on_lines(many.iter().map(|place| line_of(value, *place)))
        )),
    }
}

/// Where `wanted` begins in `value`.
fn occurrences(value: &str, wanted: &str) -> Vec<usize> {
    let mut places: Vec<usize> = value.match_indices(wanted).map(|(place, _)| place).collect();
    // Two occurrences may overlap, as those of `aba` in `ababa`; a single match is unambiguous only if none does.
    if let [place] = places[..] {
        let next = value[place..].chars().next().map_or(0, char::len_utf8);
        places.extend(value[place + next..].find(wanted).map(|offset| place + next + offset));
    }
    places
}

/// The 1-based line of a byte position.
pub(super) fn line_of(value: &str, place: usize) -> usize {
    value[..place].matches('\n').count() + 1
}

/// "on lines 1, 4 and more", with each line once.
pub(super) fn on_lines(lines: impl Iterator<Item = usize>) -> String {
    let mut distinct: Vec<usize> = lines.collect();
    distinct.dedup();
    let more = if distinct.len() > LISTED { " and more" } else { "" };
    let listed: Vec<String> = distinct.iter().take(LISTED).map(usize::to_string).collect();
    let noun = if distinct.len() == 1 { "line" } else { "lines" };
    format!("on {noun} {}{more}", listed.join(", "))
}

/// `value` with `text` after its end, on a line of its own.
pub(super) fn append(value: &str, text: &str) -> String {
    if value.is_empty() || value.ends_with('\n') { format!("{value}{text}") } else { format!("{value}\n{text}") }
}

/// `block`'s text with `text` as lines of its own after line `line`; 0 is before the first, -1 at the end.
pub(super) fn insert_after_line(block: &Block, text: &str, line: i64) -> Result<String, ToolError> {
    let value = block.value();
    if line == -1 {
        return Ok(append(value, text));
    }
    let count = value.split('\n').count();
    let position = usize::try_from(line).ok().filter(|position| *position <= count).ok_or_else(|| {
        let noun = if count == 1 { "line" } else { "lines" };
        refuse!(
            "`insert_line` is {line}, but the memory block `{}` has {count} {noun}. Give 0 (before the first line) to \
             {count}, or -1 for the end.",
            block.label
        )
    })?;
    if value.is_empty() {
        return Ok(text.to_owned());
    }
    let mut lines: Vec<&str> = value.split('\n').collect();
    lines.insert(position, text);
    Ok(lines.join("\n"))
}
