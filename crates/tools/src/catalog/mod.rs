//! The built-in tools: names, argument schemas, and what models are told about them.
//!
//! Names, argument names and types are Letta's, because clients and stored agents know them; the descriptions are our
//! own. A tool that is not in [`all`] does not exist: bundles leave it out until it is added here.

mod bundles;
mod schemas;

use std::sync::Arc;

use domain::tool::DEFAULT_RETURN_CHAR_LIMIT;
use domain::{Actor, Tool, ToolId, ToolType};
use jiff::Timestamp;
use serde_json::Value;

pub use bundles::{
    BASE_MEMORY_TOOLS, BASE_MEMORY_TOOLS_V2, BASE_MEMORY_TOOLS_V3, BASE_SLEEPTIME_CHAT_TOOLS, BASE_SLEEPTIME_TOOLS,
    BASE_TOOLS, BUILTIN_TOOLS, FILES_TOOLS, MULTI_AGENT_TOOLS, MemoryVariant, approval_rules, base_tools,
    default_rules,
};

/// A tool that ships with the program.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    pub name: &'static str,
    pub description: &'static str,
    pub kind: ToolType,
    /// Whether calls of it may run beside others of the same step.
    pub enable_parallel_execution: bool,
    parameters: fn() -> Value,
}

impl Builtin {
    /// JSON Schema of the arguments: an object with `type`, `properties` and `required`.
    pub fn parameters(&self) -> Value {
        (self.parameters)()
    }

    /// The tool as an organisation's row.
    pub fn to_tool(&self, id: ToolId, owner: Actor, now: Timestamp) -> Tool {
        Tool {
            id,
            organization: owner.organization,
            created_by: owner.user,
            name: self.name.into(),
            description: self.description.into(),
            kind: self.kind,
            parameters: Arc::new(self.parameters()),
            tags: vec![self.kind.as_str().to_owned()],
            return_char_limit: DEFAULT_RETURN_CHAR_LIMIT,
            default_requires_approval: false,
            enable_parallel_execution: self.enable_parallel_execution,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Every built-in tool.
pub fn all() -> &'static [Builtin] {
    &ALL
}

/// The built-in tool of that name.
pub fn by_name(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|tool| tool.name == name)
}

const ALL: [Builtin; 12] = [
    builtin("send_message", ToolType::LettaCore, schemas::SEND_MESSAGE, schemas::send_message),
    looking(builtin(
        "conversation_search",
        ToolType::LettaCore,
        schemas::CONVERSATION_SEARCH,
        schemas::conversation_search,
    )),
    builtin(
        "archival_memory_insert",
        ToolType::LettaCore,
        schemas::ARCHIVAL_MEMORY_INSERT,
        schemas::archival_memory_insert,
    ),
    looking(builtin(
        "archival_memory_search",
        ToolType::LettaCore,
        schemas::ARCHIVAL_MEMORY_SEARCH,
        schemas::archival_memory_search,
    )),
    builtin("core_memory_append", ToolType::LettaMemoryCore, schemas::CORE_MEMORY_APPEND, schemas::core_memory_append),
    builtin(
        "core_memory_replace",
        ToolType::LettaMemoryCore,
        schemas::CORE_MEMORY_REPLACE,
        schemas::core_memory_replace,
    ),
    builtin("memory", ToolType::LettaMemoryCore, schemas::MEMORY, schemas::memory),
    builtin("memory_apply_patch", ToolType::LettaMemoryCore, schemas::MEMORY_APPLY_PATCH, schemas::memory_apply_patch),
    builtin("memory_replace", ToolType::LettaSleeptimeCore, schemas::MEMORY_REPLACE, schemas::memory_replace),
    builtin("memory_insert", ToolType::LettaSleeptimeCore, schemas::MEMORY_INSERT, schemas::memory_insert),
    builtin("memory_rethink", ToolType::LettaSleeptimeCore, schemas::MEMORY_RETHINK, schemas::memory_rethink),
    builtin(
        "memory_finish_edits",
        ToolType::LettaSleeptimeCore,
        schemas::MEMORY_FINISH_EDITS,
        schemas::memory_finish_edits,
    ),
];

/// Speaking and editing: the order of calls matters, so none may run beside others.
const fn builtin(name: &'static str, kind: ToolType, description: &'static str, parameters: fn() -> Value) -> Builtin {
    Builtin { name, description, kind, enable_parallel_execution: false, parameters }
}

/// A tool that only looks may run beside others.
const fn looking(mut tool: Builtin) -> Builtin {
    tool.enable_parallel_execution = true;
    tool
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
