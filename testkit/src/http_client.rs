//! A small HTTP client for tests: JSON in and out, and server-sent events as they arrive.
//!
//! Each request has a connection of its own, so that dropping an answer hangs up on the server at once, and no request
//! ever meets a connection that a killed server left behind.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// How long one answer, or one event of a stream, may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server's address and the headers that every request carries.
#[derive(Debug, Clone)]
pub struct Client {
    authority: String,
    headers: HeaderMap,
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("{} with a body that is no JSON: {}", self.status, self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, if the status is 200; else an error that shows both.
    pub fn ok(&self) -> Result<Value> {
        if self.status != StatusCode::OK {
            bail!("{}: {}", self.status, self.text());
        }
        self.json()
    }

    /// The value of a header, or nothing if it is absent or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl Client {
    /// A client of the server at `url`, which is `http://host:port` with nothing after it.
    pub fn new(url: &str) -> Result<Self> {
        let authority = url.strip_prefix("http://").context("only http:// is spoken here")?;
        Ok(Self { authority: authority.trim_end_matches('/').to_owned(), headers: HeaderMap::new() })
    }

    /// The same client with one more header on every request; `host` may be replaced too.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self> {
        self.headers.insert(HeaderName::try_from(name)?, HeaderValue::from_str(value)?);
        Ok(self)
    }

    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.send(Method::GET, path, None).await
    }

    pub async fn delete(&self, path: &str) -> Result<Reply> {
        self.send(Method::DELETE, path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply> {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Result<Reply> {
        self.send(Method::PATCH, path, Some(body)).await
    }

    /// Sends a JSON body, or none.
    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply> {
        let bytes = body.map(|body| Bytes::from(body.to_string()));
        self.send_bytes(method, path, bytes).await
    }

    /// Sends bytes that claim to be JSON, whether they are or not.
    pub async fn send_bytes(&self, method: Method, path: &str, body: Option<Bytes>) -> Result<Reply> {
        let request = self.request(method, path, body)?;
        let answer = async {
            // Dropping the set closes the connection.
            let mut connection = JoinSet::new();
            let (parts, body) = self.exchange(request, &mut connection).await?.into_parts();
            let body = body.collect().await.context("the answer broke off")?.to_bytes();
            Ok(Reply { status: parts.status, headers: parts.headers, body })
        };
        tokio::time::timeout(PATIENCE, answer).await.with_context(|| format!("no answer from {path}"))?
    }

    /// Posts JSON and reads the answer as server-sent events. Dropping the reader hangs up.
    pub async fn post_sse(&self, path: &str, body: &Value) -> Result<SseReader> {
        let mut request = self.request(Method::POST, path, Some(Bytes::from(body.to_string())))?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let mut connection = JoinSet::new();
        let response = tokio::time::timeout(PATIENCE, self.exchange(request, &mut connection)).await;
        let (parts, body) = response.with_context(|| format!("no answer from {path}"))??.into_parts();
        let parser = SseParser::default();
        Ok(SseReader { status: parts.status, headers: parts.headers, body, parser, _connection: connection })
    }

    fn request(&self, method: Method, path: &str, body: Option<Bytes>) -> Result<Request<Full<Bytes>>> {
        let has_body = body.is_some();
        let mut request = Request::builder().method(method).uri(path).body(Full::new(body.unwrap_or_default()))?;
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::from_str(&self.authority)?);
        if has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers.extend(self.headers.clone());
        Ok(request)
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        connection: &mut JoinSet<()>,
    ) -> Result<Response<Incoming>> {
        let socket =
            TcpStream::connect(&self.authority).await.with_context(|| format!("no server at {}", self.authority))?;
        socket.set_nodelay(true)?;
        let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
        // What goes wrong with the connection is seen by whoever waits for the answer.
        connection.spawn(async move { drop(driver.await) });
        sender.send_request(request).await.context("the server closed the connection without an answer")
    }
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    pub event: Option<String>,
    pub data: String,
}

impl SseEvent {
    /// The payload as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.data).with_context(|| format!("an event that is no JSON: {}", self.data))
    }
}

/// Events as they arrive. Dropping it hangs up.
pub struct SseReader {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    parser: SseParser,
    _connection: JoinSet<()>,
}

impl SseReader {
    /// The next event, or nothing at the end. A stream that is cut gives an error.
    pub async fn next(&mut self) -> Result<Option<SseEvent>> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.context("no event came")?;
            let Some(frame) = frame else { return Ok(None) };
            if let Ok(bytes) = frame.context("the stream was cut")?.into_data() {
                self.parser.feed(&bytes);
            }
        }
    }

    /// All events up to the end.
    pub async fn rest(&mut self) -> Result<Vec<SseEvent>> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
        }
        Ok(events)
    }

    /// What is left of the body as text, for answers that are not events.
    pub async fn text(mut self) -> Result<String> {
        let mut bytes = std::mem::take(&mut self.parser.buffer);
        while let Some(frame) = tokio::time::timeout(PATIENCE, self.body.frame()).await? {
            if let Ok(more) = frame?.into_data() {
                bytes.extend_from_slice(&more);
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Cuts a byte stream into events, wherever its pieces were cut.
#[derive(Debug, Default)]
struct SseParser {
    buffer: Vec<u8>,
}

impl SseParser {
    fn feed(&mut self, bytes: &[u8]) {
        // Events end in an empty line; without carriage returns there is one way to write it.
        self.buffer.extend(bytes.iter().filter(|byte| **byte != b'\r'));
    }

    /// The next complete event; comments and empty events are passed over.
    fn next(&mut self) -> Option<SseEvent> {
        loop {
            let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
            let text = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
            self.buffer.drain(..end + 2);
            if let Some(event) = parse_event(&text) {
                return Some(event);
            }
        }
    }
}

fn parse_event(text: &str) -> Option<SseEvent> {
    let fields = || text.lines().filter_map(|line| line.split_once(':'));
    let value = |field: &str| {
        fields()
            .filter(|(name, _)| *name == field)
            .map(|(_, text)| text.strip_prefix(' ').unwrap_or(text).to_owned())
            .collect::<Vec<_>>()
    };
    let (event, lines) = (value("event").pop(), value("data"));
    if event.is_none() && lines.is_empty() {
        return None;
    }
    Some(SseEvent { event, data: lines.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_the_bytes_are_cut() {
        let text = ": ping\n\nevent: a\ndata: 1\ndata: 2\n\r\ndata:x: y\r\n\r\ndata: grüß\n\nunfinished";
        let event =
            |event: Option<&str>, data: &str| SseEvent { event: event.map(str::to_owned), data: data.to_owned() };
        let expected = [event(Some("a"), "1\n2"), event(None, "x: y"), event(None, "grüß")];
        for size in 1..text.len() {
            let mut parser = SseParser::default();
            let mut events = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                parser.feed(piece);
                events.extend(std::iter::from_fn(|| parser.next()));
            }
            assert_eq!(events, expected, "pieces of {size}");
        }
    }
}
