//! `POST /v1/chat/completions`: the newest user message goes to the agent, its words come back.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use dispatch::events::{Finished, PieceKind, RunEvent};
use dispatch::request::{Burst, Detail, InputMessage, Lifetime, Opening, RunHandle, RunOptions, RunRequest};
use domain::{Actor, MessageId, Role};
use tokio::time::timeout;

use crate::OpenAiGateway;
use crate::agent_by_name::agent_by_name;
use crate::error::ApiError;
use crate::wire::chat_request::ChatRequest;
use crate::wire::chat_response::{Completion, Delta, Head, chunk, spoken};

/// How long an error may take to be answered by a status; after that the stream begins.
const FIRST_EVENT: Duration = Duration::from_secs(10);
/// A sign of life for clients and proxies while a model thinks.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Steps of one answer are told apart by an empty line.
const BETWEEN_STEPS: &str = "\n\n";

pub(crate) async fn create(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = body?;
    let request = ChatRequest::parse(&body)?;
    drop(body);
    let agent = agent_by_name(door.dispatcher.store(), actor, &request.model).await?;
    let input =
        InputMessage { role: Role::User, content: request.content, name: request.name.map(Into::into), otid: None };
    let handle = door
        .dispatcher
        .submit(RunRequest {
            actor,
            agent,
            conversation: None,
            identity: None,
            opening: Opening::messages(vec![input]),
            options: RunOptions::default(),
            lifetime: Lifetime::Foreground,
            detail: if request.stream { Detail::Pieces } else { Detail::Steps },
        })
        .await?;
    let head = Head::new(handle.run, (door.clock)().as_second(), request.model);
    if request.stream { stream(handle, head, request.include_usage).await } else { whole(handle, &head).await }
}

async fn whole(mut handle: RunHandle, head: &Head) -> Result<Response, ApiError> {
    let mut words: Vec<String> = Vec::new();
    let mut kept = false;
    while let Some(event) = handle.events.recv().await {
        match event {
            RunEvent::Piece(_) => {}
            RunEvent::StepCommitted { messages, .. } => {
                kept = true;
                words.extend(messages.iter().filter_map(|message| spoken(message)));
            }
            RunEvent::Finished(finished) => {
                if let Some(error) = failure(&finished, kept) {
                    return Err(error);
                }
                let content = words.join(BETWEEN_STEPS);
                let answer = Completion::new(head, &content, finished.stop_reason, finished.usage);
                return Ok(Json(answer).into_response());
            }
        }
    }
    Err(ApiError::internal())
}

fn failure(finished: &Finished, kept: bool) -> Option<ApiError> {
    let error = ApiError::from(finished.failure.as_ref()?);
    Some(if kept { error.not_to_be_repeated() } else { error })
}

/// Waits a moment for the first event, so that what fails at once is answered by its own status.
async fn stream(mut handle: RunHandle, head: Head, include_usage: bool) -> Result<Response, ApiError> {
    let first = timeout(FIRST_EVENT, handle.events.recv()).await;
    match &first {
        Ok(Some(RunEvent::Finished(finished))) => {
            if let Some(error) = failure(finished, false) {
                return Err(error);
            }
        }
        Ok(None) => return Err(ApiError::internal()),
        Ok(Some(_)) | Err(_) => {}
    }
    let mut chunks = Chunks { head, include_usage, spoke: None, written: false, ready: String::new() };
    chunks.push(Delta::Role);
    let first = first.ok().flatten();
    let state = Streaming { handle, chunks, first, done: false };
    let body = futures_util::stream::unfold(state, |state| async { state.next().await });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// A stream that is being sent. Dropping it drops the run's handle, which cancels the run.
struct Streaming {
    handle: RunHandle,
    chunks: Chunks,
    first: Option<RunEvent>,
    done: bool,
}

impl Streaming {
    /// What is ready, as one write: pieces that arrive together leave together.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.done {
            return None;
        }
        let burst = match self.first.take() {
            Some(first) => Burst::Events(vec![first]),
            None => self.handle.burst(KEEP_ALIVE).await,
        };
        match burst {
            Burst::Events(events) => {
                for event in events {
                    self.done |= self.chunks.take(event);
                }
            }
            Burst::Quiet => self.chunks.ready.push_str(": keep-alive\n\n"),
            Burst::Broken => {
                self.chunks.error(&ApiError::internal());
                self.done = true;
            }
        }
        let ready = std::mem::take(&mut self.chunks.ready);
        Some((Ok(Bytes::from(ready)), self))
    }
}

/// Turns events into chunks.
struct Chunks {
    head: Head,
    include_usage: bool,
    /// The message whose words were written last.
    spoke: Option<MessageId>,
    /// Whether a step was kept.
    written: bool,
    ready: String,
}

impl Chunks {
    /// Writes what `event` adds; true if it was the last.
    fn take(&mut self, event: RunEvent) -> bool {
        match event {
            RunEvent::Piece(piece) => {
                if let PieceKind::Text(text) = &piece.kind {
                    self.speak(piece.message, text);
                }
                false
            }
            RunEvent::StepCommitted { messages, .. } => {
                self.written = true;
                self.unheard(&messages);
                false
            }
            RunEvent::Finished(finished) => {
                match failure(&finished, self.written) {
                    Some(error) => self.error(&error),
                    None => self.finish(&finished),
                }
                true
            }
        }
    }

    /// Words that came in no piece: those of a structured `send_message`.
    fn unheard(&mut self, messages: &[std::sync::Arc<domain::Message>]) {
        for message in messages {
            if self.spoke == Some(message.id) {
                continue;
            }
            if let Some(text) = spoken(message) {
                self.speak(message.id, &text);
            }
        }
    }

    /// Words of one message; those of another one stand apart from what was said before.
    fn speak(&mut self, message: MessageId, text: &str) {
        if self.spoke.is_some_and(|before| before != message) {
            self.push(Delta::Content(BETWEEN_STEPS));
        }
        self.spoke = Some(message);
        self.push(Delta::Content(text));
    }

    fn finish(&mut self, finished: &Finished) {
        self.push(Delta::Finish(finished.stop_reason));
        if self.include_usage {
            self.push(Delta::Usage(finished.usage.into()));
        }
        self.ready.push_str("data: [DONE]\n\n");
    }

    fn error(&mut self, error: &ApiError) {
        let _ = write!(self.ready, "data: {}\n\n", error.body());
    }

    fn push(&mut self, delta: Delta<'_>) {
        match chunk(&self.head, delta, self.include_usage) {
            Ok(json) => {
                let _ = write!(self.ready, "data: {json}\n\n");
            }
            Err(error) => tracing::error!(%error, "a chunk could not be written"),
        }
    }
}
