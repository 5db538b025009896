//! Who summarises what leaves a full context, by the handle that an agent's settings name.

use std::sync::Arc;

use agent::{FindSummariser, Summariser};
use domain::{LlmConfig, ModelHandle};
use prompt::base_prompts::PromptKey;
use providers::Registry;

use crate::dispatcher::DispatchConfig;

/// Finds summarisers among `models`. The operator may have replaced the prompt that they are given.
pub(crate) fn summarisers(models: &Registry, config: &DispatchConfig) -> FindSummariser {
    let key = PromptKey::SummarySystemPrompt;
    let prompt: Arc<str> = config.system_prompts.get(key.name()).map_or(key.text(), String::as_str).into();
    let models = models.clone();
    Arc::new(move |handle| {
        let (models, prompt) = (models.clone(), prompt.clone());
        Box::pin(async move { find(&models, handle, prompt).await })
    })
}

async fn find(models: &Registry, handle: ModelHandle, prompt: Arc<str>) -> Result<Summariser, String> {
    let entry = models.resolve(&handle).await.map_err(|error| error.to_string())?;
    // A model inside the binary works by rules and writes no prose.
    if !entry.writes_prose() {
        return Ok(Summariser::Extract);
    }
    let model = models.chat_model(&handle).map_err(|error| error.to_string())?;
    let config = LlmConfig::new(handle, entry.endpoint_type, entry.context_window);
    Ok(Summariser::Model { model, config, prompt })
}
