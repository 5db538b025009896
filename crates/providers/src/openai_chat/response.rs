//! The dialect's answers as they are written on the wire, whole and in pieces, read leniently.
//!
//! Servers leave out what they should send and send null where they should leave out; only what can't be understood
//! at all is an error.

use std::fmt;

use domain::Usage;
use domain::seams::chat_model::FinishReason;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

/// A whole answer, or one event of a stream: they differ only in what a choice holds.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    #[serde(default)]
    pub(crate) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(crate) usage: Option<WireUsage>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
    /// Some servers put the words of an error at the top, where an answer has none.
    #[serde(default)]
    message: Option<String>,
}

impl Answer {
    /// The error that it holds in place of an answer, if any.
    pub(crate) fn take_error(&mut self) -> Option<Value> {
        if let Some(error) = self.error.take().filter(|error| !error.is_null()) {
            return Some(error);
        }
        self.message.take().filter(|_| self.choices.is_none()).map(Value::String)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice {
    #[serde(default)]
    pub(crate) index: Option<u64>,
    /// In a stream.
    #[serde(default)]
    pub(crate) delta: Option<Delta>,
    /// In a whole answer.
    #[serde(default)]
    pub(crate) message: Option<Delta>,
    #[serde(default)]
    pub(crate) finish_reason: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Delta {
    #[serde(default)]
    pub(crate) content: Option<String>,
    #[serde(default)]
    pub(crate) refusal: Option<String>,
    #[serde(default)]
    pub(crate) reasoning_content: Option<String>,
    #[serde(default)]
    pub(crate) reasoning: Option<String>,
    #[serde(default)]
    pub(crate) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CallDelta {
    #[serde(default)]
    pub(crate) index: Option<u64>,
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct FunctionDelta {
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default, deserialize_with = "text_or_object")]
    pub(crate) arguments: Option<String>,
}

/// Arguments are JSON inside a string; some servers forget the string.
fn text_or_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Arguments;

    impl<'de> Visitor<'de> for Arguments {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("arguments as a string or an object")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
            Ok(Some(text))
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let object = Value::deserialize(MapAccessDeserializer::new(map))?;
            Ok(Some(object.to_string()))
        }
    }

    deserializer.deserialize_any(Arguments)
}

#[derive(Debug, Deserialize)]
pub(crate) struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Default, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let prompt = wire.prompt_tokens_details.unwrap_or_default();
        let completion = wire.completion_tokens_details.unwrap_or_default();
        let prompt_tokens = wire.prompt_tokens.unwrap_or(0);
        let completion_tokens = wire.completion_tokens.unwrap_or(0);
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: wire.total_tokens.unwrap_or_else(|| prompt_tokens.saturating_add(completion_tokens)),
            cached_input_tokens: prompt.cached_tokens.unwrap_or(0),
            cache_write_tokens: prompt.cache_write_tokens.unwrap_or(0),
            reasoning_tokens: completion.reasoning_tokens.unwrap_or(0),
        }
    }
}

/// The reason behind the dialect's word. An unknown word still says that the answer is complete.
pub(crate) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "max_tokens" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}
