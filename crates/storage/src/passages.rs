//! Passages of archives, in the order of the numbers that the store gives them.

use std::sync::Arc;

use domain::{ArchiveId, OrganizationId, Passage, PassageId, Timestamp};

use crate::agents::containing;
use crate::apply::Scope;
use crate::dialect::{Columns, Db, Query, json, micros, params, stored_time, whole};
use crate::error::StoreError;
use crate::store::Store;
use crate::{archives, search_index, texts};

macro_rules! passage_columns {
    () => {
        "p.id, p.organization_id, p.created_by, p.archive_id, p.number, p.text, p.tags, p.metadata, p.created_at"
    };
}

/// Which passages to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageFilter {
    /// The archives to look in.
    pub archives: Vec<ArchiveId>,
    /// A part of the text, in any case of ASCII letters.
    pub text: Option<String>,
    pub tags: Vec<String>,
    /// Whether a passage must have all of the tags or any of them.
    pub match_all_tags: bool,
    /// Only passages from then on.
    pub from: Option<Timestamp>,
    /// Only passages before then.
    pub until: Option<Timestamp>,
    /// Only passages that the listing has before this one.
    pub before: Option<PassageId>,
    /// Only passages that the listing has after this one.
    pub after: Option<PassageId>,
    pub limit: u32,
    /// First stored first.
    pub ascending: bool,
}

impl Default for PassageFilter {
    fn default() -> Self {
        Self {
            archives: Vec::new(),
            text: None,
            tags: Vec::new(),
            match_all_tags: false,
            from: None,
            until: None,
            before: None,
            after: None,
            limit: 100,
            ascending: true,
        }
    }
}

impl Store {
    /// Passages in the order in which they were stored.
    pub async fn passages(
        &self,
        owner: OrganizationId,
        filter: &PassageFilter,
    ) -> Result<Vec<Arc<Passage>>, StoreError> {
        let filter = filter.clone();
        self.read(move |db| db.consistently(|db| list(db, owner, &filter))).await
    }

    /// One passage.
    pub async fn passage(&self, owner: OrganizationId, passage: PassageId) -> Result<Arc<Passage>, StoreError> {
        const SQL: &str =
            concat!("select ", passage_columns!(), " from passage p where p.id = $1 and p.organization_id = $2");
        self.read(move |db| {
            db.first(SQL, params![passage.as_bytes(), owner.as_bytes()], read)?
                .ok_or_else(|| StoreError::not_found("passage", passage))
        })
        .await
    }

    /// Passages of an archive with numbers above `after`, oldest first.
    pub async fn passages_after(
        &self,
        owner: OrganizationId,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Arc<Passage>>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            passage_columns!(),
            " from passage p where p.archive_id = $1 and p.number > $2 and p.organization_id = $3 \
             order by p.number limit $4"
        );
        self.read(move |db| {
            db.all(SQL, params![archive.as_bytes(), whole(after), owner.as_bytes(), i64::from(limit)], read)
        })
        .await
    }

    /// The passages with these numbers, in no particular order; those that are gone are left out.
    pub async fn passages_by_number(
        &self,
        owner: OrganizationId,
        numbers: &[u64],
    ) -> Result<Vec<Arc<Passage>>, StoreError> {
        let numbers = numbers.to_vec();
        self.read(move |db| {
            let mut query =
                Query::new(concat!("select ", passage_columns!(), " from passage p where p.organization_id = "));
            query.bind_id(owner.as_bytes()).push(" and p.number in (").bind_list(&numbers).push(")");
            query.all(db, read)
        })
        .await
    }
}

fn list(db: &Db, owner: OrganizationId, filter: &PassageFilter) -> Result<Vec<Arc<Passage>>, StoreError> {
    let (newer, older) = if filter.ascending { (filter.after, filter.before) } else { (filter.before, filter.after) };
    let number = |cursor: Option<PassageId>| cursor.map(|cursor| number_of(db, owner, cursor)).transpose();
    // A cursor that leads nowhere is told even where there is nothing to list.
    let (newer, older) = (number(newer)?, number(older)?);
    if filter.archives.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = Query::new(concat!("select ", passage_columns!(), " from passage p where p.organization_id = "));
    query.bind_id(owner.as_bytes()).push(" and p.archive_id in (");
    query.bind_ids(filter.archives.iter().map(ArchiveId::as_bytes)).push(")");
    if let Some(part) = &filter.text {
        query.push(" and lower(p.text) like ").bind(containing(part)).push(" escape '\\'");
    }
    if let Some(from) = filter.from {
        query.push(" and p.created_at >= ").bind(micros(from));
    }
    if let Some(until) = filter.until {
        query.push(" and p.created_at < ").bind(micros(until));
    }
    push_tags(&mut query, filter);
    for (cursor, comparison) in [(newer, " > "), (older, " < ")] {
        let Some(cursor) = cursor else { continue };
        query.push(" and p.number").push(comparison).bind(whole(cursor));
    }
    let direction = if filter.ascending { "asc" } else { "desc" };
    query.push(&format!(" order by p.number {direction} limit ")).bind(i64::from(filter.limit));
    query.all(db, read)
}

fn push_tags(query: &mut Query, filter: &PassageFilter) {
    if filter.tags.is_empty() {
        return;
    }
    query.push(" and (");
    for (index, tag) in filter.tags.iter().enumerate() {
        if index > 0 {
            query.push(if filter.match_all_tags { " and " } else { " or " });
        }
        query.push_holds("p.tags", tag);
    }
    query.push(")");
}

fn number_of(db: &Db, owner: OrganizationId, passage: PassageId) -> Result<u64, StoreError> {
    const SQL: &str = "select number from passage where id = $1 and organization_id = $2";
    db.first(SQL, params![passage.as_bytes(), owner.as_bytes()], |row| row.whole())?
        .ok_or_else(|| StoreError::not_found("passage", passage))
}

fn read(row: &mut Columns<'_>) -> Result<Arc<Passage>, StoreError> {
    Ok(Arc::new(Passage {
        id: row.id()?,
        organization: row.id()?,
        created_by: row.id()?,
        archive: row.id()?,
        number: row.whole()?,
        text: row.text()?.into(),
        tags: row.list()?,
        metadata: row.json()?,
        created_at: row.time()?,
    }))
}

/// Inserts a passage and gives it as it is stored.
pub(crate) fn insert(scope: &Scope<'_>, passage: &Passage) -> Result<Arc<Passage>, StoreError> {
    const SQL: &str = "insert into passage (id, organization_id, created_by, archive_id, text, tags, metadata, created_at) \
                       values ($1, $2, $3, $4, $5, $6, $7, $8) returning number";
    scope.check_owner("passage", passage.organization)?;
    archives::check(scope, passage.archive)?;
    check_texts(passage)?;
    let inserted = scope.db.first(
        SQL,
        params![
            passage.id.as_bytes(),
            passage.organization.as_bytes(),
            passage.created_by.as_bytes(),
            passage.archive.as_bytes(),
            passage.text,
            json(&passage.tags[..])?,
            json(&passage.metadata)?,
            micros(passage.created_at),
        ],
        |row| row.whole(),
    );
    let number = Scope::named(inserted, "passage", passage.id)?
        .ok_or_else(|| StoreError::Corrupt("a new passage got no number".to_owned()))?;
    archives::count(scope, passage.archive, &passage.tags, 1)?;
    Ok(Arc::new(Passage { number, created_at: stored_time(passage.created_at), ..passage.clone() }))
}

/// Removes a passage and gives the archive that it was in.
pub(crate) fn delete(scope: &Scope<'_>, passage: PassageId) -> Result<ArchiveId, StoreError> {
    const FIND: &str =
        concat!("select ", passage_columns!(), " from passage p where p.id = $1 and p.organization_id = $2");
    const SQL: &str = "delete from passage where id = $1";
    let found = scope.db.first(FIND, params![passage.as_bytes(), scope.owner_bytes()], read)?;
    let found = found.ok_or_else(|| StoreError::not_found("passage", passage))?;
    scope.db.execute(SQL, params![passage.as_bytes()])?;
    search_index::forget(scope, found.archive.as_bytes(), found.number)?;
    archives::count(scope, found.archive, &found.tags, -1)?;
    Ok(found.archive)
}

fn check_texts(passage: &Passage) -> Result<(), StoreError> {
    texts::check("a passage", &passage.text)?;
    texts::check_fields("a passage's metadata", &passage.metadata)?;
    passage.tags.iter().try_for_each(|tag| texts::check("a passage's tag", tag))
}
