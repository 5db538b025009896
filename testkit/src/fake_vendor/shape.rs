//! Fits a wanted reply to its request, as an honest model would answer it: a forced tool is called, words travel in
//! `send_message` where a tool must be called, and required arguments are there.
//!
//! Pure.

use serde_json::{Map, Value, json};

use super::defaults::complete;
use super::directives::SENTENCE;
use super::reply::{Arguments, VendorReply, WantedCall};
use super::request::{ChatRequest, Choice};

const SEND_MESSAGE: &str = "send_message";

/// An answer that only needs ids to go on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) reasoning: Option<String>,
    pub(super) text: Option<String>,
    /// Names and argument texts.
    pub(super) calls: Vec<(String, String)>,
    pub(super) finish: String,
}

/// `reply` as it answers `request`.
pub(super) fn shape(reply: &VendorReply, request: ChatRequest<'_>) -> Answer {
    let (text, wanted) = match reply.verbatim {
        true => (reply.text.clone(), reply.calls.clone()),
        false => obedient(reply, request),
    };
    let calls: Vec<(String, String)> = wanted
        .into_iter()
        .map(|call| {
            let arguments = match call.arguments {
                Arguments::Text(text) => text,
                Arguments::Object(given) if reply.verbatim => Value::Object(given).to_string(),
                Arguments::Object(given) => filled(&call.name, &given, request).to_string(),
            };
            (call.name, arguments)
        })
        .collect();
    let natural = if calls.is_empty() { "stop" } else { "tool_calls" };
    let finish = reply.finish.clone().unwrap_or_else(|| natural.to_owned());
    Answer { reasoning: reply.reasoning.clone(), text, calls, finish }
}

/// The words and calls of a model that does as `tool_choice` says.
fn obedient(reply: &VendorReply, request: ChatRequest<'_>) -> (Option<String>, Vec<WantedCall>) {
    match request.choice() {
        Choice::Never => (Some(reply.text.clone().unwrap_or_else(|| SENTENCE.to_owned())), Vec::new()),
        Choice::Function(name) => {
            let wanted = reply.calls.iter().find(|call| call.name == name).cloned();
            (None, vec![wanted.unwrap_or_else(|| instead_of_words(reply, name))])
        }
        Choice::Required if reply.calls.is_empty() => {
            let send = request.function(SEND_MESSAGE);
            let tool = send.or_else(|| request.functions().next()).and_then(|function| function["name"].as_str());
            match tool {
                Some(name) => (None, vec![instead_of_words(reply, name)]),
                None => (reply.text.clone(), Vec::new()),
            }
        }
        Choice::Required | Choice::Free => (reply.text.clone(), reply.calls.clone()),
    }
}

fn instead_of_words(reply: &VendorReply, name: &str) -> WantedCall {
    let mut arguments = Map::new();
    if name == SEND_MESSAGE {
        arguments.insert("message".to_owned(), json!(reply.text.as_deref().unwrap_or(SENTENCE)));
    }
    WantedCall { name: name.to_owned(), arguments: Arguments::Object(arguments) }
}

fn filled(name: &str, given: &Map<String, Value>, request: ChatRequest<'_>) -> Value {
    match request.function(name) {
        Some(function) => Value::Object(complete(name, &function["parameters"], given)),
        None => Value::Object(given.clone()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(choice: Value, reply: &VendorReply, expected: Expect) {
        let function = |name: &str, properties: Value, required: Value| {
            let parameters = json!({"type": "object", "properties": properties, "required": required});
            json!({"type": "function", "function": {"name": name, "parameters": parameters}})
        };
        let text = json!({"type": "string"});
        let body = json!({"tool_choice": choice, "tools": [
            function("memory", json!({"label": text, "request_heartbeat": {"type": "boolean"}}), json!(["label", "request_heartbeat"])),
            function("send_message", json!({"thinking": text, "message": text}), json!(["thinking", "message"])),
        ]});
        let answer = shape(reply, ChatRequest::new(&body));
        expected.assert_eq(&format!("{:?} {:?} {}", answer.text, answer.calls, answer.finish));
    }

    #[test]
    fn words_travel_in_send_message_where_a_tool_is_required() {
        let say = VendorReply::say("Hi.");
        check(json!("auto"), &say, expect![[r#"Some("Hi.") [] stop"#]]);
        check(
            json!("required"),
            &say,
            expect![[
                r#"None [("send_message", "{\"thinking\":\"The script says what to do.\",\"message\":\"Hi.\"}")] tool_calls"#
            ]],
        );
        check(json!("required"), &say.verbatim(), expect![[r#"Some("Hi.") [] stop"#]]);
        check(json!("none"), &VendorReply::call("memory", json!({})).and_say("x"), expect![[r#"Some("x") [] stop"#]]);
    }

    #[test]
    fn a_forced_tool_is_called_whatever_the_script_wants() {
        let memory = json!({"type": "function", "function": {"name": "memory"}});
        let expected = expect![[r#"None [("memory", "{\"label\":\"text\",\"request_heartbeat\":true}")] tool_calls"#]];
        check(memory.clone(), &VendorReply::say("Hi."), expected);
        check(
            memory,
            &VendorReply::call("other", json!({})).and_call("memory", json!({"label": "human"})),
            expect![[r#"None [("memory", "{\"label\":\"human\",\"request_heartbeat\":true}")] tool_calls"#]],
        );
    }

    #[test]
    fn unknown_tools_and_raw_arguments_are_sent_as_they_are() {
        check(
            json!("auto"),
            &VendorReply::call("nonsense", json!({"a": 1})).and_call_text("memory", "{").finished_as("length"),
            expect![[r#"None [("nonsense", "{\"a\":1}"), ("memory", "{")] length"#]],
        );
    }
}
