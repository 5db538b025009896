//! `/v1/agents/`: making, listing, reading, changing and removing agents.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::{Actor, Agent};
use serde_json::{Value, json};
use storage::AgentFilter;

use crate::LettaApi;
use crate::body::Fields;
use crate::error::ApiError;
use crate::path::AgentPath;
use crate::query::Query;
use crate::wire::agent_requests::{read_patch, read_spec};
use crate::wire::agents::{AgentParts, AgentState};

const DEFAULT_LIMIT: u32 = 50;
/// Filters that this server can't apply. Ignoring one would show agents that the client did not ask for.
const NOT_OFFERED: [&str; 6] =
    ["project_id", "template_id", "base_template_id", "identity_id", "identifier_keys", "last_stop_reason"];

/// Which relations of an agent a client wants to see.
pub(crate) struct Relations {
    blocks: bool,
    tools: bool,
}

impl Relations {
    /// Everything, unless the client names what it wants.
    fn read(query: &Query) -> Self {
        let (newer, older) = (query.all("include"), query.all("include_relationships"));
        if newer.is_empty() && older.is_empty() {
            return Self { blocks: true, tools: true };
        }
        Self::named(query)
    }

    /// Only what the client names.
    pub(crate) fn named(query: &Query) -> Self {
        let (newer, older) = (query.all("include"), query.all("include_relationships"));
        let wants = |new: &str, old: &str| newer.iter().any(|name| name == new) || older.iter().any(|name| name == old);
        Self { blocks: wants("agent.blocks", "memory"), tools: wants("agent.tools", "tools") }
    }
}

pub(crate) async fn create(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    fields: Fields,
) -> Result<Response, ApiError> {
    let id = door.dispatcher.create_agent(actor, read_spec(fields)?).await?;
    let agent = door.dispatcher.store().agent(actor.organization, id).await?;
    show(&door, actor, agent, &Relations { blocks: true, tools: true }).await
}

pub(crate) async fn list(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    query: Query,
) -> Result<Response, ApiError> {
    show_all(&door, actor, &filter(&query)?, &Relations::read(&query)).await
}

/// Answers with all agents that `filter` finds.
pub(crate) async fn show_all(
    door: &LettaApi,
    actor: Actor,
    filter: &AgentFilter,
    relations: &Relations,
) -> Result<Response, ApiError> {
    let agents = door.dispatcher.store().agents(actor.organization, filter).await?;
    let mut parts = Vec::with_capacity(agents.len());
    for agent in agents {
        parts.push(gather(door, actor, agent, relations).await?);
    }
    let shown: Vec<AgentState<'_>> = parts.iter().map(AgentState::from).collect();
    Ok(Json(shown).into_response())
}

pub(crate) async fn retrieve(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(id): AgentPath,
    query: Query,
) -> Result<Response, ApiError> {
    let agent = door.dispatcher.agent_or_not_found(actor, id).await?;
    show(&door, actor, agent, &Relations::read(&query)).await
}

pub(crate) async fn modify(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(id): AgentPath,
    fields: Fields,
) -> Result<Response, ApiError> {
    door.dispatcher.modify_agent(actor, id, read_patch(fields)?).await?;
    let agent = door.dispatcher.agent_or_not_found(actor, id).await?;
    show(&door, actor, agent, &Relations { blocks: true, tools: true }).await
}

pub(crate) async fn delete(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(id): AgentPath,
) -> Result<Json<Value>, ApiError> {
    door.dispatcher.delete_agent(actor, id).await?;
    Ok(Json(json!({ "message": format!("Agent id={id} successfully deleted") })))
}

async fn show(door: &LettaApi, actor: Actor, agent: Arc<Agent>, relations: &Relations) -> Result<Response, ApiError> {
    let parts = gather(door, actor, agent, relations).await?;
    Ok(Json(AgentState::from(&parts)).into_response())
}

/// Reads what belongs to an agent.
async fn gather(
    door: &LettaApi,
    actor: Actor,
    agent: Arc<Agent>,
    relations: &Relations,
) -> Result<AgentParts, ApiError> {
    let (store, owner) = (door.dispatcher.store(), actor.organization);
    let message_ids = store.context_ids(owner, agent.default_conversation).await?;
    let blocks = if relations.blocks { store.agent_blocks(owner, agent.id).await? } else { Vec::new() };
    let tools = if relations.tools { store.agent_tools(owner, agent.id).await? } else { Vec::new() };
    let providers = door.dispatcher.models().providers();
    let provider = providers.into_iter().find(|provider| provider.name == agent.llm_config.handle.provider());
    let endpoint = provider.map(|provider| provider.base_url);
    Ok(AgentParts { agent, message_ids, blocks, tools, endpoint })
}

fn filter(query: &Query) -> Result<AgentFilter, ApiError> {
    if let Some(name) = NOT_OFFERED.iter().find(|name| query.text(name).is_some()) {
        return Err(ApiError::refused(&format!("agents can't be filtered by `{name}` on this server yet")));
    }
    let order = query.text("order_by").or(query.text("sort_by"));
    if order.is_some_and(|order| order != "created_at") {
        return Err(ApiError::refused("agents can only be ordered by `created_at` on this server yet"));
    }
    Ok(AgentFilter {
        name: query.text("name").map(str::to_owned),
        tags: query.all("tags"),
        match_all_tags: query.flag("match_all_tags", false)?,
        query_text: query.text("query_text").map(str::to_owned),
        archive: None,
        before: query.id("before")?,
        after: query.id("after")?,
        limit: query.limit(DEFAULT_LIMIT)?,
        ascending: query.ascending(query.flag("ascending", false)?)?,
        include_hidden: query.flag("show_hidden_agents", false)?,
    })
}
