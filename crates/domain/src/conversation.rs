//! Conversations: each has its own context window over one agent's memory.

use jiff::Timestamp;

use crate::ids::{AgentId, ConversationId, IdentityId, OrganizationId};

/// A conversation of an agent. Its context list is kept by the store beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: ConversationId,
    pub organization: OrganizationId,
    pub agent: AgentId,
    /// The person that it belongs to, where a caller named one.
    pub identity: Option<IdentityId>,
    pub summary: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
