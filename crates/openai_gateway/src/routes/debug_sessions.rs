//! `GET /debug/sessions`, where the operator turned it on: the sessions that are stored, newest use first.

use axum::extract::State;
use axum::{Extension, Json};
use domain::{Actor, Caller};
use serde_json::{Value, json};

use crate::OpenAiGateway;
use crate::error::ApiError;

/// Sessions that are shown at most.
const SHOWN: u32 = 1_000;

pub(crate) async fn list(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, ApiError> {
    // A key shows who talks to its own agents only; whoever holds the operator's key may see all.
    if !door.config.debug_sessions || caller.key.is_some() {
        return Err(ApiError::unknown_url());
    }
    let listed = door.dispatcher.store().sessions(actor.organization, SHOWN).await?;
    let shown: Vec<Value> = listed
        .iter()
        .map(|listed| {
            let session = &listed.session;
            json!({
                "agent_id": session.agent.to_string(),
                "conversation_id": session.conversation.to_string(),
                "origin": session.origin,
                "name": session.label,
                "overlay_hash": session.overlay.map(|digest| digest.to_string()),
                "fallback_hash": session.preface.map(|digest| digest.to_string()),
                "identity": listed.identity.as_ref().map(|identity| json!({
                    "id": identity.id.to_string(), "identifier_key": identity.key, "name": identity.name,
                })),
                "created_at": session.created_at.to_string(),
                "last_used_at": session.last_used_at.to_string(),
            })
        })
        .collect();
    Ok(Json(json!({ "in_memory": door.sessions_in_memory(), "sessions": shown })))
}
