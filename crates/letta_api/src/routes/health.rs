//! `GET /v1/health/`: that the server is up.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::LettaApi;

pub(crate) async fn show(State(door): State<LettaApi>) -> Json<Value> {
    Json(json!({ "version": door.version, "status": "ok" }))
}
