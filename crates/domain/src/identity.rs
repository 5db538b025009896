//! Identities: the people and systems that talk to agents.

use jiff::Timestamp;

use crate::ids::{IdentityId, OrganizationId};

/// What an identity stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityType {
    Org,
    User,
    Other,
}

impl IdentityType {
    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Org => "org",
            Self::User => "user",
            Self::Other => "other",
        }
    }

    /// The type of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Org, Self::User, Self::Other].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A person or system, known to its organisation by `key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub id: IdentityId,
    pub organization: OrganizationId,
    /// The caller's own name for it, unique within the organisation.
    pub key: String,
    pub name: String,
    pub kind: IdentityType,
    pub created_at: Timestamp,
}
