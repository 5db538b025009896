//! A block's history, the difference between two of its versions, and what an undo did.

use dispatch::UndoStep;
use domain::{AgentId, Block, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use storage::{BlockEditor, BlockVersion, Detachment};

use crate::error::ConsoleError;
use crate::line_diff::{self, Extent, Fate};

/// Versions of one page unless the client says otherwise, and at most.
const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 1_000;

/// Which versions to list.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct HistoryQuery {
    /// Only versions older than this one.
    pub(crate) before: Option<u64>,
    limit: Option<u32>,
}

impl HistoryQuery {
    /// How many versions to list.
    pub(crate) fn limit(&self) -> Result<u32, ConsoleError> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if (1..=MAX_LIMIT).contains(&limit) {
            return Ok(limit);
        }
        Err(ConsoleError::invalid(format!("limit must be between 1 and {MAX_LIMIT}")))
    }
}

/// Which versions to compare. Version 0 is the empty block before the first.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct DiffQuery {
    pub(crate) from: Option<u64>,
    pub(crate) to: Option<u64>,
}

/// What a client says about an undo or a redo.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoBody {
    /// The version that the client has seen; another one is refused.
    pub(crate) version: Option<u64>,
}

/// Who made a change.
#[derive(Debug, Serialize)]
pub(crate) struct Editor {
    editor: &'static str,
    run_id: Option<RunId>,
    restored_version: Option<u64>,
}

impl From<BlockEditor> for Editor {
    fn from(editor: BlockEditor) -> Self {
        let (editor, run_id, restored_version) = match editor {
            BlockEditor::Tool(run) => ("tool", Some(run), None),
            BlockEditor::Sleeptime(run) => ("sleeptime", Some(run), None),
            BlockEditor::Api => ("api", None, None),
            BlockEditor::Import => ("import", None, None),
            BlockEditor::Undo { to_version } => ("undo", None, Some(to_version)),
            BlockEditor::Redo { to_version } => ("redo", None, Some(to_version)),
        };
        Self { editor, run_id, restored_version }
    }
}

/// One change of a block.
#[derive(Debug, Serialize)]
pub(crate) struct HistoryEntry {
    version: u64,
    at: Timestamp,
    #[serde(flatten)]
    editor: Editor,
    label: String,
    description: Option<String>,
    limit: u32,
    /// Characters of the text.
    characters: usize,
    /// Characters that came and went; null where the version before is not at hand.
    added: Option<usize>,
    removed: Option<usize>,
    current: bool,
}

impl HistoryEntry {
    fn new(version: &BlockVersion, before: Option<&str>, current: u64) -> Self {
        let extent = before.map(|before| line_diff::extent(before, &version.value));
        Self {
            version: version.version,
            at: version.at,
            editor: version.editor.into(),
            label: version.label.to_string(),
            description: version.description.clone(),
            limit: version.limit,
            characters: version.value.chars().count(),
            added: extent.map(|Extent { added, .. }| added),
            removed: extent.map(|Extent { removed, .. }| removed),
            current: version.version == current,
        }
    }
}

/// An agent that has the block.
#[derive(Debug, Serialize)]
pub(crate) struct Sharer {
    id: AgentId,
    name: String,
}

impl From<(AgentId, String)> for Sharer {
    fn from((id, name): (AgentId, String)) -> Self {
        Self { id, name }
    }
}

/// That an agent was parted from a block, when and by whom.
#[derive(Debug, Serialize)]
pub(crate) struct Parting {
    at: Timestamp,
    #[serde(flatten)]
    editor: Editor,
}

impl From<&Detachment> for Parting {
    fn from(detachment: &Detachment) -> Self {
        Self { at: detachment.at, editor: detachment.editor.into() }
    }
}

/// A block that an agent has, or had.
#[derive(Debug, Serialize)]
pub(crate) struct BlockEntry {
    block_id: String,
    label: String,
    version: u64,
    detached: Option<Parting>,
}

impl BlockEntry {
    pub(crate) fn new(block: &Block, detached: Option<Parting>) -> Self {
        Self { block_id: block.id.to_string(), label: block.label.to_string(), version: block.version, detached }
    }
}

/// A page of a block's history, newest first.
#[derive(Debug, Serialize)]
pub(crate) struct History {
    #[serde(flatten)]
    block: BlockEntry,
    shared_by: Vec<Sharer>,
    changes: Vec<HistoryEntry>,
    has_more: bool,
}

impl History {
    /// `versions` are oldest first, and may begin with one more than the page has: the one before it.
    pub(crate) fn new(block: BlockEntry, versions: &[BlockVersion], limit: u32, shared_by: Vec<Sharer>) -> Self {
        let mut changes = Vec::with_capacity(versions.len());
        for (place, version) in versions.iter().enumerate() {
            let before = match place.checked_sub(1) {
                Some(place) => Some(versions[place].value.as_str()),
                None if version.version == 1 => Some(""),
                None => None,
            };
            // The first is there only for the second, unless it is all that fitted.
            if before.is_some() || versions.len() == 1 {
                changes.push(HistoryEntry::new(version, before, block.version));
            }
        }
        changes.reverse();
        changes.truncate(limit as usize);
        let has_more = changes.last().is_some_and(|oldest| oldest.version > 1);
        Self { block, shared_by, changes, has_more }
    }
}

/// One line of a difference.
#[derive(Debug, Serialize)]
struct DiffLine {
    op: Fate,
    text: String,
}

/// What stands around the text of a version.
#[derive(Debug, Serialize)]
struct DiffSide {
    version: u64,
    label: Option<String>,
    description: Option<String>,
    limit: Option<u32>,
}

/// The difference between two versions.
#[derive(Debug, Serialize)]
pub(crate) struct Diff {
    from: DiffSide,
    to: DiffSide,
    added: usize,
    removed: usize,
    lines: Vec<DiffLine>,
}

impl Diff {
    /// None is the empty block before the first version.
    pub(crate) fn new(from: Option<&BlockVersion>, to: Option<&BlockVersion>) -> Self {
        let text = |side: Option<&'_ BlockVersion>| side.map_or(String::new(), |version| version.value.clone());
        let (old, new) = (text(from), text(to));
        let lines = line_diff::shown(&old, &new);
        let Extent { added, removed } = line_diff::extent(&old, &new);
        let lines = lines.into_iter().map(|(op, text)| DiffLine { op, text: text.to_owned() }).collect();
        Self { from: side(from), to: side(to), added, removed, lines }
    }
}

fn side(version: Option<&BlockVersion>) -> DiffSide {
    DiffSide {
        version: version.map_or(0, |version| version.version),
        label: version.map(|version| version.label.to_string()),
        description: version.and_then(|version| version.description.clone()),
        limit: version.map(|version| version.limit),
    }
}

/// The change that an undo took back or a redo made again; for a block that was given back, its parting.
#[derive(Debug, Serialize)]
struct SteppedOver {
    version: u64,
    #[serde(flatten)]
    parting: Parting,
}

/// What an undo or a redo did.
#[derive(Debug, Serialize)]
pub(crate) struct UndoReport {
    block_id: String,
    label: String,
    value: String,
    description: Option<String>,
    limit: u32,
    /// The version that the block has now.
    version: u64,
    /// The version whose text came back; null where the block was only given back to its agent.
    restored_version: Option<u64>,
    change: SteppedOver,
    shared_by: Vec<Sharer>,
}

impl UndoReport {
    /// `change` is the version that was stepped over.
    pub(crate) fn changed(block: &Block, step: UndoStep, change: &BlockVersion, shared_by: Vec<Sharer>) -> Self {
        let parting = Parting { at: change.at, editor: change.editor.into() };
        let change = SteppedOver { version: step.change, parting };
        Self { restored_version: Some(step.to_version), ..Self::of(block, change, shared_by) }
    }

    /// The agent has a block again.
    pub(crate) fn attached(detachment: &Detachment, shared_by: Vec<Sharer>) -> Self {
        let block = &detachment.block;
        Self::of(block, SteppedOver { version: block.version, parting: detachment.into() }, shared_by)
    }

    fn of(block: &Block, change: SteppedOver, shared_by: Vec<Sharer>) -> Self {
        Self {
            block_id: block.id.to_string(),
            label: block.label.to_string(),
            value: block.value().to_owned(),
            description: block.description.clone(),
            limit: block.limit(),
            version: block.version,
            restored_version: None,
            change,
            shared_by,
        }
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
