//! Reads all that a step begins with in one view of the database.

use std::sync::Arc;

use domain::{AgentId, AgentSnapshot, ConversationId, Memory, OrganizationId};

use crate::dialect::{Db, params};
use crate::error::StoreError;
use crate::scoped_blocks::ScopedBlocks;
use crate::store::Store;
use crate::{agents, archives, blocks, conversations, scoped_blocks, tools};

impl Store {
    /// One agent in one conversation, from memory where it is warm.
    pub async fn snapshot(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        conversation: ConversationId,
    ) -> Result<AgentSnapshot, StoreError> {
        if let Some(warm) = self.cache().snapshot(owner, agent, conversation) {
            return Ok(warm);
        }
        let ticket = self.cache().ticket(agent, conversation);
        self.read(move |db| {
            let loaded = db.consistently(|db| load(db, owner, agent, conversation))?;
            ticket.fill(&loaded);
            Ok(loaded.snapshot)
        })
        .await
    }
}

/// A snapshot, and what its memory was put together from.
pub(crate) struct Loaded {
    pub(crate) snapshot: AgentSnapshot,
    /// The agent's own blocks.
    pub(crate) memory: Memory,
    /// Those of the person and of the conversation.
    pub(crate) own: ScopedBlocks,
}

fn load(db: &Db, owner: OrganizationId, agent: AgentId, id: ConversationId) -> Result<Loaded, StoreError> {
    let shared = agents::load(db, owner, agent)?;
    let conversation = conversations::load(db, owner, id)?;
    if conversation.agent != agent {
        return Err(StoreError::not_found("conversation", id));
    }
    let memory = Memory::new(blocks::of_agent(db, owner, agent)?);
    let own = ScopedBlocks {
        person: match conversation.identity {
            Some(identity) => scoped_blocks::of_person(db, owner, agent, identity)?,
            None => Vec::new(),
        },
        conversation: scoped_blocks::of_conversation(db, owner, id)?,
    };
    let snapshot = AgentSnapshot {
        agent: shared,
        conversation: id,
        identity: conversation.identity,
        memory: own.shown_with(&memory, conversation.identity),
        tools: tools::of_agent(db, owner, agent)?.into(),
        context: Arc::new(conversations::load_context(db, owner, id)?),
        message_count: message_count(db, owner, agent)?,
        archival: archives::archival(db, owner, agent)?,
    };
    Ok(Loaded { snapshot, memory, own })
}

fn message_count(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<u64, StoreError> {
    const SQL: &str =
        "select coalesce(sum(message_count), 0) from conversation where agent_id = $1 and organization_id = $2";
    Ok(db.first(SQL, params![agent.as_bytes(), owner.as_bytes()], |row| row.whole())?.unwrap_or_default())
}
