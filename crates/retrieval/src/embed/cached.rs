//! Remembers the vectors of texts that were embedded before, so that a slow model is not asked twice for the same.
//!
//! Bounded in bytes. It forgets in halves: what was not asked for since the newer half was begun goes first.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use domain::EmbeddingConfig;
use domain::seams::BoxFuture;
use domain::seams::embedder::{EmbedError, Embedder, Pace};

/// Bytes of texts and vectors that one model's memory may take.
const CAPACITY: usize = 16 * 1024 * 1024;
/// Bytes of a text that is remembered. Longer ones seldom come twice.
const LONGEST_TEXT: usize = 8 * 1024;

/// An embedder with a memory.
pub struct Cached {
    model: Arc<dyn Embedder>,
    known: Mutex<Known>,
}

type Vectors = HashMap<Arc<str>, Arc<[f32]>>;

struct Known {
    newer: Vectors,
    older: Vectors,
    /// Bytes of the newer half, and how many it may have.
    used: usize,
    half: usize,
}

impl Known {
    fn get(&mut self, text: &Arc<str>) -> Option<Arc<[f32]>> {
        if let Some(vector) = self.newer.get(text) {
            return Some(Arc::clone(vector));
        }
        let (text, vector) = self.older.remove_entry(text)?;
        self.insert(text, Arc::clone(&vector));
        Some(vector)
    }

    fn insert(&mut self, text: Arc<str>, vector: Arc<[f32]>) {
        let size = text.len() + size_of_val(&*vector);
        if text.len() > LONGEST_TEXT || size > self.half {
            return;
        }
        if self.used + size > self.half {
            self.older = std::mem::take(&mut self.newer);
            self.used = 0;
        }
        if self.newer.insert(text, vector).is_none() {
            self.used += size;
        }
    }
}

impl Cached {
    pub fn new(model: Arc<dyn Embedder>) -> Self {
        Self::with_capacity(model, CAPACITY)
    }

    fn with_capacity(model: Arc<dyn Embedder>, capacity: usize) -> Self {
        let known = Known { newer: Vectors::new(), older: Vectors::new(), used: 0, half: capacity / 2 };
        Self { model, known: Mutex::new(known) }
    }

    /// What is remembered for the texts, and those for which nothing is, each once.
    fn look_up(&self, texts: &[Arc<str>]) -> (Vectors, Vec<Arc<str>>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut found, mut missing) = (Vectors::new(), HashSet::new());
        let mut in_order = Vec::new();
        for text in texts {
            if let Some(vector) = known.get(text) {
                found.insert(Arc::clone(text), vector);
            } else if missing.insert(text) {
                in_order.push(Arc::clone(text));
            }
        }
        (found, in_order)
    }

    async fn embed_all(&self, texts: &[Arc<str>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (mut found, missing) = self.look_up(texts);
        if !missing.is_empty() {
            let made = self.model.embed(&missing).await?;
            if made.len() != missing.len() {
                let detail = format!("{} vectors came for {} texts", made.len(), missing.len());
                return Err(EmbedError::Broken { detail });
            }
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for (text, vector) in missing.into_iter().zip(made) {
                let vector: Arc<[f32]> = vector.into();
                known.insert(Arc::clone(&text), Arc::clone(&vector));
                found.insert(text, vector);
            }
        }
        Ok(texts.iter().map(|text| found.get(text).map(|vector| vector.to_vec()).unwrap_or_default()).collect())
    }
}

impl Embedder for Cached {
    fn config(&self) -> &EmbeddingConfig {
        self.model.config()
    }

    fn pace(&self) -> Pace {
        self.model.pace()
    }

    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.embed_all(texts))
    }
}

#[cfg(test)]
mod tests {
    use domain::ModelHandle;

    use super::*;

    /// The length of each text, and every text that was asked for.
    struct Lengths {
        config: EmbeddingConfig,
        asked: Mutex<Vec<String>>,
    }

    impl Embedder for Lengths {
        fn config(&self) -> &EmbeddingConfig {
            &self.config
        }

        fn pace(&self) -> Pace {
            Pace::Slow
        }

        fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
            self.asked.lock().unwrap().extend(texts.iter().map(|text| text.to_string()));
            let broken = texts.iter().any(|text| &**text == "broken");
            let vectors = texts.iter().map(|text| vec![text.len() as f32]).collect();
            let outcome = if broken { Err(EmbedError::Unavailable { detail: String::new() }) } else { Ok(vectors) };
            Box::pin(std::future::ready(outcome))
        }
    }

    fn cached(capacity: usize) -> (Arc<Lengths>, Cached) {
        let config = EmbeddingConfig { handle: ModelHandle::builtin("x"), dimensions: 1 };
        let model = Arc::new(Lengths { config, asked: Mutex::default() });
        (Arc::clone(&model), Cached::with_capacity(model, capacity))
    }

    async fn embed(cached: &Cached, texts: &[&str]) -> Vec<f32> {
        let texts: Vec<Arc<str>> = texts.iter().map(|text| Arc::from(*text)).collect();
        cached.embed(&texts).await.unwrap().into_iter().flatten().collect()
    }

    #[tokio::test]
    async fn the_same_text_is_asked_for_once() {
        let (model, cached) = cached(CAPACITY);
        assert_eq!(embed(&cached, &["a", "bb", "a"]).await, [1.0, 2.0, 1.0]);
        assert_eq!(embed(&cached, &["bb", "ccc"]).await, [2.0, 3.0]);
        assert!(embed(&cached, &[]).await.is_empty());
        assert_eq!(*model.asked.lock().unwrap(), ["a", "bb", "ccc"]);
    }

    #[tokio::test]
    async fn a_failure_is_not_remembered() {
        let (model, cached) = cached(CAPACITY);
        for _ in 0..2 {
            assert!(cached.embed(&[Arc::from("broken")]).await.is_err());
        }
        assert_eq!(model.asked.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn what_was_not_asked_for_lately_goes_first() {
        // Each text takes five bytes, so each half holds two.
        let (model, cached) = cached(20);
        for text in ["a", "b", "c", "a", "d"] {
            embed(&cached, &[text]).await;
        }
        model.asked.lock().unwrap().clear();
        embed(&cached, &["a", "d", "b"]).await;
        assert_eq!(*model.asked.lock().unwrap(), ["b"]);
        let known = cached.known.lock().unwrap();
        assert!(known.newer.len() <= 2 && known.older.len() <= 2);
    }
}
