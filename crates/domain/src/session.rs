//! Sessions of the OpenAI gateway: which conversation a client's chat is, and what was asked in it.
//!
//! A session is a conversation of an agent that a client names by a header or a field of its own. Keys and texts are
//! kept as digests only, so that a session can be found and compared without keeping what a client sent twice.

use jiff::Timestamp;

use crate::ids::{AgentId, ConversationId, MessageId, OrganizationId, RunId};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A client's chat with an agent. The conversation behind it holds the context and the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub organization: OrganizationId,
    pub agent: AgentId,
    /// Digest of the API key's id, of what names the session and of the name itself; unique for the agent.
    pub key: Digest,
    pub conversation: ConversationId,
    /// Which header or field named it, for the operator: `x-session-id`, `derived`, …
    pub origin: String,
    /// What the client called it, cut to a readable length.
    pub label: String,
    /// The client's system text that the conversation's overlay block holds.
    pub overlay: Option<Digest>,
    /// The client's system text that was sent once as a preface, because the overlay could not be stored.
    pub preface: Option<Digest>,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
}

/// One request of a session that led to messages. In order, those that were not superseded are the session's
/// transcript as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    pub conversation: ConversationId,
    /// The first message that came of it: the user's, or the results of the client's tools.
    pub message: MessageId,
    /// Digest of the user's words; None where the request only brought results of tools.
    pub text: Option<Digest>,
    /// The run that answered it; None for turns that were taken over from the client's history.
    pub run: Option<RunId>,
    /// Digest of the request's body, by which a repeated request is recognised.
    pub body: Option<Digest>,
    /// Digest of the API key's id and the client's `Idempotency-Key`; unique for the organisation.
    pub idempotency: Option<Digest>,
    /// Whether it may be of another chat of the same session than the request before it.
    pub apart: bool,
    pub created_at: Timestamp,
}
