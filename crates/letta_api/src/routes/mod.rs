//! One file for each noun of the dialect. Each route answers with and without its trailing slash.

mod agents;
mod archival_memory;
mod archives;
mod blocks;
mod context;
mod embeddings;
mod health;
mod messages;
mod models;
mod passages;

use axum::Router;
use axum::routing::{MethodRouter, delete, get, patch, post};

use crate::LettaApi;

/// All routes of the door.
pub(crate) fn all() -> Router<LettaApi> {
    let mut router = Router::new().route("/v1/models/", get(models::list));
    let paths: [(&str, MethodRouter<LettaApi>); 21] = [
        ("/v1/health", get(health::show)),
        ("/v1/models/embedding", get(models::list_embedding)),
        ("/v1/agents", get(agents::list).post(agents::create)),
        ("/v1/agents/{agent_id}", get(agents::retrieve).patch(agents::modify).delete(agents::delete)),
        ("/v1/agents/{agent_id}/archival-memory", get(archival_memory::list).post(archival_memory::create)),
        ("/v1/agents/{agent_id}/archival-memory/search", get(archival_memory::search)),
        ("/v1/agents/{agent_id}/archival-memory/{memory_id}", delete(archival_memory::delete)),
        ("/v1/agents/{agent_id}/archives/attach/{archive_id}", patch(archives::attach)),
        ("/v1/agents/{agent_id}/archives/detach/{archive_id}", patch(archives::detach)),
        ("/v1/agents/{agent_id}/context", get(context::retrieve)),
        ("/v1/agents/{agent_id}/core-memory/blocks", get(blocks::list)),
        ("/v1/agents/{agent_id}/core-memory/blocks/{block_label}", get(blocks::retrieve).patch(blocks::modify)),
        ("/v1/agents/{agent_id}/messages", get(messages::list).post(messages::create)),
        ("/v1/agents/{agent_id}/messages/stream", post(messages::stream)),
        ("/v1/archives", get(archives::list).post(archives::create)),
        ("/v1/archives/{archive_id}", get(archives::retrieve).patch(archives::modify).delete(archives::delete)),
        ("/v1/archives/{archive_id}/agents", get(archives::agents)),
        ("/v1/archives/{archive_id}/passages", post(passages::create)),
        ("/v1/archives/{archive_id}/passages/batch", post(passages::create_batch)),
        ("/v1/archives/{archive_id}/passages/{passage_id}", delete(passages::delete)),
        ("/v1/passages/search", post(passages::search)),
    ];
    for (path, methods) in paths {
        router = router.route(path, methods.clone()).route(&format!("{path}/"), methods);
    }
    router
}
