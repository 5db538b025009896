//! What is known about vendors and models, read from the data files that are compiled in.
//!
//! Differences between servers of one dialect belong into `compatible.toml`, never into a branch on a vendor's name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use reqwest::Url;
use serde::Deserialize;

/// The profile of a server about which nothing is known.
const GENERIC: &str = "generic";

/// How one vendor's server differs from the others; `compatible.toml` says what each field means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) endpoint_type: String,
    pub(crate) default_base_url: String,
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    #[serde(default)]
    pub(crate) key_variable: Option<String>,
    #[serde(default)]
    pub(crate) url_variables: Vec<String>,
    #[serde(default)]
    pub(crate) append_v1: bool,
    #[serde(default)]
    pub(crate) local_address: Option<String>,
    #[serde(default)]
    pub(crate) requests: RequestRules,
    #[serde(default)]
    pub(crate) listing: ListingRules,
    #[serde(default)]
    pub(crate) embeddings: EmbeddingRules,
}

/// What a request to the server may hold.
#[expect(clippy::struct_excessive_bools, reason = "servers differ in each of them by itself")]
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RequestRules {
    pub(crate) max_tokens_field: MaxTokensField,
    pub(crate) stream_options: bool,
    pub(crate) tool_choice_required: bool,
    pub(crate) tool_choice_function: bool,
    pub(crate) reasoning_sent_as: Option<ReasoningField>,
    pub(crate) reasoning_effort: EffortRule,
    /// Whether an answer is sure to have the shape that was asked for.
    pub(crate) enforces_shapes: bool,
    /// Whether models may be shown images about which nothing is known.
    pub(crate) sees: bool,
    reasoning_models: Vec<String>,
    not_reasoning_models: Vec<String>,
    no_parallel_field: Vec<String>,
}

/// How texts are sent to be embedded.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EmbeddingRules {
    pub(crate) texts_at_once: usize,
}

/// How the server's list of models is read.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListingRules {
    pub(crate) models_paths: Vec<String>,
    pub(crate) context_fields: Vec<String>,
    pub(crate) show_path: Option<String>,
    pub(crate) default_tag: Option<String>,
    pub(crate) preferred_models: Vec<String>,
}

impl Default for RequestRules {
    fn default() -> Self {
        Self {
            max_tokens_field: MaxTokensField::MaxTokens,
            stream_options: true,
            tool_choice_required: true,
            tool_choice_function: true,
            reasoning_sent_as: None,
            reasoning_effort: EffortRule::Always,
            enforces_shapes: false,
            sees: true,
            reasoning_models: Vec::new(),
            not_reasoning_models: Vec::new(),
            no_parallel_field: Vec::new(),
        }
    }
}

impl Default for EmbeddingRules {
    fn default() -> Self {
        Self { texts_at_once: 32 }
    }
}

impl Default for ListingRules {
    fn default() -> Self {
        Self {
            models_paths: vec!["models".to_owned()],
            context_fields: Vec::new(),
            show_path: None,
            default_tag: None,
            preferred_models: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningField {
    ReasoningContent,
    Reasoning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EffortRule {
    Always,
    ReasoningModels,
}

impl Profile {
    /// An address as requests are built from it: without a slash at the end, with `/v1` where the server wants it.
    pub(crate) fn complete_url(&self, url: &str) -> String {
        let url = url.trim().trim_end_matches('/');
        if self.append_v1 && !url.ends_with("/v1") { format!("{url}/v1") } else { url.to_owned() }
    }
}

impl RequestRules {
    /// Whether `model` thinks before it answers, and so accepts no temperature.
    pub(crate) fn is_reasoning_model(&self, model: &str) -> bool {
        starts_with_any(model, &self.reasoning_models) && !starts_with_any(model, &self.not_reasoning_models)
    }

    /// Whether `model` knows the field `parallel_tool_calls`.
    pub(crate) fn knows_parallel_calls(&self, model: &str) -> bool {
        !starts_with_any(model, &self.no_parallel_field)
    }
}

/// A vendor's prefix (`openai/o3`) is not part of the model's own name.
fn own_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn starts_with_any(model: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| own_name(model).starts_with(prefix.as_str()))
}

/// Words that tell errors apart.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phrases {
    pub(crate) context_too_long: Vec<String>,
    pub(crate) refused: Vec<String>,
    pub(crate) unauthorized: Vec<String>,
    pub(crate) rate_limited: Vec<String>,
    pub(crate) rejected: Vec<String>,
}

/// What gives a kind of model away.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signs {
    name_pieces: Vec<String>,
    types: Vec<String>,
}

impl Signs {
    fn are_in_name(&self, model: &str) -> bool {
        let name = model.to_ascii_lowercase();
        self.name_pieces.iter().any(|piece| name.contains(piece.as_str()))
    }

    fn are_in_type(&self, listed_type: &str) -> bool {
        self.types.iter().any(|known| known == listed_type)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compatible {
    profiles: BTreeMap<String, Profile>,
    embedding: Signs,
    not_chat: Signs,
    phrases: Phrases,
}

#[derive(Debug, Deserialize)]
struct KnownModels {
    windows: BTreeMap<String, u32>,
    dimensions: BTreeMap<String, u32>,
    reasoning: BTreeMap<String, bool>,
    sees: BTreeMap<String, bool>,
}

#[expect(clippy::expect_used, reason = "the file is compiled in, and a test reads it")]
static COMPATIBLE: LazyLock<Compatible> =
    LazyLock::new(|| toml::from_str(include_str!("compatible.toml")).expect("compatible.toml is well-formed"));

#[expect(clippy::expect_used, reason = "the file is compiled in, and a test reads it")]
static KNOWN_MODELS: LazyLock<KnownModels> =
    LazyLock::new(|| toml::from_str(include_str!("known_models.toml")).expect("known_models.toml is well-formed"));

/// All profiles with their names, in the order of the alphabet.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static Profile)> {
    COMPATIBLE.profiles.iter().filter(|(name, _)| *name != GENERIC).map(|(name, profile)| (name.as_str(), profile))
}

/// The profile of that name.
pub(crate) fn named(name: &str) -> Option<&'static Profile> {
    COMPATIBLE.profiles.get(name)
}

/// The profile that fits a provider best: by name, by endpoint type, by host, else the generic one.
pub(crate) fn best(name: &str, endpoint_type: &str, url: &Url) -> &'static Profile {
    let host = url.host_str().unwrap_or_default();
    // `openai` is the endpoint type of every server that speaks the dialect, so it tells nothing.
    let by_type =
        || all().map(|(_, profile)| profile).find(|p| p.endpoint_type != "openai" && p.endpoint_type == endpoint_type);
    let by_host = || all().map(|(_, profile)| profile).find(|p| p.hosts.iter().any(|known| known == host));
    named(name).or_else(by_type).or_else(by_host).unwrap_or_else(|| &COMPATIBLE.profiles[GENERIC])
}

/// The words that tell errors apart.
pub(crate) fn phrases() -> &'static Phrases {
    &COMPATIBLE.phrases
}

/// Whether a model's name says that it can chat; the rule only leaves out what is plainly something else.
pub(crate) fn looks_like_chat(model: &str) -> bool {
    !COMPATIBLE.not_chat.are_in_name(model) && !COMPATIBLE.embedding.are_in_name(model)
}

/// Whether the type that a list gives for a model says that it can't chat.
pub(crate) fn is_other_type(listed_type: &str) -> bool {
    COMPATIBLE.not_chat.are_in_type(listed_type) || COMPATIBLE.embedding.are_in_type(listed_type)
}

/// Whether a model's name says that it makes vectors.
pub(crate) fn looks_like_embedding(model: &str) -> bool {
    COMPATIBLE.embedding.are_in_name(model) && !COMPATIBLE.not_chat.are_in_name(model)
}

/// Whether the type that a list gives for a model says that it makes vectors.
pub(crate) fn is_embedding_type(listed_type: &str) -> bool {
    COMPATIBLE.embedding.are_in_type(listed_type)
}

/// The context window of a model that is known by its name.
pub(crate) fn known_window(model: &str) -> Option<u32> {
    by_start(&KNOWN_MODELS.windows, model)
}

/// How many numbers the vectors of a model have that is known by its name.
pub(crate) fn known_dimensions(model: &str) -> Option<u32> {
    by_start(&KNOWN_MODELS.dimensions, model)
}

/// Whether a model is known by its name to think before it answers.
pub(crate) fn known_to_reason(model: &str) -> bool {
    by_start(&KNOWN_MODELS.reasoning, model).unwrap_or(false)
}

/// Whether a model is known by its name to see images, or not to.
pub(crate) fn known_to_see(model: &str) -> Option<bool> {
    by_start(&KNOWN_MODELS.sees, model)
}

/// What is known about the longest start of the model's own name.
fn by_start<T: Copy>(known: &BTreeMap<String, T>, model: &str) -> Option<T> {
    let name = own_name(model).to_ascii_lowercase();
    let fits = known.iter().filter(|(start, _)| name.starts_with(start.as_str()));
    fits.max_by_key(|(start, _)| start.len()).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_files_can_be_read_and_name_every_vendor() {
        let names: Vec<_> = all().map(|(name, _)| name).collect();
        assert_eq!(names, ["lmstudio", "ollama", "openai", "openrouter", "vllm"]);
        assert!(named(GENERIC).is_some());
        assert!(KNOWN_MODELS.windows.values().all(|window| *window >= 4096));
        let phrases = phrases();
        for list in [&phrases.context_too_long, &phrases.refused, &phrases.rate_limited, &phrases.rejected] {
            assert!(list.iter().all(|phrase| *phrase == phrase.to_lowercase()));
        }
    }

    #[test]
    fn a_provider_finds_its_profile() {
        let check = |name: &str, kind: &str, url: &str, expected: &str| {
            let profile = best(name, kind, &Url::parse(url).unwrap());
            assert!(std::ptr::eq(profile, named(expected).unwrap()), "{name} {kind} {url}");
        };
        check("openai", "openai", "http://127.0.0.1:9/v1", "openai");
        check("work", "openai", "https://api.openai.com/v1", "openai");
        check("work", "openai", "https://openrouter.ai/api/v1", "openrouter");
        check("gpu", "vllm", "http://10.0.0.2/v1", "vllm");
        check("gpu", "openai", "http://10.0.0.2/v1", "generic");
    }

    #[test]
    fn the_longest_known_name_says_whether_a_model_reasons() {
        let check = |model: &str, expected: bool| assert_eq!(known_to_reason(model), expected, "{model}");
        check("gpt-4o-mini", false);
        check("gpt-5-mini", true);
        check("gpt-5-chat-latest", false);
        check("openai/o3", true);
        check("deepseek/deepseek-r1:free", true);
        check("deepseek-chat", false);
        check("Qwen3-8B", true);
        check("qwen3-coder:30b", false);
        check("llama3.2", false);
    }

    #[test]
    fn models_that_see_nothing_are_known_by_name() {
        let check = |model: &str, expected: Option<bool>| assert_eq!(known_to_see(model), expected, "{model}");
        for model in ["gpt-4o-mini", "gpt-4-turbo-2024-04-09", "openai/gpt-4.1", "o1-2024-12-17", "qwen2.5-vl-7b"] {
            assert_ne!(known_to_see(model), Some(false), "{model}");
        }
        check("gpt-3.5-turbo-0125", Some(false));
        check("gpt-4", Some(false));
        check("gpt-4-0613", Some(false));
        check("gpt-4-vision-preview", Some(true));
        check("openai/o3-mini-high", Some(false));
        check("deepseek/deepseek-r1:free", Some(false));
        check("gpt-oss:20b", Some(false));
        check("llama3.2:1b", Some(false));
        check("llama3.2-vision:11b", Some(true));
        check("somebody/new", None);
    }

    #[test]
    fn the_longest_known_name_gives_the_window() {
        for (model, window) in [
            ("gpt-4o-mini-2024-07-18", Some(128_000)),
            ("gpt-4", Some(8192)),
            ("gpt-4.1-nano", Some(1_047_576)),
            ("openai/o3-mini", Some(200_000)),
            ("somebody/new", None),
        ] {
            assert_eq!(known_window(model), window, "{model}");
        }
    }

    #[test]
    fn models_that_cannot_chat_are_known_by_name() {
        for model in ["text-embedding-3-small", "nomic-embed-text:latest", "whisper-1", "tts-1", "dall-e-3"] {
            assert!(!looks_like_chat(model), "{model}");
        }
        for model in ["gpt-4o", "llama3.2:1b", "qwen2.5-7b-instruct", "claude-sonnet-4", "phi-3.5-mini"] {
            assert!(looks_like_chat(model), "{model}");
        }
    }

    #[test]
    fn embedding_models_are_known_by_name() {
        for (model, expected, dimensions) in [
            ("text-embedding-3-small", true, Some(1536)),
            ("text-embedding-3-large", true, Some(3072)),
            ("nomic-embed-text:latest", true, Some(768)),
            ("baai/bge-m3", true, Some(1024)),
            ("bge-reranker-v2-m3", false, None),
            ("gpt-4o", false, None),
        ] {
            assert_eq!((looks_like_embedding(model), known_dimensions(model)), (expected, dimensions), "{model}");
        }
        assert!(is_embedding_type("embeddings") && is_other_type("embeddings") && !is_embedding_type("rerank"));
    }

    #[test]
    fn a_root_address_is_completed() {
        let ollama = named("ollama").unwrap();
        for url in ["http://h:11434", "http://h:11434/", " http://h:11434/v1/ "] {
            assert_eq!(ollama.complete_url(url), "http://h:11434/v1");
        }
        assert_eq!(named("openai").unwrap().complete_url("http://h:1/"), "http://h:1");
    }
}
