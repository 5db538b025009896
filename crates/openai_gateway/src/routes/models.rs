//! `GET /v1/models` and `GET /v1/models/{model}`: agents, as models.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use domain::{Actor, Agent};
use serde_json::{Value, json};
use storage::AgentFilter;

use crate::OpenAiGateway;
use crate::agent_by_name::agent_by_name;
use crate::error::ApiError;

/// Agents that are listed at most.
const LISTED: u32 = 1_000;

pub(crate) async fn list(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
) -> Result<Json<Value>, ApiError> {
    let filter = AgentFilter { limit: LISTED, ascending: true, ..AgentFilter::default() };
    let agents = door.dispatcher.store().agents(actor.organization, &filter).await?;
    let shown: Vec<Value> = agents
        .iter()
        .map(|agent| {
            // A name that several agents have is no address; their ids are.
            let is_unique = agents.iter().filter(|other| other.name == agent.name).count() == 1;
            let id = if is_unique { agent.name.clone() } else { agent.id.to_string() };
            model(&id, agent)
        })
        .collect();
    Ok(Json(json!({"object": "list", "data": shown})))
}

pub(crate) async fn retrieve(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let store = door.dispatcher.store();
    let id = agent_by_name(store, actor, &name).await?;
    Ok(Json(model(&name, &*store.agent(actor.organization, id).await?)))
}

fn model(id: &str, agent: &Agent) -> Value {
    json!({"id": id, "object": "model", "created": agent.created_at.as_second(), "owned_by": "librarian"})
}
