//! From a model's handle and a caller's wishes to the configuration that an agent keeps.

use domain::model_config::MIN_CONTEXT_WINDOW;
use domain::{AgentType, CompactionSettings, LlmConfig, ModelHandle};
use providers::{Registry, ResolveError};
use serde_json::Value;

use crate::agent_spec::{AgentError, ModelSettings};
use crate::create_agent::invalid;
use crate::dispatcher::Dispatcher;

/// The largest number of tokens that anybody may name.
const MAX_TOKENS: u32 = 100_000_000;

/// Looks the model up at its provider and applies `settings`.
pub(crate) async fn llm_config(
    models: &Registry,
    model: &str,
    settings: &ModelSettings,
) -> Result<LlmConfig, AgentError> {
    let handle = ModelHandle::parse(model).map_err(|error| invalid(error.to_string()))?;
    let entry = models.resolve(&handle).await.map_err(|error| match &error {
        ResolveError::UnknownProvider { .. } => AgentError::UnknownProvider(error.to_string()),
        ResolveError::UnknownModel { .. } => AgentError::UnknownModel(error.to_string()),
        ResolveError::Unavailable { .. } => AgentError::ModelUnavailable(error.to_string()),
    })?;
    let mut config = LlmConfig::new(handle, entry.endpoint_type, entry.context_window);
    apply(&mut config, settings)?;
    Ok(config)
}

impl Dispatcher {
    /// Refuses settings that make no sense, and a summarising model whose provider does not exist.
    pub(crate) fn check_compaction(&self, settings: Option<&Value>) -> Result<(), AgentError> {
        let Some(settings) = settings else { return Ok(()) };
        let settings = CompactionSettings::parse(settings).map_err(|error| invalid(error.to_string()))?;
        match settings.model.map(|model| self.models().chat_model(&model)) {
            None | Some(Ok(_)) => Ok(()),
            Some(Err(error @ ResolveError::UnknownModel { .. })) => Err(AgentError::UnknownModel(error.to_string())),
            Some(Err(error)) => Err(AgentError::UnknownProvider(error.to_string())),
        }
    }
}

/// Where the thoughts of an agent of that kind go. V3 agents answer in plain text, so they have thoughts in calls only
/// where somebody wants it and the model can't think by itself.
pub(crate) fn settle_thoughts(config: &mut LlmConfig, kind: AgentType) {
    if kind == AgentType::LettaV1 {
        config.put_inner_thoughts_in_kwargs = config.thinks_in_calls && providers::lacks_reasoning(&config.handle);
    }
}

/// Changes what `settings` names.
pub(crate) fn apply(config: &mut LlmConfig, settings: &ModelSettings) -> Result<(), AgentError> {
    if let Some(window) = settings.context_window {
        if !(MIN_CONTEXT_WINDOW..=MAX_TOKENS).contains(&window) {
            return Err(invalid(format!("a context window has {MIN_CONTEXT_WINDOW} to {MAX_TOKENS} tokens")));
        }
        config.context_window = window;
    }
    if let Some(tokens) = settings.max_tokens {
        if !(1..=MAX_TOKENS).contains(&tokens) {
            return Err(invalid(format!("max_tokens must be between 1 and {MAX_TOKENS}")));
        }
        config.max_tokens = Some(tokens);
    }
    config.temperature = within("temperature", settings.temperature, 0.0..=2.0)?.or(config.temperature);
    config.frequency_penalty =
        within("frequency_penalty", settings.frequency_penalty, -2.0..=2.0)?.or(config.frequency_penalty);
    if let Some(wanted) = settings.put_inner_thoughts_in_kwargs {
        config.put_inner_thoughts_in_kwargs = wanted;
    }
    if let Some(wanted) = settings.thinks_in_calls {
        config.thinks_in_calls = wanted;
    }
    if let Some(wanted) = settings.enable_reasoner {
        config.enable_reasoner = wanted;
    }
    if let Some(effort) = &settings.reasoning_effort {
        config.reasoning_effort = Some(effort.clone());
    }
    if let Some(tokens) = settings.max_reasoning_tokens {
        config.max_reasoning_tokens = tokens;
    }
    if let Some(wanted) = settings.parallel_tool_calls {
        config.parallel_tool_calls = wanted;
    }
    Ok(())
}

fn within(name: &str, value: Option<f64>, range: std::ops::RangeInclusive<f64>) -> Result<Option<f64>, AgentError> {
    match value {
        Some(value) if !range.contains(&value) => {
            Err(invalid(format!("{name} must be between {} and {}", range.start(), range.end())))
        }
        value => Ok(value),
    }
}
