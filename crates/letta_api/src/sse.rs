//! A streamed answer: a body that writes a run's events while they happen.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dispatch::request::{Burst, RunHandle};
use domain::Timestamp;

use crate::wire::stream::EventWriter;

/// How long nothing may happen before a sign of life is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream that is being sent. Dropping it drops the run's handle, which cancels the run.
struct Streaming {
    handle: RunHandle,
    writer: EventWriter,
    pings: bool,
    clock: fn() -> Timestamp,
    done: bool,
}

/// Answers with the events of a run.
pub(crate) fn respond(handle: RunHandle, writer: EventWriter, pings: bool, clock: fn() -> Timestamp) -> Response {
    let state = Streaming { handle, writer, pings, clock, done: false };
    let body = futures_util::stream::unfold(state, |state| async { state.next().await });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(body)).into_response()
}

impl Streaming {
    /// The next write; an empty one would end the body, so events that add nothing are passed over.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let mut ready = String::new();
        while ready.is_empty() {
            if self.done {
                return None;
            }
            match self.handle.burst(KEEP_ALIVE).await {
                Burst::Events(events) => events.iter().for_each(|event| self.done |= self.writer.event(event)),
                Burst::Quiet => self.writer.quiet(self.pings, (self.clock)()),
                Burst::Broken => {
                    self.writer.broken();
                    self.done = true;
                }
            }
            ready = self.writer.take();
        }
        Some((Ok(Bytes::from(ready)), self))
    }
}
