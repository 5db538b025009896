//! Who owns rows: organisations and their users.
//!
//! Every row belongs to an organisation and every query carries it. An [`Actor`] is the proof that a request was let in.

use std::sync::Arc;

use jiff::Timestamp;

use crate::ids::{AgentId, ApiKeyId, OrganizationId, UserId};

/// A tenant: nothing of one organisation is visible to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organization {
    pub id: OrganizationId,
    pub name: String,
    pub created_at: Timestamp,
}

/// A member of an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub organization: OrganizationId,
    pub name: String,
    pub created_at: Timestamp,
}

/// On whose behalf something is done. Made by the server after authentication, and by nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Actor {
    pub user: UserId,
    pub organization: OrganizationId,
}

/// With which key a request came, and what that key opens. Made by the server after authentication, and by nobody else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// None is the operator's own key, or no key where none is wanted.
    pub key: Option<ApiKeyId>,
    /// The agents that it may talk to; None means all of the organisation's.
    pub agents: Option<Arc<[AgentId]>>,
}

impl Caller {
    /// Whether it may talk to `agent`.
    pub fn may_use(&self, agent: AgentId) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains(&agent))
    }
}

/// The bytes of `00000000-0000-4000-8000-000000000000`, which clients know as the default user and organisation.
const DEFAULT_ID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0];

impl Actor {
    /// The only user of a house that has not been divided among organisations.
    pub fn default_user() -> Self {
        Self { user: UserId::from_bytes(DEFAULT_ID), organization: OrganizationId::from_bytes(DEFAULT_ID) }
    }
}
