//! API keys: what a client that is not the operator shows to be let in, and what that opens.
//!
//! A key's text is known to whoever holds it and to nobody else: what is kept is its digest.

use std::sync::Arc;

use jiff::Timestamp;

use crate::ids::{AgentId, ApiKeyId, OrganizationId, UserId};
use crate::owner::{Actor, Caller};
use crate::session::Digest;

/// How the text of every API key begins, so that nobody takes it for another vendor's.
pub const KEY_BEGINNING: &str = "lib-";
/// Random bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Characters of a key that are kept to tell keys apart. Four random bytes are public then; 28 stay secret.
const SHOWN_CHARS: usize = KEY_BEGINNING.len() + 8;

/// What a key opens. None of these opens the console, where keys are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyScope {
    /// OpenAI's door, to these agents only. Where they were all deleted since, to nobody.
    Agents(Arc<[AgentId]>),
    /// OpenAI's door, to all agents of the organisation.
    AllAgents,
    /// All agents, and Letta's door too, where agents are made, changed and deleted.
    Letta,
}

impl KeyScope {
    /// The agents that it is limited to; None means all of the organisation's.
    pub fn agents(&self) -> Option<&Arc<[AgentId]>> {
        match self {
            Self::Agents(agents) => Some(agents),
            Self::AllAgents | Self::Letta => None,
        }
    }

    /// Whether whoever comes as `caller` may give it to a key: nobody makes a key that opens more than their own.
    /// Letta's door is the operator's to give.
    pub fn may_be_given_by(&self, caller: &Caller) -> bool {
        match self {
            Self::Agents(agents) => agents.iter().all(|agent| caller.may_use(*agent)),
            Self::AllAgents => caller.agents.is_none(),
            Self::Letta => caller.key.is_none(),
        }
    }
}

/// A key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub organization: OrganizationId,
    pub created_by: UserId,
    /// Unique among the organisation's keys that are not revoked.
    pub name: String,
    /// SHA-256 of the key's text.
    pub digest: Digest,
    /// The first characters of its text.
    pub beginning: String,
    pub scope: KeyScope,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// Exact while the program runs; a crash may lose the last minute.
    pub last_used_at: Option<Timestamp>,
}

impl ApiKey {
    /// On whose behalf its holder acts.
    pub fn actor(&self) -> Actor {
        Actor { user: self.created_by, organization: self.organization }
    }

    /// What its holder may do.
    pub fn caller(&self) -> Caller {
        Caller { key: Some(self.id), agents: self.scope.agents().cloned() }
    }
}

/// The text of a new key.
pub fn key_text(random: &[u8; KEY_BYTES]) -> String {
    let mut text = KEY_BEGINNING.to_owned();
    text.extend(random.iter().map(|byte| format!("{byte:02x}")));
    text
}

/// As much of a key's text as may be kept and shown.
pub fn shown_beginning(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_holds_all_random_bytes_and_shows_few() {
        let mut random = [0xab; KEY_BYTES];
        random[0] = 1;
        let text = key_text(&random);
        assert_eq!(text.len(), KEY_BEGINNING.len() + 2 * KEY_BYTES);
        assert!(text.starts_with("lib-01abab") && text.ends_with("abab"));
        assert_eq!(shown_beginning(&text), "lib-01ababab");
    }

    #[test]
    fn nobody_gives_more_than_they_have() {
        let [mine, other] = [AgentId::random(), AgentId::random()];
        let key = Some(ApiKeyId::random());
        let (operator, all) = (Caller::default(), Caller { key, agents: None });
        let one = Caller { key, agents: Some(Arc::from([mine])) };
        let none = Caller { key, agents: Some(Arc::from([])) };
        let (of_mine, of_both) = (KeyScope::Agents(Arc::from([mine])), KeyScope::Agents(Arc::from([mine, other])));
        let may = |caller: &Caller| {
            [&of_mine, &of_both, &KeyScope::AllAgents, &KeyScope::Letta].map(|scope| scope.may_be_given_by(caller))
        };
        assert_eq!(may(&operator), [true, true, true, true]);
        assert_eq!(may(&all), [true, true, true, false]);
        assert_eq!(may(&one), [true, false, false, false]);
        assert_eq!(may(&none), [false, false, false, false]);
    }
}
