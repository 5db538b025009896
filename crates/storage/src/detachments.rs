//! Blocks that agents were parted from, and by whom.
//!
//! A block that is detached stays in the store with its history, but nothing would lead to it any more. A row here does,
//! until the agent has the block again, or the block or the agent is deleted.

use std::sync::Arc;

use domain::{AgentId, Block, BlockId, OrganizationId, Timestamp};

use crate::apply::Scope;
use crate::block_history::{read_editor, words};
use crate::blocks::{block_columns, read};
use crate::commit::BlockEditor;
use crate::dialect::{micros, params, whole};
use crate::error::StoreError;
use crate::store::Store;

/// A block that an agent does not have any more.
#[derive(Debug, Clone, PartialEq)]
pub struct Detachment {
    /// The block as it is now.
    pub block: Arc<Block>,
    pub editor: BlockEditor,
    pub at: Timestamp,
}

impl Store {
    /// The blocks that an agent was parted from last, newest first: at most `limit`.
    pub async fn detached_blocks(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        limit: u32,
    ) -> Result<Vec<Detachment>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            block_columns!(),
            ", d.editor, d.run_id, d.restored_version, d.at from block_detachment d join block b on b.id = d.block_id \
             where d.agent_id = $1 and d.organization_id = $2 order by d.at desc, d.block_id limit $3"
        );
        self.read(move |db| {
            db.all(SQL, params![agent.as_bytes(), owner.as_bytes(), limit], |row| {
                Ok(Detachment { block: Arc::new(read(row)?), editor: read_editor(row)?, at: row.time()? })
            })
        })
        .await
    }
}

/// Writes down that the agent does not have the block any more.
pub(crate) fn remember(
    scope: &Scope<'_>,
    agent: AgentId,
    block: BlockId,
    editor: BlockEditor,
) -> Result<(), StoreError> {
    const SQL: &str = "insert into block_detachment (agent_id, block_id, organization_id, editor, run_id, \
                       restored_version, at) values ($1, $2, $3, $4, $5, $6, $7)";
    let (word, run, restored) = words(editor);
    let values = params![
        agent.as_bytes(),
        block.as_bytes(),
        scope.owner_bytes(),
        word,
        run.as_ref().map(|run| run.as_bytes()),
        restored.map(whole),
        micros(scope.at),
    ];
    scope.db.execute(SQL, values).map(drop)
}

/// The agent has the block again.
pub(crate) fn forget(scope: &Scope<'_>, agent: AgentId, block: BlockId) -> Result<(), StoreError> {
    const SQL: &str = "delete from block_detachment where agent_id = $1 and block_id = $2";
    scope.db.execute(SQL, params![agent.as_bytes(), block.as_bytes()]).map(drop)
}
