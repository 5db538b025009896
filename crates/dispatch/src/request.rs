//! What a door asks for, and what it gets back.

use std::sync::Arc;
use std::time::Duration;

use agent::events::RunEvent;
use domain::{Actor, AgentId, ContentPart, ConversationId, IdentityId, Role, RunId};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

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

/// Whether a run outlives its watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Dropping the [`RunHandle`] cancels the run, upstream call included.
    Foreground,
    /// The run goes on alone.
    Background,
}

/// Whether the watcher wants pieces or only what was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// [`RunEvent::Piece`]s are sent too.
    Pieces,
    /// Only committed steps and the end.
    Steps,
}

/// One request to one agent.
#[derive(Debug, Clone)]
pub struct RunRequest {
    pub actor: Actor,
    pub agent: AgentId,
    /// None means the agent's default conversation.
    pub conversation: Option<ConversationId>,
    pub identity: Option<IdentityId>,
    /// At least one message.
    pub input: Vec<InputMessage>,
    /// None means the default of 50.
    pub max_steps: Option<u32>,
    pub lifetime: Lifetime,
    pub detail: Detail,
}

/// A run that was taken on.
#[derive(Debug)]
pub struct RunHandle {
    pub run: RunId,
    /// What happens, in order; the last event is [`RunEvent::Finished`]. A slow reader slows the run down.
    pub events: mpsc::Receiver<RunEvent>,
    pub(crate) _cancel: Option<DropGuard>,
}

/// Why a run was not taken on, named by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("Agent with ID {0} not found")]
    AgentNotFound(AgentId),
    #[error("conversation `{0}` does not exist for this agent")]
    ConversationNotFound(ConversationId),
    /// Bring at least one message with something in it.
    #[error("{0}")]
    BadInput(String),
    /// Come back later.
    #[error("too many requests are waiting for {what}; try again in {} s", retry_after.as_secs())]
    QueueFull { what: &'static str, retry_after: Duration },
    /// The server is stopping.
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error(transparent)]
    Store(#[from] storage::StoreError),
}
