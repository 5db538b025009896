//! The model of an agent for which nobody named one.
//!
//! In the order of [`crate::first_agent`]: what the operator named, else the default of the first provider that has
//! one, else the guide. The owner of the directory may know other providers than this command does, so it is asked.

use std::time::Duration;

use domain::ModelHandle;
use providers::usual_model;

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::wire::{self, ModelView};
use crate::config::Config;
use crate::first_agent::GUIDE;
use crate::wiring;

/// How long providers may take to tell their models.
const PATIENCE: Duration = Duration::from_secs(5);

/// The handle to use.
pub(super) async fn choose(config: &Config, connection: &mut Connection<'_>) -> anyhow::Result<String> {
    if let Some(model) = &config.model {
        return Ok(model.to_string());
    }
    let offered: Vec<ModelView> = wire::read(&connection.ask(&Call::get("/v1/models/")).await?.ok()?)?;
    let offered: Vec<String> = offered.into_iter().map(|model| model.handle).collect();
    let preferred = preferred(config).await?;
    Ok(best(config, preferred.as_ref(), &offered))
}

/// What this command would choose by itself.
async fn preferred(config: &Config) -> anyhow::Result<Option<ModelHandle>> {
    let models = wiring::models(config)?;
    let chosen = async {
        models.discover().await;
        models.default_model().await
    };
    Ok(tokio::time::timeout(PATIENCE, chosen).await.ok())
}

/// Our own choice if the owner has it or the operator named it, else what the owner would choose of the models that it
/// has: its provider's address and key may be in its environment only.
fn best(config: &Config, preferred: Option<&ModelHandle>, offered: &[String]) -> String {
    let named = |handle: &ModelHandle| {
        config.providers.iter().any(|provider| {
            provider.name == handle.provider() && provider.default_model.as_deref() == Some(handle.model())
        })
    };
    let ours = preferred.filter(|handle| handle.as_str() != GUIDE);
    let ours = ours.filter(|handle| named(handle) || offered.iter().any(|offer| offer == handle.as_str()));
    let real = offered.iter().filter(|offer| *offer != GUIDE).filter_map(|offer| ModelHandle::parse(offer).ok());
    let real: Vec<ModelHandle> = real.collect();
    ours.or_else(|| usual_model(&real)).map_or_else(|| GUIDE.to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use crate::config::{PlaceFlags, ServeFlags};

    use super::*;

    fn check(preferred: Option<&str>, offered: &[&str], expected: &str) {
        let home = tempfile::tempdir().unwrap();
        let file = "[[providers]]\nname = \"work\"\nbase_url = \"http://127.0.0.1:9/v1\"\ndefault_model = \"big\"\n";
        std::fs::write(home.path().join("librarian.toml"), file).unwrap();
        let place = PlaceFlags { data_dir: Some(home.path().to_owned()), config: None };
        let config = Config::load(&place, &ServeFlags::default(), &|_| None).unwrap();
        let preferred = preferred.map(|handle| ModelHandle::parse(handle).unwrap());
        let offered: Vec<String> = offered.iter().map(|&handle| handle.to_owned()).collect();
        assert_eq!(best(&config, preferred.as_ref(), &offered), expected);
    }

    #[test]
    fn the_owner_must_have_the_model() {
        check(Some("openai/gpt-4o-mini"), &["openai/gpt-3", "openai/gpt-4o-mini", GUIDE], "openai/gpt-4o-mini");
        check(Some("openai/gpt-4o-mini"), &["ollama/llama", GUIDE], "ollama/llama");
        check(Some("openai/gpt-4o-mini"), &[GUIDE], GUIDE);
        check(Some(GUIDE), &["ollama/llama", GUIDE], "ollama/llama");
        check(None, &["openai/dall-e-3", "openai/gpt-4o-mini", "openai/gpt-4o", GUIDE], "openai/gpt-4o");
        check(None, &["openai/some-other", "ollama/gpt-4o"], "openai/some-other");
        check(None, &[GUIDE], GUIDE);
    }

    #[test]
    fn a_model_that_the_operator_named_needs_no_list() {
        check(Some("work/big"), &[GUIDE], "work/big");
        check(Some("work/small"), &[GUIDE], GUIDE);
    }
}
