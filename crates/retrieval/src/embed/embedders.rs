//! The one place where a handle becomes an embedder, whoever runs the model.
//!
//! Models inside this process are known here; others come from a closure, because this room may not know vendors.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::embedding::BUILTIN_EMBEDDING;
use domain::model_config::BUILTIN;
use domain::seams::BoxFuture;
use domain::seams::embedder::{EmbedError, Embedder};
use domain::{EmbeddingConfig, ModelHandle};
use tokio::time::Instant;

use super::manifest::MINILM;
use super::{Builtin, Cached, MiniLm};

/// How long a model that is not there is not looked for again.
const UNKNOWN_FOR: Duration = Duration::from_secs(60);
/// Names that are remembered as unknown; clients choose them, so there may be any number.
const UNKNOWN_CAP: usize = 1_000;

/// Opens a model that another room runs, or says [`EmbedError::Unknown`].
pub type Elsewhere =
    Box<dyn Fn(ModelHandle) -> BoxFuture<'static, Result<Arc<dyn Embedder>, EmbedError>> + Send + Sync>;

/// All embedding models, by handle. Cheap to clone.
#[derive(Clone)]
pub struct Embedders {
    shared: Arc<Shared>,
}

struct Shared {
    builtin: Arc<Builtin>,
    /// Where models lie that are not part of the binary, each in a folder of its own.
    folder: PathBuf,
    elsewhere: Elsewhere,
    opened: Mutex<HashMap<ModelHandle, Arc<dyn Embedder>>>,
    /// Since when a name is known to lead nowhere.
    unknown: Mutex<HashMap<String, Instant>>,
}

impl Embedders {
    /// `folder` is where models lie that are not part of the binary.
    pub fn new(folder: PathBuf, elsewhere: Elsewhere) -> Self {
        let shared = Shared {
            builtin: Arc::new(Builtin::new()),
            folder,
            elsewhere,
            opened: Mutex::default(),
            unknown: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Only the models inside this process.
    pub fn local_only(folder: PathBuf) -> Self {
        Self::new(folder, Box::new(|handle| Box::pin(async move { Err(EmbedError::Unknown { handle, hint: None }) })))
    }

    /// The model that is always there.
    pub fn builtin(&self) -> &Arc<Builtin> {
        &self.shared.builtin
    }

    /// The models inside this process that can be used now.
    pub fn local(&self) -> Vec<EmbeddingConfig> {
        let mut models = vec![self.shared.builtin.config().clone()];
        if MiniLm::is_in(&self.minilm_folder()) {
            models.push(MiniLm::config());
        }
        models
    }

    /// The model of a handle. What was embedded with it before can only be compared with vectors of the same one, so
    /// nothing takes its place.
    pub async fn named(&self, handle: &ModelHandle) -> Result<Arc<dyn Embedder>, EmbedError> {
        if handle.as_str() == BUILTIN_EMBEDDING {
            return Ok(Arc::clone(&self.shared.builtin) as Arc<dyn Embedder>);
        }
        if let Some(model) = self.opened().get(handle) {
            return Ok(Arc::clone(model));
        }
        let model = match (handle.provider(), handle.model()) {
            (BUILTIN, name) if name == MINILM.model => self.open_minilm(handle).await?,
            (BUILTIN, _) => return Err(EmbedError::Unknown { handle: handle.clone(), hint: None }),
            _ => (self.shared.elsewhere)(handle.clone()).await?,
        };
        let model = Arc::new(Cached::new(model)) as Arc<dyn Embedder>;
        // Somebody else may have opened it meanwhile: then both use theirs, for one memory.
        Ok(Arc::clone(self.opened().entry(handle.clone()).or_insert(model)))
    }

    /// The model for new texts of an agent. One that nobody has here (clients of other servers ask for theirs) gives
    /// way to the built-in one; one that is only out of reach is an error.
    pub async fn for_agent(&self, named: Option<&str>) -> Result<Arc<dyn Embedder>, EmbedError> {
        let builtin = || Ok(Arc::clone(&self.shared.builtin) as Arc<dyn Embedder>);
        let Some(name) = named.filter(|name| !self.is_unknown(name)) else {
            return builtin();
        };
        let found = match ModelHandle::parse(name) {
            Ok(handle) => Some(self.named(&handle).await),
            Err(_) => None,
        };
        match found {
            None | Some(Err(EmbedError::Unknown { .. })) => {
                self.note_unknown(name);
                builtin()
            }
            Some(other) => other,
        }
    }

    fn minilm_folder(&self) -> PathBuf {
        self.shared.folder.join(MINILM.id)
    }

    async fn open_minilm(&self, handle: &ModelHandle) -> Result<Arc<dyn Embedder>, EmbedError> {
        let folder = self.minilm_folder();
        if !MiniLm::is_in(&folder) {
            let hint = Some("`librarian models pull minilm` fetches it");
            return Err(EmbedError::Unknown { handle: handle.clone(), hint });
        }
        let opening = tokio::task::spawn_blocking(move || MiniLm::open(&folder)).await;
        let model = opening.map_err(|error| EmbedError::Broken { detail: error.to_string() })??;
        Ok(Arc::new(model))
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, HashMap<ModelHandle, Arc<dyn Embedder>>> {
        self.shared.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_unknown(&self, name: &str) -> bool {
        let unknown = self.shared.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.get(name).is_some_and(|since| since.elapsed() < UNKNOWN_FOR)
    }

    fn note_unknown(&self, name: &str) {
        let mut unknown = self.shared.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if unknown.len() >= UNKNOWN_CAP {
            unknown.clear();
        }
        if unknown.insert(name.to_owned(), Instant::now()).is_none() {
            tracing::warn!(
                model = name,
                "there is no such embedding model here: {BUILTIN_EMBEDDING} is used in its place"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn handle(text: &str) -> ModelHandle {
        ModelHandle::parse(text).unwrap()
    }

    /// `there/…` is there, `away/…` is out of reach, and every question is counted.
    fn embedders() -> (Embedders, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let elsewhere = move |handle: ModelHandle| -> BoxFuture<'static, _> {
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                match handle.provider() {
                    "there" => Ok(Arc::new(Builtin::new()) as Arc<dyn Embedder>),
                    "away" => Err(EmbedError::Unavailable { detail: "off".to_owned() }),
                    _ => Err(EmbedError::Unknown { handle, hint: None }),
                }
            })
        };
        (Embedders::new(PathBuf::from("/nowhere"), Box::new(elsewhere)), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_without_a_model_of_ours_gets_the_built_in_one() {
        let (embedders, asked) = embedders();
        let builtin = |model: Arc<dyn Embedder>| model.config().handle.as_str() == BUILTIN_EMBEDDING;
        assert!(builtin(embedders.for_agent(None).await.unwrap()));
        for name in [
            "letta/letta-free",
            "letta/letta-free",
            "builtin/guide",
            "builtin/minilm",
            "no-handle",
            "builtin/embedding",
        ] {
            assert!(builtin(embedders.for_agent(Some(name)).await.unwrap()), "{name}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1, "what is not there is not looked for at once");
        tokio::time::advance(UNKNOWN_FOR).await;
        embedders.for_agent(Some("letta/letta-free")).await.unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn what_is_there_is_opened_once() {
        let (embedders, asked) = embedders();
        let first = embedders.named(&handle("there/x")).await.unwrap();
        let second = embedders.for_agent(Some("there/x")).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn nothing_takes_the_place_of_a_model_that_is_out_of_reach() {
        let (embedders, _) = embedders();
        for result in [embedders.for_agent(Some("away/x")).await, embedders.named(&handle("letta/letta-free")).await] {
            assert!(result.is_err());
        }
    }

    #[tokio::test]
    async fn clients_may_ask_for_any_number_of_models() {
        let (embedders, _) = embedders();
        for number in 0..UNKNOWN_CAP + 10 {
            embedders.for_agent(Some(&format!("nobody/{number}"))).await.unwrap();
        }
        assert!(embedders.shared.unknown.lock().unwrap().len() <= UNKNOWN_CAP);
    }
}
