//! Query strings. Keys may repeat (`tags=a&tags=b`), so this reads them itself.
//!
//! Unknown keys are ignored; a known key with a value that makes no sense is refused.

use std::str::FromStr;

use axum::extract::FromRequestParts;
use domain::IdError;
use http::request::Parts;

use crate::error::ApiError;

/// The most items that one page of a list may have.
pub(crate) const MAX_LIMIT: u32 = 1_000;

/// The pairs of a query string, decoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default()))
    }
}

impl Query {
    /// Reads `key=value&key=value`.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(k, v)| (decode(k), decode(v))).collect(),
        )
    }

    /// The last value of `name`, unless it is empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|text| !text.is_empty())
    }

    /// Every value of `name`.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    /// Whether `name` was given at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// A yes or no.
    pub(crate) fn flag(&self, name: &'static str, default: bool) -> Result<bool, ApiError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(ApiError::invalid("bool_parsing", &["query", name], "write `true` or `false`")),
        }
    }

    /// The page size.
    pub(crate) fn limit(&self, default: u32) -> Result<u32, ApiError> {
        self.count("limit", default, MAX_LIMIT)
    }

    /// A number from 1 to `most`.
    pub(crate) fn count(&self, name: &'static str, default: u32, most: u32) -> Result<u32, ApiError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let wrong = |kind, text: &str| Err(ApiError::invalid(kind, &["query", name], text));
        match text.parse::<i64>() {
            Err(_) => wrong("int_parsing", &format!("{name} must be a whole number")),
            Ok(count) => match u32::try_from(count) {
                Ok(count) if (1..=most).contains(&count) => Ok(count),
                _ => wrong("value_error", &format!("{name} must be between 1 and {most}")),
            },
        }
    }

    /// An id of the kind that the caller wants.
    pub(crate) fn id<T: FromStr<Err = IdError>>(&self, name: &'static str) -> Result<Option<T>, ApiError> {
        let parse = |text: &str| text.parse().map_err(|error| ApiError::bad_id(&["query", name], &error));
        self.text(name).map(parse).transpose()
    }

    /// Whether `order` says oldest first.
    pub(crate) fn ascending(&self, default: bool) -> Result<bool, ApiError> {
        match self.text("order") {
            None => Ok(default),
            Some("asc") => Ok(true),
            Some("desc") => Ok(false),
            Some(_) => Err(ApiError::invalid("enum", &["query", "order"], "order must be `asc` or `desc`")),
        }
    }
}

/// Undoes form encoding. What is no escape stays as it is, and what is not UTF-8 is replaced.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%').then(|| tail.get(..2).and_then(hex_byte)).flatten();
        rest = if escaped.is_some() { &tail[2..] } else { tail };
        bytes.push(escaped.unwrap_or(if first == b'+' { b' ' } else { first }));
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (high, low) = (digit(*digits.first()?)?, digit(*digits.get(1)?)?);
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_repeat_and_are_decoded() {
        let query = Query::parse("tags=a+b&tags=%C3%A9&name=x%2&&flag&limit=7&order=asc");
        assert_eq!(query.all("tags"), ["a b", "é"]);
        assert_eq!(query.text("name"), Some("x%2"));
        assert!(query.has("flag") && query.text("flag").is_none());
        assert_eq!(query.limit(50).ok(), Some(7));
        assert_eq!(query.ascending(false).ok(), Some(true));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for text in ["limit=abc", "limit=0", "limit=-1", "limit=1001", "limit=99999999999"] {
            assert_eq!(Query::parse(text).limit(50).expect_err(text).status(), 422);
        }
        assert_eq!(Query::parse("order=up").ascending(true).expect_err("order").status(), 422);
        assert_eq!(Query::parse("x=maybe").flag("x", true).expect_err("flag").status(), 422);
        assert_eq!(Query::parse("after=nope").id::<domain::AgentId>("after").expect_err("id").status(), 422);
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let query = Query::parse("");
        assert_eq!(query.limit(50).ok(), Some(50));
        assert_eq!(query.flag("x", true).ok(), Some(true));
        assert_eq!(query.id::<domain::AgentId>("after").ok(), Some(None));
    }
}
