//! What a run tells its watchers, in order: pieces as they arrive, then what was committed, then the end.

use std::sync::Arc;

use domain::seams::chat_model::ModelError;
use domain::{Message, MessageId, RunId, StepId, StopReason, Timestamp, Usage};

/// One thing that happened in a run.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// A piece of an answer that is still being written. It is not stored yet: a run that fails takes it back.
    Piece(Piece),
    /// A step was committed; these messages are stored. The caller's own input is not repeated here.
    StepCommitted { step: StepId, messages: Vec<Arc<Message>> },
    /// The run is over and its last step is stored. Nothing follows.
    Finished(Finished),
}

/// A piece of an assistant message that is still being written.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The id that the message will be stored under.
    pub message: MessageId,
    pub step: StepId,
    pub at: Timestamp,
    pub kind: PieceKind,
}

/// What a piece adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PieceKind {
    /// Words for the user: a plain answer, or the decoded `message` argument of `send_message`.
    Text(String),
    /// Private reasoning; `is_native` as in the stored message.
    Reasoning { text: String, is_native: bool },
    /// A call of a tool other than `send_message` begins.
    ToolCallStarted { call_id: Arc<str>, name: Arc<str> },
    /// More of that call's argument text, as the model wrote it.
    ToolCallArguments { call_id: Arc<str>, fragment: String },
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Finished {
    pub run: RunId,
    pub stop_reason: StopReason,
    /// What went wrong, where something did.
    pub failure: Option<RunFailure>,
    pub usage: Usage,
    pub step_count: u32,
}

/// Why a run could not go on, named by what the caller can do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunFailure {
    /// The model failed; see its remedy.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The agent's model is not there: choose another or configure its provider.
    #[error("{0}")]
    NoModel(String),
    /// Attach a tool, or change the rules.
    #[error(
        "this agent must call a tool in every step, but it has none that its rules allow now: attach one, for example send_message"
    )]
    NoTool,
    /// Shorten the base prompt or the blocks, take tools away, or choose a model with a larger window.
    #[error(
        "the agent's system message with its tools is longer than the model's context length: shorten its memory, take tools away, or choose a model with a larger window ({0})"
    )]
    SystemTooLong(String),
    /// Somebody deleted the agent while it was running.
    #[error("the agent does not exist any more")]
    AgentGone,
    /// The server is stopping. What was committed stays; send the message again where nothing was.
    #[error("the server is shutting down")]
    Stopping,
    /// Make room. Nothing of the last step was kept.
    #[error("the disk is full, so nothing of this step was kept: make room, then send the message again")]
    Full,
    /// The store refused; nothing of the last step was kept. The details are in the log.
    #[error("the store failed")]
    Store,
    /// Mend the schema that the answer was to be held to.
    #[error("the schema of the wanted answer can't be used: {0}")]
    BadShape(String),
    /// Ask again, with a simpler schema or another model.
    #[error("the model's answer did not have the wanted shape, also after it was asked again: {0}")]
    WrongShape(String),
    /// The model did something that the run can't go on from.
    #[error("{0}")]
    BadReply(String),
}
