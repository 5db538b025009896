//! Door: OpenAI's dialect. Any OpenAI client talks to an agent as if it were a model.
//!
//! It translates and decides nothing. What is private (reasoning, heartbeats, internal tools) never leaves through it.

mod agent_by_name;
pub mod config;
pub mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the sessions that ask it come with the gateway's new routes"))]
mod history;
mod routes;
#[cfg_attr(not(test), expect(dead_code, reason = "the streams that ask it come with the gateway's new routes"))]
mod unescape;
mod wire;

use axum::Router;
use axum::routing::{get, post};
use dispatch::Dispatcher;
use domain::Timestamp;
use retrieval::embed::Embedders;

/// What the handlers share.
#[derive(Clone)]
pub struct OpenAiGateway {
    pub dispatcher: Dispatcher,
    pub embedders: Embedders,
    pub clock: fn() -> Timestamp,
}

/// The routes of this door.
pub fn routes() -> Router<OpenAiGateway> {
    Router::new()
        .route("/v1/chat/completions", post(routes::chat_completions::create))
        .route("/v1/embeddings", post(routes::embeddings::create))
        .route("/v1/models", get(routes::models::list))
        .route("/v1/models/{*model}", get(routes::models::retrieve))
}
