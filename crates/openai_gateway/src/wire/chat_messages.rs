//! The messages of a chat request, each checked where it stands.
//!
//! Users' messages may hold images, whose addresses are passed on and never opened here. Audio and files are refused, and
//! so are images of anybody else: no vendor of this dialect takes them.
//!
//! Clients echo fields that no specification knows (`reasoning_content`, `cache_control`, …); those are let pass.

use std::sync::Arc;

use domain::image::check_images;
use domain::{ContentPart, Digest, Image, ImageDetail, ImageError, ImageSource, ToolCall};
use serde_json::{Map, Value};

use super::{missing, wrong_type};
use crate::error::ApiError;
use crate::session_name::{bytes_digest, text_digest};

/// Messages that one request may hold.
const MAX_MESSAGES: usize = 10_000;
/// Characters of a call's id or of a name that are taken.
const MAX_NAME: usize = 256;

/// Who speaks, as far as the door tells it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientRole {
    /// `system` or `developer`: instructions of the application.
    System,
    User,
    Assistant,
    /// `tool`, or `function` as it was once called.
    Tool,
}

/// One message that the client sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientMessage {
    pub(crate) role: ClientRole,
    pub(crate) content: Arc<[ContentPart]>,
    pub(crate) name: Option<Arc<str>>,
    /// Calls of an assistant message, under the client's names.
    pub(crate) tool_calls: Vec<ToolCall>,
    /// The call that a tool message answers; a `function` message names the function instead.
    pub(crate) tool_call_id: Option<Arc<str>>,
}

impl ClientMessage {
    /// All its words as one text.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(ContentPart::as_text).collect();
        texts.join("\n")
    }

    /// Whether there is something to look at.
    pub(crate) fn has_images(&self) -> bool {
        self.content.iter().any(|part| part.as_image().is_some())
    }

    /// By what the message is known again when a client sends it once more: its words and its images.
    pub(crate) fn digest(&self) -> Digest {
        let text = self.text();
        if !self.has_images() {
            return text_digest(&text);
        }
        let images = self.content.iter().filter_map(ContentPart::as_image).flat_map(|image| match &image.source {
            ImageSource::Url { url } => [b"url".as_slice(), url.as_bytes()],
            ImageSource::Base64 { media_type, data } => [media_type.as_str().as_bytes(), data.as_bytes()],
        });
        bytes_digest([b"images".as_slice(), text.as_bytes()].into_iter().chain(images))
    }
}

/// The messages of a body.
pub(super) fn messages(fields: &Map<String, Value>) -> Result<Vec<ClientMessage>, ApiError> {
    let messages = match fields.get("messages") {
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err(wrong_type("messages", "an array")),
        None => return Err(missing("messages")),
    };
    if messages.is_empty() {
        return Err(invalid("`messages` is empty: send at least one message.".to_owned(), "invalid_value"));
    }
    if messages.len() > MAX_MESSAGES {
        return Err(invalid(format!("`messages` holds more than {MAX_MESSAGES} messages."), "array_above_max_length"));
    }
    messages.iter().enumerate().map(|(index, message)| read(message, index)).collect()
}

fn read(message: &Value, index: usize) -> Result<ClientMessage, ApiError> {
    let role = match message.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => ClientRole::System,
        Some("user") => ClientRole::User,
        Some("assistant") => ClientRole::Assistant,
        Some("tool" | "function") => ClientRole::Tool,
        Some(other) => {
            let shown: String = other.chars().take(40).collect();
            return Err(invalid(format!("`messages[{index}].role` can't be `{shown}`."), "invalid_value"));
        }
        None => {
            return Err(invalid(format!("`messages[{index}]` must be an object with a `role`."), "invalid_type"));
        }
    };
    let tool_calls = if role == ClientRole::Assistant { tool_calls(message, index)? } else { Vec::new() };
    let content = content(message.get("content"), role, index)?;
    if role == ClientRole::User && !content.iter().any(says_something) {
        return Err(invalid(format!("`messages[{index}].content` is empty."), "invalid_value"));
    }
    check_images(&content).map_err(|error| bad_image(&error, index))?;
    let tool_call_id = short(message, "tool_call_id", index)?;
    let name = short(message, "name", index)?;
    if role == ClientRole::Tool && tool_call_id.is_none() && name.is_none() {
        let text = format!("`messages[{index}]` has the role `tool` and no `tool_call_id`.");
        return Err(invalid(text, "missing_required_parameter"));
    }
    Ok(ClientMessage { role, content, name, tool_calls, tool_call_id })
}

fn says_something(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text { text } => !text.trim().is_empty(),
        ContentPart::Image(_) => true,
        ContentPart::Reasoning { .. } => false,
    }
}

fn content(content: Option<&Value>, role: ClientRole, index: usize) -> Result<Arc<[ContentPart]>, ApiError> {
    match content {
        None | Some(Value::Null) if matches!(role, ClientRole::Assistant | ClientRole::Tool) => Ok(Arc::new([])),
        Some(Value::String(text)) => Ok(Arc::new([ContentPart::text(clean(text))])),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part_of(part, role, index).transpose()).collect(),
        _ => Err(invalid(format!("`messages[{index}].content` must be a string or parts."), "invalid_type")),
    }
}

fn part_of(part: &Value, role: ClientRole, index: usize) -> Result<Option<ContentPart>, ApiError> {
    let kind = part.get("type").and_then(Value::as_str);
    let text = part.get("text").and_then(Value::as_str);
    match (kind, text) {
        (Some("text"), Some(text)) => Ok(Some(ContentPart::text(clean(text)))),
        (Some("text"), None) => {
            Err(invalid(format!("A text part of `messages[{index}]` has no `text`."), "invalid_type"))
        }
        (Some("image_url"), _) if role == ClientRole::User => image(part, index).map(Some),
        (Some("image_url"), _) => {
            let text = format!("`messages[{index}]` holds an image: only messages of the role `user` can.");
            Err(invalid(text, "unsupported_value"))
        }
        // What an assistant refused or thought is its own business; nothing is answered to it.
        (Some("refusal" | "thinking" | "reasoning" | "redacted_thinking"), _) if role == ClientRole::Assistant => {
            Ok(None)
        }
        (Some(other), _) => {
            let shown: String = other.chars().take(40).collect();
            let text = format!("`messages[{index}]` has a part of type `{shown}`; this server takes text and images.");
            Err(invalid(text, "unsupported_value"))
        }
        (None, _) => Err(invalid(format!("A part of `messages[{index}]` has no `type`."), "invalid_type")),
    }
}

/// An image as OpenAI's clients write it, and as some write it who leave out the object around the address.
fn image(part: &Value, index: usize) -> Result<ContentPart, ApiError> {
    let given = &part["image_url"];
    let Some(url) = given.as_str().or_else(|| given["url"].as_str()) else {
        let text = format!("An image part of `messages[{index}]` has no `image_url` with a `url`.");
        return Err(invalid(text, "invalid_type"));
    };
    let detail = match given.get("detail") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(detail)) => ImageDetail::parse(detail).map(Some),
        Some(other) => Err(ImageError::Detail(other.to_string().chars().take(40).collect())),
    };
    let bad = |error: ImageError| bad_image(&error, index);
    let source = ImageSource::from_url(url).map_err(bad)?;
    Ok(ContentPart::Image(Image { source, detail: detail.map_err(bad)? }))
}

fn bad_image(error: &ImageError, index: usize) -> ApiError {
    let code = match error {
        ImageError::Address | ImageError::LongAddress => "invalid_image_url",
        ImageError::Data => "invalid_base64_image",
        ImageError::Type(_) => "unsupported_value",
        ImageError::Detail(_) => "invalid_value",
        ImageError::TooMany => "array_above_max_length",
        ImageError::TooLarge => "image_too_large",
    };
    invalid(format!("`messages[{index}]`: {error}."), code)
}

/// NUL can't be kept by a store and means nothing in a message.
fn clean(text: &str) -> Arc<str> {
    if text.contains('\0') { text.replace('\0', "").into() } else { text.into() }
}

fn tool_calls(message: &Value, index: usize) -> Result<Vec<ToolCall>, ApiError> {
    let wrong = |what: &str| invalid(format!("`messages[{index}].tool_calls` {what}."), "invalid_type");
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Ok(legacy_call(message).into_iter().collect()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(wrong("must be an array")),
    };
    calls
        .iter()
        .map(|call| {
            let function = call.get("function").ok_or_else(|| wrong("holds a call without `function`"))?;
            let id = call.get("id").and_then(Value::as_str).ok_or_else(|| wrong("holds a call without `id`"))?;
            call_of(id, function).ok_or_else(|| wrong("holds a function without a `name`"))
        })
        .collect()
}

/// A `function_call` of the old kind has no id; its function's name stands for it.
fn legacy_call(message: &Value) -> Option<ToolCall> {
    let function = message.get("function_call")?;
    let name = function.get("name").and_then(Value::as_str)?;
    call_of(name, function)
}

fn call_of(id: &str, function: &Value) -> Option<ToolCall> {
    let name = function.get("name").and_then(Value::as_str)?;
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => "{}".to_owned(),
        Some(other) => other.to_string(),
    };
    Some(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
}

fn short(message: &Value, field: &str, index: usize) -> Result<Option<Arc<str>>, ApiError> {
    match message.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_NAME && !text.contains('\0') => Ok(Some(text.as_str().into())),
        Some(_) => {
            let text = format!("`messages[{index}].{field}` must be a string of at most {MAX_NAME} bytes.");
            Err(invalid(text, "invalid_type"))
        }
    }
}

fn invalid(text: String, code: &'static str) -> ApiError {
    ApiError::invalid(text, Some("messages"), Some(code))
}

#[cfg(test)]
#[path = "chat_messages_tests.rs"]
mod tests;
