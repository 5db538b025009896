//! Takes changes of a block back, and makes them again, while agents may be changing it too.

use domain::{Actor, AgentId, Block, BlockError, Label};
use storage::{BlockEditor, BlockVersion, Change, Commit, Detachment, StoreError};

use crate::agent_spec::AgentError;
use crate::dispatcher::Dispatcher;
use crate::modify_block::MAX_TRIES;
use crate::undo_plan::{Direction, UndoStep, next_step};

/// Changes that are looked through for the next one to undo.
const MAX_EDITS: u32 = 10_000;
/// Blocks that an agent was parted from and that can be had back.
const MAX_DETACHED: u32 = 1_000;

/// Which block is to go which way.
#[derive(Debug, Clone)]
pub struct UndoRequest {
    pub agent: AgentId,
    /// The label that the block has now.
    pub label: String,
    pub direction: Direction,
    /// The version that the caller has seen: another one is refused. None takes whatever is there.
    pub version: Option<u64>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Undone {
    /// The block is what it was at another version.
    Changed { block: Box<Block>, step: UndoStep },
    /// The agent has the block again that it was parted from.
    Attached(Detachment),
}

/// Why a block stays as it is, named by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("block `{0}` has no change that could be undone")]
    NothingToUndo(Label),
    #[error("block `{0}` has no undone change that could be made again")]
    NothingToRedo(Label),
    /// Look again, then decide.
    #[error("block `{label}` is at version {found} by now, not {expected}: look at its history again")]
    Outdated { label: Label, expected: u64, found: u64 },
    #[error("version {version} had the label `{label}`, which another block has now: rename that one first")]
    LabelTaken { version: u64, label: Label },
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> Self {
        Self::Agent(error.into())
    }
}

impl Dispatcher {
    /// Takes the newest change of a block back, or makes the last undone one again. That is a change like others:
    /// every agent that shares the block sees it in its next step, and it is written down with its editor. Where the
    /// agent was parted from the block of that label, undoing gives it back as it is.
    pub async fn undo_block(&self, actor: Actor, request: &UndoRequest) -> Result<Undone, UndoError> {
        let mut tries = 0;
        let mut refused_at = None;
        loop {
            tries += 1;
            let block = match self.agent_block(actor, request.agent, &request.label).await {
                Err(error @ AgentError::NoSuchBlock { .. }) if request.direction == Direction::Undo => {
                    return self.attach_again(actor, request, error).await;
                }
                found => found?,
            };
            check_version(&block, request)?;
            let (step, old) = self.step_of(actor, &block, request.direction).await?;
            if refused_at == Some(block.version) {
                // Nobody else changed it, so it was not the version that the store refused.
                return Err(UndoError::LabelTaken { version: old.version, label: old.label });
            }
            match self.restore(actor, &block, &old, request.direction).await {
                Ok(block) => return Ok(Undone::Changed { block: Box::new(block), step }),
                Err(AgentError::Store(StoreError::Conflict { .. })) if tries < MAX_TRIES => {
                    refused_at = Some(block.version);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The blocks that an agent was parted from, newest first.
    pub async fn detached_blocks(&self, actor: Actor, agent: AgentId) -> Result<Vec<Detachment>, AgentError> {
        self.agent_or_not_found(actor, agent).await?;
        Ok(self.inner.store.detached_blocks(actor.organization, agent, MAX_DETACHED).await?)
    }

    async fn attach_again(
        &self,
        actor: Actor,
        request: &UndoRequest,
        missing: AgentError,
    ) -> Result<Undone, UndoError> {
        let detached = self.detached_blocks(actor, request.agent).await?.into_iter();
        let found = { detached }.find(|one| one.block.label.as_str() == request.label).ok_or(missing)?;
        check_version(&found.block, request)?;
        let attach = Change::AttachBlock { agent: request.agent, block: found.block.id };
        self.inner.store.commit(Commit::new(actor, (self.inner.clock)()).with(attach)).await?;
        Ok(Undone::Attached(found))
    }

    async fn step_of(
        &self,
        actor: Actor,
        block: &Block,
        direction: Direction,
    ) -> Result<(UndoStep, BlockVersion), UndoError> {
        let store = &self.inner.store;
        let edits = store.block_edits(actor.organization, block.id, MAX_EDITS).await?;
        let step = next_step(&edits, direction).ok_or_else(|| match direction {
            Direction::Undo => UndoError::NothingToUndo(block.label.clone()),
            Direction::Redo => UndoError::NothingToRedo(block.label.clone()),
        })?;
        Ok((step, store.block_version(actor.organization, block.id, step.to_version).await?))
    }

    async fn restore(
        &self,
        actor: Actor,
        block: &Block,
        old: &BlockVersion,
        direction: Direction,
    ) -> Result<Block, AgentError> {
        let now = (self.inner.clock)();
        let to_version = old.version;
        let editor = match direction {
            Direction::Undo => BlockEditor::Undo { to_version },
            Direction::Redo => BlockEditor::Redo { to_version },
        };
        let mut block = restored(block, old)?;
        block.updated_at = now;
        let update = Change::UpdateBlock { block: Box::new(block.clone()), editor };
        self.inner.store.commit(Commit::new(actor, now).with(update)).await?;
        block.version += 1;
        Ok(block)
    }
}

/// Refuses a block that is not as the caller has seen it.
fn check_version(block: &Block, request: &UndoRequest) -> Result<(), UndoError> {
    match request.version {
        Some(expected) if expected != block.version => {
            Err(UndoError::Outdated { label: block.label.clone(), expected, found: block.version })
        }
        _ => Ok(()),
    }
}

/// `block` with everything that the history keeps as it was at that version.
fn restored(block: &Block, old: &BlockVersion) -> Result<Block, BlockError> {
    let mut block = block.clone();
    block.label = old.label.clone();
    block.description.clone_from(&old.description);
    block.set_value_and_limit(old.value.clone(), old.limit)?;
    Ok(block)
}
