//! What a door asks for, and what it gets back.

use std::sync::Arc;
use std::time::Duration;

use agent::events::RunEvent;
use domain::{Actor, AgentId, ConversationId, IdentityId, ModelHandle, RunId, RunNote};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

pub use agent::input::{
    ClientReturn, ClientToolChoice, ClientTools, InputMessage, Opening, PastMessage, RequestMark, RunOptions,
};

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
    pub opening: Opening,
    pub options: RunOptions,
    pub lifetime: Lifetime,
    pub detail: Detail,
}

/// A run that was taken on.
#[derive(Debug)]
pub struct RunHandle {
    pub run: RunId,
    /// What happens, in order; the last event is [`RunEvent::Finished`]. A slow reader slows the run down.
    pub events: mpsc::Receiver<RunEvent>,
    /// Who answers where, and how it ended: known before the last event is sent.
    pub note: Arc<RunNote>,
    pub(crate) _cancel: Option<DropGuard>,
}

/// What a watcher finds when it looks.
#[derive(Debug)]
pub enum Burst {
    /// Everything that was ready, in order; at least one event.
    Events(Vec<RunEvent>),
    /// Nothing happened for a while.
    Quiet,
    /// The run broke off without its last event, which is a fault of ours.
    Broken,
}

impl RunHandle {
    /// Waits for the next event, but not longer than `patience`, and takes what else is ready: pieces that arrive
    /// together can leave together, in one write, and a slow one is not held back by a timer.
    pub async fn burst(&mut self, patience: Duration) -> Burst {
        let first = match tokio::time::timeout(patience, self.events.recv()).await {
            Ok(Some(first)) => first,
            Ok(None) => return Burst::Broken,
            Err(_) => return Burst::Quiet,
        };
        let mut events = vec![first];
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        Burst::Events(events)
    }
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
    /// Send text, or ask an agent whose model sees.
    #[error("the model `{0}` doesn't take images: send text, or use a model that does")]
    Blind(ModelHandle),
    /// Come back later.
    #[error("too many requests are waiting for {what}; try again in {} s", retry_after.as_secs())]
    QueueFull { what: &'static str, retry_after: Duration },
    /// The server is stopping.
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error(transparent)]
    Store(#[from] storage::StoreError),
}
