//! Agents: their own settings and tags.
//!
//! When an agent last finished a run is not kept with it but read from its runs, so that a step never rewrites the
//! agent's row.

use std::sync::Arc;

use domain::{Agent, AgentId, AgentType, ArchiveId, OrganizationId, StopReason};

use crate::apply::Scope;
use crate::dialect::{Columns, Db, Query, json, micros, optional_json, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::texts;

macro_rules! agent_columns {
    () => {
        "a.id, a.organization_id, a.created_by, a.name, a.description, a.kind, a.system, a.llm_config, a.embedding, \
         a.response_format, a.compaction_settings, a.tool_rules, a.metadata, a.timezone, a.message_buffer_autoclear, \
         a.max_files_open, a.per_file_view_window_char_limit, a.hidden, a.default_conversation_id, a.created_at, \
         a.updated_at, \
         (select r.completed_at from run r where r.agent_id = a.id and r.completed_at is not null \
          order by r.completed_at desc limit 1), \
         (select r.stop_reason from run r where r.agent_id = a.id and r.completed_at is not null \
          order by r.completed_at desc limit 1)"
    };
}

/// Which agents to list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentFilter {
    /// The exact name.
    pub name: Option<String>,
    pub tags: Vec<String>,
    /// Whether an agent must have all of the tags or any of them.
    pub match_all_tags: bool,
    /// A part of the name, in any case of ASCII letters.
    pub query_text: Option<String>,
    /// Only agents that have this archive.
    pub archive: Option<ArchiveId>,
    /// Only agents that the listing has before this one.
    pub before: Option<AgentId>,
    /// Only agents that the listing has after this one.
    pub after: Option<AgentId>,
    pub limit: u32,
    /// Oldest first.
    pub ascending: bool,
    pub include_hidden: bool,
}

impl Default for AgentFilter {
    fn default() -> Self {
        Self {
            name: None,
            tags: Vec::new(),
            match_all_tags: false,
            query_text: None,
            archive: None,
            before: None,
            after: None,
            limit: 50,
            ascending: false,
            include_hidden: false,
        }
    }
}

impl Store {
    /// One agent.
    pub async fn agent(&self, owner: OrganizationId, agent: AgentId) -> Result<Arc<Agent>, StoreError> {
        if let Some(warm) = self.cache().agent(owner, agent, |entry| entry.agent.clone()) {
            return Ok(warm);
        }
        self.read(move |db| db.consistently(|db| load(db, owner, agent))).await
    }

    /// Agents by age, made in the same moment by the order of their making.
    pub async fn agents(&self, owner: OrganizationId, filter: &AgentFilter) -> Result<Vec<Arc<Agent>>, StoreError> {
        // Doors look agents up by name for each request, so that such a listing is remembered.
        let is_lookup = filter.name.is_some() && filter.archive.is_none();
        let lookup = is_lookup.then(|| (owner, filter.clone()));
        if let Some(warm) = lookup.as_ref().and_then(|lookup| self.cache().listing(lookup)) {
            return Ok(warm);
        }
        let token = self.cache().listing_token();
        let filter = filter.clone();
        let found = self.read(move |db| db.consistently(|db| list(db, owner, &filter))).await?;
        if let (Some(lookup), Some(token)) = (lookup, token) {
            self.cache().keep_listing(token, lookup, found.iter().map(|agent| agent.id).collect());
        }
        Ok(found)
    }
}

fn read(row: &mut Columns<'_>) -> Result<Agent, StoreError> {
    Ok(Agent {
        id: row.id()?,
        organization: row.id()?,
        created_by: row.id()?,
        name: row.text()?,
        description: row.get()?,
        kind: row.word(AgentType::parse)?,
        system: row.text()?,
        llm_config: row.json()?,
        embedding: row.get()?,
        response_format: row.optional_json()?,
        compaction_settings: row.optional_json()?,
        tool_rules: row.json()?,
        tags: Vec::new(),
        metadata: row.json()?,
        timezone: row.text()?,
        message_buffer_autoclear: row.get()?,
        max_files_open: row.whole32()?,
        per_file_view_window_char_limit: row.whole32()?,
        hidden: row.get()?,
        default_conversation: row.id()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        last_run_completion: row.optional_time()?,
        last_stop_reason: row.optional_word(StopReason::parse)?,
    })
}

fn with_tags(db: &Db, mut agent: Agent) -> Result<Arc<Agent>, StoreError> {
    const SQL: &str = "select tag from agent_tag where agent_id = $1 order by position";
    agent.tags = db.all(SQL, params![agent.id.as_bytes()], |row| row.text())?;
    Ok(Arc::new(agent))
}

/// The agent with its tags.
pub(crate) fn load(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<Arc<Agent>, StoreError> {
    const SQL: &str = concat!("select ", agent_columns!(), " from agent a where a.id = $1 and a.organization_id = $2");
    let found = db.first(SQL, params![agent.as_bytes(), owner.as_bytes()], read)?;
    with_tags(db, found.ok_or_else(|| StoreError::not_found("agent", agent))?)
}

fn list(db: &Db, owner: OrganizationId, filter: &AgentFilter) -> Result<Vec<Arc<Agent>>, StoreError> {
    let mut query = Query::new(concat!("select ", agent_columns!(), " from agent a where a.organization_id = "));
    query.bind_id(owner.as_bytes());
    if !filter.include_hidden {
        query.push(" and not a.hidden");
    }
    if let Some(name) = &filter.name {
        query.push(" and a.name = ").bind(name.clone());
    }
    if let Some(part) = &filter.query_text {
        query.push(" and lower(a.name) like ").bind(containing(part)).push(" escape '\\'");
    }
    if let Some(archive) = filter.archive {
        query.push(" and exists (select 1 from agent_archive aa where aa.agent_id = a.id and aa.archive_id = ");
        query.bind_id(archive.as_bytes()).push(")");
    }
    push_tags(&mut query, filter);
    let (newer, older) = if filter.ascending { (filter.after, filter.before) } else { (filter.before, filter.after) };
    for (cursor, comparison) in [(newer, " > ("), (older, " < (")] {
        let Some(cursor) = cursor else { continue };
        let (created_at, ordinal) = position(db, owner, cursor)?;
        query.push(" and (a.created_at, a.ordinal)").push(comparison).bind(created_at);
        query.push(", ").bind(ordinal).push(")");
    }
    let direction = if filter.ascending { "asc" } else { "desc" };
    query.push(&format!(" order by a.created_at {direction}, a.ordinal {direction} limit "));
    query.bind(i64::from(filter.limit));
    query.all(db, read)?.into_iter().map(|agent| with_tags(db, agent)).collect()
}

/// A pattern for `like` that takes the text as it is.
pub(crate) fn containing(part: &str) -> String {
    let escaped = part.to_ascii_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

fn push_tags(query: &mut Query, filter: &AgentFilter) {
    if filter.tags.is_empty() {
        return;
    }
    query.push(" and (");
    for (index, tag) in filter.tags.iter().enumerate() {
        if index > 0 {
            query.push(if filter.match_all_tags { " and " } else { " or " });
        }
        query
            .push("exists (select 1 from agent_tag t where t.agent_id = a.id and t.tag = ")
            .bind(tag.clone())
            .push(")");
    }
    query.push(")");
}

fn position(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<(i64, i64), StoreError> {
    const SQL: &str = "select created_at, ordinal from agent where id = $1 and organization_id = $2";
    db.first(SQL, params![agent.as_bytes(), owner.as_bytes()], |row| Ok((row.get()?, row.get()?)))?
        .ok_or_else(|| StoreError::not_found("agent", agent))
}

/// Fails where the owner has no such agent.
pub(crate) fn require(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<(), StoreError> {
    const SQL: &str = "select 1 from agent where id = $1 and organization_id = $2";
    if db.exists(SQL, params![agent.as_bytes(), owner.as_bytes()])? {
        return Ok(());
    }
    Err(StoreError::not_found("agent", agent))
}

/// Fails where the actor's organisation has no such agent.
pub(crate) fn check(scope: &Scope<'_>, agent: AgentId) -> Result<(), StoreError> {
    require(scope.db, scope.owner(), agent)
}

/// Fails where the agent's default conversation is not one of its own.
pub(crate) fn check_default_conversation(scope: &Scope<'_>, agent: AgentId) -> Result<(), StoreError> {
    const SQL: &str = "select 1 from agent a join conversation c on c.id = a.default_conversation_id \
                       and c.agent_id = a.id where a.id = $1 and a.organization_id = $2";
    if scope.db.exists(SQL, params![agent.as_bytes(), scope.owner_bytes()])? {
        return Ok(());
    }
    Err(StoreError::Invalid(format!("the default conversation of agent `{agent}` is not one of its own")))
}

pub(crate) fn insert(scope: &Scope<'_>, agent: &Agent) -> Result<(), StoreError> {
    const SQL: &str = "insert into agent (id, organization_id, created_by, name, description, kind, system, \
                       llm_config, embedding, response_format, compaction_settings, tool_rules, metadata, timezone, \
                       message_buffer_autoclear, max_files_open, per_file_view_window_char_limit, hidden, \
                       default_conversation_id, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, \
                       $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)";
    scope.check_owner("agent", agent.organization)?;
    check_texts(agent)?;
    let inserted = scope.db.execute(
        SQL,
        params![
            agent.id.as_bytes(),
            agent.organization.as_bytes(),
            agent.created_by.as_bytes(),
            agent.name,
            agent.description,
            agent.kind.as_str(),
            agent.system,
            json(&agent.llm_config)?,
            agent.embedding,
            optional_json(agent.response_format.as_ref())?,
            optional_json(agent.compaction_settings.as_ref())?,
            json(&agent.tool_rules)?,
            json(&agent.metadata)?,
            agent.timezone,
            agent.message_buffer_autoclear,
            agent.max_files_open,
            agent.per_file_view_window_char_limit,
            agent.hidden,
            agent.default_conversation.as_bytes(),
            micros(agent.created_at),
            micros(agent.updated_at),
        ],
    );
    Scope::named(inserted, "agent", agent.id)?;
    insert_tags(scope, agent)
}

pub(crate) fn update(scope: &Scope<'_>, agent: &Agent) -> Result<(), StoreError> {
    const SQL: &str = "update agent set name = $1, description = $2, kind = $3, system = $4, llm_config = $5, \
                       embedding = $6, response_format = $7, compaction_settings = $8, tool_rules = $9, \
                       metadata = $10, timezone = $11, message_buffer_autoclear = $12, max_files_open = $13, \
                       per_file_view_window_char_limit = $14, hidden = $15, default_conversation_id = $16, \
                       updated_at = $17 where id = $18 and organization_id = $19";
    check_texts(agent)?;
    let changed = scope.db.execute(
        SQL,
        params![
            agent.name,
            agent.description,
            agent.kind.as_str(),
            agent.system,
            json(&agent.llm_config)?,
            agent.embedding,
            optional_json(agent.response_format.as_ref())?,
            optional_json(agent.compaction_settings.as_ref())?,
            json(&agent.tool_rules)?,
            json(&agent.metadata)?,
            agent.timezone,
            agent.message_buffer_autoclear,
            agent.max_files_open,
            agent.per_file_view_window_char_limit,
            agent.hidden,
            agent.default_conversation.as_bytes(),
            micros(scope.at),
            agent.id.as_bytes(),
            scope.owner_bytes(),
        ],
    )?;
    if changed == 0 {
        return Err(StoreError::not_found("agent", agent.id));
    }
    scope.db.execute("delete from agent_tag where agent_id = $1", params![agent.id.as_bytes()])?;
    insert_tags(scope, agent)
}

/// Removes the agent and all that hangs on it, children first. Its blocks, tools and archives stay; blocks that only
/// its people or conversations had go with it, because nothing would lead to them any more.
pub(crate) fn delete(scope: &Scope<'_>, agent: AgentId) -> Result<(), StoreError> {
    const SQL: [&str; 13] = [
        "delete from session_request where conversation_id in (select id from conversation where agent_id = $1)",
        "delete from session where agent_id = $1",
        "delete from message where conversation_id in (select id from conversation where agent_id = $1)",
        "delete from step where run_ordinal in (select ordinal from run where agent_id = $1)",
        "delete from run where agent_id = $1",
        "delete from conversation where agent_id = $1",
        "delete from agent_block where agent_id = $1",
        "delete from block_detachment where agent_id = $1",
        "delete from agent_tool where agent_id = $1",
        "delete from agent_tag where agent_id = $1",
        "delete from agent_archive where agent_id = $1",
        // The keys stay; what is left of their agents is all that they open.
        "delete from api_key_agent where agent_id = $1",
        "delete from agent where id = $1",
    ];
    check(scope, agent)?;
    crate::messages::keep_numbers(scope)?;
    crate::search_index::drop_scope(scope, agent.as_bytes())?;
    for block in crate::scoped_blocks::part_all(scope, agent)? {
        crate::blocks::delete(scope, block)?;
    }
    SQL.iter().try_for_each(|sql| scope.db.execute(sql, params![agent.as_bytes()]).map(drop))
}

fn insert_tags(scope: &Scope<'_>, agent: &Agent) -> Result<(), StoreError> {
    const SQL: &str = "insert into agent_tag (agent_id, tag, position) values ($1, $2, $3) on conflict do nothing";
    for (position, tag) in (0_i64..).zip(&agent.tags) {
        scope.db.execute(SQL, params![agent.id.as_bytes(), tag, position])?;
    }
    Ok(())
}

fn check_texts(agent: &Agent) -> Result<(), StoreError> {
    texts::check("an agent's name", &agent.name)?;
    texts::check_optional("an agent's description", agent.description.as_deref())?;
    texts::check("an agent's system prompt", &agent.system)?;
    texts::check_optional("an agent's embedding handle", agent.embedding.as_deref())?;
    texts::check("an agent's time zone", &agent.timezone)?;
    texts::check_fields("an agent's metadata", &agent.metadata)?;
    agent.tags.iter().try_for_each(|tag| texts::check("an agent's tag", tag))
}
