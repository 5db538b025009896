//! What clients send to agents: messages, and how they want the answer.

use dispatch::request::InputMessage;
use domain::image::check_images;
use domain::{ContentPart, Role};
use serde::Deserialize;
use serde_json::Value;

use super::images::SourceBody;
use super::messages::{MessageType, Shown};
use crate::body::Fields;
use crate::error::ApiError;

/// What this server can't do with a message yet.
const NOT_OFFERED: &[&str] =
    &["client_tools", "client_skills", "override_model", "override_system", "return_logprobs", "background"];

/// Who may speak in one place of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roles {
    pub(crate) place: &'static str,
    pub(crate) allowed: &'static [Role],
}

const INPUT: Roles = Roles { place: "messages", allowed: &[Role::User, Role::System] };

/// One message of a request.
#[derive(Deserialize)]
pub(crate) struct MessageBody {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    content: Option<ContentBody>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    otid: Option<String>,
}

/// Words, or parts that hold words.
#[derive(Deserialize)]
#[serde(untagged)]
enum ContentBody {
    Text(String),
    Parts(Vec<PartBody>),
}

#[derive(Deserialize)]
struct PartBody {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    source: Option<SourceBody>,
}

impl MessageBody {
    /// The message, if `roles` lets it speak.
    pub(crate) fn into_input(self, roles: Roles) -> Result<InputMessage, ApiError> {
        let place = ["body", roles.place];
        let wrong = |text: &str| Err(ApiError::invalid("value_error", &place, text));
        match self.kind.as_deref() {
            None | Some("message") => {}
            Some("approval" | "tool_return") => {
                return Err(ApiError::refused("no approval or tool return is waited for by this agent"));
            }
            Some(_) => return wrong("a message's type must be `message`"),
        }
        let Some(role) = self.role.as_deref() else { return wrong("each message needs a role") };
        let Some(role) = Role::parse(role).filter(|role| roles.allowed.contains(role)) else {
            let allowed: Vec<&str> = roles.allowed.iter().map(|role| role.as_str()).collect();
            return wrong(&format!("a message's role must be one of {}", allowed.join(", ")));
        };
        let Some(content) = self.content else { return wrong("each message needs content") };
        let content = content.into_parts(&place)?;
        if role != Role::User && content.iter().any(|part| part.as_image().is_some()) {
            return wrong("only messages of the role user can hold images");
        }
        check_images(&content).map_err(|error| ApiError::invalid("value_error", &place, &error.to_string()))?;
        Ok(InputMessage {
            role,
            content: content.into(),
            name: self.name.map(Into::into),
            otid: self.otid.map(Into::into),
        })
    }
}

impl ContentBody {
    fn into_parts(self, place: &[&str]) -> Result<Vec<ContentPart>, ApiError> {
        let parts = match self {
            Self::Text(text) => return Ok(vec![ContentPart::text(text)]),
            Self::Parts(parts) => parts,
        };
        let read = |part: PartBody| match (part.kind.as_deref(), part.text) {
            (None | Some("text"), Some(text)) => Ok(ContentPart::text(text)),
            (None | Some("text"), None) => Err(ApiError::invalid("missing", place, "a text part needs `text`")),
            (Some("image"), _) => image(part.source, place),
            (Some(_), _) => {
                Err(ApiError::invalid("union_tag_invalid", place, "a content part's type must be `text` or `image`"))
            }
        };
        parts.into_iter().map(read).collect()
    }
}

fn image(source: Option<SourceBody>, place: &[&str]) -> Result<ContentPart, ApiError> {
    let Some(source) = source else {
        return Err(ApiError::invalid("missing", place, "an image part needs `source`"));
    };
    match source.into_image() {
        Ok(Some(image)) => Ok(ContentPart::Image(image)),
        Ok(None) => Err(ApiError::refused("images of the type `letta` are not kept here; send `url` or `base64`")),
        Err(error) => Err(ApiError::invalid("value_error", place, &error.to_string())),
    }
}

/// Whether and how the answer is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streaming {
    No,
    Steps,
    Tokens,
}

/// A request to answer messages.
#[derive(Debug)]
pub(crate) struct MessageRequest {
    pub(crate) input: Vec<InputMessage>,
    pub(crate) max_steps: Option<u32>,
    pub(crate) shown: Shown,
    pub(crate) streaming: Streaming,
    pub(crate) include_pings: bool,
}

impl MessageRequest {
    /// Reads a body. `streamed` is set for the path that always streams.
    pub(crate) fn read(mut fields: Fields, streamed: bool) -> Result<Self, ApiError> {
        fields.refuse(NOT_OFFERED)?;
        let use_assistant_message = fields.take("use_assistant_message")?.unwrap_or(true);
        only(&mut fields, "assistant_message_tool_name", "send_message")?;
        only(&mut fields, "assistant_message_tool_kwarg", "message")?;
        let types: Option<Vec<String>> = fields.take("include_return_message_types")?;
        let types = types.map(|names| parse_types(&names, &["body", "include_return_message_types"])).transpose()?;
        let wants_stream = streamed || fields.take("streaming")?.unwrap_or(false);
        let wants_tokens = fields.take("stream_tokens")?.unwrap_or(false);
        Ok(Self {
            input: input(&mut fields)?,
            max_steps: fields.take("max_steps")?,
            shown: Shown { use_assistant_message, types },
            streaming: match (wants_stream, wants_tokens && use_assistant_message) {
                (false, _) => Streaming::No,
                (true, false) => Streaming::Steps,
                (true, true) => Streaming::Tokens,
            },
            include_pings: fields.take("include_pings")?.unwrap_or(false),
        })
    }
}

/// A setting that has one useful value.
fn only(fields: &mut Fields, name: &'static str, value: &str) -> Result<(), ApiError> {
    match fields.take::<String>(name)? {
        Some(other) if other != value => Err(ApiError::refused(&format!("`{name}` can only be `{value}`"))),
        _ => Ok(()),
    }
}

fn input(fields: &mut Fields) -> Result<Vec<InputMessage>, ApiError> {
    let messages: Option<Vec<MessageBody>> = fields.take("messages")?;
    let short: Option<ContentBody> = fields.take("input")?;
    match (messages, short) {
        (Some(messages), None) => messages.into_iter().map(|message| message.into_input(INPUT)).collect(),
        (None, Some(content)) => {
            let content = content.into_parts(&["body", "input"])?;
            Ok(vec![InputMessage { role: Role::User, content: content.into(), name: None, otid: None }])
        }
        (None, None) => Err(ApiError::invalid("value_error", &["body"], "give either `messages` or `input`")),
        (Some(_), Some(_)) => {
            Err(ApiError::invalid("value_error", &["body"], "give either `messages` or `input`, not both"))
        }
    }
}

/// Message types by name.
pub(crate) fn parse_types(names: &[String], place: &[&str]) -> Result<Vec<MessageType>, ApiError> {
    let parse = |name: &String| {
        serde_json::from_value::<MessageType>(Value::String(name.clone()))
            .map_err(|error| ApiError::invalid("enum", place, &error.to_string()))
    };
    names.iter().map(parse).collect()
}

#[cfg(test)]
#[path = "message_requests_tests.rs"]
mod tests;
