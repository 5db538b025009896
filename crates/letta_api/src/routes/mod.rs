//! One file for each noun of the dialect. Each route answers with and without its trailing slash.

mod agents;
mod blocks;
mod context;
mod health;
mod messages;
mod models;

use axum::Router;
use axum::routing::{MethodRouter, get, post};

use crate::LettaApi;

/// All routes of the door.
pub(crate) fn all() -> Router<LettaApi> {
    let mut router = Router::new().route("/v1/models/", get(models::list));
    let paths: [(&str, MethodRouter<LettaApi>); 9] = [
        ("/v1/health", get(health::show)),
        ("/v1/models/embedding", get(models::list_embedding)),
        ("/v1/agents", get(agents::list).post(agents::create)),
        ("/v1/agents/{agent_id}", get(agents::retrieve).patch(agents::modify).delete(agents::delete)),
        ("/v1/agents/{agent_id}/context", get(context::retrieve)),
        ("/v1/agents/{agent_id}/core-memory/blocks", get(blocks::list)),
        ("/v1/agents/{agent_id}/core-memory/blocks/{block_label}", get(blocks::retrieve).patch(blocks::modify)),
        ("/v1/agents/{agent_id}/messages", get(messages::list).post(messages::create)),
        ("/v1/agents/{agent_id}/messages/stream", post(messages::stream)),
    ];
    for (path, methods) in paths {
        router = router.route(path, methods.clone()).route(&format!("{path}/"), methods);
    }
    router
}
