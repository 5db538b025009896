//! Sessions: found or made in the store, and the ones in use kept in memory.
//!
//! What is in memory is bounded in number and by idle time; what is stored is not, so a session survives both and a
//! restart. A session is made in one commit with its conversation and, where a person is named, with their identity
//! and their own `human` block.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::block::{BlockDraft, HUMAN};
use domain::identity::IdentityType;
use domain::{
    Actor, Agent, AgentId, Block, BlockId, Conversation, ConversationId, Digest, Identity, IdentityId, Label, Session,
    Timestamp,
};
use serde_json::Map;
use storage::{BlockEditor, Change, Commit, Store, StoreError};

use crate::error::ApiError;
use crate::session_name::{Person, SessionName};

/// How often a session is looked for again where others make the same one at the same time.
const MAX_TRIES: u32 = 5;

/// A session that is in use.
#[derive(Debug, Clone)]
pub(crate) struct OpenSession {
    pub(crate) session: Session,
    pub(crate) identity: Option<IdentityId>,
}

/// The sessions in memory.
pub(crate) struct Sessions {
    capacity: usize,
    idle: Duration,
    open: Mutex<HashMap<(AgentId, Digest), Entry>>,
}

struct Entry {
    session: OpenSession,
    used: Instant,
}

/// Who wants to talk to whom.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) actor: Actor,
    pub(crate) agent: &'a Agent,
    pub(crate) name: &'a SessionName,
    /// None where memory is shared, or where nobody is named.
    pub(crate) person: Option<&'a Person>,
    pub(crate) now: Timestamp,
}

impl Sessions {
    /// Keeps so many sessions in memory, each for so long after its last use.
    pub(crate) fn new(capacity: usize, idle: Duration) -> Self {
        Self { capacity: capacity.max(1), idle, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(AgentId, Digest), Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are in memory.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// The session that a request belongs to. It is made where there is none yet.
    pub(crate) async fn open(&self, store: &Store, wanted: Wanted<'_>) -> Result<OpenSession, ApiError> {
        if let Some(session) = self.remembered((wanted.agent.id, wanted.name.key)) {
            return Ok(session);
        }
        let mut tries = 0;
        let session = loop {
            match find_or_make(store, wanted).await {
                // Somebody else made the session, the person or their block at the same time.
                Err(StoreError::Conflict { .. }) if tries < MAX_TRIES => tries += 1,
                found => break found?,
            }
        };
        self.keep(session.clone());
        Ok(session)
    }

    /// A session that is in memory and was used not too long ago. That is a use of it.
    fn remembered(&self, place: (AgentId, Digest)) -> Option<OpenSession> {
        let mut open = self.lock();
        let entry = open.get_mut(&place).filter(|entry| entry.used.elapsed() < self.idle)?;
        entry.used = Instant::now();
        Some(entry.session.clone())
    }

    /// Remembers a session as it is now.
    pub(crate) fn keep(&self, session: OpenSession) {
        let now = Instant::now();
        let mut open = self.lock();
        open.insert((session.session.agent, session.session.key), Entry { session, used: now });
        if open.len() <= self.capacity {
            return;
        }
        open.retain(|_, entry| now.duration_since(entry.used) < self.idle);
        while open.len() > self.capacity {
            // A scan of a hundred entries is nothing beside the load that has just filled one of them.
            let Some(oldest) = open.iter().min_by_key(|(_, entry)| entry.used).map(|(place, _)| *place) else { return };
            open.remove(&oldest);
        }
    }

    /// Forgets a session, for example because its agent is gone.
    pub(crate) fn forget(&self, session: &Session) {
        self.lock().remove(&(session.agent, session.key));
    }
}

async fn find_or_make(store: &Store, wanted: Wanted<'_>) -> Result<OpenSession, StoreError> {
    let owner = wanted.actor.organization;
    if let Some(session) = store.session(owner, wanted.agent.id, wanted.name.key).await? {
        let identity = store.conversation(owner, session.conversation).await?.identity;
        return Ok(OpenSession { session, identity });
    }
    make(store, wanted).await
}

async fn make(store: &Store, wanted: Wanted<'_>) -> Result<OpenSession, StoreError> {
    let Wanted { actor, agent, name, person, now } = wanted;
    let mut commit = Commit::new(actor, now);
    let identity = match person {
        None => None,
        Some(person) => Some(identity(store, wanted, person, &mut commit).await?),
    };
    let conversation = Conversation {
        id: ConversationId::random(),
        organization: actor.organization,
        agent: agent.id,
        identity,
        summary: None,
        created_at: now,
        updated_at: now,
    };
    let session = Session {
        organization: actor.organization,
        agent: agent.id,
        key: name.key,
        conversation: conversation.id,
        origin: name.origin.to_owned(),
        label: name.label.clone(),
        overlay: None,
        preface: None,
        created_at: now,
        last_used_at: now,
    };
    commit.changes.push(Change::InsertConversation(Box::new(conversation)));
    commit.changes.push(Change::InsertSession(Box::new(session.clone())));
    store.commit(commit).await?;
    Ok(OpenSession { session, identity })
}

/// The identity of a person, with a block of their own. What is not there yet goes into `commit`.
async fn identity(
    store: &Store,
    wanted: Wanted<'_>,
    person: &Person,
    commit: &mut Commit,
) -> Result<IdentityId, StoreError> {
    let Wanted { actor, agent, now, .. } = wanted;
    let known = store.identity_by_key(actor.organization, &person.key).await?;
    let id = match &known {
        Some(identity) => identity.id,
        None => {
            let identity = Identity {
                id: IdentityId::random(),
                organization: actor.organization,
                key: person.key.clone(),
                name: person.name.clone(),
                kind: IdentityType::User,
                created_at: now,
            };
            let id = identity.id;
            commit.changes.push(Change::InsertIdentity(Box::new(identity)));
            id
        }
    };
    let has_block = match &known {
        None => false,
        Some(_) => {
            let blocks = store.person_blocks(actor.organization, agent.id, id).await?;
            blocks.iter().any(|block| block.label.as_str() == HUMAN)
        }
    };
    if !has_block {
        let block = human_block(store, wanted).await?;
        let attach = Change::AttachPersonBlock { agent: agent.id, identity: id, block: block.id };
        commit.changes.push(Change::InsertBlock { block: Box::new(block), editor: BlockEditor::Api });
        commit.changes.push(attach);
    }
    Ok(id)
}

/// A block about somebody of whom nothing is known yet, as large and described as the agent's own.
async fn human_block(store: &Store, wanted: Wanted<'_>) -> Result<Block, StoreError> {
    let Wanted { actor, agent, now, .. } = wanted;
    let own = store.agent_blocks(actor.organization, agent.id).await?;
    let own = own.iter().find(|block| block.label.as_str() == HUMAN);
    let invalid = |error: domain::BlockError| StoreError::Invalid(error.to_string());
    let value = prompt::block_descriptions::UNKNOWN_HUMAN;
    let least = u32::try_from(value.chars().count()).unwrap_or(u32::MAX);
    Block::new(BlockDraft {
        id: BlockId::random(),
        organization: actor.organization,
        created_by: actor.user,
        label: Label::new(HUMAN).map_err(invalid)?,
        value: value.to_owned(),
        limit: own.map_or(domain::block::DEFAULT_BLOCK_LIMIT, |block| block.limit()).max(least),
        description: own
            .and_then(|block| block.description.clone())
            .or_else(|| prompt::block_descriptions::default_description(HUMAN)),
        read_only: false,
        metadata: Map::new(),
        created_at: now,
    })
    .map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session by its number.
    fn session(number: u8) -> OpenSession {
        let session = Session {
            organization: Actor::default_user().organization,
            agent: AgentId::random(),
            key: Digest([number; 32]),
            conversation: ConversationId::random(),
            origin: "x-session-id".to_owned(),
            label: number.to_string(),
            overlay: None,
            preface: None,
            created_at: Timestamp::UNIX_EPOCH,
            last_used_at: Timestamp::UNIX_EPOCH,
        };
        OpenSession { session, identity: None }
    }

    fn is_remembered(sessions: &Sessions, of: &OpenSession) -> bool {
        sessions.remembered((of.session.agent, of.session.key)).is_some()
    }

    #[test]
    fn what_was_used_longest_ago_leaves_memory_first() {
        let sessions = Sessions::new(2, Duration::from_secs(3_600));
        let [first, second, third] = [session(1), session(2), session(3)];
        sessions.keep(first.clone());
        sessions.keep(second.clone());
        // A use counts as well as a change.
        assert!(is_remembered(&sessions, &first));
        sessions.keep(third.clone());
        assert!(is_remembered(&sessions, &first) && is_remembered(&sessions, &third));
        assert!(!is_remembered(&sessions, &second));
        assert_eq!(sessions.len(), 2);
    }

    #[test]
    fn what_was_not_used_for_long_is_read_again() {
        let sessions = Sessions::new(2, Duration::ZERO);
        let first = session(1);
        sessions.keep(first.clone());
        assert!(!is_remembered(&sessions, &first));
        // The idle ones make room first.
        sessions.keep(session(2));
        sessions.keep(session(3));
        assert!(sessions.len() <= 2);
    }
}
