//! Tool calls that are valid against the schemas that the request offers.
//!
//! Every required argument is filled in, whatever the schema asks for; nothing is sent that it does not know.

use domain::seams::chat_model::ToolSpec;
use serde_json::{Map, Value, json};

use super::facts::Edit;
use super::reading::{PastCall, ShownBlock};

/// A call to make.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

/// What fills arguments that the guide has no better value for.
#[derive(Debug, Clone)]
pub(super) struct Filling<'a> {
    /// For texts.
    pub(super) words: &'a str,
    /// For the private thought that some schemas ask for.
    pub(super) thought: &'a str,
    /// Whether control should come back after the call.
    pub(super) goes_on: bool,
}

/// Tools that add to a block, the most fitting first.
const ADDING: [&str; 5] = ["memory_insert", "core_memory_append", "memory", "memory_apply_patch", "memory_rethink"];
/// Tools that change a passage.
const CHANGING: [&str; 5] = ["memory_replace", "core_memory_replace", "memory", "memory_apply_patch", "memory_rethink"];

/// The tool that stores a text outside of the context.
pub(super) const ARCHIVE_INSERT: &str = "archival_memory_insert";

/// Whether the tool edits core memory or the archive.
pub(super) fn is_memory_tool(name: &str) -> bool {
    ADDING.contains(&name) || CHANGING.contains(&name) || name == ARCHIVE_INSERT
}

/// The offered tool of that name.
pub(super) fn find<'a>(tools: &'a [ToolSpec], name: &str) -> Option<&'a ToolSpec> {
    tools.iter().find(|tool| &*tool.name == name)
}

/// The call that makes `edit`; `target` is the block that new lines go to.
pub(super) fn memory_call(
    tools: &[ToolSpec],
    edit: &Edit,
    blocks: &[ShownBlock],
    target: Option<usize>,
) -> Option<Call> {
    let names = match edit {
        Edit::Insert(_) => ADDING,
        Edit::Replace { .. } => CHANGING,
    };
    let offered = names.into_iter().filter(|name| find(tools, name).is_some());
    let mut calls = offered.filter_map(|name| call_of(name, edit, blocks, target));
    // The archive comes last: what stands in a block is always seen.
    let added = calls.next().or_else(|| appended_by_replacing(tools, edit, blocks, target));
    added.or_else(|| archive_call(tools, edit))
}

/// The call of exactly this tool that makes `edit`.
pub(super) fn call_of(name: &str, edit: &Edit, blocks: &[ShownBlock], target: Option<usize>) -> Option<Call> {
    let at = match edit {
        Edit::Insert(_) => target?,
        Edit::Replace { block, .. } => *block,
    };
    let block = blocks.get(at)?;
    let (label, value) = (&block.label, &block.value);
    let path = format!("/memories/{label}");
    let arguments = match (name, edit) {
        ("memory_insert", Edit::Insert(lines)) => {
            json!({"label": label, "new_str": lines.join("\n"), "insert_line": -1})
        }
        ("core_memory_append", Edit::Insert(lines)) => json!({"label": label, "content": lines.join("\n")}),
        ("memory", Edit::Insert(lines)) => {
            json!({"command": "insert", "path": path, "insert_line": line_count(value), "insert_text": lines.join("\n")})
        }
        ("memory_replace", Edit::Replace { old, new, .. }) => json!({"label": label, "old_str": old, "new_str": new}),
        ("core_memory_replace", Edit::Replace { old, new, .. }) => {
            json!({"label": label, "old_content": old, "new_content": new})
        }
        ("memory", Edit::Replace { old, new, .. }) => {
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
        }
        ("memory_apply_patch", edit) => json!({"label": label, "patch": patch(value, &edited(value, edit))}),
        ("memory_rethink", edit) => json!({"label": label, "new_memory": edited(value, edit)}),
        _ => return None,
    };
    Some(call(name, arguments))
}

fn call(name: &str, arguments: Value) -> Call {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    Call { name: name.to_owned(), arguments }
}

/// The call that stores new lines in the archive, if it is offered.
pub(super) fn archive_call(tools: &[ToolSpec], edit: &Edit) -> Option<Call> {
    match edit {
        Edit::Insert(lines) if find(tools, ARCHIVE_INSERT).is_some() => {
            Some(call(ARCHIVE_INSERT, json!({"content": lines.join("\n")})))
        }
        Edit::Insert(_) | Edit::Replace { .. } => None,
    }
}

/// Where only replacing is offered, a new line comes in together with the line before it.
fn appended_by_replacing(
    tools: &[ToolSpec],
    edit: &Edit,
    blocks: &[ShownBlock],
    target: Option<usize>,
) -> Option<Call> {
    let Edit::Insert(lines) = edit else { return None };
    let block = target?;
    let value = &blocks.get(block)?.value;
    let last = value.lines().rev().find(|line| !line.trim().is_empty() && value.matches(*line).count() == 1)?;
    let edit = Edit::Replace { block, old: last.to_owned(), new: format!("{last}\n{}", lines.join("\n")) };
    let name = ["memory_replace", "core_memory_replace"].into_iter().find(|name| find(tools, name).is_some())?;
    call_of(name, &edit, blocks, target)
}

fn line_count(value: &str) -> usize {
    if value.is_empty() { 0 } else { value.split('\n').count() }
}

fn edited(value: &str, edit: &Edit) -> String {
    match edit {
        Edit::Replace { old, new, .. } => value.replacen(old.as_str(), new, 1),
        Edit::Insert(lines) if value.is_empty() => lines.join("\n"),
        Edit::Insert(lines) => format!("{}\n{}", value.trim_end_matches('\n'), lines.join("\n")),
    }
}

/// A diff of whole lines: the common ones at both ends stay, and one of them on each side shows the place.
fn patch(before: &str, after: &str) -> String {
    let old: Vec<&str> = if before.is_empty() { Vec::new() } else { before.split('\n').collect() };
    let new: Vec<&str> = if after.is_empty() { Vec::new() } else { after.split('\n').collect() };
    let head = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
    let mut lines: Vec<String> = Vec::new();
    lines.extend(old[..head].iter().map(|line| format!(" {line}")));
    lines.extend(old[head..old.len() - tail].iter().map(|line| format!("-{line}")));
    lines.extend(new[head..new.len() - tail].iter().map(|line| format!("+{line}")));
    lines.extend(old[old.len() - tail..].iter().map(|line| format!(" {line}")));
    lines.join("\n")
}

/// What an earlier memory call took away and put in.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Effect {
    pub(super) old: String,
    pub(super) new: String,
}

/// The effect of a memory call; `None` for other tools.
pub(super) fn effect(past: &PastCall) -> Option<Effect> {
    if !is_memory_tool(&past.name) {
        return None;
    }
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| past.arguments.get(*key).and_then(Value::as_str));
        found.unwrap_or_default().to_owned()
    };
    if past.name == "memory_apply_patch" {
        let patch = text(&["patch"]);
        let marked =
            |mark: char| patch.lines().filter_map(|line| line.strip_prefix(mark)).collect::<Vec<_>>().join("\n");
        return Some(Effect { old: marked('-'), new: marked('+') });
    }
    let new = text(&["new_str", "content", "new_content", "insert_text", "new_memory"]);
    Some(Effect { old: text(&["old_str", "old_content"]), new })
}

/// The block that a memory call is about.
pub(super) fn label_of(past: &PastCall) -> Option<String> {
    label_in(&past.arguments)
}

/// The block that the arguments of a memory call name.
pub(super) fn label_in(arguments: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let label = text("label").or_else(|| text("path")?.strip_prefix("/memories/"));
    label.map(str::to_owned)
}

/// Brings arguments into the shape that the schema asks for.
pub(super) fn conform(spec: &ToolSpec, mut arguments: Map<String, Value>, filling: &Filling<'_>) -> Map<String, Value> {
    let empty = Map::new();
    let properties = spec.parameters.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = spec
        .parameters
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut conformed = Map::new();
    for (name, schema) in properties {
        let given = match name.as_str() {
            "thinking" => Some(Value::from(filling.thought)),
            "request_heartbeat" => Some(Value::from(filling.goes_on)),
            _ => arguments.remove(name),
        };
        let given = given.filter(|value| accepts(schema, value));
        if given.is_some() || required.contains(&name.as_str()) {
            conformed.insert(name.clone(), given.unwrap_or_else(|| filled(name, schema, filling, 0)));
        }
    }
    // A schema without properties says nothing about what it knows, so nothing is taken away.
    if properties.is_empty() { arguments } else { conformed }
}

/// Whether a value has the type and is among the choices that a schema names.
fn accepts(schema: &Value, value: &Value) -> bool {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choices.contains(value);
    }
    if let Some(only) = schema.get("const") {
        return only == value;
    }
    match schema.get("type") {
        Some(Value::String(kind)) => is_of_type(kind, value),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(|kind| is_of_type(kind, value)),
        _ => true,
    }
}

fn is_of_type(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// Schemas nest at most so deep before the guide stops following them.
const MAX_DEPTH: usize = 8;

/// A value that a schema accepts.
pub(super) fn filled(name: &str, schema: &Value, filling: &Filling<'_>, depth: usize) -> Value {
    for key in ["const", "default"] {
        if let Some(value) = schema.get(key).filter(|value| accepts(schema, value)) {
            return value.clone();
        }
    }
    if let Some(first) = schema.get("enum").and_then(Value::as_array).and_then(|choices| choices.first()) {
        return first.clone();
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let choices = schema.get(key).and_then(Value::as_array).filter(|_| depth < MAX_DEPTH);
        if let Some(choice) = choices.and_then(|choices| choices.first()) {
            return filled(name, choice, filling, depth + 1);
        }
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    };
    match kind {
        "boolean" => Value::from(false),
        "integer" => schema
            .get("minimum")
            .filter(|least| least.is_i64())
            .cloned()
            .unwrap_or_else(|| Value::from(number_for(name))),
        "number" => schema.get("minimum").cloned().unwrap_or_else(|| Value::from(number_for(name))),
        "null" => Value::Null,
        "array" => filled_array(name, schema, filling, depth),
        "object" => filled_object(schema, filling, depth),
        _ => Value::from(text_for(name, filling)),
    }
}

fn filled_array(name: &str, schema: &Value, filling: &Filling<'_>, depth: usize) -> Value {
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(16);
    let items = schema.get("items").cloned().unwrap_or_else(|| json!({"type": "string"}));
    let count = if depth < MAX_DEPTH { least } else { 0 };
    (0..count).map(|_| filled(name, &items, filling, depth + 1)).collect()
}

fn filled_object(schema: &Value, filling: &Filling<'_>, depth: usize) -> Value {
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names = required.iter().filter_map(Value::as_str).take(if depth < MAX_DEPTH { usize::MAX } else { 0 });
    let fields = names.map(|name| {
        let field = schema.pointer(&format!("/properties/{}", name.replace('~', "~0").replace('/', "~1")));
        (name.to_owned(), filled(name, field.unwrap_or(&Value::Null), filling, depth + 1))
    });
    Value::Object(fields.collect())
}

/// Counts that a search or a list can work with.
fn number_for(name: &str) -> i64 {
    if name.contains("limit") || name.starts_with("top") || name.contains("count") { 5 } else { 0 }
}

fn text_for(name: &str, filling: &Filling<'_>) -> String {
    // An empty date filters nothing.
    if name.contains("date") || name.contains("time") { String::new() } else { filling.words.to_owned() }
}
