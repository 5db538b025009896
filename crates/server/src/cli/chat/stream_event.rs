//! What an answer's events mean to a reader of the chat. Pure.

use serde_json::Value;

use crate::cli::call::explained;

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// Words for the person, of the message with this id.
    Answer { message: String, text: String },
    /// Private reasoning.
    Reasoning { message: String, text: String },
    /// A tool call, or a piece of one.
    Call { id: String, name: String, arguments: String },
    /// What became of a tool call.
    Return { id: String, name: String, succeeded: bool, text: String },
    /// Why the run stopped.
    Stopped(String),
    /// What went wrong.
    Failed(String),
    /// Nothing follows.
    Done,
}

/// The text of the last event.
const DONE: &str = "[DONE]";

/// Reads one event. Kinds that a chat does not show give nothing.
pub(crate) fn read(text: &str) -> Vec<StreamEvent> {
    if text == DONE {
        return vec![StreamEvent::Done];
    }
    let Ok(event) = serde_json::from_str::<Value>(text) else {
        return vec![StreamEvent::Failed("the server sent an event that is not JSON".to_owned())];
    };
    let message = || string(&event["id"]);
    match event["message_type"].as_str().unwrap_or_default() {
        "assistant_message" => vec![StreamEvent::Answer { message: message(), text: content(&event["content"]) }],
        "reasoning_message" => vec![StreamEvent::Reasoning { message: message(), text: string(&event["reasoning"]) }],
        "tool_call_message" | "approval_request_message" => calls(&event),
        "tool_return_message" => returns(&event),
        "stop_reason" => vec![StreamEvent::Stopped(string(&event["stop_reason"]))],
        "error_message" => vec![StreamEvent::Failed(failure(&event))],
        _ => Vec::new(),
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Content is a text or a list of parts.
fn content(value: &Value) -> String {
    match value {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => string(other),
    }
}

/// The list where there is one, which holds everything; else the single value.
fn entries<'a>(list: &'a Value, single: &'a Value) -> Vec<&'a Value> {
    match list {
        Value::Array(entries) if !entries.is_empty() => entries.iter().collect(),
        _ => vec![single],
    }
}

fn calls(event: &Value) -> Vec<StreamEvent> {
    let call = |call: &Value| StreamEvent::Call {
        id: string(&call["tool_call_id"]),
        name: string(&call["name"]),
        arguments: string(&call["arguments"]),
    };
    entries(&event["tool_calls"], &event["tool_call"]).into_iter().map(call).collect()
}

fn returns(event: &Value) -> Vec<StreamEvent> {
    let answer = |answer: &Value| StreamEvent::Return {
        id: string(&answer["tool_call_id"]),
        name: string(&event["name"]),
        succeeded: answer["status"] != "error",
        text: content(&answer["tool_return"]),
    };
    entries(&event["tool_returns"], event).into_iter().map(answer).collect()
}

fn failure(event: &Value) -> String {
    explained(&string(&event["message"]), &string(&event["detail"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[StreamEvent]) {
        assert_eq!(read(text), expected, "{text}");
    }

    #[test]
    fn words_and_thoughts_are_told_apart() {
        let answer = |text: &str| StreamEvent::Answer { message: "m".to_owned(), text: text.to_owned() };
        check(r#"{"id":"m","message_type":"assistant_message","content":"Hi"}"#, &[answer("Hi")]);
        let parts =
            r#"{"id":"m","message_type":"assistant_message","content":[{"type":"text","text":"a"},{"text":"b"}]}"#;
        check(parts, &[answer("ab")]);
        let thought = StreamEvent::Reasoning { message: "m".to_owned(), text: "hm".to_owned() };
        check(r#"{"id":"m","message_type":"reasoning_message","reasoning":"hm","source":"x"}"#, &[thought]);
        check(r#"{"message_type":"ping"}"#, &[]);
        check(r#"{"message_type":"usage_statistics","total_tokens":3}"#, &[]);
    }

    #[test]
    fn calls_come_in_pieces_or_whole() {
        let call = |id: &str, name: &str, arguments: &str| StreamEvent::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        check(
            r#"{"message_type":"tool_call_message","tool_call":{"name":"f","tool_call_id":"1"},"tool_calls":{"name":"f","tool_call_id":"1"}}"#,
            &[call("1", "f", "")],
        );
        check(
            r#"{"message_type":"tool_call_message","tool_call":{"arguments":"{\"a","tool_call_id":"1"},"tool_calls":null}"#,
            &[call("1", "", "{\"a")],
        );
        check(
            r#"{"message_type":"tool_call_message","tool_call":{"name":"f","arguments":"{}","tool_call_id":"1"},"tool_calls":[{"name":"f","arguments":"{}","tool_call_id":"1"},{"name":"g","arguments":"{}","tool_call_id":"2"}]}"#,
            &[call("1", "f", "{}"), call("2", "g", "{}")],
        );
    }

    #[test]
    fn returns_say_whether_they_worked() {
        let event = r#"{"message_type":"tool_return_message","name":"f","status":"error","tool_call_id":"1","tool_return":"no","tool_returns":[{"status":"error","tool_call_id":"1","tool_return":"no"}]}"#;
        let expected =
            StreamEvent::Return { id: "1".to_owned(), name: "f".to_owned(), succeeded: false, text: "no".to_owned() };
        check(event, std::slice::from_ref(&expected));
        check(
            &event.replace(r#","tool_returns":[{"status":"error","tool_call_id":"1","tool_return":"no"}]"#, ""),
            &[expected],
        );
    }

    #[test]
    fn the_end_is_understood() {
        check(
            r#"{"message_type":"stop_reason","stop_reason":"end_turn"}"#,
            &[StreamEvent::Stopped("end_turn".to_owned())],
        );
        let failed = StreamEvent::Failed("It failed (down)".to_owned());
        check(r#"{"message_type":"error_message","message":"It failed.","detail":"down"}"#, &[failed]);
        check("[DONE]", &[StreamEvent::Done]);
        assert!(matches!(read("{").as_slice(), [StreamEvent::Failed(_)]));
    }
}
