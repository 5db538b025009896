//! The console's own JSON.

pub(crate) mod history;
pub(crate) mod store;
