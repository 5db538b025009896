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
mod pass_through;
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
use axum::routing::{MethodRouter, get, post};
use dispatch::Dispatcher;
use domain::Timestamp;
use retrieval::embed::Embedders;

use crate::config::GatewayConfig;
use crate::retry::Claims;
use crate::sessions::Sessions;

/// What the handlers share.
#[derive(Clone)]
pub struct OpenAiGateway {
    pub dispatcher: Dispatcher,
    pub embedders: Embedders,
    pub config: Arc<GatewayConfig>,
    pub clock: fn() -> Timestamp,
    sessions: Arc<Sessions>,
    claims: Arc<Claims>,
}

impl OpenAiGateway {
    /// The door over these rooms.
    pub fn new(dispatcher: Dispatcher, embedders: Embedders, config: GatewayConfig, clock: fn() -> Timestamp) -> Self {
        let sessions = Arc::new(Sessions::new(config.session_capacity, config.session_idle));
        Self { dispatcher, embedders, config: Arc::new(config), clock, sessions, claims: Arc::default() }
    }

    /// Sessions that are in memory now.
    pub fn sessions_in_memory(&self) -> usize {
        self.sessions.len()
    }
}

/// What stands before every route: clients differ in what they take for the base URL. Longest first.
pub const PREFIXES: [&str; 3] = ["/openai/v1", "/v1", ""];

/// The prefix whose list of models with a slash behind it is Letta's.
const LETTA: &str = "/v1";

/// The routes of this door, each under every prefix.
pub fn routes() -> Router<OpenAiGateway> {
    let paths: [(&str, MethodRouter<OpenAiGateway>); 5] = [
        ("/chat/completions", post(routes::chat_completions::create)),
        ("/completions", post(routes::completions::create)),
        ("/embeddings", post(routes::embeddings::create)),
        ("/models", get(routes::models::list)),
        ("/models/{*model}", get(routes::models::retrieve)),
    ];
    let mut router = Router::new().route("/debug/sessions", get(routes::debug_sessions::list));
    for prefix in PREFIXES {
        for (path, methods) in &paths {
            router = router.route(&format!("{prefix}{path}"), methods.clone());
        }
        if prefix != LETTA {
            router = router.route(&format!("{prefix}/models/"), get(routes::models::list));
        }
    }
    router
}
