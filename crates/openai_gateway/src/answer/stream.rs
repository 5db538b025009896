//! An answer as a stream of chunks, each sent as it comes.
//!
//! What fails before the first byte is answered by its own status. So the stream waits a moment for the first event;
//! a run that waits longer, for its place in the line or for a slow model, is begun with a sign of life.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dispatch::events::{Finished, RunEvent};
use dispatch::request::Burst;
use domain::seams::BoxFuture;
use domain::{RequestNote, RunId, StepId};

use super::teller::Said;
use super::whole::{nothing, reasoning_field};
use super::{Source, Teller, finish};
use crate::error::ApiError;
use crate::wire::chat_response::{Delta, Head, chunk};
use crate::wire::text_completion::text_chunk;

/// How long an error may take to be answered by a status; after that the stream begins.
pub(crate) const FIRST_EVENT: Duration = Duration::from_secs(10);
/// A sign of life for clients and proxies while a model thinks.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How that sign is written.
pub(crate) const KEEP_ALIVE_LINE: &str = ": keep-alive\n\n";
/// The headers of a stream.
pub(crate) const SSE_HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
];
/// How long words may be held back that might still change.
const HELD: Duration = Duration::from_millis(100);

/// What all chunks of a stream are written by.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) shape: Shape,
    pub(crate) model: String,
    pub(crate) created: i64,
    pub(crate) include_usage: bool,
}

/// Which dialect the chunks speak.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Chat,
    /// The older one, which may begin with the prompt.
    Text {
        echo: Option<String>,
    },
}

/// An answer that is still being prepared.
pub(crate) type Opening = BoxFuture<'static, Result<(Source, Teller), ApiError>>;

/// `opening`, with who answers and what comes of it written into `note`.
pub(crate) fn noted(opening: Opening, note: RequestNote) -> Opening {
    Box::pin(async move {
        let (source, mut teller) = opening.await?;
        if let Source::Run { handle, .. } = &source {
            note.answered_in(handle.note.clone());
        }
        teller.noting(note);
        Ok((source, teller))
    })
}

/// Streams what comes of `opening`.
pub(crate) async fn answer(opening: Opening, form: Form) -> Result<Response, ApiError> {
    let mut opening: Opening = Box::pin(with_first_event(opening));
    let stage = match tokio::time::timeout(FIRST_EVENT, &mut opening).await {
        Ok(opened) => {
            let (source, teller) = opened?;
            Stage::told_by(source, teller, form)
        }
        Err(_) => Stage::Opening { opening, writer: Writer::new(RunId::random(), form) },
    };
    let body = futures_util::stream::unfold(stage, |stage| async { stage.next().await });
    Ok((SSE_HEADERS, Body::from_stream(body)).into_response())
}

/// Waits for a run's first event, and for its failure if that is the first.
async fn with_first_event(opening: Opening) -> Result<(Source, Teller), ApiError> {
    let (source, teller) = opening.await?;
    let Source::Run { mut handle, first: None } = source else { return Ok((source, teller)) };
    let first = handle.events.recv().await.ok_or_else(ApiError::internal)?;
    if let RunEvent::Finished(finished) = &first {
        finish(finished, false)?;
    }
    Ok((Source::Run { handle, first: Some(first) }, teller))
}

/// A stream that is being sent. Dropping it drops what it waits for: the place in the line, or the run.
#[expect(clippy::large_enum_variant, reason = "a stream has one, and nearly all the time it is the large one")]
enum Stage {
    Opening { opening: Opening, writer: Writer },
    Telling { source: Source, teller: Teller, writer: Writer },
    Done,
}

impl Stage {
    fn told_by(source: Source, teller: Teller, form: Form) -> Self {
        let run = match &source {
            Source::Nothing => RunId::random(),
            Source::Earlier { finished, .. } => finished.run,
            Source::Run { handle, .. } => handle.run,
        };
        Self::Telling { source, teller, writer: Writer::new(run, form) }
    }

    /// What is ready, as one write: pieces that arrive together leave together.
    async fn next(self) -> Option<(Result<Bytes, Infallible>, Self)> {
        match self {
            Self::Done => None,
            Self::Opening { opening, writer } => Some(opened(opening, writer).await),
            Self::Telling { source, teller, writer } => Some(tell(source, teller, writer).await),
        }
    }
}

type Step = (Result<Bytes, Infallible>, Stage);

/// Waits on for a run that has not begun, with signs of life; the first of them is the role.
async fn opened(mut opening: Opening, mut writer: Writer) -> Step {
    if !writer.ready.is_empty() {
        return (Ok(writer.taken()), Stage::Opening { opening, writer });
    }
    match tokio::time::timeout(KEEP_ALIVE, &mut opening).await {
        Err(_) => {
            writer.ready.push_str(KEEP_ALIVE_LINE);
            (Ok(writer.taken()), Stage::Opening { opening, writer })
        }
        Ok(Err(error)) => {
            writer.error(&error);
            (Ok(writer.taken()), Stage::Done)
        }
        Ok(Ok((source, teller))) => (Ok(writer.taken()), Stage::Telling { source, teller, writer }),
    }
}

async fn tell(source: Source, mut teller: Teller, mut writer: Writer) -> Step {
    match source {
        Source::Nothing => {
            writer.finish(&mut teller, &nothing());
            (Ok(writer.taken()), Stage::Done)
        }
        Source::Earlier { messages, finished } => {
            let said = teller.hear(&RunEvent::StepCommitted { step: StepId::random(), messages });
            writer.say(&said, &teller);
            writer.finish(&mut teller, &finished);
            (Ok(writer.taken()), Stage::Done)
        }
        Source::Run { mut handle, first } => {
            let patience = if teller.holds() { HELD } else { KEEP_ALIVE };
            let burst = match first {
                Some(first) => Burst::Events(vec![first]),
                None => handle.burst(patience).await,
            };
            let is_over = writer.take(burst, &mut teller);
            let bytes = Ok(writer.taken());
            let source = Source::Run { handle, first: None };
            (bytes, if is_over { Stage::Done } else { Stage::Telling { source, teller, writer } })
        }
    }
}

/// Writes chunks.
struct Writer {
    head: Head,
    shape: Shape,
    include_usage: bool,
    ready: String,
}

impl Writer {
    /// A writer that begins with the role, or with the prompt.
    fn new(run: RunId, form: Form) -> Self {
        let Form { shape, model, created, include_usage } = form;
        let head = match shape {
            Shape::Chat => Head::new(run, created, model),
            Shape::Text { .. } => Head::of_text(run, created, model),
        };
        let mut writer = Self { head, shape, include_usage, ready: String::new() };
        writer.push(Delta::Role);
        writer
    }

    fn taken(&mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.ready))
    }

    /// Writes what a burst adds; true if it was the last.
    fn take(&mut self, burst: Burst, teller: &mut Teller) -> bool {
        match burst {
            Burst::Events(events) => events.iter().any(|event| match event {
                RunEvent::Finished(finished) => {
                    self.finish(teller, finished);
                    true
                }
                other => {
                    let said = teller.hear(other);
                    self.say(&said, teller);
                    false
                }
            }),
            Burst::Quiet if teller.holds() => {
                let said = teller.let_go();
                self.say(&said, teller);
                false
            }
            Burst::Quiet => {
                self.ready.push_str(KEEP_ALIVE_LINE);
                false
            }
            Burst::Broken => {
                self.error(&ApiError::internal());
                true
            }
        }
    }

    fn say(&mut self, said: &[Said], teller: &Teller) {
        let legacy = teller.manner().legacy;
        let field = reasoning_field(teller.manner().reasoning);
        for piece in said {
            match (piece, field) {
                (Said::Words(words), _) => self.push(Delta::Content(words)),
                (Said::Thought(text), Some(field)) => self.push(Delta::Reasoning(field, text)),
                (Said::Thought(_), None) => {}
                (Said::Call { name, .. }, _) if legacy => {
                    self.push(Delta::Function { name: Some(name), fragment: "" });
                }
                (Said::Call { index, id, name }, _) => self.push(Delta::Call { index: *index, id, name }),
                (Said::Arguments { fragment, .. }, _) if legacy => {
                    self.push(Delta::Function { name: None, fragment });
                }
                (Said::Arguments { index, fragment }, _) => self.push(Delta::Arguments { index: *index, fragment }),
            }
        }
    }

    fn finish(&mut self, teller: &mut Teller, finished: &Finished) {
        let said = teller.end();
        self.say(&said, teller);
        match finish(finished, teller.spoke()) {
            Err(error) => self.error(&error),
            Ok(finish) => {
                self.push(Delta::Finish(finish.as_str(teller.manner().legacy)));
                if self.include_usage {
                    self.push(Delta::Usage(finished.usage.into()));
                }
                self.ready.push_str("data: [DONE]\n\n");
            }
        }
    }

    fn error(&mut self, error: &ApiError) {
        let _ = write!(self.ready, "data: {}\n\n", error.body());
    }

    fn push(&mut self, delta: Delta<'_>) {
        let written = match &self.shape {
            Shape::Chat => Some(chunk(&self.head, delta, self.include_usage)),
            Shape::Text { echo } => text_chunk(&self.head, delta, echo.as_deref(), self.include_usage),
        };
        match written {
            None => {}
            Some(Ok(json)) => {
                let _ = write!(self.ready, "data: {json}\n\n");
            }
            Some(Err(error)) => tracing::error!(%error, "a chunk could not be written"),
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
