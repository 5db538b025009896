//! Every request that the vendor received, and how it ended.
//!
//! The log only watches: it never changes what is answered.

use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, request::Parts};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::sync::lock;

/// How far an exchange has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is on its way.
    Open,
    /// All that was to be sent was handed to the connection.
    Answered,
    /// The client left before the end.
    HungUp,
}

/// A request as it arrived.
#[derive(Debug)]
pub struct RecordedRequest {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    /// Null if the body is not JSON.
    pub body: Value,
    pub bytes: Bytes,
    pub arrived: Instant,
    pub arrived_at: SystemTime,
    outcome: Mutex<Outcome>,
}

impl RecordedRequest {
    /// How far it has come by now.
    pub fn outcome(&self) -> Outcome {
        *lock(&self.outcome)
    }

    /// Whether the client left before the end.
    pub fn hung_up(&self) -> bool {
        self.outcome() == Outcome::HungUp
    }

    /// The value of a header, or nothing if it is absent or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(super) fn is_chat(&self) -> bool {
        self.path.ends_with("/chat/completions")
    }

    pub(super) fn to_json(&self) -> Value {
        let text = |value: &http::HeaderValue| json!(String::from_utf8_lossy(value.as_bytes()));
        let headers: Map<String, Value> =
            self.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
        let arrived = self.arrived_at.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis());
        json!({
            "method": self.method, "path": self.path, "headers": headers, "body": self.body,
            "arrived_at_ms": u64::try_from(arrived).unwrap_or(u64::MAX), "hung_up": self.hung_up(),
            "answered": self.outcome() == Outcome::Answered,
        })
    }
}

/// What happened to chat requests so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// They arrived, complete.
    pub requests: usize,
    /// Their answers were handed to the connection, errors and cut ones too.
    pub answered: usize,
    /// Their answers hang after the first half.
    pub stalled: usize,
    /// Their clients left before the end.
    pub hung_up: usize,
    /// They were too long for the window.
    pub too_long: usize,
}

/// All requests since the start or the last `clear`.
#[derive(Debug, Default)]
pub(super) struct Log {
    requests: Mutex<Vec<Arc<RecordedRequest>>>,
    tally: watch::Sender<Tally>,
}

impl Log {
    /// Notes a request. The exchange is open until the returned value is finished; dropped before, it was hung up.
    pub(super) fn record(self: &Arc<Self>, parts: Parts, bytes: Bytes) -> OpenExchange {
        let request = Arc::new(RecordedRequest {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
            bytes,
            arrived: Instant::now(),
            arrived_at: SystemTime::now(),
            outcome: Mutex::new(Outcome::Open),
        });
        lock(&self.requests).push(request.clone());
        let exchange = OpenExchange { request, log: self.clone() };
        exchange.count(|tally| tally.requests += 1);
        exchange
    }

    pub(super) fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        lock(&self.requests).clone()
    }

    pub(super) fn clear(&self) {
        lock(&self.requests).clear();
    }

    pub(super) fn tally(&self) -> watch::Receiver<Tally> {
        self.tally.subscribe()
    }
}

/// An exchange whose end is not decided yet.
pub(super) struct OpenExchange {
    pub(super) request: Arc<RecordedRequest>,
    log: Arc<Log>,
}

impl OpenExchange {
    /// All that was to be sent is on its way.
    pub(super) fn finish(&self) {
        if std::mem::replace(&mut *lock(&self.request.outcome), Outcome::Answered) == Outcome::Open {
            self.count(|tally| tally.answered += 1);
        }
    }

    /// The request was too long.
    pub(super) fn refuse(&self) {
        self.count(|tally| tally.too_long += 1);
        self.finish();
    }

    /// The last piece is on its way; a client may leave after it without waiting for the end of the body.
    pub(super) fn finish_if(&self, is_last: bool) {
        if is_last {
            self.finish();
        }
    }

    /// The answer hangs.
    pub(super) fn stall(&self) {
        self.count(|tally| tally.stalled += 1);
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        if self.request.is_chat() {
            self.log.tally.send_modify(change);
        }
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        let mut outcome = lock(&self.request.outcome);
        if *outcome != Outcome::Open {
            return;
        }
        *outcome = Outcome::HungUp;
        drop(outcome);
        self.count(|tally| tally.hung_up += 1);
    }
}
