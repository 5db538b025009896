//! Language and embedding models: the only room that knows a vendor's JSON.
//!
//! It turns a [`ModelRequest`](domain::seams::chat_model::ModelRequest) into one call and the answer into events, and
//! knows which models there are. It must never retry a call, store anything, or know what an agent is.

mod config;
pub mod guide;
mod http;
mod listing;
mod openai_chat;
mod openai_embeddings;
mod profile;
mod registry;
pub mod sse;

pub use config::{ConfigError, Dialect, ProviderConfig, RegistryConfig, from_environment};
pub use http::Timeouts;
pub use openai_chat::{RawAnswer, RawBody, RawCall, RawError, RawEvents, RawModel};
pub use registry::{
    EmbeddingEntry, LocalEndpoint, ModelEntry, ProviderState, ProviderStatus, Registry, ResolveError, lacks_reasoning,
    usual_model,
};
