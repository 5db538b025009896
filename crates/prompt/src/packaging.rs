//! Envelopes: the JSON that events and tool returns travel in.
//!
//! Clients and models know these shapes, so keys, their order and the indentation by two spaces are fixed. Characters
//! outside ASCII stay as they are: a model reads them better than escapes, and they cost fewer tokens.

use domain::{Message, Role, Timestamp, ToolStatus};
use serde_json::{Map, Value, json};

use crate::time::{format_local, format_local_date};

/// Stands before every text of ours that reaches the model in the user's place.
pub const NON_USER_MSG_PREFIX: &str = "[This is an automated system message hidden from the user] ";

const SUMMARY_LEAD: &str = "Note: prior messages have been hidden from view due to conversation memory constraints.\nThe following is a summary of the previous messages:\n ";
const EVICTED_LEAD: &str = "Note: prior messages have been hidden from view due to conversation memory constraints, and they could not be summarized yet: ";
/// How [`pretty`] begins an alert and a heartbeat.
const ALERT_START: &str = "{\n  \"type\": \"system_alert\",\n  \"message\": \"Note: prior messages have been hidden";
const EVICTED_START: &str = "{\n  \"type\": \"system_alert\",\n  \"message\": \"Note: prior messages have been hidden from view due to conversation memory constraints, and they could";
const HEARTBEAT_START: &str = "{\n  \"type\": \"heartbeat\"";
const FIRST_LOGIN: &str = "Never (first login)";

/// What a tool answered.
pub fn function_return(status: ToolStatus, text: &str, at: Timestamp, zone: &str) -> String {
    let status = match status {
        ToolStatus::Success => "OK",
        ToolStatus::Error => "Failed",
    };
    pretty(&json!({ "status": status, "message": text, "time": format_local(at, zone) }))
}

/// The answer to the first `send_message` of a new agent, which nobody received.
pub fn boot_return(at: Timestamp, zone: &str) -> String {
    pretty(&json!({ "status": "OK", "message": null, "time": format_local(at, zone) }))
}

/// Runs the model again, for one of the reasons of [`crate::heartbeats`].
pub fn heartbeat(reason: &str, at: Timestamp, zone: &str) -> String {
    let reason = format!("{NON_USER_MSG_PREFIX}{reason}");
    pretty(&json!({ "type": "heartbeat", "reason": reason, "time": format_local(at, zone) }))
}

/// The user is here for the first time.
pub fn login(at: Timestamp, zone: &str) -> String {
    pretty(&json!({ "type": "login", "last_login": FIRST_LOGIN, "time": format_local(at, zone) }))
}

/// Something that the model should know and the user didn't say.
pub fn system_alert(text: &str, at: Timestamp, zone: &str) -> String {
    pretty(&json!({ "type": "system_alert", "message": text, "time": format_local(at, zone) }))
}

/// A user's message with its circumstances, where a caller asks for it. Else users' words reach the model bare.
pub fn user_message(text: &str, name: Option<&str>, location: Option<&str>, at: Timestamp, zone: &str) -> String {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), "user_message".into());
    fields.insert("message".to_owned(), text.into());
    fields.insert("time".to_owned(), format_local(at, zone).into());
    for (key, value) in [("location", location), ("name", name)] {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value.into());
        }
    }
    pretty(&Value::Object(fields))
}

/// What stands in the place of messages that have left the context.
pub fn summary_alert(summary: &str, at: Timestamp, zone: &str) -> String {
    system_alert(&format!("{SUMMARY_LEAD}{summary}"), at, zone)
}

/// What stands in the place of messages that have left the context and of which nobody could make a summary.
pub fn evicted_alert(evicted: &Evicted<'_>, at: Timestamp, zone: &str) -> String {
    let Evicted { count, first, last, search_tool } = evicted;
    let (first, last) = (format_local_date(*first, zone), format_local_date(*last, zone));
    let dates = if first == last { format!("of {first}") } else { format!("from {first} to {last}") };
    let search = match search_tool {
        Some(tool) => format!("search them with {tool} when you need them"),
        None => "they can be searched".to_owned(),
    };
    system_alert(&format!("{EVICTED_LEAD}{count} messages {dates}. None of them is lost: {search}."), at, zone)
}

/// Messages that left the context without a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted<'a> {
    pub count: usize,
    /// When the first and the last of them were said.
    pub first: Timestamp,
    pub last: Timestamp,
    /// The tool by which the agent can find them, if it has one.
    pub search_tool: Option<&'a str>,
}

/// A message of ours about messages that have left the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alert {
    /// What they said.
    Summary(String),
    /// How many there were, where no summary could be made.
    Evicted(usize),
}

/// Reads back what [`summary_alert`] and [`evicted_alert`] wrote. Only the runtime writes messages outside of any
/// step, so nobody can put such words into its mouth.
pub fn read_alert(message: &Message) -> Option<Alert> {
    let text = message.first_text();
    if message.role != Role::User || message.step.is_some() || !text.starts_with(ALERT_START) {
        return None;
    }
    let envelope: Value = serde_json::from_str(text).ok()?;
    let words = envelope.get("message")?.as_str()?;
    if let Some(summary) = words.strip_prefix(SUMMARY_LEAD) {
        return Some(Alert::Summary(summary.to_owned()));
    }
    let count = words.strip_prefix(EVICTED_LEAD)?.split(' ').next()?;
    count.parse().ok().map(Alert::Evicted)
}

/// Whether a message is an alert of [`evicted_alert`], without reading all of it.
pub fn is_evicted_alert(message: &Message) -> bool {
    message.first_text().starts_with(EVICTED_START) && matches!(read_alert(message), Some(Alert::Evicted(_)))
}

/// Whether a message is a heartbeat, which belongs to the call before it.
pub fn is_heartbeat(message: &Message) -> bool {
    message.role == Role::User && message.first_text().starts_with(HEARTBEAT_START)
}

pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
#[path = "packaging_tests.rs"]
mod tests;
