//! `GET /metrics`: what every room counted, on one page.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dispatch::Dispatcher;
use dispatch::tally::Histogram;
use domain::Caller;
use http::header;
use openai_gateway::OpenAiGateway;

use super::exposition_text::{CONTENT_TYPE, Family, Page};
use super::{CallEnd, DoorFigures, Metrics, RouteFigures, Unescaped};
use crate::dialect::{Dialect, Refusal};
use crate::limits::Limited;

/// Where the figures come from.
#[derive(Clone)]
pub(crate) struct Figures {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) openai: OpenAiGateway,
}

/// The figures are about everybody, so a key that opens some agents only does not open them.
pub(crate) async fn show(State(figures): State<Figures>, Extension(caller): Extension<Caller>) -> Response {
    if caller.agents.is_some() {
        return Refusal::NotFound.answer(Dialect::Letta);
    }
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], figures.page()).into_response()
}

/// The words for classes of status, in their order.
const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

impl Figures {
    fn page(&self) -> String {
        let mut page = Page::default();
        self.metrics.write(&mut page);
        self.write_runs(&mut page);
        self.write_store(&mut page);
        page.into_text()
    }

    fn write_runs(&self, page: &mut Page) {
        let tally = self.dispatcher.tally();
        let mut stopped = page.counter("librarian_runs_total", "Runs that stopped, by reason.");
        tally.stopped().for_each(|(reason, count)| stopped.row(&[("stop_reason", reason.as_str())], count));
        page.gauge("librarian_runs_open", "Runs that are open, waiting ones included.")
            .row(&[], self.dispatcher.open_runs());
        page.gauge("librarian_runs_waiting", "Requests that wait for an earlier run of their conversation.")
            .row(&[], tally.waiting());
        page.histogram(
            "librarian_run_wait_seconds",
            "How long requests waited for earlier runs of their conversation.",
        )
        .times(&[], tally.waited());
        let mut tokens = page.counter("librarian_tokens_total", "Tokens that models read (in) and wrote (out).");
        for (model, counted) in tally.tokens() {
            tokens.row(&[("model", &model), ("direction", "in")], counted.read);
            tokens.row(&[("model", &model), ("direction", "out")], counted.written);
        }
    }

    fn write_store(&self, page: &mut Page) {
        let writes = self.dispatcher.store().writes();
        let mut commits = page.counter("librarian_store_commits_total", "Commits, by what became of them.");
        commits.row(&[("result", "durable")], writes.durable);
        commits.row(&[("result", "failed")], writes.failed);
        page.counter("librarian_store_transactions_total", "Transactions on the disk; commits share them.")
            .row(&[], writes.transactions);
        page.gauge("librarian_sessions_in_memory", "Sessions of OpenAI's door that are held in memory.")
            .row(&[], self.openai.sessions_in_memory());
    }
}

impl Metrics {
    fn doors(&self) -> [(&'static str, &DoorFigures); 3] {
        [("letta", &self.letta), ("openai", &self.openai), ("console", &self.console)]
    }

    fn write(&self, page: &mut Page) {
        let routes = self.routes();
        let mut requests = page.counter("librarian_requests_total", "Calls that are over, by class of their status.");
        for (door, route, figures) in &routes {
            for (class, count) in CLASSES.iter().zip(&figures.statuses).filter(|(_, count)| read(count) > 0) {
                requests.row(&[("door", door), ("route", route), ("status", class)], read(count));
            }
        }
        write_times(
            page.histogram("librarian_request_seconds", "From a call's arrival to the end of its answer."),
            routes.iter().map(|(door, route, figures)| (*door, &**route, &figures.took)),
        );
        write_times(
            page.histogram("librarian_stream_first_byte_seconds", "From a call's arrival to its stream's first byte."),
            routes.iter().map(|(door, route, figures)| (*door, &**route, &figures.first_byte)),
        );
        self.write_streams(page);
        let mut refused = page.counter("librarian_rate_limit_refusals_total", "Requests that came too early.");
        for (limited, word) in
            [(Limited::Requests, "requests"), (Limited::Tokens, "tokens"), (Limited::Concurrency, "concurrency")]
        {
            refused.row(&[("limit", word)], read(&self.refused[limited as usize]));
        }
        self.unescaped.write(page);
    }

    fn write_streams(&self, page: &mut Page) {
        let mut open = page.gauge("librarian_streams_open", "Answers that are being sent piece by piece.");
        for (door, figures) in self.doors() {
            open.row(&[("door", door)], figures.open_streams.load(Relaxed));
        }
        let mut ended = page.counter("librarian_streams_total", "Streams that are over, by how they ended.");
        for (door, figures) in self.doors() {
            for end in CallEnd::ALL {
                ended.row(&[("door", door), ("end", end.as_str())], read(&figures.streams[end as usize]));
            }
        }
    }

    /// Every route that was called, in order.
    fn routes(&self) -> Vec<(&'static str, Box<str>, Arc<RouteFigures>)> {
        let mut all = Vec::new();
        for (door, figures) in self.doors() {
            let routes = figures.routes.read().unwrap_or_else(PoisonError::into_inner);
            all.extend(routes.iter().map(|(route, figures)| (door, route.clone(), figures.clone())));
        }
        all.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        all
    }
}

impl Unescaped {
    fn write(&self, page: &mut Page) {
        let mut chunks =
            page.counter("librarian_unescape_chunks_total", "Pieces of answers whose escapes are looked at.");
        chunks.row(&[("result", "untouched")], read(&self.passed));
        chunks.row(&[("result", "changed")], read(&self.changed));
        let mut bytes = page.counter("librarian_unescape_bytes_total", "Bytes of those pieces, and bytes held back.");
        bytes.row(&[("result", "untouched")], read(&self.passed_bytes));
        bytes.row(&[("result", "changed")], read(&self.changed_bytes));
        bytes.row(&[("result", "held")], read(&self.held_bytes));
    }
}

/// The times of each route that has any.
fn write_times<'t>(mut family: Family<'_>, times: impl Iterator<Item = (&'static str, &'t str, &'t Histogram)>) {
    for (door, route, times) in times.filter(|(_, _, times)| times.count() > 0) {
        family.times(&[("door", door), ("route", route)], times);
    }
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Relaxed)
}
