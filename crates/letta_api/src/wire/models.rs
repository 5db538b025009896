//! A model as Letta lists it, which is its configuration with a name on top.

use providers::ModelEntry;
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
