//! Requests that pass through: what a client wrote goes to the vendor, what the vendor wrote goes back.
//!
//! The body is the client's, but for the model's name; the address and the key are the operator's, and no header of
//! the client goes along. It never retries. Dropping an answer closes the connection to the vendor.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use domain::seams::chat_model::ModelError;
use domain::{ModelHandle, Usage};
use http_body_util::BodyExt;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Response};

use super::client::{ANSWER_CAP, CLOSE_WAIT, Endpoint, is_json};
use super::failure::{Failure, clean};
use super::raw_body::RawBody;
use super::raw_events::{EventRelay, broken, error_of};
use super::raw_usage::usage_in;
use crate::http::{Address, describe, read_body};

/// How often a stream that gave something is looked at again before that is passed on: the pieces of one burst come
/// one after the other, each when the connection was asked for it.
const LOOKS: u8 = 2;
/// Bytes after which a burst is passed on although more is there.
const BURST_CAP: usize = 64 * 1024;

/// Which of the dialect's calls it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawCall {
    ChatCompletions,
    Completions,
}

/// Why a vendor did not answer a request that passed through.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RawError {
    #[error("the provider does not know this model: {detail}")]
    UnknownModel { detail: String },
    #[error(transparent)]
    Failed(#[from] ModelError),
}

/// The addresses of one endpoint's calls.
pub(crate) struct RawCalls {
    endpoint: Arc<Endpoint>,
    chat_completions: Address,
    completions: Address,
}

impl RawCalls {
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Self {
        let address = |path| Address::new(endpoint.url(path));
        let (chat_completions, completions) = (address("chat/completions"), address("completions"));
        Self { endpoint, chat_completions, completions }
    }
}

/// A model that can be asked in its vendor's own words.
pub struct RawModel {
    calls: Arc<RawCalls>,
    handle: ModelHandle,
}

/// A vendor's answer.
pub enum RawAnswer {
    /// One JSON text, and the tokens that it tells of.
    Whole {
        json: Bytes,
        usage: Option<Usage>,
    },
    Events(RawEvents),
}

impl RawModel {
    pub(crate) fn new(calls: Arc<RawCalls>, handle: ModelHandle) -> Self {
        Self { calls, handle }
    }

    /// Asks, with the body as it is but for the model's name. A stream is answered when it begins.
    pub async fn forward(&self, call: RawCall, body: &RawBody<'_>) -> Result<RawAnswer, RawError> {
        let endpoint = &self.calls.endpoint;
        let address = match call {
            RawCall::ChatCompletions => &self.calls.chat_completions,
            RawCall::Completions => &self.calls.completions,
        };
        let response = endpoint.post(address, body.with_model(self.handle.model())).await?;
        if !response.status().is_success() {
            return Err(named(endpoint.failure(response).await, endpoint.key()));
        }
        if is_stream(&response) {
            return Ok(RawAnswer::Events(RawEvents::new(Arc::clone(endpoint), response)));
        }
        if !is_json(&response) {
            return Err(broken("the answer is neither JSON nor a stream of events: is this the API's address?").into());
        }
        let whole = read_body(response, ANSWER_CAP, endpoint.timeouts.first_byte).await;
        let whole = whole.map_err(|error| broken(&clean(&error.to_string(), endpoint.key())))?;
        match error_of(&whole) {
            Some(error) => Err(named(Failure::from_value(&error), endpoint.key())),
            None => Ok(RawAnswer::Whole { usage: usage_in(&whole), json: Bytes::from(whole) }),
        }
    }
}

/// What a failure means to a client that chose the model itself.
fn named(failure: Failure, key: Option<&str>) -> RawError {
    let is_about_model = failure.status == Some(404)
        && (failure.code == "model_not_found" || failure.message.to_lowercase().contains("model"));
    match failure.into_error(key) {
        ModelError::Rejected { detail } if is_about_model => RawError::UnknownModel { detail },
        error => error.into(),
    }
}

fn is_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| {
        kind.as_bytes().get(..17).is_some_and(|start| start.eq_ignore_ascii_case(b"text/event-stream"))
    })
}

/// A vendor's stream while it arrives.
pub struct RawEvents {
    endpoint: Arc<Endpoint>,
    /// None when there is nothing more to read.
    body: Option<Body>,
    /// What arrived and was not passed on.
    burst: Burst,
    relay: EventRelay,
    /// Told after the events that came before it.
    failure: Option<ModelError>,
}

/// How reading ended.
enum End {
    /// As HTTP says that a body ends.
    Orderly,
    Cut(String),
}

impl RawEvents {
    fn new(endpoint: Arc<Endpoint>, response: Response) -> Self {
        // Headers are parts of the buffer that they were read into, and would keep all of it for as long as a stream is
        // open. So only the body is kept.
        let (body, burst, relay) = (Some(response.into()), Burst::default(), EventRelay::default());
        Self { endpoint, body, burst, relay, failure: None }
    }

    /// The next events, all that arrived together; none after the last, nothing after an error. Whoever stops waiting
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Result<Bytes, ModelError>> {
        loop {
            if let Some(failure) = self.failure.take() {
                return Some(Err(failure));
            }
            self.body.as_ref()?;
            let limit = if self.relay.is_done() { CLOSE_WAIT } else { self.endpoint.timeouts.idle };
            let end = match tokio::time::timeout(limit, self.gather()).await {
                Ok(end) => end,
                Err(_) => Some(End::Cut(format!("no event came for {limit:?}"))),
            };
            let events = self.settle(end);
            if !events.is_empty() {
                return Some(Ok(events));
            }
        }
    }

    /// The tokens that the stream told of so far, in the last count that it gave.
    pub fn usage(&self) -> Option<Usage> {
        self.relay.usage()
    }

    /// Events of the model that came so far.
    pub fn events(&self) -> u64 {
        self.relay.events()
    }

    /// Waits for bytes and takes all that arrived together; says if they were the last.
    async fn gather(&mut self) -> Option<End> {
        let mut misses = 0;
        poll_fn(|context| self.poll_gather(&mut misses, context)).await
    }

    fn poll_gather(&mut self, misses: &mut u8, context: &mut Context<'_>) -> Poll<Option<End>> {
        while !self.burst.is_full() {
            match self.poll_chunk(context) {
                Poll::Ready(Ok(bytes)) => {
                    *misses = 0;
                    self.burst.add(bytes);
                }
                Poll::Ready(Err(end)) => return Poll::Ready(Some(end)),
                Poll::Pending if self.burst.is_empty() => return Poll::Pending,
                Poll::Pending if *misses < LOOKS => {
                    *misses += 1;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        Poll::Ready(None)
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, End>> {
        let Some(body) = &mut self.body else { return Poll::Ready(Err(End::Orderly)) };
        // The future holds no state of its own, so that it can be dropped while it waits.
        pin!(body.frame()).poll(context).map(|read| match read {
            // Trailers say nothing that a client needs.
            Some(Ok(frame)) => Ok(frame.into_data().unwrap_or_default()),
            None => Err(End::Orderly),
            Some(Err(error)) => Err(End::Cut(format!("the connection broke: {}", describe(error)))),
        })
    }

    /// What of the burst can be passed on. An end is noted, with the failure that it amounts to.
    fn settle(&mut self, end: Option<End>) -> Bytes {
        let key = self.endpoint.key();
        let mut passed = self.relay.take(self.burst.take(), key);
        let is_open = end.is_none() && passed.failure.is_none();
        match end {
            Some(End::Orderly) if passed.failure.is_none() => passed = self.relay.end(passed.events, key),
            Some(End::Cut(why)) if !self.relay.is_complete() => {
                passed.failure.get_or_insert_with(|| broken(&clean(&why, key)));
            }
            None | Some(_) => {}
        }
        if !is_open {
            self.body = None;
        }
        self.failure = passed.failure;
        passed.events
    }
}

/// Bytes that arrived together. One piece is not copied.
#[derive(Default)]
struct Burst {
    one: Bytes,
    more: BytesMut,
}

impl Burst {
    fn add(&mut self, bytes: Bytes) {
        if self.is_empty() {
            self.one = bytes;
            return;
        }
        if self.more.is_empty() {
            self.more.extend_from_slice(&std::mem::take(&mut self.one));
        }
        self.more.extend_from_slice(&bytes);
    }

    fn is_empty(&self) -> bool {
        self.one.is_empty() && self.more.is_empty()
    }

    fn is_full(&self) -> bool {
        self.more.len() >= BURST_CAP
    }

    fn take(&mut self) -> Bytes {
        if self.more.is_empty() { std::mem::take(&mut self.one) } else { self.more.split().freeze() }
    }
}
