//! What the operator decides about this door. The server reads it from the configuration file.

use std::time::Duration;

use serde::Deserialize;

/// How an agent is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It decides by itself, in its reasoning.
    #[default]
    Auto,
    /// Literal and brief.
    Worker,
    /// In its own voice.
    Persona,
}

/// Whether what one person tells the agent may reach another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Every person has a block `human` and a past of their own.
    #[default]
    Private,
    /// Everybody shares the agent's memory.
    Shared,
}

/// How private reasoning is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningShown {
    #[default]
    Off,
    /// As `reasoning_content` beside the content.
    ReasoningContent,
    /// As `reasoning` beside the content.
    Reasoning,
    /// Inside the content between think tags, with the progress of tools.
    ThinkTags,
}

/// Whether doubled escapes in a model's words are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unescape {
    #[default]
    Off,
    On,
    /// On for a stream that shows that it needs it.
    Auto,
}

/// A model name that stands for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    pub name: String,
    /// The agent's exact name or id.
    pub agent: String,
    pub mode: Mode,
    pub memory: MemoryScope,
    pub reasoning: ReasoningShown,
    /// None means as the agent's model is set.
    pub unescape: Option<Unescape>,
    /// Whether `prompt_cache_key` names a session although no person is named.
    pub prompt_cache_key: bool,
}

/// Everything that the operator decides about this door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    pub aliases: Vec<Alias>,
    /// Whether `provider/model` can be asked directly, without an agent.
    pub pass_through: bool,
    /// How many sessions are kept in memory; all are stored.
    pub session_capacity: usize,
    /// How long a session that is not used stays in memory.
    pub session_idle: Duration,
    /// Whether `GET /debug/sessions` answers.
    pub debug_sessions: bool,
    /// Whether a client that edits or regenerates takes the context back.
    pub follow_edits: bool,
    /// Models by handle whose words need unescaping.
    pub unescape: Vec<(String, Unescape)>,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            aliases: Vec::new(),
            pass_through: false,
            session_capacity: 100,
            session_idle: Duration::from_secs(3 * 60 * 60),
            debug_sessions: false,
            follow_edits: true,
            unescape: Vec::new(),
        }
    }
}
