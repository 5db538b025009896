//! Tools: what an agent may call.

use std::sync::Arc;

use jiff::Timestamp;

use crate::ids::{OrganizationId, ToolId, UserId};

/// Characters of a return that are kept, unless the tool says otherwise.
pub const DEFAULT_RETURN_CHAR_LIMIT: u32 = 50_000;

/// Which executor runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolType {
    LettaCore,
    LettaMemoryCore,
    LettaSleeptimeCore,
    Custom,
}

impl ToolType {
    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LettaCore => "letta_core",
            Self::LettaMemoryCore => "letta_memory_core",
            Self::LettaSleeptimeCore => "letta_sleeptime_core",
            Self::Custom => "custom",
        }
    }

    /// The type of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::LettaCore, Self::LettaMemoryCore, Self::LettaSleeptimeCore, Self::Custom]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// A tool, as agents have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub id: ToolId,
    pub organization: OrganizationId,
    pub created_by: UserId,
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub kind: ToolType,
    /// JSON Schema of the arguments: an object with `type`, `properties` and `required`.
    pub parameters: Arc<serde_json::Value>,
    pub tags: Vec<String>,
    pub return_char_limit: u32,
    pub default_requires_approval: bool,
    pub enable_parallel_execution: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
