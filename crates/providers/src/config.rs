//! Which endpoints there are: from the config file, from the environment, or found on this machine.
//!
//! Pure values. Nobody here reads the environment: the caller passes a lookup.

use std::fmt;

use reqwest::Url;

use crate::http::{Timeouts, shown};
use crate::profile;

/// The wire dialect that an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    OpenAiChat,
}

/// One endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// The part of a handle before the slash.
    pub name: String,
    pub dialect: Dialect,
    /// Letta's name of the kind of endpoint: `openai`, `ollama`, `vllm`, `lmstudio_openai`.
    pub endpoint_type: String,
    pub base_url: String,
    pub api_key: Option<String>,
    pub default_model: Option<String>,
    /// Found by looking, not named by the operator.
    pub discovered: bool,
    pub timeouts: Timeouts,
}

impl ProviderConfig {
    /// The endpoint `name`. Without an address, the usual one of a vendor of that name; an address of a known vendor
    /// is completed as that vendor needs it.
    pub fn new(name: impl Into<String>, base_url: Option<&str>) -> Self {
        let name = name.into();
        let known = profile::named(&name);
        let base_url = match (base_url, known) {
            (Some(url), Some(profile)) => profile.complete_url(url),
            (Some(url), None) => url.trim().trim_end_matches('/').to_owned(),
            (None, known) => known.map(|profile| profile.default_base_url.clone()).unwrap_or_default(),
        };
        let endpoint_type = known.map_or("openai", |profile| profile.endpoint_type.as_str()).to_owned();
        Self {
            name,
            dialect: Dialect::OpenAiChat,
            endpoint_type,
            base_url,
            api_key: None,
            default_model: None,
            discovered: false,
            timeouts: Timeouts::default(),
        }
    }
}

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base_url = Url::parse(&self.base_url).map_or_else(|_| "(not an address)".to_owned(), |url| shown(&url));
        f.debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("dialect", &self.dialect)
            .field("endpoint_type", &self.endpoint_type)
            .field("base_url", &base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "[redacted]"))
            .field("default_model", &self.default_model)
            .field("discovered", &self.discovered)
            .field("timeouts", &self.timeouts)
            .finish()
    }
}

/// All endpoints.
#[derive(Debug, Clone, Default)]
pub struct RegistryConfig {
    /// In the order in which a default model is looked for.
    pub providers: Vec<ProviderConfig>,
    /// Whether to look for servers on this machine's usual ports.
    pub discover_local: bool,
}

/// What is wrong with an endpoint's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("`{0}` can't name a provider: use a word without a slash, and not `builtin`")]
    Name(String),
    #[error("the provider `{0}` is configured twice")]
    Twice(String),
    #[error("the address of the provider `{0}` must be an http:// or https:// URL")]
    Address(String),
    #[error("the key of the provider `{0}` holds characters that a header can't carry")]
    Key(String),
}

/// The order in which the environment's endpoints are looked at: what costs money was set up on purpose.
const ENVIRONMENT_ORDER: [&str; 5] = ["openai", "openrouter", "vllm", "ollama", "lmstudio"];

/// The endpoints that the environment names. `lookup` gives the value of a variable.
pub fn from_environment(lookup: &dyn Fn(&str) -> Option<String>) -> Vec<ProviderConfig> {
    let value = |name: &String| lookup(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let mut providers = Vec::new();
    for name in ENVIRONMENT_ORDER {
        let Some(profile) = profile::named(name) else { continue };
        let key = profile.key_variable.as_ref().and_then(value);
        let url = profile.url_variables.iter().find_map(value);
        if key.is_none() && url.is_none() {
            continue;
        }
        let mut provider = ProviderConfig::new(name, url.as_deref());
        provider.api_key = key;
        providers.push(provider);
    }
    providers
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_environment_names_endpoints() {
        let lookup = |name: &str| {
            let value = match name {
                "OPENAI_API_KEY" => "sk-secret",
                "OPENAI_BASE_URL" => "http://127.0.0.1:9/v1/",
                "OLLAMA_BASE_URL" => "http://box:11434",
                "VLLM_API_BASE" => "",
                "LMSTUDIO_BASE_URL" => "http://box:1234/v1",
                "OPENROUTER_API_KEY" => " or-secret ",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let providers = from_environment(&lookup);
        let lines: Vec<_> = providers
            .iter()
            .map(|p| format!("{} {} {} {:?}", p.name, p.endpoint_type, p.base_url, p.api_key))
            .collect();
        expect![[r#"
            openai openai http://127.0.0.1:9/v1 Some("sk-secret")
            openrouter openai https://openrouter.ai/api/v1 Some("or-secret")
            ollama ollama http://box:11434/v1 None
            lmstudio lmstudio_openai http://box:1234/v1 None"#]]
        .assert_eq(&lines.join("\n"));
        let debug = format!("{providers:?}");
        assert!(debug.contains("[redacted]") && !debug.contains("secret"), "{debug}");
        assert!(from_environment(&|_| None).is_empty());
    }

    #[test]
    fn the_older_name_of_the_address_comes_first() {
        let providers = from_environment(&|name| match name {
            "OPENAI_API_BASE" => Some("http://a/v1".to_owned()),
            "OPENAI_BASE_URL" => Some("http://b/v1".to_owned()),
            _ => None,
        });
        assert_eq!(providers[0].base_url, "http://a/v1");
    }

    #[test]
    fn any_name_may_be_used_with_an_address() {
        let provider = ProviderConfig::new("work", Some("https://llm.example/v1/"));
        assert_eq!((provider.base_url.as_str(), provider.endpoint_type.as_str()), ("https://llm.example/v1", "openai"));
    }
}
