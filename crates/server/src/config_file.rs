//! The shape of `librarian.toml`.
//!
//! Unknown keys are errors that name the key: a misspelt `api_key` must not leave a server open. Errors never quote
//! the file, because a line of it may hold a key.

use std::num::NonZeroU32;
use std::path::Path;

use anyhow::{Context, anyhow};
use serde::Deserialize;

use crate::gateway_config::{AliasSection, GatewaySection, UnescapeSection};
use crate::listen::ListenSection;

/// What the parser calls numbers, and what they are to somebody who writes a file.
const RUST_WORDS: [(&str, &str); 5] = [
    ("expected u16", "expected a whole number from 0 to 65535"),
    ("expected a nonzero u32", "expected a whole number of at least 1; leave it out for no limit"),
    ("expected usize", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected u32", "expected a whole number"),
];

/// Everything that the file may say.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigFile {
    #[serde(default)]
    pub(crate) server: ServerSection,
    #[serde(default)]
    pub(crate) model: ModelSection,
    #[serde(default)]
    pub(crate) providers: Vec<ProviderSection>,
    #[serde(default)]
    pub(crate) listen: Vec<ListenSection>,
    #[serde(default)]
    pub(crate) limits: LimitsSection,
    #[serde(default)]
    pub(crate) gateway: GatewaySection,
    #[serde(default)]
    pub(crate) alias: Vec<AliasSection>,
    #[serde(default)]
    pub(crate) unescape: Vec<UnescapeSection>,
}

/// `[server]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerSection {
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) api_key: Option<String>,
    #[serde(default)]
    pub(crate) allowed_hosts: Vec<String>,
    #[serde(default)]
    pub(crate) allowed_origins: Vec<String>,
}

/// `[model]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelSection {
    pub(crate) default: Option<String>,
    /// Whether an Ollama or LM Studio on its usual local port is looked for; true unless said otherwise.
    pub(crate) discover_local: Option<bool>,
}

/// `[limits]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsSection {
    /// MiB that the body of a request may have.
    pub(crate) body_mib: Option<usize>,
    // What each key may use of OpenAI's door; what is not said is not limited.
    pub(crate) requests_per_minute: Option<NonZeroU32>,
    pub(crate) tokens_per_minute: Option<NonZeroU32>,
    pub(crate) concurrent_requests: Option<NonZeroU32>,
}

/// `[[providers]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderSection {
    pub(crate) name: String,
    pub(crate) base_url: String,
    pub(crate) api_key: Option<String>,
    pub(crate) default_model: Option<String>,
}

impl ConfigFile {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} can't be used", path.display()))
    }

    /// Reads the file's text.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            let told = error.message().replace('\n', " ");
            anyhow!("{place}{}", RUST_WORDS.iter().fold(told, |told, (word, meant)| told.replace(word, meant)))
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: &Expect) {
        let told = ConfigFile::parse(text).map_or_else(|error| error.to_string(), |_| "fine".to_owned());
        expected.assert_eq(&told);
    }

    #[test]
    fn every_key_is_known() {
        check(
            "[server]\nhost = \"::1\"\nport = 0\napi_key = \"k\"\nallowed_hosts = [\"a\"]\nallowed_origins = []\n\
             [model]\ndefault = \"builtin/guide\"\ndiscover_local = false\n\
             [[providers]]\nname = \"mine\"\nbase_url = \"http://x/v1\"\napi_key = \"k\"\ndefault_model = \"m\"\n\
             [limits]\nrequests_per_minute = 1\ntokens_per_minute = 2\nconcurrent_requests = 3\n",
            &expect!["fine"],
        );
        check("", &expect!["fine"]);
    }

    #[test]
    fn a_wrong_key_is_named_and_its_value_is_not_shown() {
        check(
            "[server]\napi_kye = \"sk-very-secret\"\n",
            &expect![
                "line 2: unknown field `api_kye`, expected one of `host`, `port`, `api_key`, `allowed_hosts`, `allowed_origins`"
            ],
        );
        check(
            "[sevrer]\n",
            &expect![
                "line 1: unknown field `sevrer`, expected one of `server`, `model`, `providers`, `listen`, `limits`, `gateway`, `alias`, `unescape`"
            ],
        );
        check(
            "[server]\nport = 70000\n",
            &expect!["line 2: invalid value: integer `70000`, expected a whole number from 0 to 65535"],
        );
        check("[server]\napi_key = \"sk-very-secret\n", &expect![[r#"line 2: invalid basic string, expected `"`"#]]);
        check(
            "[limits]\nrequests_per_minute = 0\n",
            &expect![
                "line 2: invalid value: integer `0`, expected a whole number of at least 1; leave it out for no limit"
            ],
        );
        check("[[providers]]\nname = \"x\"\n", &expect!["line 1: missing field `base_url`"]);
    }
}
