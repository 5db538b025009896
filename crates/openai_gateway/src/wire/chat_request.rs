//! The request body of `POST /v1/chat/completions`, as far as an agent needs it.

use std::sync::Arc;

use domain::ContentPart;
use serde_json::{Map, Value};

use super::{fields, missing, model, wrong_type};
use crate::error::ApiError;

/// What is asked of an agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatRequest {
    pub(crate) model: String,
    /// The newest user message: the agent remembers the ones before it.
    pub(crate) content: Arc<[ContentPart]>,
    pub(crate) name: Option<String>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
}

impl ChatRequest {
    /// Reads a body, or says what is wrong with it and where.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let fields = fields(body)?;
        let model = model(&fields)?;
        if fields.get("n").is_some_and(|n| !n.is_null() && n.as_u64() != Some(1)) {
            let text = "An agent gives one answer to a message: `n` can only be 1.";
            return Err(ApiError::invalid(text, Some("n"), Some("unsupported_value")));
        }
        let (content, name) = newest_user_message(&fields)?;
        let options = fields.get("stream_options").and_then(Value::as_object);
        Ok(Self {
            model,
            content,
            name,
            stream: flag(&fields, "stream")?,
            include_usage: options.and_then(|options| options.get("include_usage")).and_then(Value::as_bool)
                == Some(true),
        })
    }
}

fn newest_user_message(fields: &Map<String, Value>) -> Result<(Arc<[ContentPart]>, Option<String>), ApiError> {
    let messages = match fields.get("messages") {
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err(wrong_type("messages", "an array")),
        None => return Err(missing("messages")),
    };
    if messages.is_empty() {
        let text = "`messages` is empty: send at least one message with the role `user`.";
        return Err(ApiError::invalid(text, Some("messages"), Some("invalid_value")));
    }
    let mut newest = None;
    for (index, message) in messages.iter().enumerate() {
        let role = message.get("role").and_then(Value::as_str);
        match role {
            Some("user") => newest = Some((index, message)),
            Some("system" | "developer" | "assistant" | "tool" | "function") => {}
            Some(other) => {
                let text = format!("`messages[{index}].role` can't be `{other}`.");
                return Err(ApiError::invalid(text, Some("messages"), Some("invalid_value")));
            }
            None => {
                let text = format!("`messages[{index}]` must be an object with a `role`.");
                return Err(ApiError::invalid(text, Some("messages"), Some("invalid_type")));
            }
        }
    }
    let Some((index, message)) = newest else {
        let text = "No message has the role `user`, so there is nothing to answer.";
        return Err(ApiError::invalid(text, Some("messages"), Some("invalid_value")));
    };
    // The agent has heard the older ones already; what comes after them is nothing that it could be told.
    let later = messages[index + 1..].iter().filter_map(|message| message.get("role").and_then(Value::as_str));
    if let Some(role) = later.into_iter().find(|role| !matches!(*role, "system" | "developer")) {
        let text = format!(
            "The last message has the role `{role}`: send one with the role `user`. The agent runs its own tools and \
             takes no results of a client's."
        );
        return Err(ApiError::invalid(text, Some("messages"), Some("invalid_value")));
    }
    let name = message.get("name").and_then(Value::as_str).map(str::to_owned);
    Ok((content(message.get("content"), index)?, name))
}

fn content(content: Option<&Value>, index: usize) -> Result<Arc<[ContentPart]>, ApiError> {
    let invalid = |text: String, code| ApiError::invalid(text, Some("messages"), Some(code));
    let parts = match content {
        Some(Value::String(text)) => vec![ContentPart::text(text.as_str())],
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| match (part.get("type").and_then(Value::as_str), part.get("text").and_then(Value::as_str)) {
                (Some("text"), Some(text)) => Ok(ContentPart::text(text)),
                (Some("text"), None) => {
                    Err(invalid(format!("A text part of `messages[{index}]` has no `text`."), "invalid_type"))
                }
                (Some(other), _) => {
                    let shown: String = other.chars().take(40).collect();
                    Err(invalid(
                        format!("`messages[{index}]` has a part of type `{shown}`; this server takes text only."),
                        "unsupported_value",
                    ))
                }
                (None, _) => Err(invalid(format!("A part of `messages[{index}]` has no `type`."), "invalid_type")),
            })
            .collect::<Result<Vec<_>, _>>()?,
        _ => return Err(invalid(format!("`messages[{index}].content` must be a string or parts."), "invalid_type")),
    };
    if parts.iter().filter_map(ContentPart::as_text).all(|text| text.trim().is_empty()) {
        return Err(invalid(format!("`messages[{index}].content` is empty."), "invalid_value"));
    }
    Ok(parts.into())
}

fn flag(fields: &Map<String, Value>, name: &'static str) -> Result<bool, ApiError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(wrong_type(name, "true or false")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(body: &str, expected: Expect) {
        let shown = match ChatRequest::parse(body.as_bytes()) {
            Ok(request) => {
                let texts: Vec<&str> = request.content.iter().filter_map(ContentPart::as_text).collect();
                format!("{} {:?} stream={} usage={}", request.model, texts, request.stream, request.include_usage)
            }
            Err(error) => format!("{} {:?} {:?}: {}", error.status.as_u16(), error.param, error.code, error.message),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn the_newest_user_message_is_taken() {
        check(
            r#"{"model":"a","messages":[{"role":"system","content":"s"},{"role":"user","content":"one"},
                {"role":"assistant","content":null,"tool_calls":[]},{"role":"user","content":[{"type":"text","text":"two"},{"type":"text","text":"three"}]}],
                "stream":true,"stream_options":{"include_usage":true},"temperature":0.1,"unknown":1}"#,
            expect![[r#"a ["two", "three"] stream=true usage=true"#]],
        );
    }

    #[test]
    fn an_old_question_is_not_asked_again() {
        for role in ["assistant", "tool"] {
            let body = format!(
                r#"{{"model":"a","messages":[{{"role":"user","content":"q"}},{{"role":"{role}","content":"x"}}]}}"#
            );
            assert_eq!(ChatRequest::parse(body.as_bytes()).map(drop).unwrap_err().status.as_u16(), 400);
        }
        check(
            r#"{"model":"a","messages":[{"role":"user","content":"q"},{"role":"system","content":"be brief"}]}"#,
            expect![[r#"a ["q"] stream=false usage=false"#]],
        );
    }

    #[test]
    fn bad_bodies_are_refused_by_name() {
        check(
            "{",
            expect!["400 None None: The body is not valid JSON: EOF while parsing an object at line 1 column 1."],
        );
        check("[]", expect![[r#"400 None Some("invalid_type"): The body must be a JSON object."#]]);
        check(
            r#"{"messages":[]}"#,
            expect![[r#"400 Some("model") Some("missing_required_parameter"): Missing required parameter: `model`."#]],
        );
        check(r#"{"model":1}"#, expect![[r#"400 Some("model") Some("invalid_type"): `model` must be a string."#]]);
        check(
            r#"{"model":"a"}"#,
            expect![[
                r#"400 Some("messages") Some("missing_required_parameter"): Missing required parameter: `messages`."#
            ]],
        );
        check(
            r#"{"model":"a","messages":"hi"}"#,
            expect![[r#"400 Some("messages") Some("invalid_type"): `messages` must be an array."#]],
        );
        check(
            r#"{"model":"a","messages":[]}"#,
            expect![[
                r#"400 Some("messages") Some("invalid_value"): `messages` is empty: send at least one message with the role `user`."#
            ]],
        );
        check(
            r#"{"model":"a","messages":[7]}"#,
            expect![[r#"400 Some("messages") Some("invalid_type"): `messages[0]` must be an object with a `role`."#]],
        );
        check(
            r#"{"model":"a","messages":[{"role":"king","content":"x"}]}"#,
            expect![[r#"400 Some("messages") Some("invalid_value"): `messages[0].role` can't be `king`."#]],
        );
        check(
            r#"{"model":"a","messages":[{"role":"system","content":"x"}]}"#,
            expect![[
                r#"400 Some("messages") Some("invalid_value"): No message has the role `user`, so there is nothing to answer."#
            ]],
        );
        check(
            r#"{"model":"a","messages":[{"role":"user","content":" "}]}"#,
            expect![[r#"400 Some("messages") Some("invalid_value"): `messages[0].content` is empty."#]],
        );
        check(
            r#"{"model":"a","messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#,
            expect![[
                r#"400 Some("messages") Some("unsupported_value"): `messages[0]` has a part of type `image_url`; this server takes text only."#
            ]],
        );
        check(
            r#"{"model":"a","n":2,"messages":[{"role":"user","content":"x"}]}"#,
            expect![[
                r#"400 Some("n") Some("unsupported_value"): An agent gives one answer to a message: `n` can only be 1."#
            ]],
        );
        check(
            r#"{"model":"a","stream":"yes","messages":[{"role":"user","content":"x"}]}"#,
            expect![[r#"400 Some("stream") Some("invalid_type"): `stream` must be true or false."#]],
        );
    }
}
