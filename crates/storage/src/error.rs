//! What can go wrong in the store, named by what the caller can do about it.
//!
//! Nothing here names a database engine: the engine's own error is a source, for the log.

use std::sync::Arc;

/// Why the store did not do what it was asked. After any of these nothing of the commit was kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// There is no such row for this owner.
    #[error("{noun} `{id}` does not exist")]
    NotFound { noun: &'static str, id: String },
    /// Somebody else was faster, or a name is taken: read again and decide anew.
    #[error("{noun} `{id}` {reason}")]
    Conflict { noun: &'static str, id: String, reason: String },
    /// The request breaks a rule of the store; the text says which.
    #[error("{0}")]
    Invalid(String),
    /// Make room, then try again.
    #[error("the disk or the database's size limit is full")]
    Full,
    /// Another process holds the database.
    #[error("another process is using the database")]
    Busy,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The database holds something that this program did not write so.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// The engine failed; the source says how.
    #[error("the database failed")]
    Database(#[source] DatabaseError),
}

/// The engine's own error, to be logged and never shown to a client.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct DatabaseError(Arc<dyn std::error::Error + Send + Sync>);

impl DatabaseError {
    pub(crate) fn new(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }
}

impl StoreError {
    pub(crate) fn not_found(noun: &'static str, id: impl ToString) -> Self {
        Self::NotFound { noun, id: id.to_string() }
    }

    pub(crate) fn conflict(noun: &'static str, id: impl ToString, reason: impl Into<String>) -> Self {
        Self::Conflict { noun, id: id.to_string(), reason: reason.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }
}
