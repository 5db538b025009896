//! The console's door: what our own command line and web page need and no foreign dialect has.
//!
//! A handler parses, calls one function and answers. Everything is under `/console/v1`, and the caller lets nobody in
//! who does not hold the data directory's secret or an admin key: what is here shows and changes the memory of every
//! agent.

mod body;
mod error;
mod line_diff;
mod path;
mod routes;
mod wire;

use axum::Router;
use dispatch::Dispatcher;
use domain::Timestamp;
use retrieval::Search;

/// What the door's handlers need. Cheap to clone.
#[derive(Clone)]
pub struct ConsoleApi {
    pub dispatcher: Dispatcher,
    pub search: Search,
    pub clock: fn() -> Timestamp,
}

/// All routes of the door. The caller puts a [`domain::Actor`] and a [`domain::Caller`] into each request's extensions.
pub fn routes() -> Router<ConsoleApi> {
    routes::all()
}
