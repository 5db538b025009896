//! The vendor's own count of a request, and its refusal of one that is too long.
//!
//! It counts as OpenAI says that its chat models do, by itself: nothing here is shared with the server that is tested.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use serde_json::Value;

use super::reply::Refusal;
use super::request::{ChatRequest, text_of};
use crate::sync::lock;

/// How the vendor counts, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenRules {
    /// Tokens of request and answer together; more is refused.
    pub window: u32,
    /// What the count is multiplied by, to be another vendor's.
    pub count_factor: f64,
}

/// A square photo of four tiles, or its smallest view.
fn image(part: &Value) -> u64 {
    if part["image_url"]["detail"] == "low" { 85 } else { 765 }
}

/// Counts requests. What was counted before is remembered, because conversations repeat themselves.
#[derive(Debug, Default)]
pub(super) struct Counter {
    texts: Mutex<HashMap<u64, u64>>,
}

impl Counter {
    /// Tokens of everything that a request shows the model.
    pub(super) fn count(&self, request: ChatRequest<'_>, factor: f64) -> u64 {
        let messages: u64 = request.messages().iter().map(|message| self.message(message)).sum();
        let tools: u64 = request.functions().map(|function| self.text(&function.to_string()) + 7).sum();
        ((messages + tools + 3) as f64 * factor).ceil() as u64
    }

    fn message(&self, message: &Value) -> u64 {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| &call["function"]).map(|function| {
            let texts = [&function["name"], &function["arguments"]];
            texts.iter().filter_map(|text| text.as_str()).map(|text| self.text(text)).sum::<u64>() + 5
        });
        let parts = message["content"].as_array().into_iter().flatten();
        let images = parts.filter(|part| part["type"] == "image_url").map(image);
        self.text(&text_of(&message["content"])) + calls.sum::<u64>() + images.sum::<u64>() + 4
    }

    fn text(&self, text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(count) = lock(&self.texts).get(&key) {
            return *count;
        }
        let count = tiktoken_rs::o200k_base_singleton().count_ordinary(text) as u64;
        lock(&self.texts).insert(key, count);
        count
    }
}

/// Refuses a request of so many tokens that is too long, in OpenAI's words.
pub(super) fn check(request: ChatRequest<'_>, tokens: u64, rules: TokenRules) -> Result<(), Refusal> {
    let answer = request.max_tokens().unwrap_or(0);
    let (wanted, window) = (tokens + answer, u64::from(rules.window));
    if wanted <= window {
        return Ok(());
    }
    Err(Refusal {
        status: 400,
        message: format!(
            "This model's maximum context length is {window} tokens. However, you requested {wanted} tokens ({tokens} in \
             the messages, {answer} in the completion). Please reduce the length of the messages or completion."
        ),
        param: Some("messages".to_owned()),
        code: Some("context_length_exceeded".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_counted_and_refused_above_the_window() {
        let body = json!({"max_tokens": 10, "messages": [
            {"role": "user", "content": "hello world"},
            {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "hello", "arguments": "{}"}}]},
        ]});
        let (request, counter) = (ChatRequest::new(&body), Counter::default());
        assert_eq!(counter.count(request, 1.0), 2 + 4 + 2 + 5 + 4 + 3);
        assert_eq!(counter.count(request, 1.2), 24);
        let refusal = |window| check(request, 20, TokenRules { window, count_factor: 1.0 }).err();
        assert_eq!(refusal(30), None);
        let refusal = refusal(29).unwrap();
        assert_eq!(refusal.code.as_deref(), Some("context_length_exceeded"));
        assert!(
            refusal.message.contains("maximum context length is 29 tokens. However, you requested 30"),
            "{refusal:?}"
        );
    }
}
