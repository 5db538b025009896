//! Every version of every block: what it was, who made it so, when and in which run.
//!
//! A row is written with the change itself, in the same transaction, and never rewritten. It goes only when its block
//! is deleted: whoever deletes a memory means that it is gone.

use std::collections::VecDeque;

use domain::{BlockId, Label, OrganizationId, RunId, Timestamp, UserId};

use crate::apply::Scope;
use crate::blocks::read_label;
use crate::commit::BlockEditor;
use crate::dialect::{Columns, Db, micros, params, whole};
use crate::error::StoreError;
use crate::store::Store;

/// Bytes of text that one page of a history holds at most, but for its newest version.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

macro_rules! version_columns {
    () => {
        "h.version, h.label, h.value, h.description, h.char_limit, h.editor, h.run_id, h.restored_version, \
         h.user_id, h.at"
    };
}

/// What a block was at one version.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockVersion {
    pub version: u64,
    pub label: Label,
    pub value: String,
    pub description: Option<String>,
    pub limit: u32,
    pub editor: BlockEditor,
    /// On whose behalf it was changed.
    pub user: UserId,
    pub at: Timestamp,
}

/// That a block was changed, without what it was changed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEdit {
    pub version: u64,
    pub editor: BlockEditor,
    /// Whether text, label, description or limit are others than before. Only these are kept in the history.
    pub visible: bool,
}

impl Store {
    /// All versions of a block, oldest first; the last is the present one.
    pub async fn block_history(&self, owner: OrganizationId, block: BlockId) -> Result<Vec<BlockVersion>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            version_columns!(),
            " from block_history h where h.block_id = $1 and h.organization_id = $2 order by h.version"
        );
        self.read(move |db| {
            let versions = db.all(SQL, params![block.as_bytes(), owner.as_bytes()], read_version)?;
            // A block has at least the version that it was made with.
            if versions.is_empty() { Err(StoreError::not_found("block", block)) } else { Ok(versions) }
        })
        .await
    }

    /// The newest versions below `before`, oldest first: at most `limit`, and fewer where their texts are very long.
    pub async fn block_versions(
        &self,
        owner: OrganizationId,
        block: BlockId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<BlockVersion>, StoreError> {
        self.read(move |db| versions_before(db, owner, block, before, limit)).await
    }

    /// One version of a block.
    pub async fn block_version(
        &self,
        owner: OrganizationId,
        block: BlockId,
        version: u64,
    ) -> Result<BlockVersion, StoreError> {
        const SQL: &str = concat!(
            "select ",
            version_columns!(),
            " from block_history h where h.block_id = $1 and h.version = $2 and h.organization_id = $3"
        );
        self.read(move |db| {
            let found = db.first(SQL, params![block.as_bytes(), whole(version), owner.as_bytes()], read_version)?;
            found.ok_or_else(|| StoreError::not_found("version", version))
        })
        .await
    }

    /// The newest `limit` changes of a block, oldest first.
    pub async fn block_edits(
        &self,
        owner: OrganizationId,
        block: BlockId,
        limit: u32,
    ) -> Result<Vec<BlockEdit>, StoreError> {
        const SQL: &str = "select h.version, h.editor, h.run_id, h.restored_version, \
                           p.version is null or p.value <> h.value or p.label <> h.label \
                           or p.char_limit <> h.char_limit or p.description is distinct from h.description \
                           from block_history h left join block_history p \
                           on p.block_id = h.block_id and p.version = h.version - 1 \
                           where h.block_id = $1 and h.organization_id = $2 order by h.version desc limit $3";
        self.read(move |db| {
            let mut edits = db.all(SQL, params![block.as_bytes(), owner.as_bytes(), limit], |row| {
                Ok(BlockEdit { version: row.whole()?, editor: read_editor(row)?, visible: row.get()? })
            })?;
            if edits.is_empty() {
                return Err(StoreError::not_found("block", block));
            }
            edits.reverse();
            Ok(edits)
        })
        .await
    }
}

fn versions_before(
    db: &Db,
    owner: OrganizationId,
    block: BlockId,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<BlockVersion>, StoreError> {
    const SQL: &str = concat!(
        "select ",
        version_columns!(),
        " from block_history h where h.block_id = $1 and h.organization_id = $2 and h.version < $3 \
         order by h.version desc limit $4"
    );
    let (mut found, mut bytes) = (VecDeque::new(), 0_usize);
    let bounds = params![block.as_bytes(), owner.as_bytes(), whole(before.unwrap_or(u64::MAX)), limit];
    db.while_wanted(SQL, bounds, |row| {
        let version = read_version(row)?;
        bytes += version.value.len();
        let fits = found.is_empty() || bytes <= PAGE_BYTES;
        if fits {
            found.push_front(version);
        }
        Ok(fits)
    })?;
    if found.is_empty() && before.is_none() && limit > 0 {
        return Err(StoreError::not_found("block", block));
    }
    Ok(found.into())
}

fn read_version(row: &mut Columns<'_>) -> Result<BlockVersion, StoreError> {
    Ok(BlockVersion {
        version: row.whole()?,
        label: read_label(row)?,
        value: row.text()?,
        description: row.get()?,
        limit: row.whole32()?,
        editor: read_editor(row)?,
        user: row.id()?,
        at: row.time()?,
    })
}

/// An editor as three columns: the word, the run and the version that was restored.
pub(crate) fn words(editor: BlockEditor) -> (&'static str, Option<RunId>, Option<u64>) {
    match editor {
        BlockEditor::Tool(run) => ("tool", Some(run), None),
        BlockEditor::Sleeptime(run) => ("sleeptime", Some(run), None),
        BlockEditor::Api => ("api", None, None),
        BlockEditor::Import => ("import", None, None),
        BlockEditor::Undo { to_version } => ("undo", None, Some(to_version)),
        BlockEditor::Redo { to_version } => ("redo", None, Some(to_version)),
    }
}

/// The three columns of an editor.
pub(crate) fn read_editor(row: &mut Columns<'_>) -> Result<BlockEditor, StoreError> {
    let (word, run, restored) = (row.text()?, row.optional_id::<RunId>()?, row.optional_whole()?);
    match (word.as_str(), run, restored) {
        ("tool", Some(run), None) => Ok(BlockEditor::Tool(run)),
        ("sleeptime", Some(run), None) => Ok(BlockEditor::Sleeptime(run)),
        ("api", None, None) => Ok(BlockEditor::Api),
        ("import", None, None) => Ok(BlockEditor::Import),
        ("undo", None, Some(version)) => Ok(BlockEditor::Undo { to_version: version }),
        ("redo", None, Some(version)) => Ok(BlockEditor::Redo { to_version: version }),
        (other, ..) => Err(StoreError::Corrupt(format!("unknown block editor `{other}`"))),
    }
}

/// Writes down what a block is now.
pub(crate) fn remember(scope: &Scope<'_>, block: &domain::Block, editor: BlockEditor) -> Result<(), StoreError> {
    const SQL: &str = "insert into block_history (block_id, version, organization_id, label, value, description, \
                       char_limit, editor, run_id, restored_version, user_id, at) \
                       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let (editor, run, restored) = words(editor);
    let params = params![
        block.id.as_bytes(),
        whole(block.version),
        scope.owner_bytes(),
        block.label.as_str(),
        block.value(),
        block.description,
        block.limit(),
        editor,
        run.as_ref().map(|run| run.as_bytes()),
        restored.map(whole),
        scope.actor.user.as_bytes(),
        micros(scope.at),
    ];
    scope.db.execute(SQL, params).map(drop)
}
