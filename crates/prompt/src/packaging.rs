//! Envelopes: the JSON that events and tool returns travel in.
//!
//! Clients and models know these shapes, so keys, their order and the indentation by two spaces are fixed. Characters
//! outside ASCII stay as they are: a model reads them better than escapes, and they cost fewer tokens.

use domain::{Timestamp, ToolStatus};
use serde_json::{Map, Value, json};

use crate::time::format_local;

/// Stands before every text of ours that reaches the model in the user's place.
pub const NON_USER_MSG_PREFIX: &str = "[This is an automated system message hidden from the user] ";

const SUMMARY_LEAD: &str = "Note: prior messages have been hidden from view due to conversation memory constraints.\nThe following is a summary of the previous messages:\n ";
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

pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
#[path = "packaging_tests.rs"]
mod tests;
