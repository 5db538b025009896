//! What models are told about each built-in tool, and the JSON Schema of its arguments.
//!
//! Models read these texts before every call. They are short, say when to use the tool and not only what it does, and
//! never promise what the tool does not do.

use serde_json::{Value, json};

pub(super) const SEND_MESSAGE: &str = "Speak to the user. This is the only way that your words reach them: everything \
    else you write stays private.";

pub(super) const CONVERSATION_SEARCH: &str = "Look through everything that was ever said between you and the user, also \
    what is no longer in your context. Use it before you say that you don't know or don't remember. It finds by meaning \
    and by words: write what you are looking for as you would say it, with names and topics. Narrow it down by who \
    spoke or by dates where you know them.";

pub(super) const ARCHIVAL_MEMORY_INSERT: &str = "Store a text in your archival memory, which has no size limit and \
    stays outside of your context until you search it. Use it for what may matter later but need not be in view all the \
    time: facts, events, insights, excerpts. Write it so that it can be understood by itself, with names and dates, and \
    give tags that you would look for.";

pub(super) const ARCHIVAL_MEMORY_SEARCH: &str = "Search what you stored in archival memory. It finds by meaning and by \
    words. Filter by tags or dates where that helps; your tags are listed in your memory metadata.";

pub(super) const CORE_MEMORY_APPEND: &str = "Add a new line of text at the end of a memory block. Use it to remember \
    something that the block does not say yet.";

pub(super) const CORE_MEMORY_REPLACE: &str = "Change a passage of a memory block. Use it to correct or to forget \
    something that the block says. The old text must stand in the block exactly once.";

pub(super) const MEMORY: &str = "Manage your memory blocks as if they were files under `/memories`: the block \
    `human` is `/memories/human`. The argument `command` says what to do, and each command needs its own arguments:
- `create`: make a new block. Needs `path`; give `description` (what the block is for) and `file_text` (its first text).
- `str_replace`: change a passage. Needs `path`, `old_str` (must stand in the block exactly once) and `new_str`.
- `insert`: add lines. Needs `path` and `insert_text`; `insert_line` is the line after which they go (0: before the \
    first line; left out: at the end).
- `delete`: take a block out of your memory. Needs `path`.
- `rename`: give a block another name. Needs `old_path` and `new_path`. To change only what a block is for, give \
    `path` and `description` instead.";

pub(super) const MEMORY_APPLY_PATCH: &str = "Change several places of one memory block at once, with a simplified \
    unified diff. Every line of the patch begins with one marker: a space for a line that stays, `-` for a line to \
    remove, `+` for a line to add. Separate changes that are far apart with a line `@@`. The lines that stay and the \
    lines to remove must be copied exactly, and together must fit only one place of the block.

Example:
 Likes tea.
-Lives in Oslo.
+Lives in Bergen.";

pub(super) const MEMORY_REPLACE: &str = "Change a passage of a memory block: finds the old text and puts the new text \
    in its place. Use it for small, exact edits; the rest of the block stays as it is.";

pub(super) const MEMORY_INSERT: &str = "Add text to a memory block as lines of its own, at the end or after a line of \
    your choice. Nothing that stands in the block is changed.";

pub(super) const MEMORY_RETHINK: &str = "Write the whole text of a memory block anew. Use it to reorganise or condense \
    a block, not for small edits: whatever the new text leaves out is forgotten. A block that does not exist yet is \
    made.";

pub(super) const MEMORY_FINISH_EDITS: &str = "Say that you are done with editing memory. Call it once, after your last \
    edit.";

const LABEL: &str = "Label of the memory block to edit.";
const PLAIN_TEXT: &str = "Write it without line numbers.";

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

pub(super) fn send_message() -> Value {
    json!({
        "type": "object",
        "properties": {"message": text("What to say to the user. Any language and any characters, emoji too.")},
        "required": ["message"],
    })
}

pub(super) fn conversation_search() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": text("What to look for, in your own words."),
            "roles": {
                "type": "array",
                "items": {"type": "string", "enum": ["assistant", "user", "tool"]},
                "description": "Only what these said: `user`, `assistant`. Leave it out to search both.",
            },
            "limit": {"type": "integer", "description": "How many results you want; 5 if you leave it out, 50 at most."},
            "start_date": text(
                "Only what was said on or after this date: YYYY-MM-DD, or YYYY-MM-DDTHH:MM for a time of your day."
            ),
            "end_date": text("Only what was said up to this date, the day itself included; the same formats."),
        },
        "required": ["query"],
    })
}

pub(super) fn archival_memory_insert() -> Value {
    json!({
        "type": "object",
        "properties": {
            "content": text("The text to store."),
            "tags": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Words to file it under. Use the tags that you have before you make new ones.",
            },
        },
        "required": ["content"],
    })
}

pub(super) fn archival_memory_search() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": text("What to look for, in your own words."),
            "tags": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Only texts with these tags.",
            },
            "tag_match_mode": {
                "type": "string",
                "enum": ["any", "all"],
                "description": "Whether a text needs `any` of the tags (what you get if you leave it out) or `all`.",
            },
            "top_k": {"type": "integer", "description": "How many results you want; 5 if you leave it out, 50 at most."},
            "start_datetime": text(
                "Only texts stored on or after this date: YYYY-MM-DD, or YYYY-MM-DDTHH:MM for a time of your day."
            ),
            "end_datetime": text("Only texts stored up to this date, the day itself included; the same formats."),
        },
        "required": ["query"],
    })
}

pub(super) fn core_memory_append() -> Value {
    json!({
        "type": "object",
        "properties": {
            "label": text(LABEL),
            "content": text(&format!("The text to add. {PLAIN_TEXT}")),
        },
        "required": ["label", "content"],
    })
}

pub(super) fn core_memory_replace() -> Value {
    json!({
        "type": "object",
        "properties": {
            "label": text(LABEL),
            "old_content": text("The text to replace, copied exactly from the block."),
            "new_content": text(&format!("The text to put in its place; empty to remove the old text. {PLAIN_TEXT}")),
        },
        "required": ["label", "old_content", "new_content"],
    })
}

pub(super) fn memory() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "enum": ["create", "str_replace", "insert", "delete", "rename"],
                "description": "What to do.",
            },
            "path": text("The block, for example `/memories/human`. For every command but a `rename` with `old_path`."),
            "file_text": text("For `create`: the block's first text."),
            "description": text("For `create` and `rename`: what the block is for and when it matters."),
            "old_str": text("For `str_replace`: the text to replace, copied exactly from the block."),
            "new_str": text("For `str_replace`: the text to put in its place; empty to remove the old text."),
            "insert_line": {
                "type": "integer",
                "description": "For `insert`: the line after which to add the text. 0 is before the first line.",
            },
            "insert_text": text("For `insert`: the text to add."),
            "old_path": text("For `rename`: the block as it is called now."),
            "new_path": text("For `rename`: the new name, for example `/memories/projects`."),
        },
        "required": ["command"],
    })
}

pub(super) fn memory_apply_patch() -> Value {
    json!({
        "type": "object",
        "properties": {
            "label": text(LABEL),
            "patch": text("The changes: lines that begin with a space, `-` or `+`. Write them without line numbers."),
        },
        "required": ["label", "patch"],
    })
}

pub(super) fn memory_replace() -> Value {
    json!({
        "type": "object",
        "properties": {
            "label": text(LABEL),
            "old_str": text(
                "The text to replace: copied exactly from the block, spaces and line breaks included, and long enough \
                 to stand there only once."
            ),
            "new_str": text(&format!("The text to put in its place; empty to remove the old text. {PLAIN_TEXT}")),
        },
        "required": ["label", "old_str", "new_str"],
    })
}

pub(super) fn memory_insert() -> Value {
    json!({
        "type": "object",
        "properties": {
            "label": text(LABEL),
            "new_str": text(&format!("The text to add. {PLAIN_TEXT}")),
            "insert_line": {
                "type": "integer",
                "description": "The line after which to add the text. 0 is before the first line, -1 (what you get if \
                                you leave it out) is at the end.",
            },
        },
        "required": ["label", "new_str"],
    })
}

pub(super) fn memory_rethink() -> Value {
    json!({
        "type": "object",
        "properties": {
            "label": text("Label of the memory block to write anew or to make."),
            "new_memory": text(&format!("The whole new text, with all that is worth keeping of the old. {PLAIN_TEXT}")),
        },
        "required": ["label", "new_memory"],
    })
}

pub(super) fn memory_finish_edits() -> Value {
    json!({"type": "object", "properties": {}, "required": []})
}
