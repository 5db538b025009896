//! A fake server: one scripted answer for each path, every request kept, every broken rule of the dialect refused.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// A complete answer.
    Full { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// Vectors of so many numbers, made from the texts; an error if a text has more characters than `longest`.
    Vectors { dimensions: usize, longest: usize },
    /// These pieces as a chunked stream, one write each, then its orderly end.
    Stream(Vec<String>),
    /// These pieces, then the connection is dropped in the middle of the body.
    Cut(Vec<String>),
    /// These pieces, then nothing until the client goes away. Without pieces, not even a status.
    Hang(Vec<String>),
}

impl Answer {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
        Self::Full { status, headers, body: body.to_owned() }
    }

    /// A stream of these data lines.
    pub(crate) fn events(data: &[&str]) -> Self {
        Self::Stream(data.iter().map(|data| event(data)).collect())
    }
}

/// One event on the wire.
pub(crate) fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    pub(crate) connection: usize,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<HashMap<String, Answer>>,
    seen: Mutex<Vec<Seen>>,
    /// Woken when a client hangs up on an answer that waits.
    hung_up: Notify,
}

impl Shared {
    fn answer(&self, line: &str) -> Answer {
        self.answers.lock().unwrap().get(line).cloned().unwrap_or_else(|| Answer::json(404, "{}"))
    }
}

/// A server that stops when it is dropped.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

async fn accept(listener: TcpListener, serving: Arc<Shared>) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let Ok((socket, _)) = listener.accept().await else { return };
        socket.set_nodelay(true).unwrap();
        connections.spawn(serve(socket, number, Arc::clone(&serving)));
    }
}

impl Fake {
    /// Answers by `METHOD /path`; everything else is 404.
    pub(crate) async fn start(answers: &[(&str, Answer)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = answers.iter().map(|(path, answer)| ((*path).to_owned(), answer.clone())).collect();
        let shared = Arc::new(Shared { answers: Mutex::new(answers), ..Shared::default() });
        let mut tasks = JoinSet::new();
        let serving = Arc::clone(&shared);
        tasks.spawn(accept(listener, serving));
        Self { address, shared, _tasks: tasks }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Changes the answer to one path.
    pub(crate) fn now_answers(&self, path: &str, answer: Answer) {
        self.shared.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// Waits until a client has hung up on a waiting answer.
    pub(crate) async fn hung_up(&self) {
        tokio::time::timeout(Duration::from_secs(10), self.shared.hung_up.notified()).await.expect("nobody hung up");
    }
}

async fn serve(mut socket: TcpStream, connection: usize, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer, connection).await {
        let answer = match broken_rule(&request) {
            Some(rule) => Answer::json(422, &format!(r#"{{"error":{{"message":"the fake refuses: {rule}"}}}}"#)),
            None => match shared.answer(&request.line) {
                Answer::Vectors { dimensions, longest } => vectors(&request, dimensions, longest),
                answer => answer,
            },
        };
        shared.seen.lock().unwrap().push(request);
        if write_answer(&mut socket, answer, &shared).await.is_none() {
            return;
        }
    }
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>, connection: usize) -> Option<Seen> {
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer[..head_end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().rsplit_once(' ').unwrap().0.to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    while buffer.len() < head_end + 4 + length {
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(buffer[head_end + 4..head_end + 4 + length].to_vec()).unwrap();
    buffer.drain(..head_end + 4 + length);
    Some(Seen { line, headers, body, connection })
}

/// What a strict server would not accept.
fn broken_rule(request: &Seen) -> Option<&'static str> {
    // What passes through is the client's own, so no rule of ours holds for it.
    if !request.line.ends_with("/chat/completions") || request.line.contains("/raw/") {
        return None;
    }
    let Ok(body) = serde_json::from_str::<Value>(&request.body) else { return Some("a JSON body") };
    let is_role = |message: &Value| {
        matches!(message["role"].as_str(), Some("system" | "user" | "assistant" | "tool"))
            && (message["role"] != "tool" || message["tool_call_id"].is_string())
    };
    if request.headers.get("content-type").map(String::as_str) != Some("application/json") {
        return Some("a content type");
    }
    if request.line.ends_with("/embeddings") {
        return broken_embedding_rule(&body);
    }
    if body["stream"] != true || body["stream_options"]["include_usage"] != true {
        return Some("a stream with usage");
    }
    if !body["model"].is_string() || !body["messages"].as_array().is_some_and(|list| list.iter().all(is_role)) {
        return Some("a model and messages");
    }
    if body.get("tools").is_none() && (body.get("tool_choice").is_some() || body.get("parallel_tool_calls").is_some()) {
        return Some("no choice without tools");
    }
    None
}

/// A strict server's view of a request for vectors.
fn broken_embedding_rule(body: &Value) -> Option<&'static str> {
    let is_text = |text: &Value| text.as_str().is_some_and(|text| !text.is_empty());
    let input = body["input"].as_array().filter(|input| !input.is_empty() && input.iter().all(is_text));
    (input.is_none() || !body["model"].is_string()).then_some("a model and texts that are not empty")
}

/// Each text's vector points along the axis of its length, and is as long as the text.
fn vectors(request: &Seen, dimensions: usize, longest: usize) -> Answer {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let lengths: Vec<usize> =
        body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().chars().count()).collect();
    if lengths.iter().any(|length| *length > longest) {
        return Answer::json(400, r#"{"error":{"message":"the input length exceeds the context length"}}"#);
    }
    let vector = |length: usize| -> Vec<usize> {
        (0..dimensions).map(|at| if at == length % dimensions { length } else { 0 }).collect()
    };
    // The order in which vectors come is not promised.
    let items = lengths.iter().enumerate().rev();
    let items: Vec<Value> =
        items.map(|(index, length)| json!({ "index": index, "embedding": vector(*length) })).collect();
    Answer::json(200, &json!({ "object": "list", "data": items }).to_string())
}

async fn write_answer(socket: &mut TcpStream, answer: Answer, shared: &Shared) -> Option<()> {
    match answer {
        Answer::Full { status, headers, body } => {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let length = body.len();
            let text = format!("HTTP/1.1 {status} Said\r\n{headers}content-length: {length}\r\n\r\n{body}");
            socket.write_all(text.as_bytes()).await.ok()
        }
        Answer::Vectors { .. } => None,
        Answer::Stream(pieces) => {
            write_pieces(socket, &pieces).await?;
            socket.write_all(b"0\r\n\r\n").await.ok()
        }
        Answer::Cut(pieces) => {
            write_pieces(socket, &pieces).await?;
            None
        }
        Answer::Hang(pieces) => {
            if !pieces.is_empty() {
                write_pieces(socket, &pieces).await?;
            }
            let mut rest = [0; 64];
            while matches!(socket.read(&mut rest).await, Ok(count) if count > 0) {}
            shared.hung_up.notify_one();
            None
        }
    }
}

async fn write_pieces(socket: &mut TcpStream, pieces: &[String]) -> Option<()> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await.ok()?;
    for piece in pieces {
        socket.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await.ok()?;
        tokio::task::yield_now().await;
    }
    Some(())
}
