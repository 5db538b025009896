//! How much of OpenAI's door each key may use: requests and tokens a minute, and requests at once.
//!
//! Each key has buckets that fill again evenly, so that whoever used a minute's worth at once gets the next request
//! after a few seconds and not after a whole minute. Tokens are known only when an answer is over: a request is let in
//! while its key owes none, and what it took is charged afterwards. Whatever says the time is an argument.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::ApiKeyId;

/// Keys whose use is remembered at once. Those that used nothing lately are forgotten first.
const MAX_KEYS: usize = 10_000;
/// In what time a bucket fills.
const WINDOW: Duration = Duration::from_secs(60);
/// Windows that a key can owe at most: one very long answer must not shut it out for a day.
const MAX_DEBT: f64 = 60.0;
/// What a client that has too many requests open is asked to wait.
const WAIT_FOR_OTHERS: Duration = Duration::from_secs(1);

/// What the operator allows each key; none is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RateLimits {
    pub(crate) requests_per_minute: Option<NonZeroU32>,
    pub(crate) tokens_per_minute: Option<NonZeroU32>,
    pub(crate) concurrent_requests: Option<NonZeroU32>,
}

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limited {
    Requests,
    Tokens,
    Concurrency,
}

/// A request that came too early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) limited: Limited,
    limit: u32,
    pub(crate) retry_after: Duration,
}

impl Excess {
    /// What a client is told.
    pub(crate) fn text(&self) -> String {
        let limit = self.limit;
        let reached = match self.limited {
            Limited::Requests => format!("this key may send {limit} requests a minute"),
            Limited::Tokens => format!("this key may use {limit} tokens a minute"),
            Limited::Concurrency => format!("this key may have {limit} requests open at once"),
        };
        format!("Rate limit reached: {reached}. Try again in {} s.", self.retry_seconds())
    }

    /// OpenAI's word for it.
    pub(crate) fn kind(&self) -> &'static str {
        match self.limited {
            Limited::Requests | Limited::Concurrency => "requests",
            Limited::Tokens => "tokens",
        }
    }

    /// Whole seconds to wait, at least one.
    pub(crate) fn retry_seconds(&self) -> u64 {
        self.retry_after.as_millis().div_ceil(1000).max(1) as u64
    }
}

/// How a key stands with one of its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// Until all of it is there again.
    pub(crate) reset: Duration,
}

/// A key's limits and how it stands with them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standings {
    pub(crate) requests: Option<Standing>,
    pub(crate) tokens: Option<Standing>,
}

/// Whose request is counted: a key, or everybody who comes with the operator's key or with none.
type Key = Option<ApiKeyId>;

/// Counts what keys use.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    limits: RateLimits,
    keys: Mutex<HashMap<Key, Used>>,
}

/// What one key used.
#[derive(Debug)]
struct Used {
    requests: Bucket,
    tokens: Bucket,
    open: u32,
}

/// Leave to be answered, counted as open until it is dropped.
#[derive(Debug)]
pub(crate) struct Admission {
    limiter: Arc<Limiter>,
    key: Key,
}

impl Limiter {
    pub(crate) fn new(limits: RateLimits) -> Self {
        Self { limits, keys: Mutex::default() }
    }

    /// Counts a request of `key`, or says why it came too early. None where nothing is limited.
    pub(crate) fn admit(self: &Arc<Self>, key: Key, now: Instant) -> Result<Option<Admission>, Excess> {
        if self.limits == RateLimits::default() {
            return Ok(None);
        }
        let mut keys = self.lock();
        let used = self.used(&mut keys, key, now);
        if let Some(limit) = self.limits.concurrent_requests.filter(|limit| used.open >= limit.get()) {
            return Err(excess(Limited::Concurrency, limit, WAIT_FOR_OTHERS));
        }
        if let Some(limit) = self.limits.tokens_per_minute {
            let wait = used.tokens.wait(limit, now);
            if !wait.is_zero() {
                return Err(excess(Limited::Tokens, limit, wait));
            }
        }
        if let Some(limit) = self.limits.requests_per_minute {
            let wait = used.requests.wait(limit, now);
            if !wait.is_zero() {
                return Err(excess(Limited::Requests, limit, wait));
            }
            used.requests.take(1, limit, now);
        }
        used.open += 1;
        drop(keys);
        Ok(Some(Admission { limiter: self.clone(), key }))
    }

    /// How `key` stands. Nothing where nothing is limited.
    pub(crate) fn standings(&self, key: Key, now: Instant) -> Standings {
        let RateLimits { requests_per_minute, tokens_per_minute, .. } = self.limits;
        if requests_per_minute.is_none() && tokens_per_minute.is_none() {
            return Standings::default();
        }
        let mut keys = self.lock();
        let used = self.used(&mut keys, key, now);
        Standings {
            requests: requests_per_minute.map(|limit| used.requests.standing(limit, now)),
            tokens: tokens_per_minute.map(|limit| used.tokens.standing(limit, now)),
        }
    }

    fn used<'k>(&self, keys: &'k mut HashMap<Key, Used>, key: Key, now: Instant) -> &'k mut Used {
        if keys.len() >= MAX_KEYS && !keys.contains_key(&key) {
            self.forget(keys, now);
        }
        keys.entry(key).or_insert_with(|| Used { requests: Bucket::full(now), tokens: Bucket::full(now), open: 0 })
    }

    /// Makes room. Whoever stands as a new key would loses nothing by it; else the one that was seen longest ago goes.
    fn forget(&self, keys: &mut HashMap<Key, Used>, now: Instant) {
        keys.retain(|_, used| used.open > 0 || !used.is_as_new(self.limits, now));
        if keys.len() >= MAX_KEYS {
            let idle = keys.iter().filter(|(_, used)| used.open == 0);
            let oldest = idle.min_by_key(|(_, used)| used.requests.at.max(used.tokens.at)).map(|(key, _)| *key);
            oldest.and_then(|key| keys.remove(&key));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Used>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn excess(limited: Limited, limit: NonZeroU32, retry_after: Duration) -> Excess {
    Excess { limited, limit: limit.get(), retry_after }
}

impl Used {
    fn is_as_new(&self, limits: RateLimits, now: Instant) -> bool {
        let is_full = |bucket: &Bucket, limit: Option<NonZeroU32>| {
            limit.is_none_or(|limit| bucket.level(limit, now) >= f64::from(limit.get()))
        };
        is_full(&self.requests, limits.requests_per_minute) && is_full(&self.tokens, limits.tokens_per_minute)
    }
}

impl Admission {
    /// Charges what the answer took.
    pub(crate) fn charge(&self, tokens: u64, now: Instant) {
        let Some(limit) = self.limiter.limits.tokens_per_minute else { return };
        if let Some(used) = self.limiter.lock().get_mut(&self.key) {
            used.tokens.take(tokens, limit, now);
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(used) = self.limiter.lock().get_mut(&self.key) {
            used.open = used.open.saturating_sub(1);
        }
    }
}

/// What is left of a minute's worth, and when it was looked at.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Part of the limit that was used and did not come back yet; more than all of it is debt.
    missing: f64,
    at: Instant,
}

impl Bucket {
    fn full(now: Instant) -> Self {
        Self { missing: 0.0, at: now }
    }

    fn level(&self, limit: NonZeroU32, now: Instant) -> f64 {
        let limit = f64::from(limit.get());
        let back = limit * now.saturating_duration_since(self.at).as_secs_f64() / WINDOW.as_secs_f64();
        limit - (self.missing - back).max(0.0)
    }

    /// Until there is one.
    fn wait(&self, limit: NonZeroU32, now: Instant) -> Duration {
        self.until(1.0, limit, now)
    }

    fn until(&self, wanted: f64, limit: NonZeroU32, now: Instant) -> Duration {
        let lacking = (wanted - self.level(limit, now)).max(0.0);
        // What is lost in rounding must not make a client come a moment too early.
        let millis = (lacking * WINDOW.as_secs_f64() * 1000.0 / f64::from(limit.get()) - 1e-6).ceil().max(0.0);
        Duration::from_millis(millis as u64)
    }

    fn take(&mut self, amount: u64, limit: NonZeroU32, now: Instant) {
        let whole = f64::from(limit.get());
        let missing = whole - self.level(limit, now) + amount as f64;
        // Whoever waited for the lock brings an older moment; no time may come back twice.
        *self = Self { missing: missing.min(whole * (1.0 + MAX_DEBT)), at: now.max(self.at) };
    }

    fn standing(&self, limit: NonZeroU32, now: Instant) -> Standing {
        let whole = f64::from(limit.get());
        let remaining = (self.level(limit, now) + 1e-9).max(0.0) as u32;
        Standing { limit: limit.get(), remaining, reset: self.until(whole, limit, now) }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
