//! Bytes of a vendor's stream on their way to a client: nothing but whole events passes.
//!
//! Pure. Events are not taken apart; only their borders, an error in place of an answer, a count of tokens, and the
//! signs of a proper end are looked for. A stream that breaks off is so never mistaken for one that ended, and what stands half written
//! when it breaks never reaches the client.

use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use domain::Usage;
use domain::seams::chat_model::ModelError;
use memchr::memmem::{self, Finder};
use serde_json::Value;

use super::failure::Failure;
use super::raw_usage::usage_in;
use crate::sse::EVENT_CAP;

/// What a server says last.
const DONE: &[u8] = b"[DONE]";
/// A reason for the end. Inside a JSON string the quotes would be escaped, so no model can say it.
const FINISH: &[u8] = b"\"finish_reason\":\"";
const FINISH_SPACED: &[u8] = b"\"finish_reason\": \"";
const ERROR: &[u8] = b"\"error\":";
/// How the line of an event begins.
const DATA: &[u8] = b"data:";
static FIND_DATA: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(DATA));

/// What of a stream can be passed on.
pub(super) struct Passed {
    /// Whole events, or nothing.
    pub(super) events: Bytes,
    /// Why nothing follows them.
    pub(super) failure: Option<ModelError>,
}

/// What is known of a stream so far.
#[derive(Debug, Default)]
pub(super) struct EventRelay {
    /// The start of an event whose end has not arrived.
    tail: BytesMut,
    has_reason: bool,
    is_done: bool,
    usage: Option<Usage>,
    events: u64,
}

impl EventRelay {
    /// The events that these bytes complete.
    pub(super) fn take(&mut self, bytes: Bytes, key: Option<&str>) -> Passed {
        let whole = self.complete(bytes);
        let mut passed = self.look_at(whole, key);
        if self.tail.len() > EVENT_CAP {
            let text = format!("an event of the stream is larger than {EVENT_CAP} bytes");
            passed.failure.get_or_insert_with(|| broken(&text));
        }
        passed
    }

    /// The last `events` and the rest, when the bytes end as HTTP says that they should.
    pub(super) fn end(&mut self, events: Bytes, key: Option<&str>) -> Passed {
        let mut passed = Passed { events, failure: None };
        if !self.tail.is_empty() {
            let mut rest = self.tail.split();
            rest.extend_from_slice(b"\n\n");
            let last = self.look_at(rest.freeze(), key);
            passed.events = [passed.events, last.events].concat().into();
            passed.failure = last.failure;
        }
        if !self.is_complete() {
            passed.failure.get_or_insert_with(|| broken("the stream ended without saying why"));
        }
        passed
    }

    /// Whether the answer is whole, whatever becomes of the connection.
    pub(super) fn is_complete(&self) -> bool {
        self.is_done || self.has_reason
    }

    /// Whether nothing is to be expected but the end of the bytes.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The last count of tokens that was told.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Events that came from the model.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    fn complete(&mut self, bytes: Bytes) -> Bytes {
        // Servers write event by event, so this is how nearly all bytes come and go.
        if self.tail.is_empty() && bytes.ends_with(b"\n\n") {
            return bytes;
        }
        // A border may lie across the seam.
        let seam = self.tail.len().saturating_sub(3);
        self.tail.extend_from_slice(&bytes);
        match last_border(&self.tail[seam..]) {
            Some(border) => self.tail.split_to(seam + border).freeze(),
            None => Bytes::new(),
        }
    }

    fn look_at(&mut self, mut events: Bytes, key: Option<&str>) -> Passed {
        let mut failure = None;
        if memmem::find(&events, ERROR).is_some()
            && let Some((start, error)) = error_in(&events)
        {
            events.truncate(start);
            failure = Some(Failure::from_value(&error).into_error(key));
        }
        self.has_reason =
            self.has_reason || [FINISH, FINISH_SPACED].iter().any(|sign| memmem::find(&events, sign).is_some());
        self.is_done |= events.trim_ascii_end().ends_with(DONE);
        self.usage = usage_in(&events).or(self.usage);
        self.events += count_events(&events);
        Passed { events, failure }
    }
}

/// How many of `events` came from the model: comments and the last word did not.
fn count_events(events: &[u8]) -> u64 {
    let lines = FIND_DATA.find_iter(events).filter(|&at| at == 0 || events[at - 1] == b'\n');
    lines.filter(|&at| !events[at + DATA.len()..].trim_ascii_start().starts_with(DONE)).count() as u64
}

/// Where the last event of `bytes` ends.
fn last_border(bytes: &[u8]) -> Option<usize> {
    let feeds = memmem::rfind(bytes, b"\n\n").map(|at| at + 2);
    let returns = memmem::rfind(bytes, b"\n\r\n").map(|at| at + 3);
    feeds.max(returns)
}

/// The first error that is told in place of an answer, and where its line begins.
fn error_in(events: &[u8]) -> Option<(usize, Value)> {
    let text = std::str::from_utf8(events).ok()?;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(error) = line.strip_prefix("data:").and_then(|data| error_of(data.as_bytes())) {
            return Some((start, error));
        }
        start += line.len();
    }
    None
}

/// The error that a JSON text holds at its top.
pub(super) fn error_of(json: &[u8]) -> Option<Value> {
    memmem::find(json, ERROR)?;
    let mut value: Value = serde_json::from_slice(json).ok()?;
    value.get_mut("error").map(Value::take).filter(|error| !error.is_null() && *error != Value::Bool(false))
}

pub(super) fn broken(detail: &str) -> ModelError {
    ModelError::Broken { detail: detail.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"é\"},\"finish_reason\":null}]}\n\n\
                          : ping\r\n\r\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

    /// What passes when the stream comes in pieces that end at `cuts`, and why it failed.
    fn relay(stream: &str, cuts: &[usize]) -> (String, Option<ModelError>) {
        let key = Some("sk-very-secret");
        let (mut relay, mut passed, mut from) = (EventRelay::default(), Vec::new(), 0);
        for to in cuts.iter().copied().chain([stream.len()]) {
            let taken = relay.take(Bytes::copy_from_slice(&stream.as_bytes()[from..to]), key);
            passed.extend_from_slice(&taken.events);
            if taken.failure.is_some() {
                return (String::from_utf8(passed).unwrap(), taken.failure);
            }
            from = to;
        }
        let end = relay.end(Bytes::new(), key);
        passed.extend_from_slice(&end.events);
        (String::from_utf8(passed).unwrap(), end.failure)
    }

    proptest! {
        #[test]
        fn a_stream_passes_as_it_came_however_it_is_cut(cuts in prop::collection::btree_set(0..STREAM.len(), 0..20)) {
            let (passed, failure) = relay(STREAM, &cuts.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(passed, STREAM);
            prop_assert_eq!(failure, None);
        }

        #[test]
        fn a_broken_stream_passes_up_to_a_border(at in 0..=STREAM.len(), cut in 0..=STREAM.len()) {
            let mut relay = EventRelay::default();
            let bytes = Bytes::from_static(STREAM.as_bytes());
            let cut = cut.min(at);
            let pieces = [bytes.slice(..cut), bytes.slice(cut..at)];
            let passed: Vec<u8> = pieces.into_iter().flat_map(|piece| relay.take(piece, None).events).collect();
            prop_assert!(STREAM.as_bytes().starts_with(&passed));
            prop_assert!(passed.is_empty() || passed.ends_with(b"\n\n") || passed.ends_with(b"\n\r\n"));
        }
    }

    #[test]
    fn only_a_reason_or_the_last_word_ends_a_stream_well() {
        for (stream, is_whole) in [
            ("data: {}\n\n", false),
            ("", false),
            ("data: {\"finish_reason\":null}\n\n", false),
            ("data: {\"content\":\"\\\"finish_reason\\\":\\\"stop\\\"\"}\n\n", false),
            ("data: {\"finish_reason\": \"stop\"}\n\n", true),
            ("data: {}\n\ndata: [DONE]", true),
        ] {
            assert_eq!(relay(stream, &[]).1.is_none(), is_whole, "{stream}");
        }
        assert_eq!(relay("data: [DONE]", &[]).0, "data: [DONE]\n\n");
    }

    #[test]
    fn an_error_in_place_of_an_answer_is_taken_out() {
        let stream = "data: {\"choices\":[],\"error\":null,\"finish_reason\":\"stop\"}\n\n";
        assert_eq!(relay(stream, &[]), (stream.to_owned(), None));
        let stream = "data: {\"a\":[]}\n\ndata: {\"error\":{\"message\":\"sk-very-secret is over\",\"code\":429}}\n\n";
        let border = stream.find("data: {\"error").unwrap();
        for cuts in [&[][..], &[border]] {
            let (passed, failure) = relay(stream, cuts);
            assert_eq!(passed, &stream[..border]);
            assert!(matches!(failure, Some(ModelError::RateLimited { detail, .. }) if detail == "429: [key] is over"));
        }
    }

    #[test]
    fn tokens_and_events_are_counted_however_a_stream_is_cut() {
        let stream = "data: {\"text\":\"data: 1\\ndata: 2 \\\"usage\\\":{}\",\"usage\":null}\n\n: ping\n\n\
                      data:{\"usage\":{\"prompt_tokens\":1}}\r\n\r\n\
                      data: {\"usage\": {\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
        for cut in 0..stream.len() {
            let mut relay = EventRelay::default();
            for piece in [&stream[..cut], &stream[cut..]] {
                relay.take(Bytes::copy_from_slice(piece.as_bytes()), None);
            }
            let usage = relay.usage().map(|usage| (usage.prompt_tokens, usage.completion_tokens));
            assert_eq!((usage, relay.events()), (Some((7, 2)), 3), "cut at {cut}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let mut relay = EventRelay::default();
        let piece = Bytes::from(vec![b'x'; 1024 * 1024]);
        let mut taken = (0..20).map(|_| relay.take(piece.clone(), None));
        assert!(taken.any(|passed| matches!(passed.failure, Some(ModelError::Broken { .. }))));
    }
}
