//! The console's own JSON.

pub(crate) mod embedding;
pub(crate) mod history;
pub(crate) mod keys;
pub(crate) mod search;
pub(crate) mod store;
