//! Passages of archives, in the order of the numbers that the store gives them.

use std::sync::Arc;

use domain::{ArchiveId, OrganizationId, Passage, PassageId};

use crate::apply::Scope;
use crate::dialect::{Columns, Query, json, micros, params, stored_time, whole};
use crate::error::StoreError;
use crate::store::Store;
use crate::{archives, search_index, texts};

macro_rules! passage_columns {
    () => {
        "p.id, p.organization_id, p.created_by, p.archive_id, p.number, p.text, p.tags, p.metadata, p.created_at"
    };
}

impl Store {
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
