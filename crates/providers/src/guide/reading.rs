//! What a request shows: memory blocks, what the user said, what was called since.
//!
//! The guide reads nothing but the messages, like any model. It keeps no state of its own between requests.

use domain::Role;
use domain::seams::chat_model::{ChatMessage, ModelRequest};
use serde_json::{Map, Value};

/// A memory block as the system message shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownBlock {
    pub(super) label: String,
    pub(super) value: String,
    pub(super) read_only: bool,
}

/// A tool call with its return.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PastCall {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) returned: Option<Returned>,
}

/// A tool return.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Returned {
    pub(super) failed: bool,
    pub(super) text: String,
}

/// Something in the conversation, in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    User(String),
    /// Words of the agent that reached the user.
    Agent(String),
    Call(PastCall),
    /// Why the engine runs the model again.
    Heartbeat(String),
}

/// A request, read.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) blocks: Vec<ShownBlock>,
    /// What came before the newest user message.
    pub(super) earlier: Vec<Event>,
    pub(super) user: Option<String>,
    /// What came after it.
    pub(super) since: Vec<Event>,
}

impl Seen {
    /// Reads the messages of `request`.
    pub(super) fn read(request: &ModelRequest) -> Self {
        let system = request.messages.iter().find(|message| message.role == Role::System);
        let blocks = system.map(|message| blocks_of(&text_of(message))).unwrap_or_default();
        let mut events: Vec<Event> = Vec::new();
        for message in &request.messages {
            events.extend(events_of(message, &request.messages));
        }
        let newest = events.iter().rposition(|event| matches!(event, Event::User(_)));
        let Some(newest) = newest else { return Self { blocks, earlier: events, user: None, since: Vec::new() } };
        let since = events.split_off(newest + 1);
        let user = match events.pop() {
            Some(Event::User(text)) => Some(text),
            _ => None,
        };
        Self { blocks, earlier: events, user, since }
    }

    /// Calls since the newest user message.
    pub(super) fn calls(&self) -> impl Iterator<Item = &PastCall> {
        self.since.iter().filter_map(as_call)
    }

    /// Whether the agent said this before, where it can be seen.
    pub(super) fn agent_said(&self, words: &str) -> bool {
        self.earlier.iter().any(|event| matches!(event, Event::Agent(text) if text.contains(words)))
    }

    /// The reason of a heartbeat that closes the conversation.
    pub(super) fn last_heartbeat(&self) -> Option<&str> {
        match self.since.last() {
            Some(Event::Heartbeat(reason)) => Some(reason),
            _ => None,
        }
    }
}

fn as_call(event: &Event) -> Option<&PastCall> {
    match event {
        Event::Call(call) => Some(call),
        Event::User(_) | Event::Agent(_) | Event::Heartbeat(_) => None,
    }
}

fn text_of(message: &ChatMessage) -> String {
    let parts: Vec<&str> = message.content.iter().filter_map(|part| part.as_text()).collect();
    parts.join("\n")
}

fn events_of(message: &ChatMessage, all: &[ChatMessage]) -> Vec<Event> {
    let text = text_of(message);
    match message.role {
        Role::User => user_event(&text).into_iter().collect(),
        Role::Assistant | Role::Approval => {
            let said = (!text.trim().is_empty()).then_some(Event::Agent(text));
            let calls = message.tool_calls.iter().map(|call| {
                let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments).unwrap_or_default();
                if let ("send_message", Some(Value::String(words))) = (&*call.name, arguments.get("message")) {
                    return Event::Agent(words.clone());
                }
                let answer = all.iter().find(|message| message.tool_call_id.as_ref() == Some(&call.id));
                let returned = answer.map(|message| unpack_return(&text_of(message)));
                Event::Call(PastCall { name: call.name.to_string(), arguments, returned })
            });
            said.into_iter().chain(calls).collect()
        }
        Role::System | Role::Tool => Vec::new(),
    }
}

/// What a person said in a user message, if a person wrote it.
pub(super) fn words_of_user(text: &str) -> Option<String> {
    match user_event(text) {
        Some(Event::User(words)) => Some(words),
        _ => None,
    }
}

/// The words inside a user message; envelopes that no person wrote give no words.
fn user_event(text: &str) -> Option<Event> {
    let envelope = match serde_json::from_str::<Value>(text.trim()) {
        Ok(Value::Object(envelope)) => envelope,
        _ => Map::new(),
    };
    let words = |key: &str| envelope.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match envelope.get("type").and_then(Value::as_str) {
        Some("user_message") => Some(Event::User(words("message"))),
        Some("heartbeat") => Some(Event::Heartbeat(words("reason"))),
        Some("login" | "system_alert") => None,
        _ => (!text.trim().is_empty()).then(|| Event::User(text.to_owned())),
    }
}

fn unpack_return(text: &str) -> Returned {
    let envelope = match serde_json::from_str::<Value>(text) {
        // Search results have a message of their own and need no envelope.
        Ok(Value::Object(envelope)) if !envelope.contains_key("results") => envelope,
        _ => return Returned { failed: false, text: text.to_owned() },
    };
    let status = envelope.get("status").and_then(Value::as_str).unwrap_or("OK");
    let text = match envelope.get("message") {
        Some(Value::String(message)) => message.clone(),
        Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
        None => text.to_owned(),
    };
    Returned { failed: status.eq_ignore_ascii_case("failed") || status.eq_ignore_ascii_case("error"), text }
}

/// The blocks of a system message, in their order.
fn blocks_of(system: &str) -> Vec<ShownBlock> {
    let Some(start) = system.find("<memory_blocks>\n") else { return Vec::new() };
    let mut rest = &system[start + "<memory_blocks>\n".len()..];
    let mut blocks = Vec::new();
    while let Some((block, after)) = next_block(rest) {
        blocks.push(block);
        rest = after;
    }
    blocks
}

fn next_block(text: &str) -> Option<(ShownBlock, &str)> {
    let description = text.find(">\n<description>\n")?;
    let end_of_section = text.find("\n</memory_blocks>").unwrap_or(text.len());
    if description > end_of_section {
        return None;
    }
    let label = text[..description].rsplit('<').next()?;
    let body = &text[description + 2..];
    let close = format!("</value>\n</{label}>");
    let end = body.find(&close)?;
    let head = body.find("<value>\n").filter(|at| *at < end)?;
    let metadata = &body[..head];
    let value = &body[head + "<value>\n".len()..end];
    let value = value.strip_suffix('\n').unwrap_or(value);
    let numbered = metadata.contains("<warning>");
    let value = if numbered { without_line_numbers(value) } else { value.to_owned() };
    let read_only = metadata.lines().any(|line| line == "- read_only=true");
    Some((ShownBlock { label: label.to_owned(), value, read_only }, &body[end + close.len()..]))
}

fn without_line_numbers(value: &str) -> String {
    let lines = value.split('\n').map(|line| match line.split_once('→') {
        Some((number, rest)) if number.chars().all(|c| c.is_ascii_digit()) => rest.strip_prefix(' ').unwrap_or(rest),
        _ => line,
    });
    lines.collect::<Vec<&str>>().join("\n")
}
