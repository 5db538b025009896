//! Runs: one request to one agent, from input to stop reason.

use jiff::Timestamp;

use crate::ids::{AgentId, ConversationId, OrganizationId, RunId};
use crate::usage::Usage;

/// Why a run stopped, in Letta's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    EndTurn,
    Error,
    LlmApiError,
    InvalidLlmResponse,
    InvalidToolCall,
    MaxSteps,
    MaxTokensExceeded,
    NoToolCall,
    ToolRule,
    Cancelled,
    InsufficientCredits,
    RequiresApproval,
    ContextWindowOverflowInSystemPrompt,
}

impl StopReason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
        Self::EndTurn,
        Self::Error,
        Self::LlmApiError,
        Self::InvalidLlmResponse,
        Self::InvalidToolCall,
        Self::MaxSteps,
        Self::MaxTokensExceeded,
        Self::NoToolCall,
        Self::ToolRule,
        Self::Cancelled,
        Self::InsufficientCredits,
        Self::RequiresApproval,
        Self::ContextWindowOverflowInSystemPrompt,
    ];

    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::Error => "error",
            Self::LlmApiError => "llm_api_error",
            Self::InvalidLlmResponse => "invalid_llm_response",
            Self::InvalidToolCall => "invalid_tool_call",
            Self::MaxSteps => "max_steps",
            Self::MaxTokensExceeded => "max_tokens_exceeded",
            Self::NoToolCall => "no_tool_call",
            Self::ToolRule => "tool_rule",
            Self::Cancelled => "cancelled",
            Self::InsufficientCredits => "insufficient_credits",
            Self::RequiresApproval => "requires_approval",
            Self::ContextWindowOverflowInSystemPrompt => "context_window_overflow_in_system_prompt",
        }
    }

    /// The reason of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// What a run that stopped for this reason is called.
    pub fn run_status(self) -> RunStatus {
        match self {
            Self::EndTurn | Self::MaxSteps | Self::MaxTokensExceeded | Self::ToolRule | Self::RequiresApproval => {
                RunStatus::Completed
            }
            Self::Cancelled => RunStatus::Cancelled,
            Self::Error
            | Self::LlmApiError
            | Self::InvalidLlmResponse
            | Self::InvalidToolCall
            | Self::NoToolCall
            | Self::InsufficientCredits
            | Self::ContextWindowOverflowInSystemPrompt => RunStatus::Failed,
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunStatus {
    Created,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl RunStatus {
    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Created, Self::Running, Self::Completed, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}

/// One request to one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub organization: OrganizationId,
    pub agent: AgentId,
    pub conversation: ConversationId,
    pub status: RunStatus,
    pub stop_reason: Option<StopReason>,
    /// For people: what went wrong, where something did.
    pub error: Option<String>,
    pub background: bool,
    pub usage: Usage,
    pub step_count: u32,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
}
