//! The embedding of an agent's memory as JSON.

use retrieval::Progress;
use serde::{Deserialize, Serialize};

/// What to embed with; nothing means to go on as before.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EmbeddingBody {
    pub(crate) model: Option<String>,
}

/// How far it is, over the agent's messages and all of its archives.
#[derive(Debug, Default, Serialize)]
pub(crate) struct EmbeddingReport {
    /// The model of the agent's messages.
    model: Option<String>,
    done: u64,
    total: u64,
    complete: bool,
}

impl EmbeddingReport {
    pub(crate) fn add(&mut self, progress: &Progress) {
        self.model.get_or_insert_with(|| progress.embedding.clone());
        self.done += progress.done;
        self.total += progress.total;
        self.complete = self.done >= self.total;
    }
}
