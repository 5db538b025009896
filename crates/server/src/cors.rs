//! What browsers are told about pages of other sites (CORS): those that the operator named may ask and read the answer.
//!
//! Foreign pages are refused before, by [`crate::hosts`]; without the headers from here, a browser would keep even an
//! allowed page from reading an answer. Never `*`: an answer names the one page that it is for.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// What a page may send. A key still decides what comes of it.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
/// How long a browser may remember a preflight's answer, in seconds. The common ones keep none for longer.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// What of an answer's head a page may read beside what every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-request-id, retry-after, retry-after-ms, x-should-retry, openai-processing-ms, x-ratelimit-limit-requests, \
     x-ratelimit-limit-tokens, x-ratelimit-remaining-requests, x-ratelimit-remaining-tokens, \
     x-ratelimit-reset-requests, x-ratelimit-reset-tokens",
);

/// The pages that may read answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cors {
    origins: Vec<String>,
}

impl Cors {
    /// The operator's origins, whose case does not matter.
    pub(crate) fn new(origins: &[String]) -> Self {
        Self { origins: origins.iter().map(|origin| normal(origin)).collect() }
    }

    /// The answer to a browser that asks whether an allowed page may send a request; none to anything else. It needs
    /// no key, because a browser sends none with it.
    pub(crate) fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response> {
        let asks = *method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if !asks || !headers.get(header::ORIGIN).is_some_and(|origin| self.allows(origin)) {
            return None;
        }
        let mut response = StatusCode::NO_CONTENT.into_response();
        let told = response.headers_mut();
        told.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        told.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            // SDKs send a dozen headers of their own, and new ones with each release; none of them does harm here.
            told.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        let depends = "access-control-request-method, access-control-request-headers";
        told.append(header::VARY, HeaderValue::from_static(depends));
        Some(response)
    }

    /// Lets the page that sent the request read the answer, if it may.
    pub(crate) fn open(&self, origin: Option<&HeaderValue>, response: &mut Response) {
        if self.origins.is_empty() {
            return;
        }
        let told = response.headers_mut();
        // A cache must not give one page the answer that was made for another, nor for none.
        told.append(header::VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin.filter(|origin| self.allows(origin)) {
            told.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            told.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    /// Whether `origin` is one of the operator's.
    fn allows(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|origin| self.origins.contains(&normal(origin)))
    }
}

/// Why `text` can't be an allowed origin, if it can't.
pub(crate) fn origin_fault(text: &str) -> Option<&'static str> {
    let Some((scheme, host)) = text.trim_end_matches('/').split_once("://") else {
        return Some("write scheme and host, as https://ui.home.example");
    };
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#*@,".contains(&byte));
    (!is_scheme || !is_host).then_some("write one scheme and host without a path or `*`, as https://ui.home.example")
}

/// As browsers write an origin.
fn normal(origin: &str) -> String {
    origin.trim_end_matches('/').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn cors() -> Cors {
        Cors::new(&["https://UI.example/".to_owned()])
    }

    #[test]
    fn a_preflight_is_one_of_an_allowed_page() {
        let asks = ("access-control-request-method", "POST");
        for (method, pairs, answered) in [
            (Method::OPTIONS, &[("origin", "https://ui.example"), asks][..], true),
            (Method::OPTIONS, &[("origin", "https://ui.example")], false),
            (Method::OPTIONS, &[("origin", "https://other.example"), asks], false),
            (Method::OPTIONS, &[asks], false),
            (Method::POST, &[("origin", "https://ui.example"), asks], false),
        ] {
            assert_eq!(cors().preflight(&method, &request(pairs)).is_some(), answered, "{method} {pairs:?}");
        }
    }

    #[test]
    fn an_answer_names_the_page_it_is_for() {
        for (origin, named) in [("https://ui.example", true), ("https://other.example", false)] {
            let mut response = StatusCode::OK.into_response();
            cors().open(Some(&HeaderValue::from_static(origin)), &mut response);
            let allowed = response.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(allowed.map(|value| value.to_str().unwrap()), named.then_some(origin));
            assert_eq!(response.headers()[header::VARY], "origin");
        }
        let mut response = StatusCode::OK.into_response();
        Cors::default().open(Some(&HeaderValue::from_static("https://ui.example")), &mut response);
        assert!(response.headers().is_empty());
        cors().open(None, &mut response);
        assert_eq!(response.headers().len(), 1);
    }

    #[test]
    fn only_origins_are_allowed() {
        for fine in ["https://ui.example", "http://localhost:3000", "https://ui.example/", "app://x", "http://[::1]:80"]
        {
            assert_eq!(origin_fault(fine), None, "{fine}");
        }
        for wrong in ["*", "null", "", "ui.example", "https://", "https://*.example", "https://ui.example/path", "://x"]
        {
            assert!(origin_fault(wrong).is_some(), "{wrong}");
        }
    }
}
