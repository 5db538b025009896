//! The tool `memory`: blocks as files under `/memories`, with one command per kind of edit.
//!
//! Every argument but `command` is optional in the schema, and models fill the ones that a command does not use with
//! empty texts. So each command looks only at its own arguments.

use domain::MemoryChange;

use super::edits::{create_block, insert_in, replace_in};
use super::guard::{find_writable, label, no_line_numbers};
use super::{Edit, MemoryCall, ToolError, refuse};
use crate::fields::{Fields, excerpt};

const ARGUMENTS: [&str; 10] = [
    "command",
    "path",
    "file_text",
    "description",
    "old_str",
    "new_str",
    "insert_line",
    "insert_text",
    "old_path",
    "new_path",
];

pub(super) fn memory(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    let fields = Fields::new(call.arguments, &ARGUMENTS)?;
    match fields.text("command")? {
        "create" => create(call, &fields),
        "str_replace" => {
            let block = find_writable(call.memory, path(&fields, "str_replace", "path")?)?;
            replace_in(block, fields.text("old_str")?, fields.text("new_str")?, ["old_str", "new_str"])
        }
        "insert" => {
            let block = find_writable(call.memory, path(&fields, "insert", "path")?)?;
            let line = fields.optional_integer("insert_line")?.unwrap_or(-1);
            insert_in(block, fields.text("insert_text")?, line, "insert_text")
        }
        "delete" => {
            let block = find_writable(call.memory, path(&fields, "delete", "path")?)?;
            let reply = format!("Took the block `{}` out of your memory.", block.label);
            Ok(Edit { reply, changes: vec![MemoryChange::Detach { block: block.id }] })
        }
        "rename" => rename(call, &fields),
        unknown => Err(refuse!(
            "There is no command `{}`. The commands are: create, str_replace, insert, delete, rename.",
            excerpt(unknown)
        )),
    }
}

fn create(call: &MemoryCall<'_>, fields: &Fields<'_>) -> Result<Edit, ToolError> {
    let name = path(fields, "create", "path")?;
    if call.memory.by_label(name).is_some() {
        return Err(refuse!(
            "The memory block `{name}` exists already. Change it with `str_replace` or `insert`, or choose another path."
        ));
    }
    let value = fields.optional_text("file_text")?.unwrap_or_default();
    no_line_numbers("file_text", value)?;
    let change = create_block(call, name, value, fields.given_text("description")?)?;
    Ok(Edit { reply: format!("Made the memory block `{name}`."), changes: vec![change] })
}

/// Gives a block another label, another description, or both.
fn rename(call: &MemoryCall<'_>, fields: &Fields<'_>) -> Result<Edit, ToolError> {
    let new_label = fields.given_text("new_path")?.map(strip_folder);
    let path_missing = fields.given_text("path")?.is_none();
    let by_old_path = fields.given_text("old_path")?.is_some() || (path_missing && new_label.is_some());
    let source = if by_old_path { "old_path" } else { "path" };
    let description = fields.given_text("description")?;
    if new_label.is_none() && description.is_none() {
        return Err(refuse!(
            "The command `rename` needs `old_path` and `new_path`; to change only the description, `path` and `description`."
        ));
    }
    let block = find_writable(call.memory, path(fields, "rename", source)?)?;
    let mut changes = Vec::new();
    let mut done = Vec::new();
    if let Some(name) = new_label {
        let new_label = label(name)?;
        if call.memory.by_label(name).is_some_and(|other| other.id != block.id) {
            return Err(refuse!("The memory block `{name}` exists already: choose another `new_path`."));
        }
        done.push(format!("renamed it to `{new_label}`"));
        changes.push(MemoryChange::Rename { block: block.id, label: new_label });
    }
    if let Some(description) = description {
        done.push("changed its description".to_owned());
        changes.push(MemoryChange::Describe { block: block.id, description: description.to_owned() });
    }
    Ok(Edit { reply: format!("Memory block `{}`: {}.", block.label, done.join(" and ")), changes })
}

/// The label that the path argument `name` stands for.
fn path<'a>(fields: &Fields<'a>, command: &str, name: &str) -> Result<&'a str, ToolError> {
    let given = fields.given_text(name)?;
    let label = given.map(strip_folder).filter(|label| !label.is_empty());
    label.ok_or_else(|| {
        refuse!("The command `{command}` needs `{name}`: the block's path, for example `/memories/human`.")
    })
}

/// `human` for `/memories/human`, `/human` and `human`.
fn strip_folder(path: &str) -> &str {
    let path = path.trim();
    let inside = path.strip_prefix("/memories").filter(|rest| rest.is_empty() || rest.starts_with('/'));
    inside.unwrap_or(path).trim_matches('/')
}
