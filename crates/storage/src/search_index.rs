//! Where the search index is kept: opaque stretches of postings and vectors, by scope.
//!
//! Only the room that makes them knows what is inside. They can always be made again from the rows, so a stretch that
//! is missing or damaged is a slow search and never a loss.

use domain::{AgentId, ArchiveId, OrganizationId};

use crate::apply::Scope;
use crate::dialect::{params, whole};
use crate::error::StoreError;
use crate::store::Store;

/// The fingerprint of some bytes (FNV-1a).
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The content of a stretch with its fingerprint at the end, by which damage is noticed.
pub fn sealed(mut content: Vec<u8>) -> Vec<u8> {
    let sum = fingerprint(&content);
    content.extend(sum.to_le_bytes());
    content
}

/// The content without its fingerprint; none if the two don't fit.
pub fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (content, sum) = bytes.split_last_chunk::<8>()?;
    (fingerprint(content) == u64::from_le_bytes(*sum)).then_some(content)
}

/// What is searched as one: an agent's messages, or an archive's passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SearchScope {
    Recall(AgentId),
    Archive(ArchiveId),
}

impl SearchScope {
    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        match self {
            Self::Recall(agent) => agent.as_bytes(),
            Self::Archive(archive) => archive.as_bytes(),
        }
    }
}

/// Postings of a stretch of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub first: u64,
    pub last: u64,
    pub documents: u64,
    pub content: Vec<u8>,
}

/// Vectors of a stretch of rows, made by one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorStretch {
    /// The model's handle.
    pub embedding: String,
    pub first: u64,
    pub last: u64,
    pub documents: u64,
    pub dimensions: u32,
    pub content: Vec<u8>,
}

/// Which stretches to read: those that begin after a row, and so many at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub after: u64,
    pub limit: u32,
}

/// How far a model's vectors reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    pub embedding: String,
    pub last: u64,
    pub documents: u64,
}

/// A row that was deleted after it may have been indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// The order of deletions.
    pub ordinal: u64,
    pub number: u64,
}

impl Store {
    /// Stretches of postings, in order.
    pub async fn segments(
        &self,
        owner: OrganizationId,
        scope: SearchScope,
        page: Page,
    ) -> Result<Vec<Segment>, StoreError> {
        const SQL: &str = "select first_number, last_number, documents, content from search_segment \
                           where scope_id = $1 and first_number > $2 and organization_id = $3 \
                           order by first_number limit $4";
        self.read(move |db| {
            db.all(SQL, params![scope.as_bytes(), whole(page.after), owner.as_bytes(), i64::from(page.limit)], |row| {
                Ok(Segment { first: row.whole()?, last: row.whole()?, documents: row.whole()?, content: row.get()? })
            })
        })
        .await
    }

    /// Stretches of one model's vectors, in order.
    pub async fn vectors(
        &self,
        owner: OrganizationId,
        scope: SearchScope,
        embedding: &str,
        page: Page,
    ) -> Result<Vec<VectorStretch>, StoreError> {
        const SQL: &str = "select embedding, first_number, last_number, documents, dimensions, content \
                           from search_vectors where scope_id = $1 and embedding = $2 and first_number > $3 \
                           and organization_id = $4 order by first_number limit $5";
        let embedding = embedding.to_owned();
        self.read(move |db| {
            let values =
                params![scope.as_bytes(), embedding, whole(page.after), owner.as_bytes(), i64::from(page.limit)];
            db.all(SQL, values, |row| {
                Ok(VectorStretch {
                    embedding: row.text()?,
                    first: row.whole()?,
                    last: row.whole()?,
                    documents: row.whole()?,
                    dimensions: row.whole32()?,
                    content: row.get()?,
                })
            })
        })
        .await
    }

    /// How far each model's vectors of a scope reach, the longest reach first.
    pub async fn coverage(&self, owner: OrganizationId, scope: SearchScope) -> Result<Vec<Coverage>, StoreError> {
        const SQL: &str = "select embedding, max(last_number), sum(documents) from search_vectors \
                           where scope_id = $1 and organization_id = $2 group by embedding order by 2 desc, 1";
        self.read(move |db| {
            db.all(SQL, params![scope.as_bytes(), owner.as_bytes()], |row| {
                Ok(Coverage { embedding: row.text()?, last: row.whole()?, documents: row.whole()? })
            })
        })
        .await
    }

    /// Deletions after the one with this ordinal, in order.
    pub async fn gone_after(
        &self,
        owner: OrganizationId,
        scope: SearchScope,
        after: u64,
    ) -> Result<Vec<Gone>, StoreError> {
        const SQL: &str = "select ordinal, number from search_gone where scope_id = $1 and ordinal > $2 \
                           and organization_id = $3 order by ordinal";
        self.read(move |db| {
            db.all(SQL, params![scope.as_bytes(), whole(after), owner.as_bytes()], |row| {
                Ok(Gone { ordinal: row.whole()?, number: row.whole()? })
            })
        })
        .await
    }

    /// Every scope that has rows of its own, with its owner.
    pub async fn search_scopes(&self) -> Result<Vec<(OrganizationId, SearchScope)>, StoreError> {
        self.read(|db| {
            let mut scopes = db.all("select organization_id, id from agent order by ordinal", [], |row| {
                Ok((row.id()?, SearchScope::Recall(row.id()?)))
            })?;
            scopes.extend(db.all("select organization_id, id from archive order by created_at, id", [], |row| {
                Ok((row.id()?, SearchScope::Archive(row.id()?)))
            })?);
            Ok(scopes)
        })
        .await
    }

    /// Rows of a scope with numbers above `after`.
    pub async fn rows_after(&self, owner: OrganizationId, scope: SearchScope, after: u64) -> Result<u64, StoreError> {
        const MESSAGES: &str =
            "select count(*) from message where agent_id = $1 and sequence_id > $2 and organization_id = $3";
        const PASSAGES: &str =
            "select count(*) from passage where archive_id = $1 and number > $2 and organization_id = $3";
        let sql = match scope {
            SearchScope::Recall(_) => MESSAGES,
            SearchScope::Archive(_) => PASSAGES,
        };
        self.read(move |db| {
            let found = db.first(sql, params![scope.as_bytes(), whole(after), owner.as_bytes()], |row| row.whole())?;
            Ok(found.unwrap_or_default())
        })
        .await
    }

    /// The last number that the postings of a scope reach; 0 where there are none.
    pub async fn indexed_to(&self, owner: OrganizationId, scope: SearchScope) -> Result<u64, StoreError> {
        const SQL: &str =
            "select coalesce(max(last_number), 0) from search_segment where scope_id = $1 and organization_id = $2";
        self.read(move |db| {
            let found = db.first(SQL, params![scope.as_bytes(), owner.as_bytes()], |row| row.whole())?;
            Ok(found.unwrap_or_default())
        })
        .await
    }
}

/// Adds a stretch of postings; fails with `Conflict` where it would overlap another.
pub(crate) fn insert_segment(scope: &Scope<'_>, of: SearchScope, segment: &Segment) -> Result<(), StoreError> {
    const OVERLAP: &str = "select 1 from search_segment where scope_id = $1 and last_number >= $2";
    const SQL: &str = "insert into search_segment (scope_id, first_number, last_number, organization_id, documents, \
                       content) values ($1, $2, $3, $4, $5, $6)";
    check_scope(scope, of)?;
    if scope.db.exists(OVERLAP, params![of.as_bytes(), whole(segment.first)])? {
        return Err(StoreError::conflict("search segment", segment.first, "was made by someone else"));
    }
    let values = params![
        of.as_bytes(),
        whole(segment.first),
        whole(segment.last),
        scope.owner_bytes(),
        whole(segment.documents),
        segment.content,
    ];
    scope.db.execute(SQL, values).map(drop)
}

/// Adds a stretch of vectors; fails with `Conflict` where it would overlap another of the same model.
pub(crate) fn insert_vectors(scope: &Scope<'_>, of: SearchScope, vectors: &VectorStretch) -> Result<(), StoreError> {
    const OVERLAP: &str = "select 1 from search_vectors where scope_id = $1 and embedding = $2 and last_number >= $3";
    const SQL: &str = "insert into search_vectors (scope_id, embedding, first_number, last_number, organization_id, \
                       documents, dimensions, content) values ($1, $2, $3, $4, $5, $6, $7, $8)";
    check_scope(scope, of)?;
    if scope.db.exists(OVERLAP, params![of.as_bytes(), vectors.embedding, whole(vectors.first)])? {
        return Err(StoreError::conflict("search vectors", vectors.first, "were made by someone else"));
    }
    let values = params![
        of.as_bytes(),
        vectors.embedding,
        whole(vectors.first),
        whole(vectors.last),
        scope.owner_bytes(),
        whole(vectors.documents),
        vectors.dimensions,
        vectors.content,
    ];
    scope.db.execute(SQL, values).map(drop)
}

/// Removes the vectors of one model.
pub(crate) fn drop_vectors(scope: &Scope<'_>, of: SearchScope, embedding: &str) -> Result<(), StoreError> {
    const SQL: &str = "delete from search_vectors where scope_id = $1 and embedding = $2 and organization_id = $3";
    scope.db.execute(SQL, params![of.as_bytes(), embedding, scope.owner_bytes()]).map(drop)
}

/// Removes the postings of a scope.
pub(crate) fn drop_segments(scope: &Scope<'_>, of: SearchScope) -> Result<(), StoreError> {
    const SQL: &str = "delete from search_segment where scope_id = $1 and organization_id = $2";
    scope.db.execute(SQL, params![of.as_bytes(), scope.owner_bytes()]).map(drop)
}

/// Removes all that is indexed of a scope.
pub(crate) fn drop_scope(scope: &Scope<'_>, of: &[u8; 16]) -> Result<(), StoreError> {
    const SQL: [&str; 3] = [
        "delete from search_segment where scope_id = $1 and organization_id = $2",
        "delete from search_vectors where scope_id = $1 and organization_id = $2",
        "delete from search_gone where scope_id = $1 and organization_id = $2",
    ];
    SQL.iter().try_for_each(|sql| scope.db.execute(sql, params![of, scope.owner_bytes()]).map(drop))
}

/// Remembers that a row is gone, for whoever has it in an index.
pub(crate) fn forget(scope: &Scope<'_>, of: &[u8; 16], number: u64) -> Result<(), StoreError> {
    const SQL: &str = "insert into search_gone (scope_id, organization_id, number) values ($1, $2, $3)";
    scope.db.execute(SQL, params![of, scope.owner_bytes(), whole(number)]).map(drop)
}

fn check_scope(scope: &Scope<'_>, of: SearchScope) -> Result<(), StoreError> {
    match of {
        SearchScope::Recall(agent) => crate::agents::check(scope, agent),
        SearchScope::Archive(archive) => crate::archives::check(scope, archive),
    }
}
