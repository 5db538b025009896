//! What a run is given.

use std::sync::Arc;

use domain::{Actor, AgentId, ContentPart, ConversationId, IdentityId, Role, RunId};

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

/// One request to one agent, checked and placed.
#[derive(Debug, Clone)]
pub struct RunInput {
    pub run: RunId,
    pub actor: Actor,
    pub agent: AgentId,
    pub conversation: ConversationId,
    pub identity: Option<IdentityId>,
    pub messages: Vec<InputMessage>,
    pub max_steps: u32,
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
