//! Door: OpenAI's dialect. Any OpenAI client talks to an agent as if it were a model.
//!
//! It translates and decides nothing. What is private (reasoning, heartbeats, internal tools) never leaves through it.

mod answer;
mod ask;
pub mod config;
mod delta;
pub mod error;
mod history;
mod once;
mod overlay;
mod retry;
mod routes;
mod session_name;
mod sessions;
mod task;
mod tool_bridge;
mod unescape;
mod who;
mod wire;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use dispatch::Dispatcher;
use domain::Timestamp;
use retrieval::embed::Embedders;

use crate::config::GatewayConfig;
use crate::sessions::Sessions;

/// What the handlers share.
#[derive(Clone)]
pub struct OpenAiGateway {
    pub dispatcher: Dispatcher,
    pub embedders: Embedders,
    pub config: Arc<GatewayConfig>,
    pub clock: fn() -> Timestamp,
    sessions: Arc<Sessions>,
}

impl OpenAiGateway {
    /// The door over these rooms.
    pub fn new(dispatcher: Dispatcher, embedders: Embedders, config: GatewayConfig, clock: fn() -> Timestamp) -> Self {
        let sessions = Arc::new(Sessions::new(config.session_capacity, config.session_idle));
        Self { dispatcher, embedders, config: Arc::new(config), clock, sessions }
    }

    /// Sessions that are in memory now.
    pub fn sessions_in_memory(&self) -> usize {
        self.sessions.len()
    }
}

/// The routes of this door.
pub fn routes() -> Router<OpenAiGateway> {
    Router::new()
        .route("/v1/chat/completions", post(routes::chat_completions::create))
        .route("/v1/embeddings", post(routes::embeddings::create))
        .route("/v1/models", get(routes::models::list))
        .route("/v1/models/{*model}", get(routes::models::retrieve))
        .route("/debug/sessions", get(routes::debug_sessions::list))
}
