//! Memory blocks: labelled texts that stand in an agent's system message.
//!
//! A block can't hold more characters than its limit: the value is private and every way to set it checks. Limits
//! count characters, not bytes, because clients do.

use std::fmt;

use jiff::Timestamp;

use crate::ids::{BlockId, OrganizationId, UserId};

/// The label of the block about the person who speaks.
pub const HUMAN: &str = "human";
/// Characters that a block may hold unless its creator says otherwise.
pub const DEFAULT_BLOCK_LIMIT: u32 = 20_000;
/// The largest limit that a block may be given.
pub const MAX_BLOCK_LIMIT: u32 = 10_000_000;
/// Characters that a label may have.
pub const MAX_LABEL_CHARS: usize = 200;

/// Why a block can't be as it was asked to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The value has more characters than the limit.
    #[error("value length ({length} characters) exceeds block limit ({limit} characters)")]
    OverLimit {
        /// Characters of the value.
        length: usize,
        /// Characters allowed.
        limit: u32,
    },
    /// The limit itself is out of range.
    #[error("a block's limit must be between 1 and {MAX_BLOCK_LIMIT} characters, not {limit}")]
    BadLimit {
        /// What was asked for.
        limit: u64,
    },
    /// The label can't be used as a tag name in the system message.
    #[error(
        "`{label}` can't be a block label: use 1 to {MAX_LABEL_CHARS} characters without `<`, `>`, line breaks or control characters"
    )]
    BadLabel {
        /// What was asked for, cut to a printable length.
        label: String,
    },
    /// A text holds NUL, which no database keeps and no model needs.
    #[error("a block's text can't hold NUL characters")]
    Nul,
}

/// A block's label: the tag that it is shown under.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

impl Label {
    /// Checks that `text` can stand as a tag name.
    pub fn new(text: impl Into<String>) -> Result<Self, BlockError> {
        let text = text.into();
        let fits = !text.trim().is_empty() && text.chars().count() <= MAX_LABEL_CHARS;
        if !fits || text.chars().any(|c| c == '<' || c == '>' || c.is_control()) {
            return Err(BlockError::BadLabel { label: text.chars().take(80).collect() });
        }
        Ok(Self(text))
    }

    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Label {
    type Error = BlockError;
    fn try_from(text: String) -> Result<Self, BlockError> {
        Self::new(text)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// What is needed to make a block; [`Block::new`] checks it.
#[derive(Debug, Clone)]
pub struct BlockDraft {
    pub id: BlockId,
    pub organization: OrganizationId,
    pub created_by: UserId,
    pub label: Label,
    pub value: String,
    pub limit: u32,
    pub description: Option<String>,
    pub read_only: bool,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub created_at: Timestamp,
}

/// A memory block.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub id: BlockId,
    pub organization: OrganizationId,
    pub created_by: UserId,
    pub label: Label,
    value: String,
    limit: u32,
    pub description: Option<String>,
    pub read_only: bool,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Counts changes; a writer that saw an older version is refused by the store.
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Block {
    /// A new block at version 1.
    pub fn new(draft: BlockDraft) -> Result<Self, BlockError> {
        check_limit(draft.limit)?;
        check_value(&draft.value, draft.limit)?;
        Ok(Self {
            id: draft.id,
            organization: draft.organization,
            created_by: draft.created_by,
            label: draft.label,
            value: draft.value,
            limit: draft.limit,
            description: draft.description,
            read_only: draft.read_only,
            metadata: draft.metadata,
            version: 1,
            created_at: draft.created_at,
            updated_at: draft.created_at,
        })
    }

    /// The text.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The most characters that the text may have.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Replaces the text, if it fits.
    pub fn set_value(&mut self, value: impl Into<String>) -> Result<(), BlockError> {
        let value = value.into();
        check_value(&value, self.limit)?;
        self.value = value;
        Ok(())
    }

    /// Replaces the limit, if the present text fits into it.
    pub fn set_limit(&mut self, limit: u32) -> Result<(), BlockError> {
        check_limit(limit)?;
        check_value(&self.value, limit)?;
        self.limit = limit;
        Ok(())
    }

    /// Replaces text and limit together, so that neither order of the two is refused.
    pub fn set_value_and_limit(&mut self, value: impl Into<String>, limit: u32) -> Result<(), BlockError> {
        let value = value.into();
        check_limit(limit)?;
        check_value(&value, limit)?;
        self.value = value;
        self.limit = limit;
        Ok(())
    }

    /// A block as the store keeps it, at a version it already has.
    pub fn stored(draft: BlockDraft, version: u64, updated_at: Timestamp) -> Result<Self, BlockError> {
        let mut block = Self::new(draft)?;
        block.version = version;
        block.updated_at = updated_at;
        Ok(block)
    }
}

fn check_limit(limit: u32) -> Result<(), BlockError> {
    if limit == 0 || limit > MAX_BLOCK_LIMIT {
        return Err(BlockError::BadLimit { limit: u64::from(limit) });
    }
    Ok(())
}

fn check_value(value: &str, limit: u32) -> Result<(), BlockError> {
    if value.contains('\0') {
        return Err(BlockError::Nul);
    }
    let length = value.chars().count();
    if length > limit as usize {
        return Err(BlockError::OverLimit { length, limit });
    }
    Ok(())
}
