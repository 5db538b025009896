//! The built-in tools that speak and edit core memory, each a pure function of a call.
//!
//! A tool looks at the step's working copy and answers with a reply and changes; it never edits the copy itself, so a
//! failed call leaves no trace. Errors are written for the model: what was wrong, and what to write instead.

mod commands;
mod edits;

mod guard;
mod patch;

use domain::{Memory, MemoryChange, OrganizationId, UserId};
use jiff::Timestamp;
use serde_json::{Map, Value};

/// On whose behalf and when a call makes new blocks.
#[derive(Debug, Clone, Copy)]
pub struct Author {
    pub organization: OrganizationId,
    pub user: UserId,
    pub now: Timestamp,
}

/// One call of a built-in tool.
#[derive(Debug, Clone, Copy)]
pub struct MemoryCall<'a> {
    /// The step's working copy of core memory.
    pub memory: &'a Memory,
    /// Arguments without anything that the runtime injected.
    pub arguments: &'a Map<String, Value>,
    pub author: Author,
}

/// A call that worked.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// What the model is told.
    pub reply: String,
    /// What to change, in order.
    pub changes: Vec<MemoryChange>,
}

/// Why a call did nothing, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

/// Runs the built-in tool `name`; None if there is no such tool.
pub fn run(name: &str, call: &MemoryCall<'_>) -> Option<Result<Edit, ToolError>> {
    let tool: fn(&MemoryCall<'_>) -> Result<Edit, ToolError> = match name {
        "send_message" => edits::send_message,
        "core_memory_append" => edits::core_memory_append,
        "core_memory_replace" => edits::core_memory_replace,
        "memory" => commands::memory,
        "memory_apply_patch" => patch::memory_apply_patch,
        "memory_replace" => edits::memory_replace,
        "memory_insert" => edits::memory_insert,
        "memory_rethink" => edits::memory_rethink,
        "memory_finish_edits" => edits::memory_finish_edits,
        _ => return None,
    };
    Some(tool(call))
}

/// A [`ToolError`] with a formatted text.
macro_rules! refuse {
    ($($text:tt)*) => { $crate::memory::ToolError(format!($($text)*)) };
}
pub(crate) use refuse;

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
