//! Sends a request and reads the answer as it arrives. IO only: what is written and what is understood is decided in
//! `request`, `stream` and `failure`.
//!
//! It never retries, and it holds the connection only as long as the stream that it gives out lives: dropping the
//! stream closes the connection, so that the server stops working for nobody.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use domain::seams::BoxFuture;
use domain::seams::chat_model::{ChatModel, ModelError, ModelEvent, ModelRequest, ModelStream};
use domain::{ResponseFormat, Timestamp};
use futures_util::stream;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Response, Url};

use super::failure::{Failure, clean, retry_after};
use super::rendered::RenderedMessages;
use super::request;
use super::stream::Assembler;
use crate::http::{Address, HttpClients, Timeouts, describe, read_body, read_start};
use crate::profile::{self, Profile};
use crate::sse::{SseError, SseParser};

/// Bytes of a whole answer.
pub(super) const ANSWER_CAP: usize = 64 * 1024 * 1024;
/// Bytes of an error's words that are read, and how long they are waited for.
const ERROR_CAP: usize = 64 * 1024;
const ERROR_WAIT: Duration = Duration::from_secs(5);
/// How long the end of the body is waited for after the server's last event. It usually is there already, and reading
/// it is what lets the connection be used again.
pub(super) const CLOSE_WAIT: Duration = Duration::from_millis(20);

/// Everything that calls to one endpoint have in common.
pub(crate) struct Endpoint {
    pub(crate) base: Url,
    pub(crate) api_key: Option<String>,
    /// The `Authorization` header, marked as secret.
    authorization: Option<HeaderValue>,
    pub(crate) profile: &'static Profile,
    pub(crate) timeouts: Timeouts,
    pub(crate) http: Arc<HttpClients>,
}

impl Endpoint {
    /// Fails only if the key can't be written into a header.
    pub(crate) fn new(
        base: Url,
        api_key: Option<String>,
        profile: &'static Profile,
        timeouts: Timeouts,
        http: Arc<HttpClients>,
    ) -> Option<Self> {
        let authorization = match &api_key {
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}")).ok()?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Some(Self { base, api_key, authorization, profile, timeouts, http })
    }

    /// The headers of every call.
    pub(crate) fn headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        headers
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.api_key.as_deref()
    }

    /// `path` under the endpoint's address; with a slash at its start, under the server's root.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let start = url.path().trim_end_matches('/');
        let joined = match path.strip_prefix('/') {
            Some(rest) => format!("{}/{rest}", start.strip_suffix("/v1").unwrap_or(start)),
            None => format!("{start}/{path}"),
        };
        url.set_path(&joined);
        url
    }

    /// Posts a body and waits for the answer's head.
    pub(crate) async fn post(&self, to: &Address, body: Vec<u8>) -> Result<Response, ModelError> {
        let unavailable = |detail: &str| ModelError::Unavailable { detail: clean(detail, self.key()) };
        let mut headers = self.headers("text/event-stream, application/json");
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let limit = self.timeouts.first_byte;
        match tokio::time::timeout(limit, self.http.post(to, headers, body)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(detail)) => Err(unavailable(&detail)),
            Err(_) => Err(unavailable(&format!("no answer began within {limit:?}"))),
        }
    }

    /// What an answer with an error status says.
    pub(crate) async fn failure(&self, response: Response) -> Failure {
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let wait = retry_after(header("retry-after-ms"), header(RETRY_AFTER.as_str()), Timestamp::now());
        let body = read_start(response, ERROR_CAP, ERROR_WAIT).await;
        Failure::from_body(status, &body, wait)
    }
}

/// Whether an answer says that it is one JSON text.
pub(crate) fn is_json(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| {
        kind.as_bytes().get(..16).is_some_and(|start| start.eq_ignore_ascii_case(b"application/json"))
    })
}

/// Chat models behind one endpoint that speaks the dialect.
pub(crate) struct OpenAiChat {
    endpoint: Arc<Endpoint>,
    completions: Address,
    rendered: RenderedMessages,
}

impl OpenAiChat {
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Self {
        let completions = Address::new(endpoint.url("chat/completions"));
        Self { endpoint, completions, rendered: RenderedMessages::default() }
    }

    async fn ask(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let endpoint = &self.endpoint;
        let body = request::body(request, &endpoint.profile.requests, &self.rendered)
            .map_err(|error| ModelError::Rejected { detail: format!("the request can't be written: {error}") })?;
        let mut response = endpoint.post(&self.completions, body).await?;
        if !response.status().is_success() {
            return Err(endpoint.failure(response).await.into_error(endpoint.key()));
        }
        let whole = is_json(&response);
        // They would keep the buffer that they were read into for as long as the stream is open.
        *response.headers_mut() = HeaderMap::new();
        let mut reply = Box::new(Reply {
            endpoint: Arc::clone(endpoint),
            parser: SseParser::default(),
            assembler: Assembler::new(request.step),
            ready: VecDeque::new(),
            failure: None,
            received: 0,
            source: Source::Open(response),
        });
        if whole {
            reply.read_whole().await;
        }
        reply.wait_for_first().await?;
        Ok(Box::pin(stream::unfold(reply, |mut reply| async move { reply.next().await.map(|event| (event, reply)) })))
    }
}

impl ChatModel for OpenAiChat {
    fn stream(&self, request: Arc<ModelRequest>) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move { self.ask(&request).await })
    }

    fn sees(&self, model: &str) -> bool {
        profile::known_to_see(model).unwrap_or(self.endpoint.profile.requests.sees)
    }

    fn enforces(&self, format: &ResponseFormat) -> bool {
        matches!(format, ResponseFormat::Text) || self.endpoint.profile.requests.enforces_shapes
    }
}

/// Where the rest of the answer comes from.
enum Source {
    Open(Response),
    /// The server has said that it is done; only the end of the body is missing.
    Closing(Response),
    Closed,
}

/// One answer while it arrives.
struct Reply {
    endpoint: Arc<Endpoint>,
    parser: SseParser,
    assembler: Assembler,
    ready: VecDeque<ModelEvent>,
    /// Told after the events that came before it.
    failure: Option<ModelError>,
    received: usize,
    source: Source,
}

impl Reply {
    /// Reads until there is an event, so that an error in its place comes from the call and not from the stream.
    async fn wait_for_first(&mut self) -> Result<(), ModelError> {
        while self.ready.is_empty() {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if !matches!(self.source, Source::Open(_)) {
                break;
            }
            self.read_more().await;
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(failure) = self.failure.take() {
                return Some(Err(failure));
            }
            match std::mem::replace(&mut self.source, Source::Closed) {
                Source::Closed => return None,
                Source::Closing(mut response) => {
                    // Whatever comes of it, the answer is complete.
                    let _ = tokio::time::timeout(CLOSE_WAIT, response.chunk()).await;
                    return None;
                }
                Source::Open(response) => {
                    self.source = Source::Open(response);
                    self.read_more().await;
                }
            }
        }
    }

    /// Reads the next bytes and takes what they hold.
    async fn read_more(&mut self) {
        let Source::Open(response) = &mut self.source else {
            return;
        };
        let timeouts = &self.endpoint.timeouts;
        let limit = if self.received == 0 { timeouts.first_byte } else { timeouts.idle };
        let outcome = match tokio::time::timeout(limit, response.chunk()).await {
            Err(_) => Err(broken(format!("no event came for {limit:?}"))),
            Ok(Ok(Some(bytes))) => self.take_bytes(&bytes),
            Ok(Ok(None)) => self.take_end("the stream ended without saying why"),
            Ok(Err(error)) => {
                let why = format!("the connection broke: {}", describe(error));
                self.take_end(&clean(&why, self.endpoint.key()))
            }
        };
        if let Err(error) = outcome {
            self.failure = Some(error);
            self.source = Source::Closed;
        }
    }

    fn take_bytes(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        self.received += bytes.len();
        if self.received > ANSWER_CAP {
            return Err(broken(format!("the answer is larger than {ANSWER_CAP} bytes")));
        }
        let Self { parser, assembler, ready, endpoint, .. } = self;
        parser.feed(bytes, |data| Ok::<_, Stop>(assembler.accept(data, endpoint.key(), ready)?))?;
        if self.assembler.has_ended()
            && let Source::Open(response) = std::mem::replace(&mut self.source, Source::Closed)
        {
            self.source = Source::Closing(response);
        }
        Ok(())
    }

    fn take_end(&mut self, why: &str) -> Result<(), ModelError> {
        self.source = Source::Closed;
        let Self { parser, assembler, ready, endpoint, .. } = self;
        parser.finish(|data| Ok::<_, Stop>(assembler.accept(data, endpoint.key(), ready)?))?;
        self.assembler.cut(why, &mut self.ready)
    }

    /// Some servers answer a wish for a stream with the whole answer at once.
    async fn read_whole(&mut self) {
        let Source::Open(response) = std::mem::replace(&mut self.source, Source::Closed) else {
            return;
        };
        let key = self.endpoint.key();
        let outcome = match read_body(response, ANSWER_CAP, self.endpoint.timeouts.first_byte).await {
            Ok(body) => self.assembler.accept_whole(&body, key, &mut self.ready),
            Err(error) => Err(broken(clean(&error.to_string(), key))),
        };
        self.failure = outcome.err();
    }
}

/// Why no more events are taken from the bytes.
struct Stop(ModelError);

impl From<SseError> for Stop {
    fn from(error: SseError) -> Self {
        Self(broken(error.to_string()))
    }
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        Self(error)
    }
}

impl From<Stop> for ModelError {
    fn from(stop: Stop) -> Self {
        stop.0
    }
}

fn broken(detail: impl Into<String>) -> ModelError {
    ModelError::Broken { detail: detail.into() }
}
