//! `GET /v1/models` and `GET /v1/models/{model}`: agents and aliases as models, and models themselves where they can be
//! asked directly.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use domain::{Actor, Caller};
use serde_json::{Value, json};

use crate::OpenAiGateway;
use crate::error::ApiError;
use crate::who::Who;

pub(crate) async fn list(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, ApiError> {
    let agents = door.listed(actor, &caller).await?;
    let mut shown: Vec<Value> =
        agents.iter().map(|(name, agent)| model(name, agent.created_at.as_second(), "librarian")).collect();
    if door.config.pass_through && caller.agents.is_none() {
        let models = door.dispatcher.models().models().await;
        shown.extend(models.iter().map(|entry| model(entry.handle.as_str(), 0, entry.handle.provider())));
    }
    Ok(Json(json!({"object": "list", "data": shown})))
}

pub(crate) async fn retrieve(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let not_text = |_| ApiError::invalid("The model in the URL is not UTF-8.", Some("model"), Some("invalid_value"));
    let Path(name) = name.map_err(not_text)?;
    match door.who(actor, &caller, &name).await? {
        Who::Agent(answerer) => Ok(Json(model(&name, answerer.agent.created_at.as_second(), "librarian"))),
        Who::Model(handle) => {
            let known = door.dispatcher.models().resolve(&handle).await;
            known.map_err(|error| ApiError::unknown_handle(&error.to_string()))?;
            Ok(Json(model(&name, 0, handle.provider())))
        }
    }
}

fn model(id: &str, created: i64, owner: &str) -> Value {
    json!({"id": id, "object": "model", "created": created, "owned_by": owner})
}
