//! Steps: one model call with its tool calls.

use jiff::Timestamp;

use crate::ids::{AgentId, OrganizationId, RunId, StepId};
use crate::run::StopReason;
use crate::usage::Usage;

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    Success,
    Failed,
    Cancelled,
}

impl StepStatus {
    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Success, Self::Failed, Self::Cancelled].into_iter().find(|status| status.as_str() == text)
    }
}

/// One model call with its tool calls, as it was committed.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub id: StepId,
    pub organization: OrganizationId,
    pub agent: AgentId,
    pub run: RunId,
    /// The model's handle, `provider/model`.
    pub model: String,
    pub context_window: u32,
    pub usage: Usage,
    pub stop_reason: Option<StopReason>,
    pub status: StepStatus,
    pub created_at: Timestamp,
}
