//! Tests of what keys may use, on a clock that is an argument.

use super::*;

fn limiter(requests: u32, tokens: u32, concurrent: u32) -> Arc<Limiter> {
    let limits = RateLimits {
        requests_per_minute: NonZeroU32::new(requests),
        tokens_per_minute: NonZeroU32::new(tokens),
        concurrent_requests: NonZeroU32::new(concurrent),
    };
    Arc::new(Limiter::new(limits))
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Sends a request that is over at once: how long it has to wait.
fn send(limiter: &Arc<Limiter>, key: Key, now: Instant) -> Option<u64> {
    limiter.admit(key, now).err().map(|excess| excess.retry_after.as_millis() as u64)
}

#[test]
fn requests_come_back_one_by_one() {
    let (limiter, start) = (limiter(3, 0, 0), Instant::now());
    for _ in 0..3 {
        assert_eq!(send(&limiter, None, start), None);
    }
    assert_eq!(send(&limiter, None, start), Some(20_000));
    assert_eq!(send(&limiter, None, start + seconds(19.0)), Some(1_000));
    assert_eq!(send(&limiter, None, start + seconds(20.0)), None);
    assert_eq!(send(&limiter, None, start + seconds(20.0)), Some(20_000));
    // A refused request is not counted, and no more than a minute's worth is saved up.
    for _ in 0..3 {
        assert_eq!(send(&limiter, None, start + seconds(500.0)), None);
    }
    assert_eq!(send(&limiter, None, start + seconds(500.0)), Some(20_000));
}

#[test]
fn no_time_comes_back_twice() {
    let (limiter, start) = (limiter(2, 0, 0), Instant::now());
    assert_eq!(send(&limiter, None, start + seconds(30.0)), None);
    // One that arrived earlier is counted later.
    assert_eq!(send(&limiter, None, start), None);
    assert_eq!(send(&limiter, None, start + seconds(30.0)), Some(30_000));
}

#[test]
fn keys_have_buckets_of_their_own() {
    let (limiter, now) = (limiter(1, 0, 0), Instant::now());
    let (first, second) = (Some(ApiKeyId::random()), Some(ApiKeyId::random()));
    for key in [first, second, None] {
        assert_eq!(send(&limiter, key, now), None);
        assert_eq!(send(&limiter, key, now), Some(60_000));
    }
}

#[test]
fn tokens_are_charged_afterwards_and_debts_are_paid_by_waiting() {
    let (limiter, start) = (limiter(0, 600, 0), Instant::now());
    let first = limiter.admit(None, start).unwrap().unwrap();
    first.charge(500, start);
    let second = limiter.admit(None, start).unwrap().unwrap();
    second.charge(1_300, start);
    // 1,200 are owed, ten come back each second, and one must be there.
    let refused = limiter.admit(None, start).unwrap_err();
    assert_eq!((refused.limited, refused.retry_after), (Limited::Tokens, seconds(120.1)));
    let standing = limiter.standings(None, start).tokens.unwrap();
    assert_eq!(standing, Standing { limit: 600, remaining: 0, reset: seconds(180.0) });
    assert_eq!(send(&limiter, None, start + seconds(120.0)), Some(100));
    assert_eq!(send(&limiter, None, start + seconds(120.1)), None);
}

#[test]
fn no_debt_lasts_longer_than_an_hour() {
    let (limiter, start) = (limiter(0, 10, 0), Instant::now());
    limiter.admit(None, start).unwrap().unwrap().charge(u64::MAX, start);
    assert!(send(&limiter, None, start + seconds(3_500.0)).is_some());
    assert_eq!(send(&limiter, None, start + seconds(3_606.0)), None);
}

#[test]
fn open_requests_are_given_back_when_they_end() {
    let (limiter, now) = (limiter(0, 0, 2), Instant::now());
    let open = [limiter.admit(None, now).unwrap(), limiter.admit(None, now).unwrap()];
    assert_eq!(limiter.admit(None, now).unwrap_err().limited, Limited::Concurrency);
    let other = limiter.admit(Some(ApiKeyId::random()), now);
    assert!(other.is_ok());
    drop(open);
    assert!(limiter.admit(None, now).is_ok());
    // Only requests and tokens have a standing.
    assert_eq!(limiter.standings(None, now), Standings::default());
}

#[test]
fn standings_tell_what_is_left() {
    let (limiter, start) = (limiter(4, 0, 0), Instant::now());
    assert_eq!(send(&limiter, None, start), None);
    let standing = |after| limiter.standings(None, start + seconds(after)).requests.unwrap();
    assert_eq!(standing(0.0), Standing { limit: 4, remaining: 3, reset: seconds(15.0) });
    assert_eq!(standing(14.0), Standing { limit: 4, remaining: 3, reset: seconds(1.0) });
    assert_eq!(standing(15.0), Standing { limit: 4, remaining: 4, reset: seconds(0.0) });
}

#[test]
fn where_nothing_is_limited_nothing_is_remembered() {
    let (limiter, now) = (limiter(0, 0, 0), Instant::now());
    assert!(limiter.admit(Some(ApiKeyId::random()), now).unwrap().is_none());
    assert!(limiter.lock().is_empty());
}

#[test]
fn keys_are_bounded_and_open_requests_are_never_forgotten() {
    let (limiter, start) = (limiter(2, 0, 1), Instant::now());
    let held = Some(ApiKeyId::random());
    let _open = limiter.admit(held, start).unwrap();
    for number in 0..MAX_KEYS + 50 {
        assert_eq!(send(&limiter, Some(ApiKeyId::random()), start + Duration::from_millis(number as u64)), None);
    }
    assert_eq!(limiter.lock().len(), MAX_KEYS);
    assert!(limiter.admit(held, start).is_err());
    // Whoever used nothing for a minute is forgotten first.
    assert_eq!(send(&limiter, Some(ApiKeyId::random()), start + seconds(300.0)), None);
    assert_eq!(limiter.lock().len(), 2);
}

#[test]
fn clients_are_told_what_was_reached() {
    let (limiter, now) = (limiter(7, 0, 0), Instant::now());
    while send(&limiter, None, now).is_none() {}
    let excess = limiter.admit(None, now).unwrap_err();
    assert_eq!(excess.text(), "Rate limit reached: this key may send 7 requests a minute. Try again in 9 s.");
    assert_eq!((excess.kind(), excess.retry_after.as_millis()), ("requests", 8_572));
}
