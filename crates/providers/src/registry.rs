//! Which models there are and how to reach them, by handle.
//!
//! The one handle that other rooms hold. It knows endpoints and their lists; it must never choose for an agent, retry
//! a call, or keep anything of a conversation.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use domain::ModelHandle;
use domain::model_config::{BUILTIN, DEFAULT_CONTEXT_WINDOW};
use domain::seams::chat_model::ChatModel;
use domain::seams::embedder::{EmbedError, Embedder};
use futures_util::future::join_all;
use reqwest::Url;

use crate::config::{ConfigError, Dialect, ProviderConfig, RegistryConfig};
use crate::guide::Guide;
use crate::http::{HttpClients, Timeouts, shown};
use crate::listing::{Kind, Listed, Listing, Remembered, fetch};
use crate::openai_chat::{Endpoint, OpenAiChat, RawCalls, RawModel};
use crate::openai_embeddings::OpenAiEmbeddings;
use crate::profile;

/// The chat model that is always there.
const GUIDE: &str = "guide";
const GUIDE_WINDOW: u32 = 32_000;
/// Names that an error lists.
const KNOWN_CAP: usize = 50;
/// How long a server on this machine may take to show itself.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// A model that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEntry {
    pub handle: ModelHandle,
    /// Letta's name of the kind of endpoint.
    pub endpoint_type: String,
    pub context_window: u32,
    /// False if the window is a guess.
    pub context_known: bool,
}

impl ModelEntry {
    /// Whether it is a language model. The guide inside the binary is not, so it can't be asked for a summary.
    pub fn writes_prose(&self) -> bool {
        self.handle.provider() != BUILTIN
    }
}

/// Whether it is a language model that is not known to think before it answers.
pub fn lacks_reasoning(model: &ModelHandle) -> bool {
    model.provider() != BUILTIN && !profile::known_to_reason(model.model())
}

/// A model that makes vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingEntry {
    pub handle: ModelHandle,
    /// Letta's name of the kind of endpoint.
    pub endpoint_type: String,
    /// How many numbers a vector has, if that is known before one was asked for.
    pub dimensions: Option<u32>,
}

/// An endpoint as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderStatus {
    pub name: String,
    /// Without credentials.
    pub base_url: String,
    pub discovered: bool,
    pub state: ProviderState,
}

/// What an endpoint answered last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderState {
    /// Nobody asked yet.
    Unasked,
    Ready {
        chat_models: usize,
    },
    /// It answers but keeps no list of models.
    Unlisted,
    Failing {
        detail: String,
    },
}

/// Why a handle leads to no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("there is no provider `{name}`; there is {}", .known.join(", "))]
    UnknownProvider { name: String, known: Vec<String> },
    #[error("there is no model `{handle}`; {}", known_models(.known))]
    UnknownModel { handle: ModelHandle, known: Vec<String> },
    #[error("the model's provider can't be reached: {detail}")]
    Unavailable { detail: String },
}

fn known_models(known: &[String]) -> String {
    if known.is_empty() { "its provider lists none".to_owned() } else { format!("there is {}", known.join(", ")) }
}

/// A place on this machine where a server may be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEndpoint {
    /// The provider that it becomes.
    pub name: String,
    /// The server's root, for example `http://127.0.0.1:11434`.
    pub address: String,
}

impl LocalEndpoint {
    /// The usual places of the known servers.
    pub fn usual() -> Vec<Self> {
        let place = |(name, profile): (&str, &profile::Profile)| {
            Some(Self { name: name.to_owned(), address: profile.local_address.clone()? })
        };
        profile::all().filter_map(place).collect()
    }
}

/// All models. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    providers: RwLock<Vec<Arc<Provider>>>,
    guide: Arc<Guide>,
    http: Arc<HttpClients>,
    discover_local: bool,
    /// Handles whose guessed window was told to the operator already.
    warned: Mutex<HashSet<ModelHandle>>,
}

struct Provider {
    config: ProviderConfig,
    endpoint: Arc<Endpoint>,
    model: Arc<OpenAiChat>,
    raw: Arc<RawCalls>,
    listing: Remembered,
}

impl Provider {
    fn new(config: ProviderConfig, http: &Arc<HttpClients>) -> Result<Self, ConfigError> {
        let name = &config.name;
        if name.is_empty() || name == BUILTIN || name.contains('/') || name.contains(char::is_whitespace) {
            return Err(ConfigError::Name(name.clone()));
        }
        let base = Url::parse(&config.base_url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| ConfigError::Address(name.clone()))?;
        let profile = profile::best(name, &config.endpoint_type, &base);
        let endpoint = Endpoint::new(base, config.api_key.clone(), profile, config.timeouts, Arc::clone(http))
            .ok_or_else(|| ConfigError::Key(name.clone()))?;
        let endpoint = Arc::new(endpoint);
        let model = Arc::new(OpenAiChat::new(Arc::clone(&endpoint)));
        let raw = Arc::new(RawCalls::new(Arc::clone(&endpoint)));
        Ok(Self { config, endpoint, model, raw, listing: Remembered::default() })
    }

    async fn listing(&self) -> Listing {
        self.listing.get(&self.endpoint).await
    }

    fn handle(&self, model: &str) -> Option<ModelHandle> {
        ModelHandle::parse(&format!("{}/{model}", self.config.name)).ok()
    }

    fn entry(&self, handle: ModelHandle, reported: Option<u32>) -> ModelEntry {
        let window = reported.or_else(|| profile::known_window(handle.model()));
        ModelEntry {
            handle,
            endpoint_type: self.config.endpoint_type.clone(),
            context_window: window.unwrap_or(DEFAULT_CONTEXT_WINDOW),
            context_known: window.is_some(),
        }
    }

    fn embedding_entry(&self, model: &Listed) -> Option<EmbeddingEntry> {
        Some(EmbeddingEntry {
            handle: self.handle(&model.id)?,
            endpoint_type: self.config.endpoint_type.clone(),
            dimensions: model.dimensions.or_else(|| profile::known_dimensions(&model.id)),
        })
    }

    /// The listed model that `name` means, with or without the vendor's usual tag.
    fn find<'a>(&self, listed: &'a [Listed], name: &str) -> Option<&'a Listed> {
        let tag = self.endpoint.profile.listing.default_tag.as_deref();
        let is_meant = |model: &&Listed| {
            let short = || tag.is_some_and(|tag| model.id.strip_suffix(tag) == Some(&format!("{name}:")));
            model.kind != Kind::Other && (model.id == name || short())
        };
        listed.iter().find(is_meant)
    }

    async fn default_model(&self) -> Option<ModelHandle> {
        if let Some(model) = &self.config.default_model {
            return self.handle(model);
        }
        let Listing::Models(listed) = self.listing().await else {
            return None;
        };
        let preferred = &self.endpoint.profile.listing.preferred_models;
        let best = preferred.iter().find(|name| listed.iter().any(|model| model.id == **name));
        let first = || listed.iter().find(|model| model.kind == Kind::Chat).map(|model| &model.id);
        self.handle(best.or_else(first)?)
    }

    fn status(&self) -> ProviderStatus {
        let state = match self.listing.last() {
            None => ProviderState::Unasked,
            Some(Listing::Unlisted) => ProviderState::Unlisted,
            Some(Listing::Failed(detail)) => ProviderState::Failing { detail },
            Some(Listing::Models(listed)) => {
                ProviderState::Ready { chat_models: listed.iter().filter(|model| model.kind == Kind::Chat).count() }
            }
        };
        ProviderStatus {
            name: self.config.name.clone(),
            base_url: shown(&self.endpoint.base),
            discovered: self.config.discovered,
            state,
        }
    }
}

/// The model of `offered` that would be taken where the operator named none: of the first provider in it, one that is
/// well known, else its first.
pub fn usual_model(offered: &[ModelHandle]) -> Option<&ModelHandle> {
    let first = offered.first()?;
    let profile = profile::named(first.provider());
    let preferred = profile.map_or(&[][..], |profile| &profile.listing.preferred_models);
    let known =
        |name: &String| offered.iter().find(|handle| handle.provider() == first.provider() && handle.model() == name);
    preferred.iter().find_map(known).or(Some(first))
}

impl Registry {
    /// Takes the endpoints. Nothing is asked yet.
    pub fn new(config: RegistryConfig) -> Result<Self, ConfigError> {
        let http = Arc::new(HttpClients::default());
        let mut providers: Vec<Arc<Provider>> = Vec::with_capacity(config.providers.len());
        for config in config.providers {
            if providers.iter().any(|known| known.config.name == config.name) {
                return Err(ConfigError::Twice(config.name));
            }
            providers.push(Arc::new(Provider::new(config, &http)?));
        }
        Ok(Self {
            shared: Arc::new(Shared {
                providers: RwLock::new(providers),
                guide: Arc::new(Guide::new()),
                http,
                discover_local: config.discover_local,
                warned: Mutex::default(),
            }),
        })
    }

    /// The model behind a handle. Only the provider is checked: a model that it doesn't have says so when it is asked.
    pub fn chat_model(&self, handle: &ModelHandle) -> Result<Arc<dyn ChatModel>, ResolveError> {
        if handle.provider() == BUILTIN {
            check_builtin(handle)?;
            return Ok(Arc::clone(&self.shared.guide) as Arc<dyn ChatModel>);
        }
        let provider = self.provider(handle)?;
        Ok(Arc::clone(&provider.model) as Arc<dyn ChatModel>)
    }

    /// Whether a model may be shown images. One that nobody knows is tried, and says so itself.
    pub fn sees(&self, handle: &ModelHandle) -> bool {
        self.chat_model(handle).map_or(true, |model| model.sees(handle.model()))
    }

    /// The model behind a handle, for requests that are written in OpenAI's dialect already; none where the model speaks
    /// another.
    pub fn raw(&self, handle: &ModelHandle) -> Result<Option<RawModel>, ResolveError> {
        if handle.provider() == BUILTIN {
            return check_builtin(handle).map(|()| None);
        }
        let provider = self.provider(handle)?;
        match provider.config.dialect {
            Dialect::OpenAiChat => Ok(Some(RawModel::new(Arc::clone(&provider.raw), handle.clone()))),
        }
    }

    /// What its endpoint tells about a model.
    pub async fn resolve(&self, handle: &ModelHandle) -> Result<ModelEntry, ResolveError> {
        if handle.provider() == BUILTIN {
            check_builtin(handle)?;
            return Ok(guide_entry(handle.clone()));
        }
        let provider = self.provider(handle)?;
        let reported = match provider.listing().await {
            Listing::Failed(detail) => return Err(ResolveError::Unavailable { detail }),
            Listing::Unlisted => None,
            Listing::Models(listed) => match provider.find(&listed, handle.model()) {
                Some(model) => model.context,
                None => return Err(unknown_model(&provider, handle, &listed)),
            },
        };
        let entry = provider.entry(handle.clone(), reported);
        if !entry.context_known {
            self.warn_once(handle);
        }
        Ok(entry)
    }

    /// Every chat model of every endpoint that answers, and the guide.
    pub async fn models(&self) -> Vec<ModelEntry> {
        let providers = self.all();
        let listings = join_all(providers.iter().map(|provider| provider.listing())).await;
        let mut entries = Vec::new();
        for (provider, listing) in providers.iter().zip(listings) {
            let Listing::Models(listed) = listing else { continue };
            let chat = listed.iter().filter(|model| model.kind == Kind::Chat);
            entries.extend(chat.filter_map(|m| Some(provider.entry(provider.handle(&m.id)?, m.context))));
        }
        entries.push(guide_entry(guide_handle()));
        entries
    }

    /// The embedding model behind a handle. It is asked for one vector, to learn how long they are.
    pub async fn embedder(&self, handle: &ModelHandle) -> Result<Arc<dyn Embedder>, EmbedError> {
        let provider = self.provider(handle).map_err(|_| EmbedError::Unknown { handle: handle.clone(), hint: None })?;
        let model = OpenAiEmbeddings::open(Arc::clone(&provider.endpoint), handle.clone()).await?;
        Ok(Arc::new(model))
    }

    /// Every embedding model that an endpoint lists.
    pub async fn embedding_models(&self) -> Vec<EmbeddingEntry> {
        let providers = self.all();
        let listings = join_all(providers.iter().map(|provider| provider.listing())).await;
        let mut entries = Vec::new();
        for (provider, listing) in providers.iter().zip(listings) {
            let Listing::Models(listed) = listing else { continue };
            let embedding = listed.iter().filter(|model| model.embeds);
            entries.extend(embedding.filter_map(|model| provider.embedding_entry(model)));
        }
        entries
    }

    /// Every endpoint with what it answered last.
    pub fn providers(&self) -> Vec<ProviderStatus> {
        self.all().iter().map(|provider| provider.status()).collect()
    }

    /// The model of an agent for which nobody named one: of the first endpoint that has one, else the guide.
    pub async fn default_model(&self) -> ModelHandle {
        for provider in self.all() {
            if let Some(handle) = provider.default_model().await {
                return handle;
            }
        }
        guide_handle()
    }

    /// Looks for servers on this machine's usual ports, if the operator allows it, and adds those that are there.
    pub async fn discover(&self) {
        if self.shared.discover_local {
            self.discover_at(&LocalEndpoint::usual()).await;
        }
    }

    /// Looks for servers at the given places and adds those that answer and whose names are free.
    pub async fn discover_at(&self, places: &[LocalEndpoint]) {
        let found = join_all(places.iter().map(|place| self.probe(place))).await;
        let mut providers = self.shared.providers.write().unwrap_or_else(PoisonError::into_inner);
        for provider in found.into_iter().flatten() {
            if providers.iter().all(|known| known.config.name != provider.config.name) {
                tracing::info!(provider = provider.config.name, url = shown(&provider.endpoint.base), "found a server");
                providers.push(Arc::new(provider));
            }
        }
    }

    async fn probe(&self, place: &LocalEndpoint) -> Option<Provider> {
        if self.all().iter().any(|known| known.config.name == place.name) {
            return None;
        }
        let mut config = ProviderConfig::new(place.name.as_str(), Some(&place.address));
        config.discovered = true;
        let provider = Provider::new(config, &self.shared.http).ok()?;
        let hurried = Timeouts { list: PROBE_TIMEOUT, ..provider.config.timeouts };
        let endpoint = &provider.endpoint;
        let probe =
            Endpoint::new(endpoint.base.clone(), None, endpoint.profile, hurried, Arc::clone(&self.shared.http))?;
        match fetch(&probe).await {
            listing @ Listing::Models(_) => {
                provider.listing.set(listing);
                Some(provider)
            }
            // Something else may live on that port.
            Listing::Unlisted | Listing::Failed(_) => None,
        }
    }

    fn all(&self) -> Vec<Arc<Provider>> {
        self.shared.providers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn provider(&self, handle: &ModelHandle) -> Result<Arc<Provider>, ResolveError> {
        let providers = self.shared.providers.read().unwrap_or_else(PoisonError::into_inner);
        providers.iter().find(|provider| provider.config.name == handle.provider()).cloned().ok_or_else(|| {
            let names = providers.iter().map(|provider| provider.config.name.clone());
            ResolveError::UnknownProvider {
                name: handle.provider().to_owned(),
                known: names.chain([BUILTIN.to_owned()]).take(KNOWN_CAP).collect(),
            }
        })
    }

    fn warn_once(&self, handle: &ModelHandle) {
        let is_new = self.shared.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(handle.clone());
        if is_new {
            tracing::warn!(
                model = handle.as_str(),
                window = DEFAULT_CONTEXT_WINDOW,
                "nobody knows how long this model's context is: set its context window if the guess is wrong"
            );
        }
    }
}

fn check_builtin(handle: &ModelHandle) -> Result<(), ResolveError> {
    if handle.model() == GUIDE {
        return Ok(());
    }
    Err(ResolveError::UnknownModel { handle: handle.clone(), known: vec![format!("{BUILTIN}/{GUIDE}")] })
}

fn unknown_model(provider: &Provider, handle: &ModelHandle, listed: &[Listed]) -> ResolveError {
    let chat = listed.iter().filter(|model| model.kind == Kind::Chat);
    let known = chat.map(|model| format!("{}/{}", provider.config.name, model.id)).take(KNOWN_CAP).collect();
    ResolveError::UnknownModel { handle: handle.clone(), known }
}

fn guide_handle() -> ModelHandle {
    ModelHandle::builtin(GUIDE)
}

fn guide_entry(handle: ModelHandle) -> ModelEntry {
    ModelEntry { handle, endpoint_type: BUILTIN.to_owned(), context_window: GUIDE_WINDOW, context_known: true }
}
