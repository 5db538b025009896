//! The console's own JSON.

pub(crate) mod history;
