//! One file for each noun of the console.

mod backup;
mod blocks;
mod embedding;
mod keys;
mod search;
mod store;

use axum::Router;
use axum::routing::{get, post};

use crate::ConsoleApi;

/// All routes of the door.
pub(crate) fn all() -> Router<ConsoleApi> {
    let block = |verb: &str| format!("/console/v1/agents/{{agent_id}}/blocks/{{block_label}}/{verb}");
    Router::new()
        .route("/console/v1/backup", get(backup::download))
        .route("/console/v1/keys", get(keys::list).post(keys::create))
        .route("/console/v1/keys/{key_id}/revoke", post(keys::revoke))
        .route("/console/v1/store", get(store::check))
        .route("/console/v1/agents/{agent_id}/search", post(search::run))
        .route("/console/v1/agents/{agent_id}/embedding", get(embedding::show).post(embedding::go_on))
        .route("/console/v1/agents/{agent_id}/blocks", get(blocks::list))
        .route(&block("history"), get(blocks::history))
        .route(&block("diff"), get(blocks::diff))
        .route(&block("undo"), post(blocks::undo))
        .route(&block("redo"), post(blocks::redo))
}
