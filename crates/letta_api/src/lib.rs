//! The Letta door: translates Letta's REST dialect into calls of `dispatch` and `storage`, and their answers back.
//!
//! A handler parses, calls one function and answers. Nothing here decides what an agent does, knows SQL or speaks to a
//! model's vendor. Each collection answers with and without its trailing slash.

mod body;
mod error;
mod path;
mod query;
mod routes;
mod sse;
mod wire;

use axum::Router;
use dispatch::Dispatcher;
use domain::Timestamp;
use retrieval::Search;
use retrieval::embed::Embedders;

/// What the door's handlers need. Cheap to clone.
#[derive(Clone)]
pub struct LettaApi {
    pub dispatcher: Dispatcher,
    pub embedders: Embedders,
    pub search: Search,
    /// The version of Letta's API that clients are told.
    pub version: &'static str,
    pub clock: fn() -> Timestamp,
}

/// All routes of the door. The caller puts a [`domain::Actor`] into each request's extensions.
pub fn routes() -> Router<LettaApi> {
    routes::all()
}
