//! Which session a request belongs to, and whose it is, by what the client sent. Pure.
//!
//! A client names its chat by a header or a field; the first of these counts: `X-Session-Id`, `X-Letta-Chat-Key`,
//! `X-OpenWebUI-Chat-Id`, `metadata.session_id`, `prompt_cache_key`. Many applications send one constant
//! `prompt_cache_key` for everybody, so it counts only beside a named person or where an alias says so. Whoever names
//! nothing has one session for each person and system text. What was said is never part of it: two chats with the
//! same words are still two chats.
//!
//! Every name is scoped by the API key, and by the person where one is named and memory is not shared, so that nobody
//! can reach another's session by guessing its name. A chat of shared memory is never the same as one of private memory.

use domain::{ApiKeyId, Caller, Digest};
use http::HeaderMap;
use sha2::{Digest as _, Sha256};

use crate::error::ApiError;

/// Bytes that a name in a header may have.
const MAX_NAME: usize = 512;
/// Characters of a name that an operator is shown.
const SHOWN: usize = 120;

/// The headers that name a session, in the order in which they count.
const SESSION_HEADERS: [&str; 3] = ["x-session-id", "x-letta-chat-key", "x-openwebui-chat-id"];
const PERSON_HEADER: &str = "x-openwebui-user-id";
const PERSON_NAME_HEADER: &str = "x-openwebui-user-name";

/// What names a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionName {
    pub(crate) key: Digest,
    /// Which header or field it came from.
    pub(crate) origin: &'static str,
    /// What the operator is shown.
    pub(crate) label: String,
}

impl SessionName {
    /// Whether the client gave its chat a name of its own. If not, several chats may share the session.
    pub(crate) fn is_explicit(&self) -> bool {
        self.origin != DERIVED
    }
}

const DERIVED: &str = "derived";

/// A person as a client names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// Unique in the organisation: the API key's part, then the client's own name.
    pub(crate) key: String,
    /// For people.
    pub(crate) name: String,
}

/// What a request says about its session, besides its headers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hints<'a> {
    pub(crate) metadata_session: Option<&'a str>,
    pub(crate) prompt_cache_key: Option<&'a str>,
    /// Whether an alias lets `prompt_cache_key` count without a person.
    pub(crate) trust_cache_key: bool,
    /// Whether everybody shares the agent's memory, so that a chat may be everybody's too.
    pub(crate) shares_memory: bool,
    /// `user` or `safety_identifier`.
    pub(crate) person: Option<&'a str>,
    /// All system texts, joined.
    pub(crate) system: &'a str,
}

/// What the client calls the person who speaks.
pub(crate) fn person_name<'a>(headers: &'a HeaderMap, hints: &Hints<'a>) -> Result<Option<&'a str>, ApiError> {
    match hints.person {
        Some(person) => Ok(Some(person)),
        None => header(headers, PERSON_HEADER),
    }
}

/// The person of a request. Whoever comes with the operator's key, or with none, and names nobody is the owner of the
/// agent's own memory, as Letta's clients are; with another key, one nameless person stands for all.
pub(crate) fn person(caller: &Caller, headers: &HeaderMap, named: Option<&str>) -> Option<Person> {
    let scope = scope(caller.key);
    match (named, caller.key) {
        (Some(name), _) => {
            let shown = headers.get(PERSON_NAME_HEADER).and_then(|value| value.to_str().ok()).map(unquoted);
            Some(Person { key: format!("{scope}:{name}"), name: cut(&shown.unwrap_or_else(|| name.to_owned())) })
        }
        (None, Some(_)) => Some(Person { name: scope.clone(), key: scope }),
        (None, None) => None,
    }
}

/// The session of a request.
pub(crate) fn session_name(caller: &Caller, headers: &HeaderMap, hints: &Hints<'_>) -> Result<SessionName, ApiError> {
    // Whoever comes through an alias that shares memory must not end up in a private chat of the same name, nor the
    // other way round: what is said there would reach the wrong people.
    let sharing = if hints.shares_memory { "shared " } else { "" };
    let scope = format!("{sharing}{}", scope(caller.key));
    let person = person_name(headers, hints)?;
    let whose = person.filter(|_| !hints.shares_memory);
    let explicit = |origin: &'static str, value: &str| SessionName {
        key: digest(&[&scope, origin, whose.map_or("", |_| "person"), whose.unwrap_or_default(), value]),
        origin,
        label: cut(value),
    };
    for name in SESSION_HEADERS {
        if let Some(value) = header(headers, name)? {
            return Ok(explicit(name, value));
        }
    }
    if let Some(value) = hints.metadata_session {
        return Ok(explicit("metadata.session_id", value));
    }
    if let Some(value) = hints.prompt_cache_key
        && (person.is_some() || hints.trust_cache_key)
    {
        // The key may be one constant of the application, so the person is part of the name.
        let key = digest(&[&scope, "prompt_cache_key", person.unwrap_or_default(), value]);
        return Ok(SessionName { key, origin: "prompt_cache_key", label: cut(value) });
    }
    let system = text_digest(hints.system).to_string();
    let key = digest(&[&scope, DERIVED, person.map_or("", |_| "person"), person.unwrap_or_default(), &system]);
    let label = format!("{} {}", person.map_or_else(|| "nobody".to_owned(), cut), &system[..12]);
    Ok(SessionName { key, origin: DERIVED, label })
}

/// How an API key is written where names are scoped by it. The operator's key needs no id: there is only one.
pub(crate) fn scope(key: Option<ApiKeyId>) -> String {
    key.map_or_else(|| "operator".to_owned(), |key| key.to_string())
}

/// A header's text, trimmed; None if it is missing or empty.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, ApiError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    // Two proxies, or a client and its proxy, may each have set one, and nobody knows whose counts.
    if values.any(|other| other != value) {
        let text = format!("The header `{name}` is there more than once, with different values.");
        return Err(ApiError::invalid(text, None, Some("invalid_header")));
    }
    match value.to_str().map(str::trim) {
        Ok("") => Ok(None),
        Ok(text) if text.len() <= MAX_NAME => Ok(Some(text)),
        _ => {
            let text = format!("The header `{name}` must hold at most {MAX_NAME} printable ASCII characters.");
            Err(ApiError::invalid(text, None, Some("invalid_header")))
        }
    }
}

/// The digest of one text.
pub(crate) fn text_digest(text: &str) -> Digest {
    Digest(Sha256::digest(text.as_bytes()).into())
}

/// The digest of several texts, each with its length, so that no two lists give the same bytes.
pub(crate) fn digest(parts: &[&str]) -> Digest {
    bytes_digest(parts.iter().map(|part| part.as_bytes()))
}

/// The digest of several pieces, each with its length.
pub(crate) fn bytes_digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Digest(hash.finalize().into())
}

/// A header's text as it was before it was quoted for a URL, as Open WebUI does with names that are not ASCII.
fn unquoted(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|hex| *first == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        let hex = digits.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_says_two_things_is_refused() {
        let check = |values: &[&str], expected: Option<Option<&str>>| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(PERSON_HEADER, value.parse().unwrap());
            }
            assert_eq!(header(&headers, PERSON_HEADER).ok(), expected, "{values:?}");
        };
        check(&[], Some(None));
        check(&["a"], Some(Some("a")));
        check(&["a", "a"], Some(Some("a")));
        check(&["a", "b"], None);
        check(&["", "b"], None);
    }

    #[test]
    fn a_persons_name_is_shown_as_they_write_it() {
        let check = |sent: &str, expected: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(PERSON_NAME_HEADER, sent.parse().unwrap());
            let person = person(&Caller::default(), &headers, Some("7")).unwrap();
            assert_eq!((person.key.as_str(), person.name.as_str()), ("operator:7", expected), "{sent}");
        };
        check("J%C3%BCrgen M%C3%BCller", "Jürgen Müller");
        check("100% Anna", "100% Anna");
        check("Anna %4", "Anna %4");
        check("Anna %+1", "Anna %+1");
        check("%FF%FE", "%FF%FE");
        check("a%0Ab", "ab");
    }
}
