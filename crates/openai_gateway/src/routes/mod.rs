//! One file for each noun of the dialect.

pub(crate) mod chat_completions;
pub(crate) mod models;
