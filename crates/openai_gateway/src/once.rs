//! Requests of which nothing is kept: a model asked directly, tasks that a client sets for itself, and requests that
//! say so (`store: false`, `metadata.ephemeral`).
//!
//! No session is touched and none is made. A request that only does not want to be kept is still answered by an agent
//! that remembers: it is shown its memory as that session has it. A task is not: it speaks about the chat, not in it.

use dispatch::request::{Detail, RunOptions};
use dispatch::{OnceModel, OnceRequest};
use domain::{Actor, ConversationId, ModelHandle};

use crate::OpenAiGateway;
use crate::answer::{Manner, Source, Teller};
use crate::ask::Ask;
use crate::auxiliary;
use crate::config::{ReasoningShown, Unescape};
use crate::delta;
use crate::error::ApiError;
use crate::tool_bridge::Bridge;
use crate::wire::chat_messages::ClientRole;
use crate::wire::chat_request::ChatRequest;

/// A request of which nothing is kept.
pub(crate) struct Once {
    door: OpenAiGateway,
    actor: Actor,
    who: Asked,
    reasoning: ReasoningShown,
    unescape: Unescape,
    request: ChatRequest,
}

enum Asked {
    Model(ModelHandle),
    /// An agent's model for a task, or an agent with the memory of the session that is named.
    Agent(Box<Ask>, Memory),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Shown,
    Away,
}
