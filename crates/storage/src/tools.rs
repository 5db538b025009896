//! Tools and which agents have them.

use std::sync::Arc;

use domain::{AgentId, OrganizationId, Tool, ToolId, ToolType};

use crate::apply::Scope;
use crate::dialect::{Columns, Db, json, micros, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::texts;

macro_rules! tool_columns {
    () => {
        "t.id, t.organization_id, t.created_by, t.name, t.description, t.kind, t.parameters, t.tags, \
         t.return_char_limit, t.default_requires_approval, t.enable_parallel_execution, t.created_at, t.updated_at"
    };
}

impl Store {
    /// All tools of an organisation, by name.
    pub async fn tools(&self, owner: OrganizationId) -> Result<Vec<Arc<Tool>>, StoreError> {
        const SQL: &str =
            concat!("select ", tool_columns!(), " from tool t where t.organization_id = $1 order by t.name");
        self.read(move |db| db.all(SQL, params![owner.as_bytes()], read)).await
    }

    /// The tool of that name.
    pub async fn tool_by_name(&self, owner: OrganizationId, name: &str) -> Result<Option<Arc<Tool>>, StoreError> {
        const SQL: &str =
            concat!("select ", tool_columns!(), " from tool t where t.organization_id = $1 and t.name = $2");
        let name = name.to_owned();
        self.read(move |db| db.first(SQL, params![owner.as_bytes(), name], read)).await
    }

    /// An agent's tools in attach order.
    pub async fn agent_tools(&self, owner: OrganizationId, agent: AgentId) -> Result<Vec<Arc<Tool>>, StoreError> {
        if let Some(warm) = self.cache().agent(owner, agent, |entry| entry.tools.to_vec()) {
            return Ok(warm);
        }
        self.read(move |db| {
            db.consistently(|db| {
                crate::agents::require(db, owner, agent)?;
                of_agent(db, owner, agent)
            })
        })
        .await
    }
}

fn read(row: &mut Columns<'_>) -> Result<Arc<Tool>, StoreError> {
    Ok(Arc::new(Tool {
        id: row.id()?,
        organization: row.id()?,
        created_by: row.id()?,
        name: row.get()?,
        description: row.get()?,
        kind: row.word(ToolType::parse)?,
        parameters: Arc::new(row.json()?),
        tags: row.json()?,
        return_char_limit: row.whole32()?,
        default_requires_approval: row.get()?,
        enable_parallel_execution: row.get()?,
        created_at: row.time()?,
        updated_at: row.time()?,
    }))
}

/// The agent's tools in attach order.
pub(crate) fn of_agent(db: &Db, owner: OrganizationId, agent: AgentId) -> Result<Vec<Arc<Tool>>, StoreError> {
    const SQL: &str = concat!(
        "select ",
        tool_columns!(),
        " from agent_tool at join tool t on t.id = at.tool_id \
         where at.agent_id = $1 and t.organization_id = $2 order by at.position"
    );
    db.all(SQL, params![agent.as_bytes(), owner.as_bytes()], read)
}

/// Makes or replaces the tool of that name, and gives the id under which it is stored.
pub(crate) fn upsert(scope: &Scope<'_>, tool: &Tool) -> Result<ToolId, StoreError> {
    const SQL: &str = "insert into tool (id, organization_id, created_by, name, description, kind, parameters, tags, \
                       return_char_limit, default_requires_approval, enable_parallel_execution, created_at, \
                       updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
                       on conflict (organization_id, name) do update set description = excluded.description, \
                       kind = excluded.kind, parameters = excluded.parameters, tags = excluded.tags, \
                       return_char_limit = excluded.return_char_limit, \
                       default_requires_approval = excluded.default_requires_approval, \
                       enable_parallel_execution = excluded.enable_parallel_execution, \
                       updated_at = excluded.updated_at";
    const STORED: &str = "select id from tool where organization_id = $1 and name = $2";
    scope.check_owner("tool", tool.organization)?;
    check_texts(tool)?;
    let written = scope.db.execute(
        SQL,
        params![
            tool.id.as_bytes(),
            tool.organization.as_bytes(),
            tool.created_by.as_bytes(),
            tool.name,
            tool.description,
            tool.kind.as_str(),
            json(&*tool.parameters)?,
            json(&tool.tags)?,
            tool.return_char_limit,
            tool.default_requires_approval,
            tool.enable_parallel_execution,
            micros(tool.created_at),
            micros(tool.updated_at),
        ],
    );
    Scope::named(written, "tool", tool.id)?;
    scope
        .db
        .first(STORED, params![scope.owner_bytes(), tool.name], |row| row.id())?
        .ok_or_else(|| StoreError::not_found("tool", tool.id))
}

pub(crate) fn attach(scope: &Scope<'_>, agent: AgentId, tool: ToolId) -> Result<(), StoreError> {
    const TOOL: &str = "select 1 from tool where id = $1 and organization_id = $2";
    const NEXT: &str = "select coalesce(max(position) + 1, 0) from agent_tool where agent_id = $1";
    const SQL: &str = "insert into agent_tool (agent_id, tool_id, position) values ($1, $2, $3) on conflict do nothing";
    crate::agents::check(scope, agent)?;
    if !scope.db.exists(TOOL, params![tool.as_bytes(), scope.owner_bytes()])? {
        return Err(StoreError::not_found("tool", tool));
    }
    let next = scope.db.first(NEXT, params![agent.as_bytes()], |row| row.get::<i64>())?.unwrap_or_default();
    scope.db.execute(SQL, params![agent.as_bytes(), tool.as_bytes(), next]).map(drop)
}

pub(crate) fn detach(scope: &Scope<'_>, agent: AgentId, tool: ToolId) -> Result<(), StoreError> {
    const SQL: &str = "delete from agent_tool where agent_id = $1 and tool_id = $2";
    crate::agents::check(scope, agent)?;
    let removed = scope.db.execute(SQL, params![agent.as_bytes(), tool.as_bytes()])?;
    if removed == 0 { Err(StoreError::not_found("tool", tool)) } else { Ok(()) }
}

fn check_texts(tool: &Tool) -> Result<(), StoreError> {
    texts::check("a tool's name", &tool.name)?;
    texts::check("a tool's description", &tool.description)?;
    texts::check_json("a tool's parameters", &tool.parameters)?;
    tool.tags.iter().try_for_each(|tag| texts::check("a tool's tag", tag))
}
