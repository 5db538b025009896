//! The working copy of an agent's core memory during one step.
//!
//! Tools never write to the store. They look at a [`Memory`], answer with [`MemoryChange`]s, and a later call of the
//! same step sees what an earlier one changed. The step's commit is computed from the changes.

use std::sync::Arc;

use crate::block::{Block, BlockError, Label};
use crate::ids::BlockId;

/// One edit of core memory.
#[derive(Debug, Clone, PartialEq)]
pub enum MemoryChange {
    /// Replace a block's text.
    SetValue { block: BlockId, value: String },
    /// Replace a block's label.
    Rename { block: BlockId, label: Label },
    /// Replace a block's description.
    Describe { block: BlockId, description: String },
    /// Make a block and attach it to the agent.
    Create { block: Box<Block> },
    /// Take a block away from the agent. The block itself stays in the store.
    Detach { block: BlockId },
}

/// Why a change does not fit the memory that it is made to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("the agent has no block `{0}`")]
    NoSuchBlock(BlockId),
    #[error("the agent has a block with the label `{0}` already")]
    LabelTaken(Label),
    #[error(transparent)]
    Block(#[from] BlockError),
}

/// An agent's blocks in attach order, as one step sees them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    blocks: Vec<Arc<Block>>,
}

impl Memory {
    /// The blocks in attach order.
    pub fn new(blocks: Vec<Arc<Block>>) -> Self {
        Self { blocks }
    }

    /// The blocks in attach order.
    pub fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }

    /// The block of that label.
    pub fn by_label(&self, label: &str) -> Option<&Arc<Block>> {
        self.blocks.iter().find(|block| block.label.as_str() == label)
    }

    /// The block of that id.
    pub fn by_id(&self, id: BlockId) -> Option<&Arc<Block>> {
        self.blocks.iter().find(|block| block.id == id)
    }

    /// Applies one change, or leaves the memory as it was. Versions are the store's business and stay as they are.
    pub fn apply(&mut self, change: &MemoryChange) -> Result<(), MemoryError> {
        match change {
            MemoryChange::SetValue { block, value } => self.edit(*block)?.set_value(value.clone())?,
            MemoryChange::Rename { block, label } => {
                self.check_label_free(label, Some(*block))?;
                self.edit(*block)?.label = label.clone();
            }
            MemoryChange::Describe { block, description } => {
                self.edit(*block)?.description = Some(description.clone());
            }
            MemoryChange::Create { block } => {
                self.check_label_free(&block.label, None)?;
                self.blocks.push(Arc::new((**block).clone()));
            }
            MemoryChange::Detach { block } => {
                let position = self.position(*block)?;
                self.blocks.remove(position);
            }
        }
        Ok(())
    }

    fn position(&self, id: BlockId) -> Result<usize, MemoryError> {
        self.blocks.iter().position(|block| block.id == id).ok_or(MemoryError::NoSuchBlock(id))
    }

    fn edit(&mut self, id: BlockId) -> Result<&mut Block, MemoryError> {
        let position = self.position(id)?;
        Ok(Arc::make_mut(&mut self.blocks[position]))
    }

    fn check_label_free(&self, label: &Label, except: Option<BlockId>) -> Result<(), MemoryError> {
        let taken = self.blocks.iter().any(|block| block.label == *label && Some(block.id) != except);
        if taken { Err(MemoryError::LabelTaken(label.clone())) } else { Ok(()) }
    }
}
