//! What a run is given.

use std::sync::Arc;

use domain::seams::chat_model::{Sampling, ToolSpec};
use domain::{
    Actor, AgentId, ContentPart, ConversationId, Digest, IdentityId, MessageId, Role, RunId, Standing, ToolCall,
    ToolReturn, ToolStatus,
};

/// A message that a caller brings.
#[derive(Debug, Clone, PartialEq)]
pub struct InputMessage {
    /// User or system; doors refuse others.
    pub role: Role,
    pub content: Arc<[ContentPart]>,
    pub name: Option<Arc<str>>,
    /// The client's own id for it.
    pub otid: Option<Arc<str>>,
}

/// A message of a history that a client brings, as it was said elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct PastMessage {
    /// System, user, assistant or tool.
    pub role: Role,
    pub content: Arc<[ContentPart]>,
    /// Calls of an assistant message; each has its return in a later tool message, or waits for one.
    pub tool_calls: Arc<[ToolCall]>,
    pub tool_returns: Arc<[ToolReturn]>,
    pub name: Option<Arc<str>>,
    /// Kept, or an example.
    pub standing: Standing,
    /// Digest of a user's words, for the session's transcript.
    pub text: Option<Digest>,
}

/// What a client's tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientReturn {
    pub call_id: Arc<str>,
    pub status: ToolStatus,
    pub text: Arc<str>,
}

/// What the store remembers of a session's request, with the first step of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMark {
    /// Digests of what users said in this request before its newest message: the messages before the last one.
    pub said: Vec<Digest>,
    /// Digest of the newest message; None where the request only brought results of tools.
    pub text: Option<Digest>,
    pub body: Option<Digest>,
    pub idempotency: Option<Digest>,
    /// Whether it may be of another chat of the same session than the request before it.
    pub apart: bool,
}

/// What becomes of the context before the model is asked. All of it is stored with the first step, or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opening {
    /// This message and all later ones of the conversation go out of the context and are superseded.
    pub rewind: Option<MessageId>,
    /// What was said elsewhere, oldest first.
    pub history: Vec<PastMessage>,
    /// Results of the client's tools for calls that wait. Calls that wait and have none here get a failed one.
    pub returns: Vec<ClientReturn>,
    pub messages: Vec<InputMessage>,
    /// Set by the gateway for a session.
    pub mark: Option<RequestMark>,
}

impl Opening {
    /// New messages and nothing else.
    pub fn messages(messages: Vec<InputMessage>) -> Self {
        Self { messages, ..Self::default() }
    }
}

/// Whether the client wants one of its tools called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ClientToolChoice {
    #[default]
    Auto,
    /// None of them is offered.
    None,
    /// The answer must call one of them.
    Required,
    /// The answer must call this one, by the name that the model is shown.
    Function(Arc<str>),
}

/// Tools that the client runs. They are offered in one run and belong to nobody afterwards.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientTools {
    /// Under the names that the model is shown, which no tool of the agent has.
    pub specs: Arc<[ToolSpec]>,
    pub choice: ClientToolChoice,
    /// Whether one answer may hold several calls of them. None means as the model is used to.
    pub parallel: Option<bool>,
}

impl ClientTools {
    /// The client's tool of that name.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| &*spec.name == name)
    }
}

/// What holds for one run only and is never written to the agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOptions {
    /// None means the default.
    pub max_steps: Option<u32>,
    pub sampling: Sampling,
    pub client_tools: ClientTools,
}

/// One request to one agent, checked and placed.
#[derive(Debug, Clone)]
pub struct RunInput {
    pub run: RunId,
    pub actor: Actor,
    pub agent: AgentId,
    pub conversation: ConversationId,
    pub identity: Option<IdentityId>,
    pub opening: Opening,
    pub options: RunOptions,
    pub background: bool,
}

/// Leave to run. It is made by whoever keeps the order of runs, and dies with the run.
pub struct RunPermit {
    _guard: Box<dyn std::any::Any + Send + Sync>,
}

impl RunPermit {
    /// A permit that gives back `guard` when it is dropped.
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self { _guard: Box::new(guard) }
    }
}
