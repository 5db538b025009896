//! Archives, the agents that share them, and what each agent is told about its own.

use std::sync::Arc;

use domain::{AgentId, Archival, Archive, ArchiveId, ModelHandle, OrganizationId, VectorDbProvider};

use crate::apply::Scope;
use crate::dialect::{Columns, Db, Query, json, micros, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::texts;

macro_rules! archive_columns {
    () => {
        "a.id, a.organization_id, a.created_by, a.name, a.description, a.embedding, a.vector_db_provider, a.metadata, \
         a.created_at, a.updated_at"
    };
}

/// Which archives to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFilter {
    /// The exact name.
    pub name: Option<String>,
    /// Only archives that this agent has.
    pub agent: Option<AgentId>,
    /// Only archives that the listing has before this one.
    pub before: Option<ArchiveId>,
    /// Only archives that the listing has after this one.
    pub after: Option<ArchiveId>,
    pub limit: u32,
    /// Oldest first.
    pub ascending: bool,
}

impl Default for ArchiveFilter {
    fn default() -> Self {
        Self { name: None, agent: None, before: None, after: None, limit: 50, ascending: false }
    }
}

impl Store {
    /// One archive.
    pub async fn archive(&self, owner: OrganizationId, archive: ArchiveId) -> Result<Archive, StoreError> {
        self.read(move |db| load(db, owner, archive)).await
    }

    /// All archives, oldest first.
    pub async fn archives(&self, owner: OrganizationId) -> Result<Vec<Archive>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            archive_columns!(),
            " from archive a where a.organization_id = $1 order by a.created_at, a.id"
        );
        self.read(move |db| db.all(SQL, params![owner.as_bytes()], read)).await
    }

    /// Archives by age.
    pub async fn find_archives(
        &self,
        owner: OrganizationId,
        filter: &ArchiveFilter,
    ) -> Result<Vec<Archive>, StoreError> {
        let filter = filter.clone();
        self.read(move |db| db.consistently(|db| list(db, owner, &filter))).await
    }

    /// An agent's archives in attach order; new passages go to the first.
    pub async fn agent_archives(&self, owner: OrganizationId, agent: AgentId) -> Result<Vec<Archive>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            archive_columns!(),
            " from agent_archive aa join archive a on a.id = aa.archive_id \
             where aa.agent_id = $1 and a.organization_id = $2 order by aa.position"
        );
        self.read(move |db| {
            crate::agents::require(db, owner, agent)?;
            db.all(SQL, params![agent.as_bytes(), owner.as_bytes()], read)
        })
        .await
    }
}

fn read(row: &mut Columns<'_>) -> Result<Archive, StoreError> {
    Ok(Archive {
        id: row.id()?,
        organization: row.id()?,
        created_by: row.id()?,
        name: row.text()?,
        description: row.get()?,
        embedding: row.word(|text| ModelHandle::parse(text).ok())?,
        vector_db_provider: row.word(VectorDbProvider::parse)?,
        metadata: row.json()?,
        created_at: row.time()?,
        updated_at: row.time()?,
    })
}

fn load(db: &Db, owner: OrganizationId, archive: ArchiveId) -> Result<Archive, StoreError> {
    const SQL: &str =
        concat!("select ", archive_columns!(), " from archive a where a.id = $1 and a.organization_id = $2");
    db.first(SQL, params![archive.as_bytes(), owner.as_bytes()], read)?
        .ok_or_else(|| StoreError::not_found("archive", archive))
}

fn list(db: &Db, owner: OrganizationId, filter: &ArchiveFilter) -> Result<Vec<Archive>, StoreError> {
    let mut query = Query::new(concat!("select ", archive_columns!(), " from archive a where a.organization_id = "));
    query.bind_id(owner.as_bytes());
    if let Some(name) = &filter.name {
        query.push(" and a.name = ").bind(name.clone());
    }
    if let Some(agent) = filter.agent {
        query.push(" and exists (select 1 from agent_archive aa where aa.archive_id = a.id and aa.agent_id = ");
        query.bind_id(agent.as_bytes()).push(")");
    }
    let (newer, older) = if filter.ascending { (filter.after, filter.before) } else { (filter.before, filter.after) };
    for (cursor, comparison) in [(newer, " > ("), (older, " < (")] {
        let Some(cursor) = cursor else { continue };
        let created_at = micros(load(db, owner, cursor)?.created_at);
        query.push(" and (a.created_at, a.id)").push(comparison).bind(created_at);
        query.push(", ").bind_id(cursor.as_bytes()).push(")");
    }
    let direction = if filter.ascending { "asc" } else { "desc" };
    query.push(&format!(" order by a.created_at {direction}, a.id {direction} limit "));
    query.bind(i64::from(filter.limit));
    query.all(db, read)
}

/// What the agent is told about its archives.
pub(crate) fn archival(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<Archival, StoreError> {
    const COUNT: &str = "select coalesce(sum(a.passage_count), 0) from agent_archive aa \
                         join archive a on a.id = aa.archive_id where aa.agent_id = $1 and a.organization_id = $2";
    const TAGS: &str = "select distinct t.tag from agent_archive aa join archive_tag t on t.archive_id = aa.archive_id \
                        where aa.agent_id = $1 order by t.tag";
    let passages = db.first(COUNT, params![agent.as_bytes(), owner.as_bytes()], |row| row.whole())?;
    let passages = passages.unwrap_or_default();
    let tags = if passages == 0 { Vec::new() } else { db.all(TAGS, params![agent.as_bytes()], |row| row.text())? };
    Ok(Archival { passages, tags: tags.into() })
}

/// Agents that have the archive.
pub(crate) fn agents_of(scope: &Scope<'_>, archive: ArchiveId) -> Result<Vec<AgentId>, StoreError> {
    const SQL: &str = "select agent_id from agent_archive where archive_id = $1";
    scope.db.all(SQL, params![archive.as_bytes()], |row| row.id())
}

pub(crate) fn insert(scope: &Scope<'_>, archive: &Archive) -> Result<(), StoreError> {
    const SQL: &str = "insert into archive (id, organization_id, created_by, name, description, embedding, \
                       vector_db_provider, metadata, created_at, updated_at) \
                       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    scope.check_owner("archive", archive.organization)?;
    check_texts(archive)?;
    let inserted = scope.db.execute(
        SQL,
        params![
            archive.id.as_bytes(),
            archive.organization.as_bytes(),
            archive.created_by.as_bytes(),
            archive.name,
            archive.description,
            archive.embedding.as_str(),
            archive.vector_db_provider.as_str(),
            json(&archive.metadata)?,
            micros(archive.created_at),
            micros(archive.updated_at),
        ],
    );
    Scope::named(inserted, "archive", archive.id).map(drop)
}

pub(crate) fn update(scope: &Scope<'_>, archive: &Archive) -> Result<(), StoreError> {
    const SQL: &str = "update archive set name = $1, description = $2, embedding = $3, metadata = $4, updated_at = $5 \
                       where id = $6 and organization_id = $7";
    check_texts(archive)?;
    let changed = scope.db.execute(
        SQL,
        params![
            archive.name,
            archive.description,
            archive.embedding.as_str(),
            json(&archive.metadata)?,
            micros(scope.at),
            archive.id.as_bytes(),
            scope.owner_bytes(),
        ],
    )?;
    if changed == 0 { Err(StoreError::not_found("archive", archive.id)) } else { Ok(()) }
}

/// Removes an archive with its passages and its index, from all agents.
pub(crate) fn delete(scope: &Scope<'_>, archive: ArchiveId) -> Result<(), StoreError> {
    const SQL: [&str; 4] = [
        "delete from agent_archive where archive_id = $1",
        "delete from archive_tag where archive_id = $1",
        "delete from passage where archive_id = $1",
        "delete from archive where id = $1",
    ];
    check(scope, archive)?;
    crate::search_index::drop_scope(scope, archive.as_bytes())?;
    SQL.iter().try_for_each(|sql| scope.db.execute(sql, params![archive.as_bytes()]).map(drop))
}

pub(crate) fn attach(scope: &Scope<'_>, agent: AgentId, archive: ArchiveId) -> Result<(), StoreError> {
    const NEXT: &str = "select coalesce(max(position) + 1, 0) from agent_archive where agent_id = $1";
    const SQL: &str =
        "insert into agent_archive (agent_id, archive_id, position) values ($1, $2, $3) on conflict do nothing";
    crate::agents::check(scope, agent)?;
    check(scope, archive)?;
    let next = scope.db.first(NEXT, params![agent.as_bytes()], |row| row.get::<i64>())?.unwrap_or_default();
    scope.db.execute(SQL, params![agent.as_bytes(), archive.as_bytes(), next]).map(drop)
}

pub(crate) fn detach(scope: &Scope<'_>, agent: AgentId, archive: ArchiveId) -> Result<(), StoreError> {
    const SQL: &str = "delete from agent_archive where agent_id = $1 and archive_id = $2";
    crate::agents::check(scope, agent)?;
    let removed = scope.db.execute(SQL, params![agent.as_bytes(), archive.as_bytes()])?;
    if removed == 0 { Err(StoreError::not_found("archive", archive)) } else { Ok(()) }
}

/// Fails where the actor's organisation has no such archive.
pub(crate) fn check(scope: &Scope<'_>, archive: ArchiveId) -> Result<(), StoreError> {
    const SQL: &str = "select 1 from archive where id = $1 and organization_id = $2";
    if scope.db.exists(SQL, params![archive.as_bytes(), scope.owner_bytes()])? {
        return Ok(());
    }
    Err(StoreError::not_found("archive", archive))
}

/// Counts passages that came or went, with their tags.
pub(crate) fn count(
    scope: &Scope<'_>,
    archive: ArchiveId,
    tags: &Arc<[String]>,
    difference: i64,
) -> Result<(), StoreError> {
    const COUNT: &str = "update archive set passage_count = passage_count + $1, updated_at = $2 where id = $3";
    const TAG: &str = "insert into archive_tag (archive_id, tag, passage_count) values ($1, $2, $3) \
                       on conflict (archive_id, tag) do update set passage_count = archive_tag.passage_count + $3";
    const UNUSED: &str = "delete from archive_tag where archive_id = $1 and passage_count <= 0";
    scope.db.execute(COUNT, params![difference, micros(scope.at), archive.as_bytes()])?;
    for tag in tags.iter() {
        scope.db.execute(TAG, params![archive.as_bytes(), tag, difference])?;
    }
    if difference < 0 && !tags.is_empty() {
        scope.db.execute(UNUSED, params![archive.as_bytes()])?;
    }
    Ok(())
}

fn check_texts(archive: &Archive) -> Result<(), StoreError> {
    texts::check("an archive's name", &archive.name)?;
    texts::check_optional("an archive's description", archive.description.as_deref())?;
    texts::check_fields("an archive's metadata", &archive.metadata)
}
