//! How texts became vectors: kept with what was embedded, so that vectors of two models are never compared.

use crate::model_config::ModelHandle;

/// The embedding model that is always there.
pub const BUILTIN_EMBEDDING: &str = "builtin/embedding";
/// The most numbers that a vector may have.
pub const MAX_DIMENSIONS: u32 = 4_096;

/// Which model made a vector, and how long it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct EmbeddingConfig {
    pub handle: ModelHandle,
    pub dimensions: u32,
}
