//! One file for each noun of the dialect.

pub(crate) mod chat_completions;
pub(crate) mod completions;
pub(crate) mod debug_sessions;
pub(crate) mod embeddings;
pub(crate) mod models;
