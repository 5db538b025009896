//! The keys that a request brings, wherever the dialect of its client puts them. Pure.
//!
//! `Authorization: Bearer` is OpenAI's and Letta's way, `X-BARE-PASSWORD: password` is Letta's other one, `api-key`
//! and `x-api-key` are those of clients that were made for Azure and Anthropic.

use domain::api_key::KEY_BEGINNING;
use http::HeaderMap;

/// Headers that hold a key behind a word.
const WORDED: [(&str, &[u8]); 2] = [("authorization", b"bearer"), ("x-bare-password", b"password")];
/// Headers that hold nothing but a key.
const BARE: [&str; 2] = ["x-api-key", "api-key"];

/// Every key that the request brings.
pub(crate) fn brought(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let worded = WORDED.iter().flat_map(|(name, word)| {
        headers.get_all(*name).iter().filter_map(move |value| after_word(value.as_bytes(), word))
    });
    let bare = BARE.iter().flat_map(|name| headers.get_all(*name).iter()).map(|value| value.as_bytes().trim_ascii());
    worded.chain(bare)
}

/// Whether an API key stands where it can't be read, such as in an `Authorization` without `Bearer`. Whoever sent it
/// meant to come in by it, and must not be taken for somebody who brought none.
pub(crate) fn misplaces_api_key(headers: &HeaderMap) -> bool {
    WORDED.iter().any(|(name, word)| {
        let mut values = headers.get_all(*name).iter().map(|value| value.as_bytes());
        values.any(|value| after_word(value, word).is_none() && is_api_key(value))
    })
}

/// Whether a text is meant to be an API key, known or not. Signs before it, such as quotes, were not meant.
pub(crate) fn is_api_key(text: &[u8]) -> bool {
    let start = text.iter().position(u8::is_ascii_alphanumeric).unwrap_or(text.len());
    let text = text.get(start..start + KEY_BEGINNING.len());
    text.is_some_and(|text| text.eq_ignore_ascii_case(KEY_BEGINNING.as_bytes()))
}

/// What follows `word` and a space; the case of the word does not matter.
fn after_word<'a>(value: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (first, rest) = value.split_at_checked(word.len())?;
    let rest = rest.strip_prefix(b" ")?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn every_dialect_has_its_place_for_a_key() {
        for (pairs, expected) in [
            (&[][..], &[][..]),
            (&[("authorization", "Bearer a")], &["a"]),
            (&[("authorization", "bEARER  a ")], &["a"]),
            (&[("authorization", "a")], &[]),
            (&[("authorization", "Basic a")], &[]),
            (&[("authorization", "Bearera")], &[]),
            (&[("x-bare-password", "password a")], &["a"]),
            (&[("x-api-key", " a ")], &["a"]),
            (&[("api-key", "a")], &["a"]),
            (&[("api-key", "d"), ("authorization", "Bearer a"), ("authorization", "Bearer b")], &["a", "b", "d"]),
        ] {
            let headers = headers(pairs);
            let found: Vec<_> = brought(&headers).map(|key| str::from_utf8(key).unwrap()).collect();
            assert_eq!(found, expected, "{pairs:?}");
        }
    }

    #[test]
    fn an_api_key_is_known_by_how_it_begins() {
        for (text, expected) in [
            ("lib-00", true),
            ("LIB-00", true),
            ("\"lib-00\"", true),
            ("lib-", true),
            ("lib", false),
            ("", false),
            ("\"\"", false),
            ("sk-lib-00", false),
            ("library", false),
        ] {
            assert_eq!(is_api_key(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn an_api_key_in_the_wrong_place_is_noticed() {
        for (name, value, expected) in [
            ("authorization", "lib-00", true),
            ("x-bare-password", "lib-00", true),
            ("authorization", "Bearer lib-00", false),
            ("authorization", "sk-00", false),
        ] {
            assert_eq!(misplaces_api_key(&headers(&[(name, value)])), expected, "{name}: {value}");
        }
    }
}
