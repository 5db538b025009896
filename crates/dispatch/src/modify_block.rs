//! Changes blocks on behalf of a client, while agents may be changing them too.

use std::sync::Arc;

use domain::{Actor, AgentId, Block, BlockError};
use storage::{BlockEditor, Change, Commit, StoreError};

use crate::agent_spec::AgentError;
use crate::dispatcher::Dispatcher;

/// How often a change is made again because somebody else was faster.
pub(crate) const MAX_TRIES: u32 = 8;

impl Dispatcher {
    /// Replaces the agent's block of that label by what `change` makes of it. Where somebody else changed the block in
    /// the meantime, `change` is asked again, so that neither edit is lost.
    pub async fn modify_agent_block(
        &self,
        actor: Actor,
        agent: AgentId,
        label: &str,
        change: impl Fn(&Block) -> Result<Block, BlockError>,
    ) -> Result<Block, AgentError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let now = (self.inner.clock)();
            let old = self.agent_block(actor, agent, label).await?;
            let mut block = change(&old)?;
            if block == *old {
                return Ok(block);
            }
            block.updated_at = now;
            let update = Change::UpdateBlock { block: Box::new(block.clone()), editor: BlockEditor::Api };
            match self.inner.store.commit(Commit::new(actor, now).with(update)).await {
                Ok(_) => {
                    block.version += 1;
                    return Ok(block);
                }
                Err(StoreError::Conflict { .. }) if tries < MAX_TRIES => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The agent's block of that label.
    pub async fn agent_block(&self, actor: Actor, agent: AgentId, label: &str) -> Result<Arc<Block>, AgentError> {
        let blocks = self.agent_blocks(actor, agent).await?;
        let found = blocks.into_iter().find(|block| block.label.as_str() == label);
        found.ok_or_else(|| AgentError::NoSuchBlock { agent, label: label.chars().take(200).collect() })
    }

    /// The agent's blocks in attach order.
    pub async fn agent_blocks(&self, actor: Actor, agent: AgentId) -> Result<Vec<Arc<Block>>, AgentError> {
        self.agent_or_not_found(actor, agent).await?;
        Ok(self.inner.store.agent_blocks(actor.organization, agent).await?)
    }
}
