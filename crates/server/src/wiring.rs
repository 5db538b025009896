//! Builds the rooms from the configuration. Nothing here waits for the network.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use dispatch::{DispatchConfig, Dispatcher};
use domain::Timestamp;
use providers::{Registry, RegistryConfig};
use retrieval::Search;
use retrieval::embed::Embedders;
use storage::{Store, StoreConfig};
use tools::Toolbox;

use crate::config::Config;
use crate::data_dir::OwnedDirectory;
use crate::system_prompts;

/// The rooms behind the doors.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) models: Registry,
    pub(crate) embedders: Embedders,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) search: Search,
}

impl House {
    /// Opens the store of `directory` and puts the rooms together. Runs that a crash left open are closed before
    /// anybody can see them.
    pub(crate) async fn open(config: &Config, directory: &OwnedDirectory) -> anyhow::Result<Self> {
        let system_prompts = system_prompts::read(directory.path())?;
        let models = models(config)?;
        let embedders = embedders(&models, &directory.models_path());
        let store = open_store(directory)?;
        let settings = DispatchConfig { system_prompts, ..DispatchConfig::default() };
        let search = Search::new(store.clone(), embedders.clone());
        let toolbox = Arc::new(Toolbox::new(store.clone(), search.clone()));
        let dispatcher = Dispatcher::new(settings, store.clone(), models.clone(), toolbox, Timestamp::now);
        dispatcher.recover().await.context("the store could not be brought in order: run `librarian doctor`")?;
        Ok(Self { store, models, embedders, dispatcher, search })
    }
}

/// The models that the configuration names.
pub(crate) fn models(config: &Config) -> anyhow::Result<Registry> {
    let settings = RegistryConfig { providers: config.providers.clone(), discover_local: config.discover_local };
    Ok(Registry::new(settings)?)
}

/// Every embedding model: those inside this process, and those of `models`' endpoints.
pub(crate) fn embedders(models: &Registry, folder: &Path) -> Embedders {
    let models = models.clone();
    Embedders::new(
        folder.to_owned(),
        Box::new(move |handle| {
            let models = models.clone();
            Box::pin(async move { models.embedder(&handle).await })
        }),
    )
}

/// The store of a directory that is ours.
pub(crate) fn open_store(directory: &OwnedDirectory) -> anyhow::Result<Store> {
    let path = directory.store_path();
    Store::open(&StoreConfig::at(&path), Timestamp::now())
        .with_context(|| format!("the store {} can't be opened", path.display()))
}
