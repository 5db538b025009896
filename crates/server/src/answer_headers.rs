//! Headers that answers carry whatever a door says: who asked, how long it took, and how the key stands. Pure.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::limits::{Excess, Standing, Standings};

/// The header that names a request in our log.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Which version of OpenAI's API is spoken.
const OPENAI_VERSION: HeaderName = HeaderName::from_static("openai-version");
const SPOKEN_VERSION: HeaderValue = HeaderValue::from_static("2020-10-01");
const PROCESSING_MS: HeaderName = HeaderName::from_static("openai-processing-ms");
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The limit, what remains of it, and when it is whole again.
const REQUESTS: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit-requests"),
    HeaderName::from_static("x-ratelimit-remaining-requests"),
    HeaderName::from_static("x-ratelimit-reset-requests"),
];
const TOKENS: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit-tokens"),
    HeaderName::from_static("x-ratelimit-remaining-tokens"),
    HeaderName::from_static("x-ratelimit-reset-tokens"),
];

/// By what the request is found in the log.
pub(crate) fn request_id(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
}

/// What every answer of OpenAI's door carries.
pub(crate) fn openai(headers: &mut HeaderMap, took: Duration, standings: &Standings) {
    headers.insert(OPENAI_VERSION, SPOKEN_VERSION);
    headers.insert(PROCESSING_MS, HeaderValue::from(took.as_millis() as u64));
    let rows = [(REQUESTS, standings.requests), (TOKENS, standings.tokens)];
    for (names, Standing { limit, remaining, reset }) in
        rows.into_iter().filter_map(|(names, standing)| standing.map(|standing| (names, standing)))
    {
        let values = [limit.to_string(), remaining.to_string(), duration(reset)];
        for (name, value) in names.into_iter().zip(values) {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
}

/// When a request that came too early may come again.
pub(crate) fn retry(headers: &mut HeaderMap, excess: &Excess) {
    headers.insert(header::RETRY_AFTER, HeaderValue::from(excess.retry_seconds()));
    headers.insert(RETRY_AFTER_MS, HeaderValue::from(excess.retry_after.as_millis().max(1) as u64));
    headers.insert(SHOULD_RETRY, HeaderValue::from_static("true"));
}

/// A duration as OpenAI writes it: `20ms`, `1s`, `6m0s`.
fn duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let seconds = millis.div_ceil(1000);
    match (millis, seconds / 60) {
        (0, _) => "0s".to_owned(),
        (1..1000, _) => format!("{millis}ms"),
        (_, 0) => format!("{seconds}s"),
        (_, minutes) => format!("{minutes}m{}s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_openai_does() {
        for (millis, expected) in [
            (0, "0s"),
            (20, "20ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (1_001, "2s"),
            (59_001, "1m0s"),
            (360_000, "6m0s"),
            (3_661_000, "61m1s"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn only_configured_limits_are_told() {
        let mut headers = HeaderMap::new();
        let requests = Some(Standing { limit: 60, remaining: 59, reset: Duration::from_secs(1) });
        openai(&mut headers, Duration::from_millis(12), &Standings { requests, tokens: None });
        let told: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        assert_eq!(
            told,
            [
                "openai-version: 2020-10-01",
                "openai-processing-ms: 12",
                "x-ratelimit-limit-requests: 60",
                "x-ratelimit-remaining-requests: 59",
                "x-ratelimit-reset-requests: 1s",
            ]
        );
    }
}
