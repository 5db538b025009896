//! One request of a command and its answer, in Letta's dialect or the console's.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

/// A request to the owner of the data directory.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

impl Call {
    /// Looks something up.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), query: Vec::new(), body: None }
    }

    /// Makes something.
    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(path) }
    }

    /// Changes something.
    pub(crate) fn patch(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::PATCH, body: Some(body), ..Self::get(path) }
    }

    /// Removes something.
    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    /// The same call with one more pair in its query.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// Where the call goes.
    pub(crate) fn url(&self, address: SocketAddr) -> anyhow::Result<Url> {
        let mut url = Url::parse(&format!("http://{address}{}", self.path)).context("a path of ours is not a URL")?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

/// `text` as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encoded =
        text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    encoded.collect()
}

/// What the owner answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl Answer {
    /// Whether there is no such thing.
    pub(crate) fn is_missing(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// The body of an answer that is no refusal.
    pub(crate) fn ok(self) -> anyhow::Result<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        bail!("{}", reason(self.status, &self.body))
    }
}

/// Why a request was refused, from the shapes that an error may have.
pub(crate) fn reason(status: StatusCode, body: &Value) -> String {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let failed_model = || {
        let error = body.get("error")?;
        Some(explained(error["message"].as_str()?, error["detail"].as_str().unwrap_or_default()))
    };
    let found = text(&body["detail"]).or_else(|| text(&body["detail"]["message"])).or_else(failed_model);
    let found = found.unwrap_or_else(|| format!("the server answered with status {}", status.as_u16()));
    // These words are for programs.
    let bare = found.strip_prefix("INVALID_ARGUMENT: ").or_else(|| found.strip_prefix("NOT_FOUND: "));
    bare.unwrap_or(&found).to_owned()
}

/// What went wrong, with its details.
pub(crate) fn explained(message: &str, detail: &str) -> String {
    match (message.trim_end_matches('.'), detail) {
        ("", "") => "the run failed".to_owned(),
        (message, "") => message.to_owned(),
        ("", detail) => detail.to_owned(),
        (message, detail) => format!("{message} ({detail})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queries_are_encoded() {
        let call = Call::get("/v1/agents/").with("name", "a b&c/ä").with("limit", "1");
        let url = call.url(SocketAddr::from(([127, 0, 0, 1], 80))).unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1/v1/agents/?name=a+b%26c%2F%C3%A4&limit=1");
        let plain = Call::delete("/x").url("[::1]:8283".parse().unwrap()).unwrap();
        assert_eq!(plain.as_str(), "http://[::1]:8283/x");
    }

    #[test]
    fn a_segment_holds_nothing_that_ends_it() {
        assert_eq!(segment("a b/ü?#%.~"), "a%20b%2F%C3%BC%3F%23%25.~");
    }

    #[test]
    fn each_shape_of_an_error_is_understood() {
        let check = |body: Value, expected: &str| assert_eq!(reason(StatusCode::BAD_REQUEST, &body), expected);
        check(json!({ "detail": "INVALID_ARGUMENT: too long" }), "too long");
        check(json!({ "detail": { "code": "PENDING", "message": "waits" } }), "waits");
        check(
            json!({ "error": { "type": "llm_error", "message": "It failed.", "detail": "no key" } }),
            "It failed (no key)",
        );
        check(json!({ "error": { "code": "outdated", "message": "look again" } }), "look again");
        check(json!(null), "the server answered with status 400");
        check(json!({ "detail": "" }), "the server answered with status 400");
    }
}
