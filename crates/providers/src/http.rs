//! The HTTP clients that all dialects share, and the limits that every answer is read under.
//!
//! Servers on this machine, which no proxy and no certificate stands before, are posted to by the plainest client there
//! is: it costs a third of the full one, and a gateway to a local server is little else.
//!
//! Clients are made when they are first needed: a server that only talks to plain local endpoints never loads a
//! certificate. Nothing here may follow a redirect (a key must not travel to a host that the operator didn't name),
//! put a key or an address with credentials into an error, or retry.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use reqwest::{Client, Response, ResponseBuilderExt, Url};

type LocalClient = hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>;

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the first byte of an answer. Local models may read a long prompt for minutes.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// For the list of models as a whole.
    pub list: Duration,
    /// For the vectors of one batch of texts.
    pub embed: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(120),
            list: Duration::from_secs(10),
            embed: Duration::from_secs(120),
        }
    }
}

/// Until a connection stands.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(90);

/// How we call ourselves.
const USER_AGENT: &str = concat!("librarian/", env!("CARGO_PKG_VERSION"));

/// Where calls of one kind go.
#[derive(Debug)]
pub(crate) struct Address {
    url: Url,
    /// The same, where the plainest client reaches it.
    local: Option<Uri>,
}

impl Address {
    pub(crate) fn new(url: Url) -> Self {
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        let is_local = url.scheme() == "http" && is_loopback(&url) && !has_credentials;
        let local = is_local.then(|| url.as_str().parse().ok()).flatten();
        Self { url, local }
    }
}

/// Clients by what they need: certificates or not, the environment's proxies or not.
#[derive(Debug, Default)]
pub(crate) struct HttpClients {
    clients: [OnceLock<Result<Client, String>>; 4],
    local: OnceLock<LocalClient>,
}

impl HttpClients {
    /// The client for `url`.
    pub(crate) fn for_url(&self, url: &Url) -> Result<Client, String> {
        let secure = url.scheme() == "https";
        let loopback = is_loopback(url);
        let slot = &self.clients[usize::from(secure) * 2 + usize::from(loopback)];
        slot.get_or_init(|| build(secure, loopback)).clone()
    }

    /// Posts a body; an error is in words for people.
    pub(crate) async fn post(&self, to: &Address, mut headers: HeaderMap, body: Vec<u8>) -> Result<Response, String> {
        let Some(local) = &to.local else {
            let client = self.for_url(&to.url)?;
            return client.post(to.url.clone()).headers(headers).body(body).send().await.map_err(describe);
        };
        headers.insert(http::header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        let mut request = Request::post(local.clone()).body(Full::from(body)).map_err(|error| error.to_string())?;
        *request.headers_mut() = headers;
        let answer = self.local.get_or_init(local_client).request(request).await.map_err(|error| chain(&error))?;
        let (parts, body) = answer.into_parts();
        let answer = http::Response::builder().status(parts.status).url(to.url.clone());
        let mut answer = answer.body(reqwest::Body::wrap(body)).map_err(|error| error.to_string())?;
        *answer.headers_mut() = parts.headers;
        Ok(answer.into())
    }
}

fn local_client() -> LocalClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_idle_timeout(POOL_IDLE)
        .pool_timer(TokioTimer::new())
        .build(connector)
}

fn build(secure: bool, loopback: bool) -> Result<Client, String> {
    let builder = Client::builder()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .user_agent(USER_AGENT);
    let builder = if loopback { builder.no_proxy() } else { builder };
    let builder = if secure {
        // The library takes the process's default. Whoever set one before us wins, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        builder
    } else {
        builder.tls_backend_preconfigured(without_certificates()?)
    };
    builder.build().map_err(|error| format!("the HTTP client can't be made: {}", chain(&error.without_url())))
}

/// A TLS set-up that trusts nobody, for clients that only speak plain HTTP: loading the machine's certificates costs
/// time at start, and fails where there are none.
fn without_certificates() -> Result<rustls::ClientConfig, String> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be set up: {error}"))?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(config)
}

/// Whether an address is this machine, which no proxy can reach for us.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

/// An address as it may be shown: without credentials, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Only addresses that can't have credentials refuse to lose them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// What went wrong below HTTP, with its causes: "connection refused" is in the last of them.
pub(crate) fn describe(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}

/// Why a body was not read whole.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the answer is larger than {cap} bytes")]
    TooLarge { cap: usize },
    #[error("the connection broke: {0}")]
    Cut(String),
    #[error("nothing came for {0:?}")]
    Idle(Duration),
}

/// Reads a whole body of at most `cap` bytes.
pub(crate) async fn read_body(
    mut response: reqwest::Response,
    cap: usize,
    idle: Duration,
) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    loop {
        match tokio::time::timeout(idle, response.chunk()).await {
            Err(_) => return Err(BodyError::Idle(idle)),
            Ok(Err(error)) => return Err(BodyError::Cut(describe(error))),
            Ok(Ok(None)) => return Ok(body),
            Ok(Ok(Some(chunk))) if body.len() + chunk.len() > cap => return Err(BodyError::TooLarge { cap }),
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
        }
    }
}

/// Reads the start of a body, as much as comes within the limits; for words about an error, where less is enough.
pub(crate) async fn read_start(mut response: reqwest::Response, cap: usize, wait: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = cap - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() == cap {
                break;
            }
        }
    };
    // What came before the time was up is still worth showing.
    let _ = tokio::time::timeout(wait, reading).await;
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (url, expected) in [
            ("http://127.0.0.1:1/v1", true),
            ("http://127.8.8.8/", true),
            ("http://[::1]:11434/v1", true),
            ("http://localhost:1234", true),
            ("http://0.0.0.0:8000", true),
            ("http://10.0.0.1/", false),
            ("https://localhost.example.com/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn credentials_in_an_address_are_not_shown() {
        let url = Url::parse("https://me:secret@example.com/v1?key=secret").unwrap();
        assert_eq!(shown(&url), "https://example.com/v1");
    }

    #[test]
    fn only_what_is_on_this_machine_is_posted_to_plainly() {
        for (url, expected) in [
            ("http://127.0.0.1:1/v1/chat/completions", true),
            ("http://localhost:1/v1", true),
            ("http://me:secret@127.0.0.1:1/v1", false),
            ("https://127.0.0.1:1/v1", false),
            ("http://10.0.0.1/v1", false),
        ] {
            assert_eq!(Address::new(Url::parse(url).unwrap()).local.is_some(), expected, "{url}");
        }
    }

    #[test]
    fn a_plain_client_needs_no_certificates() {
        let clients = HttpClients::default();
        clients.for_url(&Url::parse("http://127.0.0.1:1").unwrap()).unwrap();
        clients.for_url(&Url::parse("http://10.0.0.1").unwrap()).unwrap();
        assert!(clients.clients[2].get().is_none() && clients.clients[3].get().is_none());
    }
}
