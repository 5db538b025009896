//! The tools that do one thing each: speak, append, replace, insert, rewrite, finish.

use domain::block::{BlockDraft, DEFAULT_BLOCK_LIMIT};
use domain::{Block, BlockId, MemoryChange};
use serde_json::Map;

use super::guard::{
    append, check_room, find_writable, insert_after_line, label, no_line_numbers, refused_block, replace_once,
    set_value,
};
use super::{Edit, MemoryCall, ToolError, refuse};
use crate::fields::{Fields, excerpt};

/// Letta's own words, which clients look for.
const SENT: &str = "Sent message successfully.";

pub(super) fn send_message(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    // A response format makes the message any JSON value, so only its presence is checked here.
    let fields = Fields::new(call.arguments, &["message"])?;
    if !call.arguments.get("message").is_some_and(|message| message.is_object() || message.is_array()) {
        fields.text("message")?;
    }
    Ok(Edit { reply: SENT.to_owned(), changes: Vec::new() })
}

pub(super) fn core_memory_append(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    let fields = Fields::new(call.arguments, &["label", "content"])?;
    let (name, content) = (fields.text("label")?, fields.text("content")?);
    let block = find_writable(call.memory, name)?;
    check_added("content", content)?;
    let changes = set_value(block, append(block.value(), content))?;
    Ok(Edit { reply: format!("Added to the end of the memory block `{name}`."), changes })
}

pub(super) fn core_memory_replace(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    replace(call, ["old_content", "new_content"])
}

pub(super) fn memory_replace(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    replace(call, ["old_str", "new_str"])
}

fn replace(call: &MemoryCall<'_>, names: [&str; 2]) -> Result<Edit, ToolError> {
    let fields = Fields::new(call.arguments, &["label", names[0], names[1]])?;
    let (name, old, new) = (fields.text("label")?, fields.text(names[0])?, fields.text(names[1])?);
    replace_in(find_writable(call.memory, name)?, old, new, names)
}

/// Replaces one passage; `names` are the arguments that held the old and the new text.
pub(super) fn replace_in(block: &Block, old: &str, new: &str, names: [&str; 2]) -> Result<Edit, ToolError> {
    let value = replace_once(block, old, new, names)?;
    let changes = set_value(block, value)?;
    let label = &block.label;
    let reply = match (changes.is_empty(), new.is_empty()) {
        (true, _) => format!("The old and the new text are the same: the memory block `{label}` stays as it is."),
        (false, true) => format!("Removed `{}` from the memory block `{label}`.", excerpt(old)),
        (false, false) => format!("Replaced `{}` in the memory block `{label}` with `{}`.", excerpt(old), excerpt(new)),
    };
    Ok(Edit { reply, changes })
}

pub(super) fn memory_insert(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    let fields = Fields::new(call.arguments, &["label", "new_str", "insert_line"])?;
    let (name, text) = (fields.text("label")?, fields.text("new_str")?);
    let line = fields.optional_integer("insert_line")?.unwrap_or(-1);
    insert_in(find_writable(call.memory, name)?, text, line, "new_str")
}

/// Inserts lines; `name` is the argument that held them.
pub(super) fn insert_in(block: &Block, text: &str, line: i64, name: &str) -> Result<Edit, ToolError> {
    check_added(name, text)?;
    let changes = set_value(block, insert_after_line(block, text, line)?)?;
    let place = match line {
        -1 => "at the end".to_owned(),
        0 => "before the first line".to_owned(),
        line => format!("after line {line}"),
    };
    Ok(Edit { reply: format!("Inserted `{}` {place} of the memory block `{}`.", excerpt(text), block.label), changes })
}

pub(super) fn memory_rethink(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    let fields = Fields::new(call.arguments, &["label", "new_memory"])?;
    let (name, value) = (fields.text("label")?, fields.text("new_memory")?);
    no_line_numbers("new_memory", value)?;
    if call.memory.by_label(name).is_none() {
        let changes = vec![create_block(call, name, value, None)?];
        return Ok(Edit { reply: format!("Made the memory block `{name}`, which did not exist before."), changes });
    }
    let block = find_writable(call.memory, name)?;
    let changes = set_value(block, value.to_owned())?;
    let count = value.chars().count();
    let reply = format!("Rewrote the memory block `{name}`: it now has {count} of {} characters.", block.limit());
    Ok(Edit { reply, changes })
}

pub(super) fn memory_finish_edits(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    Fields::new(call.arguments, &[])?;
    Ok(Edit { reply: "Memory editing is finished.".to_owned(), changes: Vec::new() })
}

/// The change that makes a block.
pub(super) fn create_block(
    call: &MemoryCall<'_>,
    name: &str,
    value: &str,
    description: Option<&str>,
) -> Result<MemoryChange, ToolError> {
    let label = label(name)?;
    check_room(name, value, DEFAULT_BLOCK_LIMIT)?;
    let block = Block::new(BlockDraft {
        id: BlockId::random(),
        organization: call.author.organization,
        created_by: call.author.user,
        label,
        value: value.to_owned(),
        limit: DEFAULT_BLOCK_LIMIT,
        description: description.map(str::to_owned),
        read_only: false,
        metadata: Map::new(),
        created_at: call.author.now,
    })
    .map_err(|error| refused_block(&error))?;
    Ok(MemoryChange::Create { block: Box::new(block) })
}

/// Refuses an addition that would add nothing, or that carries line numbers.
fn check_added(name: &str, text: &str) -> Result<(), ToolError> {
    if text.is_empty() {
        return Err(refuse!("`{name}` is empty: give the text to add."));
    }
    no_line_numbers(name, text)
}
