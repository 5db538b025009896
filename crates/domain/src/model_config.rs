//! How an agent's model is named and asked.

use std::fmt;

use serde_json::Value;

/// The provider of the models inside the binary.
pub const BUILTIN: &str = "builtin";
/// Tokens of context where nobody knows better.
pub const DEFAULT_CONTEXT_WINDOW: u32 = 32_000;
/// The smallest context window that an agent may be given.
pub const MIN_CONTEXT_WINDOW: u32 = 4_096;

/// How freely a model writes unless somebody says otherwise.
pub const DEFAULT_TEMPERATURE: f64 = 0.7;

/// A model by its provider and the provider's name for it: `openai/gpt-4o`, `builtin/guide`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelHandle {
    text: String,
    slash: usize,
}

/// A text without a provider or without a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a model handle: write `provider/model`, for example `builtin/guide`")]
pub struct HandleError(pub String);

impl ModelHandle {
    /// Splits at the first slash; the model's own name may hold more.
    pub fn parse(text: &str) -> Result<Self, HandleError> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self { text: text.to_owned(), slash: provider.len() })
            }
            _ => Err(HandleError(text.chars().take(120).collect())),
        }
    }

    /// A model inside the binary: `builtin/guide`, `builtin/embedding`.
    pub fn builtin(model: &str) -> Self {
        Self { text: format!("{BUILTIN}/{model}"), slash: BUILTIN.len() }
    }

    /// The part before the first slash.
    pub fn provider(&self) -> &str {
        &self.text[..self.slash]
    }

    /// The part after the first slash.
    pub fn model(&self) -> &str {
        &self.text[self.slash + 1..]
    }

    /// The whole handle.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl TryFrom<String> for ModelHandle {
    type Error = HandleError;
    fn try_from(text: String) -> Result<Self, HandleError> {
        Self::parse(&text)
    }
}

impl From<ModelHandle> for String {
    fn from(handle: ModelHandle) -> Self {
        handle.text
    }
}

impl fmt::Display for ModelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ModelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

/// The shape that an answer must have.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Free text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// A JSON value of the given schema: OpenAI's object with `name`, `schema` and `strict`.
    JsonSchema { json_schema: Value },
}

/// How to ask an agent's model.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "Letta's clients set each of them by itself")]
pub struct LlmConfig {
    pub handle: ModelHandle,
    /// Letta's name of the wire dialect: `openai`, `anthropic`, `ollama`, …
    pub model_endpoint_type: String,
    pub context_window: u32,
    #[serde(default)]
    pub temperature: Option<f64>,
    #[serde(default)]
    pub max_tokens: Option<u32>,
    #[serde(default)]
    pub frequency_penalty: Option<f64>,
    /// Whether the model writes its thought as an argument `thinking` of every tool call.
    #[serde(default)]
    pub put_inner_thoughts_in_kwargs: bool,
    /// Whether that is wanted under V3 too, with every model that has no reasoning of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thinks_in_calls: bool,
    #[serde(default)]
    pub enable_reasoner: bool,
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    #[serde(default)]
    pub max_reasoning_tokens: u32,
    #[serde(default)]
    pub parallel_tool_calls: bool,
}

impl LlmConfig {
    /// A model with nothing but defaults.
    pub fn new(handle: ModelHandle, model_endpoint_type: impl Into<String>, context_window: u32) -> Self {
        Self {
            handle,
            model_endpoint_type: model_endpoint_type.into(),
            context_window,
            temperature: Some(DEFAULT_TEMPERATURE),
            max_tokens: None,
            frequency_penalty: None,
            put_inner_thoughts_in_kwargs: false,
            thinks_in_calls: false,
            enable_reasoner: false,
            reasoning_effort: None,
            max_reasoning_tokens: 0,
            parallel_tool_calls: false,
        }
    }

    /// Whether memory is shown with line numbers, which these models use well when they edit.
    pub fn numbers_memory_lines(&self) -> bool {
        self.model_endpoint_type == "anthropic"
    }
}
