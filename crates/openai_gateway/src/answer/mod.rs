//! From what happens in a run to what an OpenAI client is told.
//!
//! [`Teller`] (pure) decides what of a run's events is said; [`stream`] writes it as it comes, [`whole`] as one object.
//! Reasoning is dropped unless the operator chose to show it, and the agent's own tools never leave.

pub(crate) mod stream;
mod teller;
pub(crate) mod whole;

use std::sync::Arc;

use dispatch::events::{Finished, RunEvent, RunFailure};
use dispatch::request::RunHandle;
use domain::seams::chat_model::ModelError;
use domain::{Message, StopReason};

pub(crate) use teller::Teller;

use crate::config::{ReasoningShown, Unescape};
use crate::error::ApiError;
use crate::tool_bridge::Bridge;

/// Messages of one answer are told apart by an empty line.
const BETWEEN: &str = "\n\n";

/// How one answer is told.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    pub(crate) bridge: Bridge,
    pub(crate) reasoning: ReasoningShown,
    pub(crate) unescape: Unescape,
    /// The client speaks of functions, not of tools.
    pub(crate) legacy: bool,
    /// The client takes one call in an answer.
    pub(crate) one_call: bool,
}

/// Where an answer comes from.
pub(crate) enum Source {
    /// There was nothing to answer.
    Nothing,
    /// The request was answered before; this is what came of it.
    Earlier { messages: Vec<Arc<Message>>, finished: Finished },
    /// A run, with its first event where that was waited for.
    Run { handle: RunHandle, first: Option<RunEvent> },
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
}

impl Finish {
    /// OpenAI's word for it.
    pub(crate) fn as_str(self, legacy: bool) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls if legacy => "function_call",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// How a run's end is told: one table for streams and whole answers. `spoke`: the agent said something.
pub(crate) fn finish(finished: &Finished, spoke: bool) -> Result<Finish, ApiError> {
    if let Some(RunFailure::Model(ModelError::Filtered)) = &finished.failure {
        return Ok(Finish::ContentFilter);
    }
    if let Some(failure) = &finished.failure {
        let error = ApiError::from(failure);
        return Err(if finished.step_count > 0 { error.not_to_be_repeated() } else { error });
    }
    match finished.stop_reason {
        StopReason::EndTurn | StopReason::ToolRule => Ok(Finish::Stop),
        // A run that was stopped before it was done must not look like one that had nothing more to say.
        StopReason::MaxTokensExceeded | StopReason::MaxSteps => Ok(Finish::Length),
        StopReason::RequiresApproval => Ok(Finish::ToolCalls),
        // The model spoke without a tool where it should have called one; its words are an answer all the same.
        StopReason::NoToolCall if spoke => Ok(Finish::Stop),
        StopReason::NoToolCall
        | StopReason::Error
        | StopReason::LlmApiError
        | StopReason::InvalidLlmResponse
        | StopReason::InvalidToolCall
        | StopReason::Cancelled
        | StopReason::InsufficientCredits
        | StopReason::ContextWindowOverflowInSystemPrompt => Err(ApiError::unfinished(finished.stop_reason)),
    }
}
