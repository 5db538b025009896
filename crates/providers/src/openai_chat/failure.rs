//! What a failed answer means, named by what the caller can do about it.
//!
//! Pure: status, headers and body in, a [`ModelError`] out. Details are for people: they are cut, and the key is taken
//! out of them, because some servers repeat it.

use std::time::Duration;

use domain::Timestamp;
use domain::seams::chat_model::ModelError;
use serde_json::Value;

use crate::profile::{self, Phrases};

/// Characters of a vendor's words that are passed on.
const DETAIL_CAP: usize = 500;

/// What a server said about a failure.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    /// The HTTP status, or the number that an error inside a stream gives in its place.
    pub(crate) status: Option<u16>,
    pub(crate) code: String,
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    /// Reads the body of an answer with an error status.
    pub(crate) fn from_body(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        let mut failure = match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_value(value.get("error").unwrap_or(&value)),
            Err(_) => Self::default(),
        };
        failure.status = Some(status);
        failure.retry_after = retry_after;
        if failure.message.is_empty() {
            failure.message = String::from_utf8_lossy(body).trim().to_owned();
        }
        failure
    }

    /// Reads an error object, or the bare words that some servers send in its place.
    pub(crate) fn from_value(error: &Value) -> Self {
        if let Value::String(message) = error {
            return Self { message: message.clone(), ..Self::default() };
        }
        let word = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = ["code", "status", "status_code"].iter().find_map(|name| error.get(name)?.as_u64());
        let message = ["message", "detail", "error"].iter().map(|name| word(name)).find(|text| !text.is_empty());
        Self {
            status: number.and_then(|number| u16::try_from(number).ok()).filter(|status| (400..600).contains(status)),
            code: word("code"),
            kind: word("type"),
            message: message.unwrap_or_default(),
            retry_after: None,
        }
    }

    /// The error that it amounts to. `key` is what must not be repeated.
    pub(crate) fn into_error(self, key: Option<&str>) -> ModelError {
        let detail = self.detail(key);
        let phrases = profile::phrases();
        let says = |words: &[String]| self.says(words);
        match self.status {
            Some(401 | 403) if !says(&phrases.refused) => ModelError::Unauthorized { detail },
            Some(429) => ModelError::RateLimited { retry_after: self.retry_after, detail },
            Some(413) => ModelError::ContextTooLong { detail },
            Some(408) => ModelError::Unavailable { detail },
            // A server that has lost its way may still say plainly that the prompt was too long.
            _ if says(&phrases.context_too_long) => ModelError::ContextTooLong { detail },
            Some(300..=499) if says(&phrases.refused) => ModelError::Refused { detail },
            Some(300..=499) => ModelError::Rejected { detail },
            Some(_) => ModelError::Unavailable { detail },
            None => self.by_words(phrases, detail),
        }
    }

    /// An error inside a stream often has no number.
    fn by_words(&self, phrases: &Phrases, detail: String) -> ModelError {
        if self.says(&phrases.refused) {
            ModelError::Refused { detail }
        } else if self.says(&phrases.unauthorized) {
            ModelError::Unauthorized { detail }
        } else if self.says(&phrases.rate_limited) {
            ModelError::RateLimited { retry_after: self.retry_after, detail }
        } else if self.says(&phrases.rejected) {
            ModelError::Rejected { detail }
        } else {
            ModelError::Unavailable { detail }
        }
    }

    fn says(&self, phrases: &[String]) -> bool {
        [&self.code, &self.kind, &self.message].into_iter().any(|text| {
            let text = text.to_lowercase();
            phrases.iter().any(|phrase| text.contains(phrase.as_str()))
        })
    }

    fn detail(&self, key: Option<&str>) -> String {
        let message = if self.message.is_empty() { "no reason was given" } else { &self.message };
        let text = match (self.status, self.code.is_empty()) {
            (Some(status), true) => format!("{status}: {message}"),
            (Some(status), false) => format!("{status} {}: {message}", self.code),
            (None, true) => message.to_owned(),
            (None, false) => format!("{}: {message}", self.code),
        };
        clean(&text, key)
    }
}

/// Bytes that a real key has at least; dummies such as `x` are common with local servers.
const SHORTEST_KEY: usize = 8;

/// `text` as it may be shown: without the key, and not longer than a person would read.
pub(crate) fn clean(text: &str, key: Option<&str>) -> String {
    let text = match key {
        // A text shorter than this is no secret, and hiding it would hide half of the message.
        Some(key) if key.len() >= SHORTEST_KEY => text.replace(key, "[key]"),
        _ => text.to_owned(),
    };
    match text.char_indices().nth(DETAIL_CAP) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// How long a server wants us to wait: `retry-after-ms` first, because it is the finer one.
pub(crate) fn retry_after(milliseconds: Option<&str>, after: Option<&str>, now: Timestamp) -> Option<Duration> {
    let from_number = |text: &str, unit: f64| {
        let number = text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0)?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    if let Some(wait) = milliseconds.and_then(|text| from_number(text, 0.001)) {
        return Some(wait);
    }
    let text = after?;
    from_number(text, 1.0).or_else(|| {
        let then = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
        Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(error: &ModelError) -> &'static str {
        match error {
            ModelError::Filtered => "filtered",
            ModelError::RateLimited { .. } => "RateLimited",
            ModelError::ContextTooLong { .. } => "ContextTooLong",
            ModelError::Refused { .. } => "Refused",
            ModelError::Unauthorized { .. } => "Unauthorized",
            ModelError::Rejected { .. } => "Rejected",
            ModelError::Unavailable { .. } => "Unavailable",
            ModelError::Broken { .. } => "Broken",
        }
    }

    #[test]
    fn an_answer_is_named_by_its_remedy() {
        let table = [
            (401, r#"{"error":{"message":"no","code":"invalid_api_key"}}"#, "Unauthorized"),
            (403, "forbidden", "Unauthorized"),
            (403, r#"{"error":{"message":"Input was flagged by moderation"}}"#, "Refused"),
            (429, r#"{"error":{"message":"slow down"}}"#, "RateLimited"),
            (400, r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#, "ContextTooLong"),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens."}"#,
                "ContextTooLong",
            ),
            (
                400,
                r#"{"error":{"message":"prompt is longer than the maximum model length of 4096"}}"#,
                "ContextTooLong",
            ),
            (400, r#"{"error":"the model is loaded with context length of only 4096 tokens"}"#, "ContextTooLong"),
            (500, r#"{"error":{"message":"input length exceeds the context length"}}"#, "ContextTooLong"),
            (413, "", "ContextTooLong"),
            (400, r#"{"error":{"message":"bad","code":"content_filter"}}"#, "Refused"),
            (400, r#"{"error":{"message":"unknown field","type":"invalid_request_error"}}"#, "Rejected"),
            (404, r#"{"error":{"message":"model not found"}}"#, "Rejected"),
            (307, "", "Rejected"),
            (408, "", "Unavailable"),
            (500, "<html>oops</html>", "Unavailable"),
            (503, r#"{"error":null}"#, "Unavailable"),
        ];
        for (status, body, expected) in table {
            let error = Failure::from_body(status, body.as_bytes(), None).into_error(None);
            assert_eq!(name(&error), expected, "{status} {body}: {error}");
        }
    }

    #[test]
    fn an_error_inside_a_stream_is_named_too() {
        let table = [
            (r#"{"message":"boom","type":"server_error"}"#, "Unavailable"),
            (r#"{"message":"overloaded","code":502}"#, "Unavailable"),
            (r#"{"message":"slow","code":429}"#, "RateLimited"),
            (r#"{"message":"Rate limit reached"}"#, "RateLimited"),
            (r#"{"message":"bad key","code":"invalid_api_key"}"#, "Unauthorized"),
            (r#"{"message":"bad field","type":"invalid_request_error"}"#, "Rejected"),
            (r#"{"message":"no","code":"content_filter"}"#, "Refused"),
            (r#""prompt too long; exceeded max context length by 3 tokens""#, "ContextTooLong"),
        ];
        for (value, expected) in table {
            let error = Failure::from_value(&serde_json::from_str(value).unwrap()).into_error(None);
            assert_eq!(name(&error), expected, "{value}: {error}");
        }
    }

    #[test]
    fn the_key_is_taken_out_and_the_rest_is_cut() {
        let body = format!(r#"{{"error":{{"message":"key sk-secret is wrong {}"}}}}"#, "ä".repeat(2000));
        let error = Failure::from_body(401, body.as_bytes(), None).into_error(Some("sk-secret"));
        let ModelError::Unauthorized { detail } = error else { panic!("{error}") };
        assert!(detail.starts_with("401: key [key] is wrong ää"), "{detail}");
        assert!(!detail.contains("sk-secret"));
        assert_eq!(detail.chars().count(), DETAIL_CAP + 1);
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let check = |milliseconds, after, expected: Option<u64>| {
            assert_eq!(retry_after(milliseconds, after, now), expected.map(Duration::from_millis), "{after:?}");
        };
        check(Some("1500"), Some("9"), Some(1500));
        check(Some("soon"), Some("9"), Some(9000));
        check(None, Some("0.25"), Some(250));
        check(None, Some("Wed, 18 Nov 2026 12:00:30 GMT"), Some(30_000));
        check(None, Some("Wed, 18 Nov 2026 11:00:00 GMT"), Some(0));
        check(None, Some("-3"), None);
        check(None, Some("inf"), None);
        check(None, Some("later"), None);
        check(None, None, None);
    }
}
