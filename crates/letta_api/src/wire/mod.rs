//! The JSON of Letta's dialect: field names, nulls and order as clients know them.
//!
//! Types here are built from domain types and never the other way round, except where a request is read.

pub(crate) mod agent_requests;
pub(crate) mod agents;
pub(crate) mod archives;
pub(crate) mod blocks;
pub(crate) mod context;
pub(crate) mod errors;
#[cfg(test)]
pub(crate) mod facts;
pub(crate) mod images;
pub(crate) mod message_requests;
pub(crate) mod messages;
pub(crate) mod models;
pub(crate) mod passages;
pub(crate) mod stream;
pub(crate) mod times;
pub(crate) mod tools;
