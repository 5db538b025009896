//! Figures for the operator, counted since the start: `GET /metrics` in Prometheus' text format.
//!
//! [`Metrics`] counts calls; what runs, the store and the sessions add up to is kept by their own rooms and read when
//! somebody asks ([`exposition`]). Counting a call makes no text and takes no lock that anybody holds for long. Labels
//! are routes, models, and words of a fixed list: never a key, a name of a session or of a person, or anything said.

mod exposition;
mod exposition_text;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dispatch::tally::Histogram;
use domain::UnescapeCount;
use http::StatusCode;

use crate::dialect::Dialect;
use crate::limits::Limited;

pub(crate) use exposition::{Figures, show};

/// The route of a call that no route takes.
const NO_ROUTE: &str = "none";

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// All of the answer was handed over.
    Complete,
    /// The client hung up before it had all of its answer.
    Left,
    /// The answer broke off for a fault of ours.
    Failed,
}

impl CallEnd {
    const ALL: [Self; 3] = [Self::Complete, Self::Left, Self::Failed];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Left => "client_left",
            Self::Failed => "failed",
        }
    }
}

/// What is counted of a call that is over.
#[derive(Debug)]
pub(crate) struct CallFigures<'a> {
    pub(crate) door: Dialect,
    /// The template of its route; none where no route took it.
    pub(crate) route: Option<&'a str>,
    /// None where the client left before there was one.
    pub(crate) status: Option<StatusCode>,
    pub(crate) took: Duration,
    pub(crate) streamed: bool,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) end: CallEnd,
    pub(crate) unescaped: UnescapeCount,
}

/// All counts of calls since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    letta: DoorFigures,
    openai: DoorFigures,
    console: DoorFigures,
    refused: [AtomicU64; 3],
    unescaped: Unescaped,
}

#[derive(Debug, Default)]
struct DoorFigures {
    /// Routes are those of the router, so that there is an end to them.
    routes: RwLock<HashMap<Box<str>, Arc<RouteFigures>>>,
    open_streams: AtomicI64,
    streams: [AtomicU64; CallEnd::ALL.len()],
}

#[derive(Debug, Default)]
struct RouteFigures {
    /// By the hundreds of the status; 0 is for no status at all.
    statuses: [AtomicU64; 6],
    took: Histogram,
    first_byte: Histogram,
}

#[derive(Debug, Default)]
struct Unescaped {
    passed: AtomicU64,
    passed_bytes: AtomicU64,
    changed: AtomicU64,
    changed_bytes: AtomicU64,
    held_bytes: AtomicU64,
}

impl Metrics {
    /// A request that came too early.
    pub(crate) fn refused(&self, limited: Limited) {
        self.refused[limited as usize].fetch_add(1, Relaxed);
    }

    /// An answer began that is sent piece by piece. Its end is told by [`Self::call`].
    pub(crate) fn stream_opened(&self, door: Dialect) {
        self.door(door).open_streams.fetch_add(1, Relaxed);
    }

    /// A call is over.
    pub(crate) fn call(&self, call: &CallFigures<'_>) {
        let door = self.door(call.door);
        if call.streamed {
            door.open_streams.fetch_sub(1, Relaxed);
            door.streams[call.end as usize].fetch_add(1, Relaxed);
        }
        let route = door.route(call.route.unwrap_or(NO_ROUTE));
        let class = call.status.map_or(0, |status| status.as_u16() / 100);
        if let Some(count) = route.statuses.get(usize::from(class)) {
            count.fetch_add(1, Relaxed);
        }
        route.took.observe(call.took);
        if let Some(first_byte) = call.first_byte {
            route.first_byte.observe(first_byte);
        }
        if call.unescaped != UnescapeCount::default() {
            self.unescaped.add(call.unescaped);
        }
    }

    fn door(&self, door: Dialect) -> &DoorFigures {
        match door {
            Dialect::Letta => &self.letta,
            Dialect::OpenAi => &self.openai,
            Dialect::Console => &self.console,
        }
    }
}

impl DoorFigures {
    fn route(&self, route: &str) -> Arc<RouteFigures> {
        let known = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(route).cloned();
        known.unwrap_or_else(|| {
            let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
            routes.entry(route.into()).or_default().clone()
        })
    }
}

impl Unescaped {
    fn add(&self, count: UnescapeCount) {
        let UnescapeCount { passed, passed_bytes, changed, changed_bytes, held_bytes } = count;
        self.passed.fetch_add(passed, Relaxed);
        self.passed_bytes.fetch_add(passed_bytes, Relaxed);
        self.changed.fetch_add(changed, Relaxed);
        self.changed_bytes.fetch_add(changed_bytes, Relaxed);
        self.held_bytes.fetch_add(held_bytes, Relaxed);
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
