//! Blocks, and which agents have them. What they were before is in `block_history`; who else has them is in
//! `scoped_blocks`.
//!
//! A label is kept a second time in the join, where the database sees to it that an agent has no label twice.

use std::sync::Arc;

use domain::block::BlockDraft;
use domain::{AgentId, Block, BlockId, Label, OrganizationId};

use crate::apply::Scope;
use crate::block_history::remember;
use crate::commit::BlockEditor;
use crate::dialect::{Columns, Db, json, micros, params, stored_time, whole};
use crate::error::StoreError;
use crate::store::Store;
use crate::{detachments, scoped_blocks, texts};

macro_rules! block_columns {
    () => {
        "b.id, b.organization_id, b.created_by, b.label, b.value, b.char_limit, b.description, b.read_only, \
         b.metadata, b.created_at, b.version, b.updated_at"
    };
}
pub(crate) use block_columns;

impl Store {
    /// One block.
    pub async fn block(&self, owner: OrganizationId, block: BlockId) -> Result<Block, StoreError> {
        const SQL: &str =
            concat!("select ", block_columns!(), " from block b where b.id = $1 and b.organization_id = $2");
        self.read(move |db| {
            db.first(SQL, params![block.as_bytes(), owner.as_bytes()], read)?
                .ok_or_else(|| StoreError::not_found("block", block))
        })
        .await
    }

    /// An agent's blocks in attach order.
    pub async fn agent_blocks(&self, owner: OrganizationId, agent: AgentId) -> Result<Vec<Arc<Block>>, StoreError> {
        if let Some(warm) = self.cache().agent(owner, agent, |entry| entry.memory.blocks().to_vec()) {
            return Ok(warm);
        }
        self.read(move |db| {
            db.consistently(|db| {
                crate::agents::require(db, owner, agent)?;
                of_agent(db, owner, agent)
            })
        })
        .await
    }

    /// The agents that share a block, oldest first, with their names: at most `limit`.
    pub async fn block_agents(
        &self,
        owner: OrganizationId,
        block: BlockId,
        limit: u32,
    ) -> Result<Vec<(AgentId, String)>, StoreError> {
        const SQL: &str = "select a.id, a.name from agent_block ab join agent a on a.id = ab.agent_id \
                           where ab.block_id = $1 and a.organization_id = $2 order by a.ordinal limit $3";
        self.read(move |db| {
            let ids = params![block.as_bytes(), owner.as_bytes(), limit];
            db.all(SQL, ids, |row| Ok((row.id()?, row.text()?)))
        })
        .await
    }
}

/// Reads `block_columns`.
pub(crate) fn read(row: &mut Columns<'_>) -> Result<Block, StoreError> {
    let draft = BlockDraft {
        id: row.id()?,
        organization: row.id()?,
        created_by: row.id()?,
        label: read_label(row)?,
        value: row.text()?,
        limit: row.whole32()?,
        description: row.get()?,
        read_only: row.get()?,
        metadata: row.json()?,
        created_at: row.time()?,
    };
    Block::stored(draft, row.whole()?, row.time()?).map_err(|error| StoreError::Corrupt(error.to_string()))
}

pub(crate) fn read_label(row: &mut Columns<'_>) -> Result<Label, StoreError> {
    Label::new(row.text()?).map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// The agent's blocks in attach order.
pub(crate) fn of_agent(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<Vec<Arc<Block>>, StoreError> {
    const SQL: &str = concat!(
        "select ",
        block_columns!(),
        " from agent_block ab join block b on b.id = ab.block_id \
         where ab.agent_id = $1 and b.organization_id = $2 order by ab.position"
    );
    db.all(SQL, params![agent.as_bytes(), owner.as_bytes()], |row| read(row).map(Arc::new))
}

pub(crate) fn insert(scope: &Scope<'_>, block: &Block, editor: BlockEditor) -> Result<(), StoreError> {
    const SQL: &str = "insert into block (id, organization_id, created_by, label, value, char_limit, description, \
                       read_only, metadata, version, created_at, updated_at) \
                       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    scope.check_owner("block", block.organization)?;
    check_texts(block)?;
    let inserted = scope.db.execute(
        SQL,
        params![
            block.id.as_bytes(),
            block.organization.as_bytes(),
            block.created_by.as_bytes(),
            block.label.as_str(),
            block.value(),
            block.limit(),
            block.description,
            block.read_only,
            json(&block.metadata)?,
            whole(block.version),
            micros(block.created_at),
            micros(block.updated_at),
        ],
    );
    Scope::named(inserted, "block", block.id)?;
    remember(scope, block, editor)
}

/// Replaces a block and gives it as it is stored, at its new version.
pub(crate) fn update(scope: &Scope<'_>, block: &Block, editor: BlockEditor) -> Result<Block, StoreError> {
    const SQL: &str = "update block set label = $1, value = $2, char_limit = $3, description = $4, read_only = $5, \
                       metadata = $6, version = version + 1, updated_at = $7 \
                       where id = $8 and organization_id = $9 and version = $10";
    const RENAME: [(&str, &str); 3] = [
        ("the agent", "update agent_block set label = $1 where block_id = $2 and label <> $1"),
        ("the person", "update person_block set label = $1 where block_id = $2 and label <> $1"),
        ("the conversation", "update conversation_block set label = $1 where block_id = $2 and label <> $1"),
    ];
    check_texts(block)?;
    let changed = scope.db.execute(
        SQL,
        params![
            block.label.as_str(),
            block.value(),
            block.limit(),
            block.description,
            block.read_only,
            json(&block.metadata)?,
            micros(scope.at),
            block.id.as_bytes(),
            scope.owner_bytes(),
            whole(block.version),
        ],
    )?;
    if changed == 0 {
        check(scope, block.id)?;
        return Err(StoreError::conflict("block", block.id, "was changed by someone else"));
    }
    for (holder, sql) in RENAME {
        let renamed = scope.db.execute(sql, params![block.label.as_str(), block.id.as_bytes()]);
        renamed.map_err(|error| label_taken(error, block.id, block.label.as_str(), holder))?;
    }
    let mut stored = block.clone();
    stored.version += 1;
    stored.updated_at = stored_time(scope.at);
    remember(scope, &stored, editor)?;
    Ok(stored)
}

/// Removes a block with its history, from whoever has it. Nothing of it is kept: who deletes a memory may have to.
pub(crate) fn delete(scope: &Scope<'_>, block: BlockId) -> Result<(), StoreError> {
    const SQL: [&str; 6] = [
        "delete from agent_block where block_id = $1",
        "delete from person_block where block_id = $1",
        "delete from conversation_block where block_id = $1",
        "delete from block_detachment where block_id = $1",
        "delete from block_history where block_id = $1",
        "delete from block where id = $1",
    ];
    check(scope, block)?;
    SQL.iter().try_for_each(|sql| scope.db.execute(sql, params![block.as_bytes()]).map(drop))
}

pub(crate) fn attach(scope: &Scope<'_>, agent: AgentId, block: BlockId) -> Result<(), StoreError> {
    const SQL: &str = "insert into agent_block (agent_id, block_id, label, position) select $1, $2, $3, \
                       coalesce(max(position) + 1, 0) from agent_block where agent_id = $1";
    crate::agents::check(scope, agent)?;
    let label = check_label(scope, block)?;
    let attached = scope.db.execute(SQL, params![agent.as_bytes(), block.as_bytes(), label]);
    attached.map_err(|error| label_taken(error, block, &label, "the agent"))?;
    detachments::forget(scope, agent, block)
}

/// Takes a block away from an agent and remembers that it had it, and from the agent's people and conversations. That
/// is not remembered: whoever brings back what an agent had would show it to everybody.
pub(crate) fn detach(scope: &Scope<'_>, agent: AgentId, block: BlockId, editor: BlockEditor) -> Result<(), StoreError> {
    const SQL: &str = "delete from agent_block where agent_id = $1 and block_id = $2";
    crate::agents::check(scope, agent)?;
    let removed = scope.db.execute(SQL, params![agent.as_bytes(), block.as_bytes()])?;
    let from_others = scoped_blocks::detach(scope, agent, block)?;
    match (removed, from_others) {
        (0, 0) => Err(StoreError::not_found("block", block)),
        (0, _) => Ok(()),
        _ => detachments::remember(scope, agent, block, editor),
    }
}

fn check(scope: &Scope<'_>, block: BlockId) -> Result<(), StoreError> {
    const SQL: &str = "select 1 from block where id = $1 and organization_id = $2";
    if scope.db.exists(SQL, params![block.as_bytes(), scope.owner_bytes()])? {
        return Ok(());
    }
    Err(StoreError::not_found("block", block))
}

/// The label of a block of the actor's organisation.
pub(crate) fn check_label(scope: &Scope<'_>, block: BlockId) -> Result<String, StoreError> {
    const SQL: &str = "select label from block where id = $1 and organization_id = $2";
    let label = scope.db.first(SQL, params![block.as_bytes(), scope.owner_bytes()], |row| row.text())?;
    label.ok_or_else(|| StoreError::not_found("block", block))
}

/// Tells a conflict of labels in words; `holder` is who has the label.
pub(crate) fn label_taken(error: StoreError, block: BlockId, label: &str, holder: &str) -> StoreError {
    match error {
        StoreError::Conflict { .. } => {
            let reason = format!("can't be had under the label `{label}`: {holder} has it or that label already");
            StoreError::conflict("block", block, reason)
        }
        other => other,
    }
}

fn check_texts(block: &Block) -> Result<(), StoreError> {
    // Label and value are checked by their types.
    texts::check_optional("a block's description", block.description.as_deref())?;
    texts::check_fields("a block's metadata", &block.metadata)
}
