//! Reads all that a step begins with in one view of the database.

use std::sync::Arc;

use domain::{AgentId, AgentSnapshot, ConversationId, Memory, OrganizationId};

use crate::dialect::{Db, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::{agents, archives, blocks, conversations, tools};

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
            Ok(loaded)
        })
        .await
    }
}

fn load(
    db: &Db,
    owner: OrganizationId,
    agent: AgentId,
    conversation: ConversationId,
) -> Result<AgentSnapshot, StoreError> {
    let shared = agents::load(db, owner, agent)?;
    if conversations::load(db, owner, conversation)?.agent != agent {
        return Err(StoreError::not_found("conversation", conversation));
    }
    Ok(AgentSnapshot {
        agent: shared,
        conversation,
        identity: None,
        memory: Memory::new(blocks::of_agent(db, owner, agent)?),
        tools: tools::of_agent(db, owner, agent)?.into(),
        context: Arc::new(conversations::load_context(db, owner, conversation)?),
        message_count: message_count(db, owner, agent)?,
        archival: archives::archival(db, owner, agent)?,
    })
}

fn message_count(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<u64, StoreError> {
    const SQL: &str =
        "select coalesce(sum(message_count), 0) from conversation where agent_id = $1 and organization_id = $2";
    Ok(db.first(SQL, params![agent.as_bytes(), owner.as_bytes()], |row| row.whole())?.unwrap_or_default())
}
