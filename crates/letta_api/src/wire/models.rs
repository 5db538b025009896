//! A model as Letta lists it, which is its configuration with a name on top.

use domain::model_config::BUILTIN;
use domain::{EmbeddingConfig, ModelHandle};
use providers::{EmbeddingEntry, ModelEntry};
use serde::Serialize;

/// A model that agents may be given.
#[derive(Debug, Serialize)]
pub(crate) struct Model<'a> {
    handle: &'a str,
    name: &'a str,
    display_name: &'a str,
    provider_type: &'a str,
    provider_name: &'a str,
    model_type: &'static str,
    model: &'a str,
    model_endpoint_type: &'a str,
    model_endpoint: Option<&'a str>,
    provider_category: &'static str,
    model_wrapper: (),
    context_window: u32,
    put_inner_thoughts_in_kwargs: bool,
    temperature: f64,
    max_tokens: (),
    enable_reasoner: bool,
    reasoning_effort: (),
    max_reasoning_tokens: u32,
    effort: (),
    frequency_penalty: (),
    compatibility_type: (),
    verbosity: (),
    tier: (),
    parallel_tool_calls: bool,
    response_format: (),
    max_context_window: u32,
}

impl<'a> Model<'a> {
    /// `endpoint` is the address of its provider.
    pub(crate) fn new(entry: &'a ModelEntry, endpoint: Option<&'a str>) -> Self {
        let name = entry.handle.model();
        Self {
            handle: entry.handle.as_str(),
            name,
            display_name: name,
            provider_type: &entry.endpoint_type,
            provider_name: entry.handle.provider(),
            model_type: "llm",
            model: name,
            model_endpoint_type: &entry.endpoint_type,
            model_endpoint: endpoint,
            provider_category: "base",
            model_wrapper: (),
            context_window: entry.context_window,
            put_inner_thoughts_in_kwargs: false,
            temperature: domain::model_config::DEFAULT_TEMPERATURE,
            max_tokens: (),
            enable_reasoner: false,
            reasoning_effort: (),
            max_reasoning_tokens: 0,
            effort: (),
            frequency_penalty: (),
            compatibility_type: (),
            verbosity: (),
            tier: (),
            parallel_tool_calls: false,
            response_format: (),
            max_context_window: entry.context_window,
        }
    }
}

/// Letta's defaults, which nobody reads here: texts are not cut by them, and batches are made where they are sent.
const CHUNK_SIZE: u32 = 300;
const BATCH_SIZE: u32 = 32;

/// An embedding model that agents may be given.
#[derive(Debug, Serialize)]
pub(crate) struct EmbeddingModel<'a> {
    handle: &'a str,
    name: &'a str,
    display_name: &'a str,
    provider_type: &'a str,
    provider_name: &'a str,
    model_type: &'static str,
    embedding_endpoint_type: &'a str,
    embedding_endpoint: Option<&'a str>,
    embedding_model: &'a str,
    embedding_dim: u32,
    embedding_chunk_size: u32,
    batch_size: u32,
    azure_endpoint: (),
    azure_version: (),
    azure_deployment: (),
}

/// The embedding model of an archive.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct EmbeddingConfigState<'a> {
    embedding_endpoint_type: &'a str,
    embedding_endpoint: Option<&'a str>,
    embedding_model: &'a str,
    embedding_dim: u32,
    embedding_chunk_size: u32,
    handle: &'a str,
    batch_size: u32,
    azure_endpoint: (),
    azure_version: (),
    azure_deployment: (),
}

impl<'a> EmbeddingModel<'a> {
    /// A model inside the binary or on disk.
    pub(crate) fn local(config: &'a EmbeddingConfig) -> Self {
        Self::new(&config.handle, BUILTIN, None, config.dimensions)
    }

    /// A model of an endpoint at `address`. Nought stands for a length that is not known before its first use.
    pub(crate) fn of_provider(entry: &'a EmbeddingEntry, address: Option<&'a str>) -> Self {
        Self::new(&entry.handle, &entry.endpoint_type, address, entry.dimensions.unwrap_or(0))
    }

    /// The same as archives and passages carry it.
    pub(crate) fn config(&self) -> EmbeddingConfigState<'a> {
        EmbeddingConfigState {
            embedding_endpoint_type: self.embedding_endpoint_type,
            embedding_endpoint: self.embedding_endpoint,
            embedding_model: self.embedding_model,
            embedding_dim: self.embedding_dim,
            embedding_chunk_size: self.embedding_chunk_size,
            handle: self.handle,
            batch_size: self.batch_size,
            azure_endpoint: (),
            azure_version: (),
            azure_deployment: (),
        }
    }

    /// A model of an endpoint at `address` that the endpoint does not list.
    pub(crate) fn unlisted(handle: &'a ModelHandle, address: &'a str) -> Self {
        Self::new(handle, handle.provider(), Some(address), 0)
    }

    fn new(handle: &'a ModelHandle, kind: &'a str, address: Option<&'a str>, dimensions: u32) -> Self {
        let name = handle.model();
        Self {
            handle: handle.as_str(),
            name,
            display_name: name,
            provider_type: kind,
            provider_name: handle.provider(),
            model_type: "embedding",
            embedding_endpoint_type: kind,
            embedding_endpoint: address,
            embedding_model: name,
            embedding_dim: dimensions,
            embedding_chunk_size: CHUNK_SIZE,
            batch_size: BATCH_SIZE,
            azure_endpoint: (),
            azure_version: (),
            azure_deployment: (),
        }
    }
}
