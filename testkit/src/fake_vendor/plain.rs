//! The fast path for benchmarks: one fixed answer, made once, for whatever is asked.
//!
//! It must cost as little as it can, because it shares the machine with what is measured: the body is searched for
//! one field and never parsed, and only the last body is kept.

use std::sync::Mutex;

use bytes::Bytes;
use serde_json::Value;

use super::shape::Answer;
use super::wire::{self, Envelope};
use crate::sync::lock;

/// Prepared answers.
pub(super) struct Plain {
    whole: Bytes,
    events: Bytes,
    last: Mutex<Bytes>,
}

impl Plain {
    pub(super) fn new(pieces: Option<usize>) -> Self {
        let text = Some("This answer is always the same, and it comes at once. ".repeat(6).trim_end().to_owned());
        let answer = Answer { reasoning: None, text, calls: Vec::new(), finish: "stop".to_owned() };
        let envelope = Envelope {
            answer: &answer,
            model: "fake",
            number: 1,
            usage: wire::usage(2000, &answer, None),
            reasoning_field: "reasoning_content",
        };
        let events = wire::events(&envelope, pieces, true);
        let events: Vec<u8> = events.pieces.into_iter().chain(events.ending).flatten().collect();
        Self {
            whole: Bytes::from(wire::completion(&envelope).to_string()),
            events: Bytes::from(events),
            last: Mutex::default(),
        }
    }

    /// The answer to `body`, and whether it is a stream of events.
    pub(super) fn answer(&self, body: Bytes) -> (Bytes, bool) {
        let streams = wants_stream(&body);
        *lock(&self.last) = body;
        if streams { (self.events.clone(), true) } else { (self.whole.clone(), false) }
    }

    /// The last body, if there was one.
    pub(super) fn last(&self) -> Option<Value> {
        serde_json::from_slice(&lock(&self.last)).ok()
    }
}

/// Inside a JSON string both quotes would be escaped, so the needle can't be found in a message's text.
fn wants_stream(body: &[u8]) -> bool {
    // Searching text skips ahead by the length of the needle; checking that it is text costs next to nothing.
    let Ok(text) = std::str::from_utf8(body) else { return false };
    text.contains("\"stream\":true") || text.contains("\"stream\": true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_field_itself_asks_for_a_stream() {
        for (body, expected) in [
            (r#"{"stream":true}"#, true),
            (r#"{"a":1,"stream": true}"#, true),
            (r#"{"stream":false}"#, false),
            (r#"{"messages":[{"content":"\"stream\":true"}]}"#, false),
        ] {
            assert_eq!(wants_stream(body.as_bytes()), expected, "{body}");
        }
    }
}
