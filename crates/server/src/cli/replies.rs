//! An answer that comes in pieces: server-sent events, as they arrive.

use std::collections::VecDeque;

use anyhow::anyhow;
use providers::sse::{SseError, SseParser};
use reqwest::Response;

/// What to say about an answer without an end.
pub(crate) const CUT_OFF: &str = "the answer was cut off: the server may have stopped";

/// The events of one answer. Dropping it hangs up, which cancels the run.
pub(crate) struct Replies {
    response: Response,
    parser: SseParser,
    waiting: VecDeque<String>,
}

impl Replies {
    /// Reads the body of `response`.
    pub(crate) fn new(response: Response) -> Self {
        Self { response, parser: SseParser::default(), waiting: VecDeque::new() }
    }

    /// The text of the next event; nothing after the last.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<String>> {
        loop {
            if let Some(text) = self.waiting.pop_front() {
                return Ok(Some(text));
            }
            let chunk = self.response.chunk().await.map_err(|error| {
                tracing::debug!(%error, "an answer broke off");
                anyhow!(CUT_OFF)
            });
            let Some(bytes) = chunk? else { return Ok(None) };
            let waiting = &mut self.waiting;
            self.parser.feed(&bytes, |text| {
                waiting.push_back(text.to_owned());
                Ok::<(), SseError>(())
            })?;
        }
    }
}
