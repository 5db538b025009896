//! The seam to embedding models: texts in, vectors out.

use std::sync::Arc;

use super::BoxFuture;
use crate::ModelHandle;
use crate::embedding::EmbeddingConfig;

/// What went wrong with an embedding model, named by what the caller can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Choose another model, or do what the hint says.
    #[error("there is no embedding model `{handle}`{}", .hint.map(|hint| format!(": {hint}")).unwrap_or_default())]
    Unknown { handle: ModelHandle, hint: Option<&'static str> },
    /// Try again later or go on without vectors.
    #[error("the embedding model is not available: {detail}")]
    Unavailable { detail: String },
    /// Check the key, the name or the texts: it will fail again as it is.
    #[error("the embedding model rejected the request: {detail}")]
    Rejected { detail: String },
    /// The answer was not what was asked for, for example vectors of another length.
    #[error("the embedding model's answer was malformed: {detail}")]
    Broken { detail: String },
}

/// How long a text takes, which decides who may wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Microseconds: may be done while a message waits.
    Instant,
    /// Milliseconds and more, or over a network: done in the background.
    Slow,
}

/// Something that turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// What its vectors are stored under.
    fn config(&self) -> &EmbeddingConfig;

    fn pace(&self) -> Pace;

    /// One vector of length 1 for each text, in order; a text with nothing in it may have zeros. Callers bring any
    /// number of texts; implementations make batches.
    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;
}
