//! What a call of a memory tool does to a memory, in lines for a person. Pure.

use serde_json::Value;

/// Lines that one edit may fill, and characters of each.
const MAX_LINES: usize = 12;
const MAX_CHARS: usize = 400;
/// Where the tool `memory` keeps its blocks.
const FOLDER: &str = "/memories/";

/// An edit of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryEdit {
    /// The block that it is about.
    pub(crate) label: String,
    /// What it takes out (`- …`), puts in (`+ …`), or does otherwise.
    pub(crate) lines: Vec<String>,
}

/// The edit that calling `tool` with `arguments` makes; nothing if that is no tool that edits memory.
pub(crate) fn describe(tool: &str, arguments: &Value) -> Option<MemoryEdit> {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let lines = match tool {
        "memory_insert" => added(text("new_str")),
        "core_memory_append" => added(text("content")),
        "memory_replace" => replaced(text("old_str"), text("new_str")),
        "core_memory_replace" => replaced(text("old_content"), text("new_content")),
        "memory_rethink" => written_anew(text("new_memory")),
        "memory_apply_patch" => patched(text("patch")),
        "memory_finish_edits" => Vec::new(),
        "memory" => return Some(command(&text)),
        _ => return None,
    };
    Some(MemoryEdit { label: text("label").to_owned(), lines: capped(lines) })
}

/// The tool with commands.
fn command<'a>(text: &dyn Fn(&str) -> &'a str) -> MemoryEdit {
    let label = |path: &str| path.strip_prefix(FOLDER).unwrap_or(path).trim_matches('/').to_owned();
    let lines = match text("command") {
        "create" => [vec!["new block".to_owned()], added(text("file_text"))].concat(),
        "str_replace" => replaced(text("old_str"), text("new_str")),
        "insert" => added(text("insert_text")),
        "delete" => vec!["deleted".to_owned()],
        "rename" if !text("old_path").is_empty() => vec![format!("renamed to {}", label(text("new_path")))],
        "rename" => vec![format!("described as: {}", text("description"))],
        other => vec![other.to_owned()],
    };
    let path = if text("path").is_empty() { text("old_path") } else { text("path") };
    MemoryEdit { label: label(path), lines: capped(lines) }
}

fn marked(mark: char, text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{mark} {line}")).collect()
}

fn added(text: &str) -> Vec<String> {
    marked('+', text)
}

fn replaced(old: &str, new: &str) -> Vec<String> {
    [marked('-', old), marked('+', new)].concat()
}

fn written_anew(text: &str) -> Vec<String> {
    [vec!["written anew".to_owned()], marked('+', text)].concat()
}

/// The lines of a patch that change something.
fn patched(patch: &str) -> Vec<String> {
    let change = |line: &str| {
        let mark = line.chars().next().filter(|mark| matches!(mark, '+' | '-'))?;
        Some(format!("{mark} {}", &line[1..]))
    };
    patch.lines().filter_map(change).collect()
}

fn capped(lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    let short = |line: String| match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    let mut lines: Vec<String> = lines.into_iter().take(MAX_LINES).map(short).collect();
    if more > 0 {
        lines.push(format!("… {more} more lines"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(tool: &str, arguments: Value, label: &str, lines: &[&str]) {
        let edit = describe(tool, &arguments).unwrap();
        assert_eq!((edit.label.as_str(), edit.lines), (label, lines.iter().map(|&line| line.to_owned()).collect()));
    }

    #[test]
    fn each_tool_shows_what_it_changes() {
        check(
            "memory_insert",
            json!({ "label": "human", "new_str": "Has a cat.\n\nIt is red." }),
            "human",
            &["+ Has a cat.", "+ It is red."],
        );
        check("core_memory_append", json!({ "label": "human", "content": "Has a cat." }), "human", &["+ Has a cat."]);
        check(
            "memory_replace",
            json!({ "label": "human", "old_str": "tea", "new_str": "coffee" }),
            "human",
            &["- tea", "+ coffee"],
        );
        check(
            "core_memory_replace",
            json!({ "label": "human", "old_content": "tea", "new_content": "" }),
            "human",
            &["- tea"],
        );
        check(
            "memory_rethink",
            json!({ "label": "notes", "new_memory": "All." }),
            "notes",
            &["written anew", "+ All."],
        );
        check(
            "memory_apply_patch",
            json!({ "label": "human", "patch": " stays\n-Oslo\n+Bergen\n@@" }),
            "human",
            &["- Oslo", "+ Bergen"],
        );
        check("memory_finish_edits", json!({}), "", &[]);
        assert_eq!(describe("send_message", &json!({})), None);
    }

    #[test]
    fn commands_are_edits_too() {
        let path = "/memories/human";
        check("memory", json!({ "command": "create", "path": path, "file_text": "x" }), "human", &["new block", "+ x"]);
        check(
            "memory",
            json!({ "command": "str_replace", "path": path, "old_str": "a", "new_str": "b" }),
            "human",
            &["- a", "+ b"],
        );
        check("memory", json!({ "command": "insert", "path": path, "insert_text": "c" }), "human", &["+ c"]);
        check("memory", json!({ "command": "delete", "path": path }), "human", &["deleted"]);
        check(
            "memory",
            json!({ "command": "rename", "old_path": path, "new_path": "/memories/sam" }),
            "human",
            &["renamed to sam"],
        );
        check(
            "memory",
            json!({ "command": "rename", "path": path, "description": "d" }),
            "human",
            &["described as: d"],
        );
    }

    #[test]
    fn arguments_that_are_none_do_no_harm() {
        check("memory_insert", Value::Null, "", &[]);
        check("memory", json!("text"), "", &[""]);
    }

    #[test]
    fn long_edits_are_cut() {
        let edit = describe("memory_insert", &json!({ "label": "x", "new_str": "line\n".repeat(20) })).unwrap();
        assert_eq!((edit.lines.len(), edit.lines[MAX_LINES].as_str()), (MAX_LINES + 1, "… 8 more lines"));
        let edit = describe("memory_insert", &json!({ "label": "x", "new_str": "é".repeat(1000) })).unwrap();
        assert_eq!(edit.lines[0].chars().count(), MAX_CHARS + 1);
    }
}
