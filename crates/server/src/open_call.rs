//! One call from its arrival to the end of its answer: its line in the log, its place in the figures, and its leave
//! under the limits.
//!
//! Whatever happens to a call (a whole answer, a stream that ends, a client that leaves, a panic), its [`OpenCall`] is
//! dropped once, and that writes the line, counts it and gives the leave back. Nothing of what was said may come here.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use bytes::Bytes;
use domain::request_note::Noted;
use domain::{ApiKeyId, RequestNote};
use futures_util::Stream;
use http::{HeaderValue, Method, StatusCode};

use crate::answer_headers;
use crate::dialect::{Dialect, Refusal};
use crate::door::Door;
use crate::limits::{Admission, Limiter, Standings};
use crate::metrics::{CallEnd, CallFigures, Metrics};

/// Characters of a path that a log line holds.
const LOGGED_PATH: usize = 120;
/// Characters of a client's own name for a request that a log line holds.
const LOGGED_CLIENT_ID: usize = 128;
/// The client's own name for a request.
const CLIENT_REQUEST_ID: &str = "x-client-request-id";

/// A call that is being answered.
pub(crate) struct OpenCall {
    metrics: Arc<Metrics>,
    limiter: Arc<Limiter>,
    arrived: Instant,
    id: String,
    // Texts of their own: a part of the request would keep the whole buffer that its head was read into.
    client_id: Option<Box<str>>,
    method: Method,
    path: Box<str>,
    /// Whether it is OpenAI's door that it came to.
    is_for_openai: bool,
    route: Option<MatchedPath>,
    door: Dialect,
    /// Whether somebody stands behind it whom the gate let in.
    is_known: bool,
    key: Option<ApiKeyId>,
    admission: Option<Admission>,
    note: RequestNote,
    answer: Option<Answer>,
    end: CallEnd,
}

/// What was answered so far.
struct Answer {
    status: StatusCode,
    streamed: bool,
    first_byte: Option<Duration>,
    bytes: u64,
    pieces: u64,
}

impl OpenCall {
    /// A call that has just arrived and is answered in the words of `door`.
    pub(crate) fn new(metrics: &Arc<Metrics>, limiter: &Arc<Limiter>, door: Dialect, request: &Request) -> Self {
        Self {
            metrics: metrics.clone(),
            limiter: limiter.clone(),
            arrived: Instant::now(),
            id: format!("req-{:016x}", rand::random::<u64>()),
            client_id: request.headers().get(CLIENT_REQUEST_ID).and_then(shown_client_id).map(Box::from),
            method: request.method().clone(),
            path: cut(request.uri().path(), LOGGED_PATH).into(),
            is_for_openai: Door::of_path(request.uri().path()) == Door::OpenAi,
            route: request.extensions().get::<MatchedPath>().cloned(),
            door,
            is_known: false,
            key: None,
            admission: None,
            note: RequestNote::default(),
            answer: None,
            end: CallEnd::Left,
        }
    }

    /// What the door may write into.
    pub(crate) fn note(&self) -> RequestNote {
        self.note.clone()
    }

    /// Counts the call under the limits of its key, or says why it came too early.
    pub(crate) fn admit(&mut self, key: Option<ApiKeyId>) -> Result<(), Refusal> {
        (self.is_known, self.key) = (true, key);
        // Health checks and figures answer in OpenAI's words where nothing else is open beside them. They are no work.
        if !self.is_for_openai {
            return Ok(());
        }
        match self.limiter.admit(key, self.arrived) {
            Ok(admission) => {
                self.admission = admission;
                Ok(())
            }
            Err(excess) => {
                self.metrics.refused(excess.limited);
                Err(Refusal::OverLimit(excess))
            }
        }
    }

    /// `response` with what every answer carries. The call goes on for as long as the answer does.
    pub(crate) fn answer(mut self, mut response: Response) -> Response {
        let size = response.body().size_hint().exact();
        let streamed = size.is_none();
        let (status, bytes) = (response.status(), size.unwrap_or_default());
        self.answer = Some(Answer { status, streamed, first_byte: None, bytes, pieces: 0 });
        let headers = response.headers_mut();
        answer_headers::request_id(headers, &self.id);
        if self.door == Dialect::OpenAi {
            if !streamed {
                self.charge();
            }
            let now = Instant::now();
            // Whoever was not let in is told nothing of the limits of others.
            let standings = if self.is_known { self.limiter.standings(self.key, now) } else { Standings::default() };
            answer_headers::openai(headers, now - self.arrived, &standings);
        }
        if !streamed {
            self.end = CallEnd::Complete;
            return response;
        }
        self.metrics.stream_opened(self.door);
        response.map(|body| Body::from_stream(FollowedBody { body: Some(body.into_data_stream()), call: Some(self) }))
    }

    /// Charges the tokens of an answer to its key, once. Where nobody knows what it took, as of one that broke off, each
    /// of its pieces counts as a token.
    fn charge(&mut self) {
        let Some(admission) = self.admission.take() else { return };
        let sent = || self.answer.as_ref().map_or(0, |answer| answer.pieces);
        let pieces = || self.note.pieces().unwrap_or_else(sent);
        let tokens = self.note.tokens().map_or_else(pieces, |(read, written)| read.saturating_add(written));
        admission.charge(tokens, Instant::now());
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.end = CallEnd::Failed;
        }
        self.charge();
        let (took, noted) = (self.arrived.elapsed(), self.note.take());
        let answer = self.answer.as_ref();
        self.metrics.call(&CallFigures {
            door: self.door,
            route: self.route.as_ref().map(MatchedPath::as_str),
            status: answer.map(|answer| answer.status),
            took,
            streamed: answer.is_some_and(|answer| answer.streamed),
            first_byte: answer.and_then(|answer| answer.first_byte),
            end: self.end,
            unescaped: noted.unescaped,
        });
        self.log(took, &noted);
    }
}

impl OpenCall {
    /// Writes the call's line.
    fn log(&self, took: Duration, noted: &Noted) {
        if !tracing::enabled!(target: "request", tracing::Level::INFO) {
            return;
        }
        let answer = self.answer.as_ref();
        let run = noted.run.as_deref();
        let agent = noted.agent.or_else(|| run.and_then(|run| run.agent));
        let tokens = noted.tokens();
        tracing::info!(
            target: "request",
            id = self.id,
            client_id = self.client_id.as_deref(),
            method = %self.method,
            // The query may hold words of a message; the path holds ids and names of routes only.
            path = &*self.path,
            status = answer.map(|answer| answer.status.as_u16()),
            took_ms = took.as_millis() as u64,
            first_byte_ms = answer.and_then(|answer| answer.first_byte).map(|first| first.as_millis() as u64),
            key = self.key.as_ref().map(tracing::field::display),
            model = noted.model.as_deref(),
            agent = agent.as_ref().map(tracing::field::display),
            conversation = run.and_then(|run| run.conversation.as_ref()).map(tracing::field::display),
            run = run.map(|run| tracing::field::display(&run.run)),
            stop_reason = run.and_then(|run| run.ended()).map(|(reason, _)| reason.as_str()),
            tokens_in = tokens.map(|(read, _)| read),
            tokens_out = tokens.map(|(_, written)| written),
            streamed = answer.is_some_and(|answer| answer.streamed),
            bytes = answer.map(|answer| answer.bytes),
            end = self.end.as_str(),
        );
    }
}

/// The first characters of `text`.
fn cut(text: &str, length: usize) -> &str {
    text.char_indices().nth(length).map_or(text, |(end, _)| &text[..end])
}

/// A client's own name for a request, where it is text.
fn shown_client_id(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(|text| cut(text, LOGGED_CLIENT_ID))
}

/// A body that its call follows to its end. What the body holds is dropped before the call is: it still has to say.
struct FollowedBody {
    body: Option<BodyDataStream>,
    call: Option<OpenCall>,
}

impl FollowedBody {
    fn end(&mut self, end: CallEnd) {
        self.body = None;
        if let Some(mut call) = self.call.take() {
            call.end = end;
        }
    }

    fn sent(&mut self, bytes: usize) {
        let Some(call) = &mut self.call else { return };
        let arrived = call.arrived;
        if let Some(answer) = &mut call.answer {
            answer.first_byte.get_or_insert_with(|| arrived.elapsed());
            answer.bytes += bytes as u64;
            answer.pieces += 1;
        }
    }
}

impl Stream for FollowedBody {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let piece = ready!(Pin::new(body).poll_next(context));
        match &piece {
            None => self.end(CallEnd::Complete),
            Some(Err(_)) => self.end(CallEnd::Failed),
            Some(Ok(piece)) => self.sent(piece.len()),
        }
        Poll::Ready(piece)
    }
}

#[cfg(test)]
#[path = "open_call_tests.rs"]
mod tests;
