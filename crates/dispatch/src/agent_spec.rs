//! What a door may say about an agent that it makes or changes. Everything left out is decided here, not by doors.

use domain::{AgentId, AgentType, BlockError, BlockId, ResponseFormat, ToolId, ToolRule};
use prompt::base_prompts::PromptKey;
use serde_json::{Map, Value};

use crate::request::InputMessage;

/// A block that is made together with its agent.
#[derive(Debug, Clone, Default)]
pub struct BlockSpec {
    pub label: String,
    pub value: String,
    /// None means 20,000 characters.
    pub limit: Option<u32>,
    /// None means our own description for `human` and `persona`, and nothing for others.
    pub description: Option<String>,
    pub read_only: bool,
    pub metadata: Map<String, Value>,
}

/// Settings of the model that override what the provider's entry says.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    pub context_window: Option<u32>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    pub frequency_penalty: Option<f64>,
    pub put_inner_thoughts_in_kwargs: Option<bool>,
    pub enable_reasoner: Option<bool>,
    pub reasoning_effort: Option<String>,
    pub max_reasoning_tokens: Option<u32>,
    pub parallel_tool_calls: Option<bool>,
    /// Whether a V3 agent writes its thoughts into its calls where its model has no reasoning of its own.
    pub thinks_in_calls: Option<bool>,
}

/// A new agent.
#[derive(Debug, Clone, Default)]
pub struct AgentSpec {
    /// None means a name made up for it.
    pub name: Option<String>,
    /// None means `letta_v1_agent`.
    pub kind: Option<AgentType>,
    pub description: Option<String>,
    /// A handle `provider/model`; None is an error that says so.
    pub model: Option<String>,
    pub model_settings: ModelSettings,
    pub embedding: Option<String>,
    pub memory_blocks: Vec<BlockSpec>,
    pub block_ids: Vec<BlockId>,
    /// Tools by name, beside the base tools.
    pub tools: Vec<String>,
    pub tool_ids: Vec<ToolId>,
    pub tool_rules: Option<Vec<ToolRule>>,
    pub include_base_tools: Option<bool>,
    pub include_base_tool_rules: Option<bool>,
    pub system: Option<String>,
    /// The base prompt where `system` gives none; None means the prompt of its kind.
    pub base_prompt: Option<PromptKey>,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
    pub timezone: Option<String>,
    /// None means the sequence that the kind asks for.
    pub initial_message_sequence: Option<Vec<InputMessage>>,
    pub message_buffer_autoclear: Option<bool>,
    pub enable_sleeptime: Option<bool>,
    pub response_format: Option<ResponseFormat>,
    pub compaction_settings: Option<Value>,
    pub max_files_open: Option<u32>,
    pub per_file_view_window_char_limit: Option<u32>,
    pub hidden: Option<bool>,
}

/// Changes to an agent. The outer option says whether the field was given.
#[derive(Debug, Clone, Default)]
pub struct AgentPatch {
    pub name: Option<String>,
    pub description: Option<Option<String>>,
    pub model: Option<String>,
    pub model_settings: ModelSettings,
    pub embedding: Option<Option<String>>,
    pub block_ids: Option<Vec<BlockId>>,
    pub tool_ids: Option<Vec<ToolId>>,
    pub tool_rules: Option<Vec<ToolRule>>,
    pub system: Option<String>,
    pub tags: Option<Vec<String>>,
    pub metadata: Option<Map<String, Value>>,
    pub timezone: Option<String>,
    pub message_buffer_autoclear: Option<bool>,
    pub enable_sleeptime: Option<bool>,
    pub response_format: Option<Option<ResponseFormat>>,
    pub compaction_settings: Option<Option<Value>>,
    pub max_files_open: Option<u32>,
    pub per_file_view_window_char_limit: Option<u32>,
    pub hidden: Option<bool>,
}

/// Why an agent can't be made or changed as asked, named by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("Agent with ID {0} not found")]
    NotFound(AgentId),
    #[error("Block with label '{label}' not found for agent {agent}")]
    NoSuchBlock { agent: AgentId, label: String },
    /// Change the request.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    UnknownModel(String),
    #[error("{0}")]
    UnknownProvider(String),
    #[error("{0}")]
    ModelUnavailable(String),
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A kind of agent that this version can't run whole.
    #[error("{0}")]
    Unsupported(String),
    #[error(transparent)]
    Store(#[from] storage::StoreError),
}
