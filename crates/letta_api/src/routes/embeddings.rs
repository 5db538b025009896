//! What archives and passages say about their embedding models, and vectors that cost nothing to show.

use std::sync::Arc;

use domain::embedding::BUILTIN_EMBEDDING;
use domain::seams::embedder::Pace;
use domain::{Archive, EmbeddingConfig, ModelHandle, Passage};
use providers::{EmbeddingEntry, ProviderStatus};

use crate::LettaApi;
use crate::wire::models::{EmbeddingConfigState, EmbeddingModel};

/// Bytes of text that are embedded for one answer, so that nobody waits for it.
const EMBEDDED_BYTES: usize = 256 * 1024;

/// The embedding models that an answer speaks of.
pub(crate) struct Embeddings {
    local: Vec<EmbeddingConfig>,
    listed: Vec<EmbeddingEntry>,
    providers: Vec<ProviderStatus>,
}

impl Embeddings {
    /// Asks endpoints for their models only where an archive has one of theirs.
    pub(crate) async fn of(door: &LettaApi, archives: &[Archive]) -> Self {
        let (local, models) = (door.embedders.local(), door.dispatcher.models());
        let is_local = |handle: &ModelHandle| local.iter().any(|config| config.handle == *handle);
        let all_local = archives.iter().all(|archive| is_local(&archive.embedding));
        let listed = if all_local { Vec::new() } else { models.embedding_models().await };
        let providers = if all_local { Vec::new() } else { models.providers() };
        Self { local, listed, providers }
    }

    /// The model that is used for a handle.
    pub(crate) fn config<'a>(&'a self, handle: &'a ModelHandle) -> Option<EmbeddingConfigState<'a>> {
        if let Some(local) = self.local_config(handle) {
            return Some(EmbeddingModel::local(local).config());
        }
        let provider = self.providers.iter().find(|provider| provider.name == handle.provider())?;
        let model = match self.listed.iter().find(|entry| entry.handle == *handle) {
            Some(entry) => EmbeddingModel::of_provider(entry, Some(&provider.base_url)),
            None => EmbeddingModel::unlisted(handle, &provider.base_url),
        };
        Some(model.config())
    }

    /// The model inside this process that is used for a handle: itself, or the built-in one where nobody has it.
    fn local_config(&self, handle: &ModelHandle) -> Option<&EmbeddingConfig> {
        let named = |name: &str| self.local.iter().find(|config| config.handle.as_str() == name);
        named(handle.as_str()).or_else(|| {
            let elsewhere = self.providers.iter().any(|provider| provider.name == handle.provider());
            if elsewhere { None } else { named(BUILTIN_EMBEDDING) }
        })
    }

    /// The vectors of passages of one archive, or none where the model takes its time or there is much text.
    pub(crate) async fn vectors(&self, door: &LettaApi, archive: &Archive, passages: &[Arc<Passage>]) -> Vec<Vec<f32>> {
        let Some(config) = self.local_config(&archive.embedding) else { return Vec::new() };
        if passages.iter().map(|passage| passage.text.len()).sum::<usize>() > EMBEDDED_BYTES {
            return Vec::new();
        }
        let texts: Vec<Arc<str>> = passages.iter().map(|passage| passage.text.clone()).collect();
        match door.embedders.named(&config.handle).await {
            Ok(embedder) if embedder.pace() == Pace::Instant => embedder.embed(&texts).await.unwrap_or_default(),
            Ok(_) | Err(_) => Vec::new(),
        }
    }
}
