//! `/v1/agents/{agent_id}/context`: what fills an agent's context window.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::Actor;

use crate::LettaApi;
use crate::error::ApiError;
use crate::path::AgentPath;
use crate::query::Query;
use crate::wire::context::ContextWindowOverview;

pub(crate) async fn retrieve(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(id): AgentPath,
    query: Query,
) -> Result<Response, ApiError> {
    let overview = door.dispatcher.context_overview(actor, id, query.id("conversation_id")?).await?;
    Ok(Json(ContextWindowOverview::from(&overview)).into_response())
}
