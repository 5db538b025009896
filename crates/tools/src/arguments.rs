//! Reads the argument text of a tool call as a model wrote it.
//!
//! Only harmless slips are forgiven: an empty text, and an object that was encoded twice. Anything else is an error
//! that says what is wrong and where, because a guess could run a tool with arguments that nobody wrote.

use serde_json::{Map, Value};

/// The injected argument that holds the model's thought.
pub const THINKING: &str = "thinking";
/// The injected argument that asks for another step.
pub const REQUEST_HEARTBEAT: &str = "request_heartbeat";

/// Why a text is not a set of arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// The text is not JSON.
    #[error("invalid JSON: {problem} (line {line}, column {column})")]
    NotJson { problem: String, line: usize, column: usize },
    /// The text is JSON, but not an object.
    #[error("expected a JSON object with the arguments by name, but got {found}")]
    NotAnObject { found: &'static str },
}

/// What the runtime had injected into a tool's schema and the model filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Injected {
    /// The model's private thought.
    pub thinking: Option<String>,
    /// Whether the model asked for another step.
    pub request_heartbeat: Option<bool>,
}

/// The arguments in `text`.
pub fn parse_arguments(text: &str) -> Result<Map<String, Value>, ArgumentsError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match parse_value(text)? {
        Value::Object(arguments) => Ok(arguments),
        Value::String(inner) => match parse_value(&inner) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            _ => Err(ArgumentsError::NotAnObject { found: "a string" }),
        },
        other => Err(ArgumentsError::NotAnObject { found: kind_of(&other) }),
    }
}

/// Takes out what the runtime injected, so that tools never see it.
pub fn strip_injected(arguments: &mut Map<String, Value>) -> Injected {
    let thinking = match arguments.shift_remove(THINKING) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    };
    let request_heartbeat = arguments.shift_remove(REQUEST_HEARTBEAT).and_then(|value| as_bool(&value));
    Injected { thinking, request_heartbeat }
}

/// What a JSON value is, in words for a model.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn parse_value(text: &str) -> Result<Value, ArgumentsError> {
    serde_json::from_str(text).map_err(|error| {
        let problem = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let problem = problem.strip_suffix(&place).unwrap_or(&problem).to_owned();
        ArgumentsError::NotJson { problem, line: error.line(), column: error.column() }
    })
}

/// Small models write booleans as text, in JSON's or in Python's spelling.
fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => match text.trim() {
            "true" | "True" => Some(true),
            "false" | "False" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
