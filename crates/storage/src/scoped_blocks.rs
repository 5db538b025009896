//! Blocks that a person has with one agent, and blocks of one conversation.
//!
//! A conversation is shown the agent's blocks, then those of its person, then its own. Whoever is nearer to the
//! conversation takes the place of a block of the same label, so that no label is shown twice.

use std::sync::Arc;

use domain::block::HUMAN;
use domain::{AgentId, Block, BlockId, ConversationId, IdentityId, Memory, OrganizationId};

use crate::apply::Scope;
use crate::blocks::{block_columns, check_label, label_taken, read};
use crate::dialect::{Db, params};
use crate::error::StoreError;
use crate::store::Store;

/// What a conversation is shown beside its agent's blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScopedBlocks {
    /// In attach order, as those of the conversation.
    pub(crate) person: Vec<Arc<Block>>,
    pub(crate) conversation: Vec<Arc<Block>>,
}

impl ScopedBlocks {
    /// All that the conversation of `person` is shown. The agent's own block about somebody is about somebody else, so
    /// a person never sees it, not even where their own block is gone or has another label now.
    pub(crate) fn shown_with(&self, agent: &Memory, person: Option<IdentityId>) -> Memory {
        if self.person.is_empty() && self.conversation.is_empty() && person.is_none() {
            return agent.clone();
        }
        let is_hidden = |block: &Block| person.is_some() && block.label.as_str() == HUMAN;
        let own_human = self.person.iter().chain(&self.conversation).find(|own| is_hidden(own));
        let seen = agent.blocks().iter().filter(|block| own_human.is_some() || !is_hidden(block));
        let mut shown: Vec<Arc<Block>> = seen.cloned().collect();
        for own in self.person.iter().chain(&self.conversation) {
            match shown.iter_mut().find(|block| block.label == own.label) {
                Some(place) => *place = own.clone(),
                None => shown.push(own.clone()),
            }
        }
        Memory::new(shown)
    }

    /// Its blocks, wherever they hang.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Arc<Block>> {
        self.person.iter_mut().chain(&mut self.conversation)
    }

    pub(crate) fn remove(&mut self, block: BlockId) {
        self.person.retain(|has| has.id != block);
        self.conversation.retain(|has| has.id != block);
    }
}

impl Store {
    /// The blocks that a person has of their own with an agent, in attach order.
    pub async fn person_blocks(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        identity: IdentityId,
    ) -> Result<Vec<Arc<Block>>, StoreError> {
        self.read(move |db| {
            db.consistently(|db| {
                crate::agents::require(db, owner, agent)?;
                of_person(db, owner, agent, identity)
            })
        })
        .await
    }

    /// The blocks that only this conversation is shown, in attach order.
    pub async fn conversation_blocks(
        &self,
        owner: OrganizationId,
        conversation: ConversationId,
    ) -> Result<Vec<Arc<Block>>, StoreError> {
        self.read(move |db| {
            db.consistently(|db| {
                crate::conversations::load(db, owner, conversation)?;
                of_conversation(db, owner, conversation)
            })
        })
        .await
    }
}

pub(crate) fn of_person(
    db: &Db,
    owner: OrganizationId,
    agent: AgentId,
    identity: IdentityId,
) -> Result<Vec<Arc<Block>>, StoreError> {
    const SQL: &str = concat!(
        "select ",
        block_columns!(),
        " from person_block pb join block b on b.id = pb.block_id \
         where pb.agent_id = $1 and pb.identity_id = $2 and b.organization_id = $3 order by pb.position"
    );
    let ids = params![agent.as_bytes(), identity.as_bytes(), owner.as_bytes()];
    db.all(SQL, ids, |row| read(row).map(Arc::new))
}

pub(crate) fn of_conversation(
    db: &Db,
    owner: OrganizationId,
    conversation: ConversationId,
) -> Result<Vec<Arc<Block>>, StoreError> {
    const SQL: &str = concat!(
        "select ",
        block_columns!(),
        " from conversation_block cb join block b on b.id = cb.block_id \
         where cb.conversation_id = $1 and b.organization_id = $2 order by cb.position"
    );
    db.all(SQL, params![conversation.as_bytes(), owner.as_bytes()], |row| read(row).map(Arc::new))
}

pub(crate) fn attach_to_person(
    scope: &Scope<'_>,
    agent: AgentId,
    identity: IdentityId,
    block: BlockId,
) -> Result<(), StoreError> {
    const SQL: &str = "insert into person_block (agent_id, identity_id, block_id, label, position) \
                       select $1, $2, $3, $4, coalesce(max(position) + 1, 0) from person_block \
                       where agent_id = $1 and identity_id = $2";
    crate::agents::check(scope, agent)?;
    crate::owners::check_identity(scope, identity)?;
    let label = check_label(scope, block)?;
    let ids = params![agent.as_bytes(), identity.as_bytes(), block.as_bytes(), label];
    scope.db.execute(SQL, ids).map_err(|error| label_taken(error, block, &label, "the person")).map(drop)
}

pub(crate) fn attach_to_conversation(
    scope: &Scope<'_>,
    conversation: ConversationId,
    block: BlockId,
) -> Result<(), StoreError> {
    const SQL: &str = "insert into conversation_block (conversation_id, block_id, label, position) \
                       select $1, $2, $3, coalesce(max(position) + 1, 0) from conversation_block \
                       where conversation_id = $1";
    crate::conversations::load(scope.db, scope.owner(), conversation)?;
    let label = check_label(scope, block)?;
    let ids = params![conversation.as_bytes(), block.as_bytes(), label];
    scope.db.execute(SQL, ids).map_err(|error| label_taken(error, block, &label, "the conversation")).map(drop)
}

/// Takes a block away from all people and conversations of an agent, and says from how many.
pub(crate) fn detach(scope: &Scope<'_>, agent: AgentId, block: BlockId) -> Result<usize, StoreError> {
    const SQL: [&str; 2] = [
        "delete from person_block where agent_id = $1 and block_id = $2",
        "delete from conversation_block where conversation_id in (select id from conversation where agent_id = $1) \
         and block_id = $2",
    ];
    let mut removed = 0;
    for sql in SQL {
        removed += scope.db.execute(sql, params![agent.as_bytes(), block.as_bytes()])?;
    }
    Ok(removed)
}

/// Parts an agent that is about to be deleted from the blocks of its people and conversations. Gives those blocks that
/// nobody has any more.
pub(crate) fn part_all(scope: &Scope<'_>, agent: AgentId) -> Result<Vec<BlockId>, StoreError> {
    const HELD: &str = "select block_id from person_block where agent_id = $1 union \
                        select cb.block_id from conversation_block cb join conversation c \
                        on c.id = cb.conversation_id where c.agent_id = $1";
    const PART: [&str; 2] = [
        "delete from person_block where agent_id = $1",
        "delete from conversation_block where conversation_id in (select id from conversation where agent_id = $1)",
    ];
    const SHARED: &str = "select 1 from agent_block where block_id = $1 union all \
                          select 1 from person_block where block_id = $1 union all \
                          select 1 from conversation_block where block_id = $1";
    let held: Vec<BlockId> = scope.db.all(HELD, params![agent.as_bytes()], |row| row.id())?;
    PART.iter().try_for_each(|sql| scope.db.execute(sql, params![agent.as_bytes()]).map(drop))?;
    let mut nobodys = Vec::new();
    for block in held {
        if !scope.db.exists(SHARED, params![block.as_bytes()])? {
            nobodys.push(block);
        }
    }
    Ok(nobodys)
}
