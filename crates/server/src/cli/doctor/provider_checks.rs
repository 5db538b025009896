//! Whether each provider of models answers.

use std::time::Duration;

use providers::{ProviderState, ProviderStatus, Registry};

use super::finding::Finding;
use crate::config::Config;
use crate::first_agent::GUIDE;
use crate::wiring;

/// How long a provider may take to tell its models.
const PATIENCE: Duration = Duration::from_secs(4);

/// Asks every provider that this command knows of. Gives the models too, to look agents' up in.
pub(super) async fn look(config: &Config, offered: &Option<Vec<String>>) -> (Vec<Finding>, Option<Registry>) {
    let mut hurried = config.clone();
    for provider in &mut hurried.providers {
        provider.timeouts.list = PATIENCE;
    }
    let models = match wiring::models(&hurried) {
        Ok(models) => models,
        Err(error) => {
            let finding = Finding::problem("providers", format!("{error:#}"), "correct [[providers]] or the variable");
            return (vec![finding], None);
        }
    };
    models.discover().await;
    // The answer that counts is what each provider said while it was asked.
    models.models().await;
    let known = models.providers();
    let mut findings: Vec<Finding> = known.iter().map(finding).collect();
    if let Some(offered) = offered {
        findings.push(as_the_server_sees_it(offered));
    } else if known.is_empty() {
        let text = format!("none, so {GUIDE} answers: set OPENAI_API_KEY or start Ollama to use a language model");
        findings.push(Finding::note("providers", text));
    }
    (findings, Some(models))
}

fn finding(provider: &ProviderStatus) -> Finding {
    let ProviderStatus { name, base_url, discovered, state } = provider;
    let subject = format!("provider {name}");
    let found = if *discovered { ", found on this machine" } else { "" };
    match state {
        ProviderState::Ready { chat_models } => {
            Finding::fine(subject, format!("{base_url} answers with {chat_models} models{found}"))
        }
        ProviderState::Unlisted => {
            Finding::fine(subject, format!("{base_url} answers but keeps no list of models{found}"))
        }
        ProviderState::Unasked => Finding::note(subject, format!("{base_url} was not asked")),
        ProviderState::Failing { detail } => Finding::problem(
            subject,
            format!("{base_url} can't be used: {detail}"),
            "check that the address is right, that the provider runs, and that its key is valid",
        ),
    }
}

/// The running process may have been started with other variables than this command.
fn as_the_server_sees_it(offered: &[String]) -> Finding {
    let mut providers: Vec<(&str, usize)> = Vec::new();
    for handle in offered {
        let name = handle.split('/').next().unwrap_or_default();
        match providers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => providers.push((name, 1)),
        }
    }
    let counts: Vec<String> = providers.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    Finding::fine("models", format!("the running server offers {}", counts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_provider_that_fails_is_a_problem() {
        let check = |state: ProviderState, problem: bool| {
            let name = "work".to_owned();
            let status = ProviderStatus { name, base_url: "http://x".to_owned(), discovered: false, state };
            assert_eq!(finding(&status).is_problem(), problem, "{status:?}");
        };
        check(ProviderState::Ready { chat_models: 3 }, false);
        check(ProviderState::Unlisted, false);
        check(ProviderState::Failing { detail: "down".to_owned() }, true);
    }

    #[test]
    fn models_are_counted_by_provider() {
        let offered = ["a/x", "b/y", "a/z"].map(str::to_owned);
        assert_eq!(as_the_server_sees_it(&offered), Finding::fine("models", "the running server offers a (2), b (1)"));
    }
}
