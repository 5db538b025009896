//! What the command line reads of Letta's JSON. Fields that it does not show are left out.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use anyhow::Context;

/// An agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct AgentView {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) agent_type: String,
    /// The handle of its model.
    pub(crate) model: String,
    pub(crate) llm_config: LlmView,
    pub(crate) description: Option<String>,
    pub(crate) timezone: Option<String>,
    pub(crate) message_ids: Vec<String>,
    pub(crate) tools: Vec<ToolView>,
    pub(crate) created_at: Option<String>,
    pub(crate) last_run_completion: Option<String>,
}

/// How an agent's model is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct LlmView {
    pub(crate) context_window: u32,
}

/// A tool of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ToolView {
    pub(crate) name: String,
}

/// A block of an agent's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct BlockView {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) limit: u32,
    pub(crate) description: Option<String>,
    pub(crate) read_only: bool,
}

impl BlockView {
    /// How full it is. Limits count characters.
    pub(crate) fn fill(&self) -> String {
        format!("{}/{}", self.value.chars().count(), self.limit)
    }
}

/// A model that the owner offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ModelView {
    pub(crate) handle: String,
}

/// Reads a value of an answer.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> anyhow::Result<T> {
    T::deserialize(value).context("the answer has another shape than expected: is the server of another version?")
}
