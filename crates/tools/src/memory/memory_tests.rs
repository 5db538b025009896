//! Every memory tool with its failures, and what holds for all of them whatever a model writes.

use std::sync::Arc;

use domain::block::BlockDraft;
use domain::{Actor, Block, BlockId, Label};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn author() -> Author {
    let Actor { user, organization } = Actor::default_user();
    Author { organization, user, now: NOW }
}

fn block(label: &str, value: &str, limit: u32, read_only: bool) -> Arc<Block> {
    let Author { organization, user, now } = author();
    let draft = BlockDraft {
        id: BlockId::random(),
        organization,
        created_by: user,
        label: Label::new(label).expect("a good label"),
        value: value.to_owned(),
        limit,
        description: None,
        read_only,
        metadata: Map::new(),
        created_at: now,
    };
    Arc::new(Block::new(draft).expect("a good block"))
}

fn memory() -> Memory {
    Memory::new(vec![
        block("human", "Name: Sam\nLikes tea.\nHas a cat.\nLikes tea.", 60, false),
        block("persona", "I am kind.", 1000, true),
        block("empty", "", 1000, false),
    ])
}

/// What the memory is after `edit`, which must fit it.
fn after(memory: &Memory, edit: &Edit) -> Memory {
    let mut after = memory.clone();
    for change in &edit.changes {
        after.apply(change).expect("a successful tool's changes fit the memory");
    }
    after
}

fn call(memory: &Memory, tool: &str, arguments: &Value) -> Result<Edit, ToolError> {
    let arguments = arguments.as_object().expect("arguments are an object");
    run(tool, &MemoryCall { memory, arguments, author: author() }).expect("the tool exists")
}

/// Shows the reply and every block that is not as it was before.
fn check(tool: &str, arguments: Value, expected: Expect) {
    let before = memory();
    let shown = match call(&before, tool, &arguments) {
        Err(error) => format!("error: {error}"),
        Ok(edit) => {
            let now = after(&before, &edit);
            let mut shown = edit.reply;
            for old in before.blocks().iter().filter(|old| now.by_id(old.id).is_none()) {
                shown.push_str(&format!("\n-{}", old.label));
            }
            for new in now.blocks().iter().filter(|new| before.by_id(new.id) != Some(new)) {
                let described = new.description.as_deref().map(|text| format!(" ({text})")).unwrap_or_default();
                shown.push_str(&format!("\n{}{described} = {:?}", new.label, new.value()));
            }
            shown
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn send_message_says_that_it_was_sent() {
    check("send_message", json!({"message": "Hi 👋"}), expect!["Sent message successfully."]);
    check("send_message", json!({"message": {"answer": 1}}), expect!["Sent message successfully."]);
    check("send_message", json!({}), expect!["error: The argument `message` is missing: give it as a string."]);
    check(
        "send_message",
        json!({"message": 1}),
        expect!["error: The argument `message` must be a string, not a number."],
    );
    check(
        "send_message",
        json!({"message": "a\u{0}b"}),
        expect!["error: The argument `message` holds a NUL character. Write it again without it."],
    );
}

#[test]
fn core_memory_append_adds_a_line() {
    check(
        "core_memory_append",
        json!({"label": "human", "content": "Lives in Oslo."}),
        expect![[r#"
        Added to the end of the memory block `human`.
        human = "Name: Sam\nLikes tea.\nHas a cat.\nLikes tea.\nLives in Oslo.""#]],
    );
    check(
        "core_memory_append",
        json!({"label": "empty", "content": "First."}),
        expect![[r#"
        Added to the end of the memory block `empty`.
        empty = "First.""#]],
    );
}

#[test]
fn core_memory_append_fails_with_the_reason() {
    check(
        "core_memory_append",
        json!({"label": "persona", "content": "x"}),
        expect!["error: The memory block `persona` is read-only: you can't change it."],
    );
    check(
        "core_memory_append",
        json!({"label": "nope", "content": "x"}),
        expect!["error: There is no memory block `nope`. The blocks that you have: `human`, `persona`, `empty`."],
    );
    check(
        "core_memory_append",
        json!({"label": "human", "content": "0123456789012345678"}),
        expect![
            "error: The memory block `human` would have 62 characters, but its limit is 60: that is 2 too many. Nothing was changed. Write less, or shorten the block first."
        ],
    );
    check(
        "core_memory_append",
        json!({"label": "human", "content": ""}),
        expect!["error: `content` is empty: give the text to add."],
    );
    check(
        "core_memory_append",
        json!({"label": "human", "content": "1→ Name"}),
        expect![
            "error: `content` holds the line number `1→`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        "core_memory_append",
        json!({"label": "human"}),
        expect!["error: The argument `content` is missing: give it as a string."],
    );
    check(
        "core_memory_append",
        json!({"label": "human", "content": null}),
        expect!["error: The argument `content` is missing: give it as a string."],
    );
    check(
        "core_memory_append",
        json!({"label": ["human"], "content": "x"}),
        expect!["error: The argument `label` must be a string, not an array."],
    );
    check(
        "core_memory_append",
        json!({"label": "human", "text": "x", "content": "x"}),
        expect!["error: There is no argument `text`. The arguments of this tool are: label, content."],
    );
    check(
        "core_memory_append",
        json!({"label": "human", "content": "a\u{0}"}),
        expect!["error: The argument `content` holds a NUL character. Write it again without it."],
    );
}

#[test]
fn core_memory_replace_changes_one_passage() {
    check(
        "core_memory_replace",
        json!({"label": "human", "old_content": "Sam", "new_content": "Ada"}),
        expect![[r#"
        Replaced `Sam` in the memory block `human` with `Ada`.
        human = "Name: Ada\nLikes tea.\nHas a cat.\nLikes tea.""#]],
    );
    check(
        "core_memory_replace",
        json!({"label": "human", "old_content": "Has a cat.\n", "new_content": ""}),
        expect![[r#"
            Removed `Has a cat. ` from the memory block `human`.
            human = "Name: Sam\nLikes tea.\nLikes tea.""#]],
    );
    check(
        "core_memory_replace",
        json!({"label": "human", "old_content": "Sam", "new_content": "Sam"}),
        expect!["The old and the new text are the same: the memory block `human` stays as it is."],
    );
    check(
        "core_memory_replace",
        json!({"label": "human", "old_content": "Ada", "new_content": "Sam"}),
        expect![
            "error: `old_content` stands 0 times in the memory block `human`, so nothing was replaced. Copy the text exactly, spaces and line breaks included. What was looked for: `Ada`."
        ],
    );
    check(
        "core_memory_replace",
        json!({"label": "human", "old_content": "", "new_content": "Sam"}),
        expect![
            "error: `old_content` is empty. Give the text to replace, copied exactly from the block; to add text without replacing any, insert or append it."
        ],
    );
    check(
        "core_memory_replace",
        json!({"label": "human", "old_str": "Sam"}),
        expect![
            "error: There is no argument `old_str`. The arguments of this tool are: label, old_content, new_content."
        ],
    );
}

#[test]
fn memory_replace_changes_one_passage() {
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "a cat", "new_str": "two cats"}),
        expect![[r#"
        Replaced `a cat` in the memory block `human` with `two cats`.
        human = "Name: Sam\nLikes tea.\nHas two cats.\nLikes tea.""#]],
    );
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "Has a cat.\nLikes tea.", "new_str": "Done."}),
        expect![[r#"
            Replaced `Has a cat. Likes tea.` in the memory block `human` with `Done.`.
            human = "Name: Sam\nLikes tea.\nDone.""#]],
    );
}

#[test]
fn memory_replace_fails_with_the_reason() {
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "zzz", "new_str": "x"}),
        expect![
            "error: `old_str` stands 0 times in the memory block `human`, so nothing was replaced. Copy the text exactly, spaces and line breaks included. What was looked for: `zzz`."
        ],
    );
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "Likes tea.", "new_str": "x"}),
        expect![
            "error: `old_str` stands 2 times in the memory block `human` (on lines 2, 4), so nothing was replaced. Give more of the text around the place that you mean, until it stands there only once."
        ],
    );
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "2→ Likes tea.", "new_str": "x"}),
        expect![
            "error: `old_str` holds the line number `2→`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "Sam", "new_str": "Ada\nLine 2: Likes tea."}),
        expect![
            "error: `new_str` holds the line number `Line 2:`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "Sam", "new_str": "# NOTE: Line numbers shown below (with arrows like '1→') are"}),
        expect![
            "error: `new_str` holds the note about line numbers, which is not part of the block. Write it again without the note."
        ],
    );
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "", "new_str": "x"}),
        expect![
            "error: `old_str` is empty. Give the text to replace, copied exactly from the block; to add text without replacing any, insert or append it."
        ],
    );
    check(
        "memory_replace",
        json!({"label": "persona", "old_str": "kind", "new_str": "mean"}),
        expect!["error: The memory block `persona` is read-only: you can't change it."],
    );
    check(
        "memory_replace",
        json!({"label": "human", "old_str": "Sam", "new_str": "x".repeat(40)}),
        expect![
            "error: The memory block `human` would have 79 characters, but its limit is 60: that is 19 too many. Nothing was changed. Write less, or shorten the block first."
        ],
    );
}

#[test]
fn overlapping_matches_are_ambiguous() {
    let memory = Memory::new(vec![block("human", "ababa", 10, false)]);
    let error = call(&memory, "memory_replace", &json!({"label": "human", "old_str": "aba", "new_str": "x"}));
    expect!["`old_str` stands 2 times in the memory block `human` (on line 1), so nothing was replaced. Give more of the text around the place that you mean, until it stands there only once."].assert_eq(&error.expect_err("it stands there twice").to_string());
}

#[test]
fn text_that_looks_like_a_line_number_can_be_removed() {
    let memory = Memory::new(vec![block("human", "1→ old\nrest", 20, false)]);
    let edit = call(&memory, "memory_replace", &json!({"label": "human", "old_str": "1→ old", "new_str": "new"}));
    let now = after(&memory, &edit.expect("the old text stands there"));
    assert_eq!(now.by_label("human").expect("it is there").value(), "new\nrest");
}

#[test]
fn memory_insert_adds_lines_where_it_is_told() {
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "End."}),
        expect![[r#"
        Inserted `End.` at the end of the memory block `human`.
        human = "Name: Sam\nLikes tea.\nHas a cat.\nLikes tea.\nEnd.""#]],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "End.", "insert_line": -1}),
        expect![[r#"
        Inserted `End.` at the end of the memory block `human`.
        human = "Name: Sam\nLikes tea.\nHas a cat.\nLikes tea.\nEnd.""#]],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "Top.", "insert_line": 0}),
        expect![[r#"
        Inserted `Top.` before the first line of the memory block `human`.
        human = "Top.\nName: Sam\nLikes tea.\nHas a cat.\nLikes tea.""#]],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "A\nB", "insert_line": 2.0}),
        expect![[r#"
        Inserted `A B` after line 2 of the memory block `human`.
        human = "Name: Sam\nLikes tea.\nA\nB\nHas a cat.\nLikes tea.""#]],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "End.", "insert_line": 4}),
        expect![[r#"
        Inserted `End.` after line 4 of the memory block `human`.
        human = "Name: Sam\nLikes tea.\nHas a cat.\nLikes tea.\nEnd.""#]],
    );
    check(
        "memory_insert",
        json!({"label": "empty", "new_str": "A", "insert_line": 0}),
        expect![[r#"
        Inserted `A` before the first line of the memory block `empty`.
        empty = "A""#]],
    );
    check(
        "memory_insert",
        json!({"label": "empty", "new_str": "A", "insert_line": null}),
        expect![[r#"
        Inserted `A` at the end of the memory block `empty`.
        empty = "A""#]],
    );
}

#[test]
fn memory_insert_fails_with_the_reason() {
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "x", "insert_line": 5}),
        expect![
            "error: `insert_line` is 5, but the memory block `human` has 4 lines. Give 0 (before the first line) to 4, or -1 for the end."
        ],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "x", "insert_line": -2}),
        expect![
            "error: `insert_line` is -2, but the memory block `human` has 4 lines. Give 0 (before the first line) to 4, or -1 for the end."
        ],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "x", "insert_line": 1.5}),
        expect!["error: The argument `insert_line` must be a whole number, not 1.5."],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "x", "insert_line": "2"}),
        expect!["error: The argument `insert_line` must be a whole number, not a string."],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "x", "insert_line": 1e300}),
        expect!["error: The argument `insert_line` must be a whole number, not 1e+300."],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "3→x"}),
        expect![
            "error: `new_str` holds the line number `3→`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        "memory_insert",
        json!({"label": "nope", "new_str": "x"}),
        expect!["error: There is no memory block `nope`. The blocks that you have: `human`, `persona`, `empty`."],
    );
    check(
        "memory_insert",
        json!({"label": "persona", "new_str": "x"}),
        expect!["error: The memory block `persona` is read-only: you can't change it."],
    );
    check(
        "memory_insert",
        json!({"label": "human", "new_str": "x".repeat(100)}),
        expect![
            "error: The memory block `human` would have 143 characters, but its limit is 60: that is 83 too many. Nothing was changed. Write less, or shorten the block first."
        ],
    );
}

#[test]
fn memory_rethink_rewrites_or_makes_a_block() {
    check(
        "memory_rethink",
        json!({"label": "human", "new_memory": "Sam has a cat."}),
        expect![[r#"
        Rewrote the memory block `human`: it now has 14 of 60 characters.
        human = "Sam has a cat.""#]],
    );
    check(
        "memory_rethink",
        json!({"label": "human", "new_memory": ""}),
        expect![[r#"
        Rewrote the memory block `human`: it now has 0 of 60 characters.
        human = """#]],
    );
    check(
        "memory_rethink",
        json!({"label": "projects", "new_memory": "None yet."}),
        expect![[r#"
        Made the memory block `projects`, which did not exist before.
        projects = "None yet.""#]],
    );
}

#[test]
fn memory_rethink_fails_with_the_reason() {
    check(
        "memory_rethink",
        json!({"label": "persona", "new_memory": "x"}),
        expect!["error: The memory block `persona` is read-only: you can't change it."],
    );
    check(
        "memory_rethink",
        json!({"label": "human", "new_memory": "猫".repeat(61)}),
        expect![
            "error: The memory block `human` would have 61 characters, but its limit is 60: that is 1 too many. Nothing was changed. Write less, or shorten the block first."
        ],
    );
    check(
        "memory_rethink",
        json!({"label": "human", "new_memory": "1→ Sam\n2→ cat"}),
        expect![
            "error: `new_memory` holds the line number `1→`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        "memory_rethink",
        json!({"label": "a<b", "new_memory": "x"}),
        expect![
            "error: `a<b` can't be the name of a memory block: use 1 to 200 characters without `<`, `>`, line breaks or control characters."
        ],
    );
    check(
        "memory_rethink",
        json!({"label": " ", "new_memory": "x"}),
        expect![
            "error: ` ` can't be the name of a memory block: use 1 to 200 characters without `<`, `>`, line breaks or control characters."
        ],
    );
    check(
        "memory_rethink",
        json!({"label": "big", "new_memory": "x".repeat(20_001)}),
        expect![
            "error: The memory block `big` would have 20001 characters, but its limit is 20000: that is 1 too many. Nothing was changed. Write less, or shorten the block first."
        ],
    );
}

#[test]
fn memory_finish_edits_takes_nothing() {
    check("memory_finish_edits", json!({}), expect!["Memory editing is finished."]);
    check(
        "memory_finish_edits",
        json!({"done": true}),
        expect!["error: There is no argument `done`: this tool takes no arguments."],
    );
}

#[test]
fn memory_create_makes_a_block() {
    check(
        "memory",
        json!({"command": "create", "path": "/memories/projects", "file_text": "A", "description": "Work."}),
        expect![[r#"
            Made the memory block `projects`.
            projects (Work.) = "A""#]],
    );
    check(
        "memory",
        json!({"command": "create", "path": "projects", "old_str": "", "insert_line": 0}),
        expect![[r#"
        Made the memory block `projects`.
        projects = """#]],
    );
    check(
        "memory",
        json!({"command": "create", "path": "/memories/human"}),
        expect![
            "error: The memory block `human` exists already. Change it with `str_replace` or `insert`, or choose another path."
        ],
    );
    check(
        "memory",
        json!({"command": "create", "path": "/memories/"}),
        expect!["error: The command `create` needs `path`: the block's path, for example `/memories/human`."],
    );
    check(
        "memory",
        json!({"command": "create"}),
        expect!["error: The command `create` needs `path`: the block's path, for example `/memories/human`."],
    );
    check(
        "memory",
        json!({"command": "create", "path": "a\nb"}),
        expect![
            "error: `a b` can't be the name of a memory block: use 1 to 200 characters without `<`, `>`, line breaks or control characters."
        ],
    );
    check(
        "memory",
        json!({"command": "create", "path": "a", "file_text": "Line 1: x"}),
        expect![
            "error: `file_text` holds the line number `Line 1:`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        "memory",
        json!({"command": "create", "path": "a", "file_text": 5}),
        expect!["error: The argument `file_text` must be a string, not a number."],
    );
}

#[test]
fn memory_str_replace_and_insert_edit_a_block() {
    check(
        "memory",
        json!({"command": "str_replace", "path": "/memories/human", "old_str": "Sam", "new_str": "Ada"}),
        expect![[r#"
            Replaced `Sam` in the memory block `human` with `Ada`.
            human = "Name: Ada\nLikes tea.\nHas a cat.\nLikes tea.""#]],
    );
    check(
        "memory",
        json!({"command": "str_replace", "path": "human", "old_str": "Sam"}),
        expect!["error: The argument `new_str` is missing: give it as a string."],
    );
    check(
        "memory",
        json!({"command": "str_replace", "path": "/nope", "old_str": "a", "new_str": "b"}),
        expect!["error: There is no memory block `nope`. The blocks that you have: `human`, `persona`, `empty`."],
    );
    check(
        "memory",
        json!({"command": "insert", "path": "/human", "insert_line": 1, "insert_text": "New."}),
        expect![[r#"
            Inserted `New.` after line 1 of the memory block `human`.
            human = "Name: Sam\nNew.\nLikes tea.\nHas a cat.\nLikes tea.""#]],
    );
    check(
        "memory",
        json!({"command": "insert", "path": "human", "insert_text": "New."}),
        expect![[r#"
        Inserted `New.` at the end of the memory block `human`.
        human = "Name: Sam\nLikes tea.\nHas a cat.\nLikes tea.\nNew.""#]],
    );
    check(
        "memory",
        json!({"command": "insert", "path": "human", "insert_line": 9, "insert_text": "x"}),
        expect![
            "error: `insert_line` is 9, but the memory block `human` has 4 lines. Give 0 (before the first line) to 4, or -1 for the end."
        ],
    );
    check(
        "memory",
        json!({"command": "insert", "path": "human", "insert_text": ""}),
        expect!["error: `insert_text` is empty: give the text to add."],
    );
}

#[test]
fn memory_delete_takes_a_block_away() {
    check(
        "memory",
        json!({"command": "delete", "path": "/memories/human"}),
        expect![[r#"
        Took the block `human` out of your memory.
        -human"#]],
    );
    check(
        "memory",
        json!({"command": "delete", "path": "/memories/persona"}),
        expect!["error: The memory block `persona` is read-only: you can't change it."],
    );
    check(
        "memory",
        json!({"command": "delete", "path": "/memories/nope"}),
        expect!["error: There is no memory block `nope`. The blocks that you have: `human`, `persona`, `empty`."],
    );
}

#[test]
fn memory_rename_changes_label_or_description() {
    check(
        "memory",
        json!({"command": "rename", "old_path": "/memories/empty", "new_path": "/memories/plans"}),
        expect![[r#"
            Memory block `empty`: renamed it to `plans`.
            plans = """#]],
    );
    check(
        "memory",
        json!({"command": "rename", "path": "empty", "description": "Plans."}),
        expect![[r#"
        Memory block `empty`: changed its description.
        empty (Plans.) = """#]],
    );
    check(
        "memory",
        json!({"command": "rename", "old_path": "empty", "new_path": "plans", "description": "Plans."}),
        expect![[r#"
            Memory block `empty`: renamed it to `plans` and changed its description.
            plans (Plans.) = """#]],
    );
    check(
        "memory",
        json!({"command": "rename", "old_path": "empty", "new_path": "human"}),
        expect!["error: The memory block `human` exists already: choose another `new_path`."],
    );
    check(
        "memory",
        json!({"command": "rename", "old_path": "persona", "new_path": "me"}),
        expect!["error: The memory block `persona` is read-only: you can't change it."],
    );
    check(
        "memory",
        json!({"command": "rename", "new_path": "me"}),
        expect!["error: The command `rename` needs `old_path`: the block's path, for example `/memories/human`."],
    );
    check(
        "memory",
        json!({"command": "rename", "old_path": "empty", "new_path": "<b>"}),
        expect![
            "error: `<b>` can't be the name of a memory block: use 1 to 200 characters without `<`, `>`, line breaks or control characters."
        ],
    );
    check(
        "memory",
        json!({"command": "rename", "old_path": "empty"}),
        expect![
            "error: The command `rename` needs `old_path` and `new_path`; to change only the description, `path` and `description`."
        ],
    );
}

#[test]
fn memory_refuses_what_it_does_not_know() {
    check(
        "memory",
        json!({"command": "view", "path": "/memories"}),
        expect!["error: There is no command `view`. The commands are: create, str_replace, insert, delete, rename."],
    );
    check(
        "memory",
        json!({"path": "/memories"}),
        expect!["error: The argument `command` is missing: give it as a string."],
    );
    check(
        "memory",
        json!({"command": "delete", "path": "human", "force": true}),
        expect![
            "error: There is no argument `force`. The arguments of this tool are: command, path, file_text, description, old_str, new_str, insert_line, insert_text, old_path, new_path."
        ],
    );
}

#[test]
fn memory_apply_patch_changes_several_places() {
    check(
        "memory_apply_patch",
        json!({"label": "human", "patch": "-Name: Sam\n+Name: Ada\n@@\n-Has a cat.\n+Has two."}),
        expect![[r#"
            Patched the memory block `human`: lines added 2, removed 2.
            human = "Name: Ada\nLikes tea.\nHas two.\nLikes tea.""#]],
    );
    check(
        "memory_apply_patch",
        json!({"label": "empty", "patch": "+A\n+B"}),
        expect![[r#"
        Patched the memory block `empty`: lines added 2, removed 0.
        empty = "A\nB""#]],
    );
    check(
        "memory_apply_patch",
        json!({"label": "human", "patch": "-Likes tea."}),
        expect![
            "error: The part of the patch that begins at its line 1 fits the block more than once (on lines 2, 4). Add lines around it that stay, until it fits only one place."
        ],
    );
    check(
        "memory_apply_patch",
        json!({"label": "human", "patch": "-Likes coffee."}),
        expect![
            "error: Line 1 of the patch does not match: the block has no line `Likes coffee.`. Lines that stay or are removed must be copied exactly from the block."
        ],
    );
    check(
        "memory_apply_patch",
        json!({"label": "persona", "patch": "-I am kind."}),
        expect!["error: The memory block `persona` is read-only: you can't change it."],
    );
    let long = format!("-Name: Sam\n+{}", "x".repeat(60));
    check(
        "memory_apply_patch",
        json!({"label": "human", "patch": long}),
        expect![
            "error: The memory block `human` would have 93 characters, but its limit is 60: that is 33 too many. Nothing was changed. Write less, or shorten the block first."
        ],
    );
    check(
        "memory_apply_patch",
        json!({"label": "human"}),
        expect!["error: The argument `patch` is missing: give it as a string."],
    );
}

#[test]
fn an_agent_without_blocks_is_told_so() {
    let error = call(&Memory::default(), "core_memory_append", &json!({"label": "human", "content": "x"}));
    expect!["There is no memory block `human`: you have no memory blocks."]
        .assert_eq(&error.expect_err("there is no block").to_string());
}

#[test]
fn tools_of_others_are_not_known_and_all_that_speak_or_edit_are() {
    let (memory, arguments) = (memory(), Map::new());
    let call = MemoryCall { memory: &memory, arguments: &arguments, author: author() };
    assert!(run("roll_dice", &call).is_none());
    let searches = ["conversation_search", "archival_memory_insert", "archival_memory_search"];
    for tool in crate::catalog::all() {
        assert_eq!(run(tool.name, &call).is_none(), searches.contains(&tool.name), "{}", tool.name);
    }
}

/// Values that models write, odd ones often.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>().prop_map(Value::from),
        "[ -+@\\\\a→1\n]{0,20}".prop_map(Value::from),
        proptest::sample::select(vec![
            "human",
            "persona",
            "empty",
            "/memories/human",
            "Likes tea.",
            "Sam",
            "",
            "rename"
        ])
        .prop_map(Value::from),
        proptest::sample::select(vec!["create", "str_replace", "insert", "delete", "rename"]).prop_map(Value::from),
    ];
    prop_oneof![
        6 => text,
        1 => any::<i64>().prop_map(Value::from),
        1 => (-3_i64..6).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!([{"a": "b"}])),
    ]
}

fn any_call() -> impl Strategy<Value = (&'static str, Map<String, Value>)> {
    let tools: Vec<&'static crate::catalog::Builtin> = crate::catalog::all().iter().collect();
    proptest::sample::select(tools).prop_flat_map(|tool| {
        let parameters = tool.parameters();
        let names: Vec<String> =
            parameters["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let count = names.len();
        let values = proptest::collection::vec(proptest::option::weighted(0.8, any_value()), count);
        let extra = proptest::option::weighted(0.05, any::<String>());
        (values, extra).prop_map(move |(values, extra)| {
            let given = names.iter().zip(values).filter_map(|(name, value)| Some((name.clone(), value?)));
            let unknown = extra.map(|name| (name, Value::Null));
            (tool.name, given.chain(unknown).collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_call_panics_and_the_changes_of_every_success_fit((tool, arguments) in any_call()) {
        let before = memory();
        let kept = before.clone();
        let outcome = run(tool, &MemoryCall { memory: &before, arguments: &arguments, author: author() });
        prop_assert_eq!(&before, &kept);
        if let Some(Ok(edit)) = outcome {
            let now = after(&before, &edit);
            let persona = now.by_label("persona");
            prop_assert_eq!(persona, before.by_label("persona"), "a read-only block stays as it is");
        }
    }
}
