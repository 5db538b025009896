//! What runs and models added up to since the start: for the operator's figures, and for nothing that decides.
//!
//! Counting must cost a run next to nothing: all but the tokens of a run are single atomic additions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use domain::{ModelHandle, StopReason, Usage};

/// Models whose tokens are counted apart; clients can name models, so their number has to end somewhere.
const MAX_MODELS: usize = 200;
/// Characters of a model's handle that is counted apart.
const MAX_MODEL_LENGTH: usize = 120;
/// Under what all other models are counted.
const OTHER_MODELS: &str = "other";

/// Counts of all runs since the start.
#[derive(Debug, Default)]
pub struct Tally {
    stopped: [AtomicU64; StopReason::ALL.len()],
    tokens: Mutex<BTreeMap<Box<str>, Tokens>>,
    waiting: AtomicUsize,
    waited: Histogram,
}

/// Tokens that a model read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub read: u64,
    pub written: u64,
}

impl Tally {
    /// How many runs stopped for each reason.
    pub fn stopped(&self) -> impl Iterator<Item = (StopReason, u64)> {
        StopReason::ALL.into_iter().map(|reason| (reason, self.stopped[reason as usize].load(Relaxed)))
    }

    /// Tokens of each model, by its handle. All models beyond a fixed number are one.
    pub fn tokens(&self) -> Vec<(Box<str>, Tokens)> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().map(|(model, tokens)| (model.clone(), *tokens)).collect()
    }

    /// Requests that wait for an earlier run of their conversation.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// How long requests waited for earlier runs of their conversation.
    pub fn waited(&self) -> &Histogram {
        &self.waited
    }

    pub(crate) fn count_run(&self, reason: StopReason) {
        self.stopped[reason as usize].fetch_add(1, Relaxed);
    }

    /// Counts what a model read and wrote. Runs count theirs themselves.
    pub fn count_tokens(&self, model: &ModelHandle, usage: Usage) {
        if usage.prompt_tokens == 0 && usage.completion_tokens == 0 {
            return;
        }
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = tokens.contains_key(model.as_str());
        let has_room = tokens.len() < MAX_MODELS && model.as_str().chars().count() <= MAX_MODEL_LENGTH;
        let name = if is_known || has_room { model.as_str() } else { OTHER_MODELS };
        if !tokens.contains_key(name) {
            tokens.insert(name.into(), Tokens::default());
        }
        if let Some(counted) = tokens.get_mut(name) {
            // Vendors say what they like.
            counted.read = counted.read.saturating_add(usage.prompt_tokens);
            counted.written = counted.written.saturating_add(usage.completion_tokens);
        }
    }

    pub(crate) fn begin_to_wait(self: &Arc<Self>) -> Waiting {
        self.waiting.fetch_add(1, Relaxed);
        Waiting { tally: self.clone(), since: Instant::now() }
    }
}

/// Counts one request as waiting until it is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    tally: Arc<Tally>,
    since: Instant,
}

impl Waiting {
    /// The wait is over because it is this one's turn.
    pub(crate) fn pass(self) {
        self.tally.waited.observe(self.since.elapsed());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.tally.waiting.fetch_sub(1, Relaxed);
    }
}

/// Upper ends of a histogram's buckets, in microseconds.
const BOUNDS: [u64; 17] = [
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
];

/// How long things took, sorted into buckets from half a millisecond to five minutes.
#[derive(Debug, Default)]
pub struct Histogram {
    /// One more than there are bounds: the last is for what took longer.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    sum_micros: AtomicU64,
}

impl Histogram {
    /// Counts one more.
    pub fn observe(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_micros.fetch_add(micros, Relaxed);
    }

    /// How many took at most so many seconds, bucket by bucket.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        BOUNDS.iter().zip(&self.buckets).scan(0, |count, (bound, bucket)| {
            *count += bucket.load(Relaxed);
            Some((*bound as f64 / 1e6, *count))
        })
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum()
    }

    /// Seconds that all took together.
    pub fn sum(&self) -> f64 {
        self.sum_micros.load(Relaxed) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_falls_into_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        for micros in [0, 500, 501, 1_000_000, 300_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let counts: Vec<u64> = histogram.cumulative().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4]);
        assert_eq!((histogram.count(), histogram.sum()), (5, 301.001002));
    }

    #[test]
    fn models_beyond_the_limit_are_one() {
        let tally = Tally::default();
        let usage = Usage { prompt_tokens: 3, completion_tokens: 1, ..Usage::default() };
        for number in 0..MAX_MODELS + 10 {
            tally.count_tokens(&ModelHandle::parse(&format!("p/{number}")).unwrap(), usage);
        }
        tally.count_tokens(&ModelHandle::parse("p/0").unwrap(), usage);
        tally.count_tokens(&ModelHandle::parse(&format!("p/{}", "x".repeat(500))).unwrap(), usage);
        // Whoever names a model that gives nothing adds no row.
        tally.count_tokens(&ModelHandle::parse("p/none").unwrap(), Usage::default());
        let tokens: BTreeMap<_, _> = tally.tokens().into_iter().collect();
        assert_eq!(tokens.len(), MAX_MODELS + 1);
        assert_eq!(tokens["other"], Tokens { read: 33, written: 11 });
        assert_eq!(tokens["p/0"], Tokens { read: 6, written: 2 });
    }

    #[test]
    fn whoever_stops_waiting_is_not_counted_as_waiting() {
        let tally = Arc::new(Tally::default());
        let (first, second) = (tally.begin_to_wait(), tally.begin_to_wait());
        assert_eq!(tally.waiting(), 2);
        first.pass();
        drop(second);
        assert_eq!((tally.waiting(), tally.waited().count()), (0, 1));
    }
}
