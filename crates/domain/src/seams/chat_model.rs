//! The seam to language models: one request in, a stream of events out.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;

use super::BoxFuture;
use crate::ids::{ConversationId, StepId};
use crate::message::{ContentPart, Role, ToolCall};
use crate::model_config::ResponseFormat;
use crate::usage::Usage;

/// A message as a model is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    pub role: Role,
    pub content: Arc<[ContentPart]>,
    /// Calls of an assistant message.
    pub tool_calls: Arc<[ToolCall]>,
    /// The call that a tool message answers.
    pub tool_call_id: Option<Arc<str>>,
}

/// A tool as a model is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// JSON Schema of the arguments, with everything injected that the policy injects.
    pub parameters: Arc<Value>,
    /// Whether the vendor has to hold the model to the schema; None leaves it to the vendor.
    pub strict: Option<bool>,
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    /// The tools are shown, but none may be called.
    None,
    Required,
    /// This one and no other.
    Function(Arc<str>),
}

/// How an answer is wanted. What is not set is left to whoever is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u32>,
    /// Texts that end the answer when the model writes them.
    pub stop: Vec<String>,
    pub seed: Option<i64>,
    pub presence_penalty: Option<f64>,
    pub frequency_penalty: Option<f64>,
    pub logit_bias: Option<Value>,
    pub reasoning_effort: Option<String>,
    pub verbosity: Option<String>,
    pub response_format: Option<ResponseFormat>,
    /// An opaque name of the caller, for the vendor's abuse checks.
    pub user: Option<String>,
}

impl Sampling {
    /// These wishes, and `base` where they say nothing.
    #[must_use]
    pub fn over(&self, base: Self) -> Self {
        let wish = self.clone();
        Self {
            temperature: wish.temperature.or(base.temperature),
            top_p: wish.top_p.or(base.top_p),
            max_output_tokens: wish.max_output_tokens.or(base.max_output_tokens),
            stop: if wish.stop.is_empty() { base.stop } else { wish.stop },
            seed: wish.seed.or(base.seed),
            presence_penalty: wish.presence_penalty.or(base.presence_penalty),
            frequency_penalty: wish.frequency_penalty.or(base.frequency_penalty),
            logit_bias: wish.logit_bias.or(base.logit_bias),
            reasoning_effort: wish.reasoning_effort.or(base.reasoning_effort),
            verbosity: wish.verbosity.or(base.verbosity),
            response_format: wish.response_format.or(base.response_format),
            user: wish.user.or(base.user),
        }
    }
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// For models that keep state of their own.
    pub conversation: ConversationId,
    pub step: StepId,
    /// The provider's own name of the model.
    pub model: Arc<str>,
    pub messages: Vec<ChatMessage>,
    pub tools: Arc<[ToolSpec]>,
    /// Ignored where there are no tools.
    pub tool_choice: ToolChoice,
    pub parallel_tool_calls: bool,
    pub sampling: Sampling,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
}

/// A piece of a model's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// Words of the answer.
    Text(String),
    /// Words of private reasoning.
    Reasoning(String),
    /// The vendor's proof of the reasoning so far.
    ReasoningSignature(String),
    /// A tool call begins. Indexes count from 0 within one answer.
    ToolCallStarted {
        index: usize,
        id: String,
        name: String,
    },
    /// More of a tool call's argument text.
    ToolCallArguments {
        index: usize,
        fragment: String,
    },
    Usage(Usage),
    /// The answer is complete. A stream that ends without it was cut.
    Finished(FinishReason),
}

/// What went wrong with a model, named by what the caller can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Wait and try again.
    #[error("the model's provider limits the rate: {detail}")]
    RateLimited { retry_after: Option<Duration>, detail: String },
    /// Send less.
    #[error("the request is longer than the model's context length: {detail}")]
    ContextTooLong { detail: String },
    /// Ask something else.
    #[error("the model's provider refused the content: {detail}")]
    Refused { detail: String },
    /// Ask something else: the answer was begun and the provider's filter stopped it.
    #[error("the model's provider filtered the answer")]
    Filtered,
    /// Check the key.
    #[error("the model's provider did not accept the credentials: {detail}")]
    Unauthorized { detail: String },
    /// Change the request: it will fail again as it is.
    #[error("the model's provider rejected the request: {detail}")]
    Rejected { detail: String },
    /// Try again later or elsewhere.
    #[error("the model's provider is not available: {detail}")]
    Unavailable { detail: String },
    /// The answer was cut or malformed.
    #[error("the model's answer broke off or was malformed: {detail}")]
    Broken { detail: String },
}

impl ModelError {
    /// Whether the same request may succeed if it is sent again.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Unavailable { .. } | Self::Broken { .. } => true,
            Self::ContextTooLong { .. }
            | Self::Refused { .. }
            | Self::Filtered
            | Self::Unauthorized { .. }
            | Self::Rejected { .. } => false,
        }
    }
}

/// A model's answer as it arrives. Dropping it cancels the upstream call.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Something that answers chat requests.
pub trait ChatModel: Send + Sync {
    /// Sends `request`. Errors before the first event come from the future, later ones from the stream.
    fn stream(&self, request: Arc<ModelRequest>) -> BoxFuture<'_, Result<ModelStream, ModelError>>;

    /// Whether `model`, by the provider's own name of it, may be shown images. What is not known is tried.
    fn sees(&self, model: &str) -> bool {
        let _ = model;
        true
    }

    /// Whether an answer is sure to have the shape that [`Sampling::response_format`] names. Where it isn't, the caller
    /// has to look.
    fn enforces(&self, format: &ResponseFormat) -> bool {
        matches!(format, ResponseFormat::Text)
    }
}
