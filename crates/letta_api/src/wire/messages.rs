//! Messages as clients see them. One stored message is shown as several: its thoughts, its words, its calls.

use std::borrow::Cow;
use std::sync::Arc;

use domain::message::SEND_MESSAGE;
use domain::{ContentPart, Message, MessageId, Role, RunId, StepId, ToolCall, ToolReturn, ToolStatus};
use serde::{Deserialize, Serialize};

use super::images::Source;
use super::times::MessageDate;

/// What kind of message a client is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageType {
    SystemMessage,
    UserMessage,
    AssistantMessage,
    ReasoningMessage,
    HiddenReasoningMessage,
    ToolCallMessage,
    ToolReturnMessage,
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    SummaryMessage,
    EventMessage,
    Ping,
}

/// How messages are shown.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// Whether a call of `send_message` is shown as the assistant's words.
    pub(crate) use_assistant_message: bool,
    /// Only these types; none means all.
    pub(crate) types: Option<Vec<MessageType>>,
}

/// A message, or a piece of one.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LettaMessage<'a> {
    pub(crate) id: MessageId,
    pub(crate) date: MessageDate,
    pub(crate) name: Option<&'a str>,
    pub(crate) message_type: MessageType,
    pub(crate) otid: Option<Cow<'a, str>>,
    pub(crate) sender_id: (),
    pub(crate) step_id: Option<StepId>,
    pub(crate) is_err: (),
    pub(crate) seq_id: (),
    pub(crate) run_id: Option<RunId>,
    #[serde(flatten)]
    pub(crate) body: Body<'a>,
}

/// What each type adds.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Body<'a> {
    Words { content: Content<'a> },
    Reasoning { source: &'static str, reasoning: &'a str, signature: Option<&'a str> },
    Calls { tool_call: CallState<'a>, tool_calls: Vec<CallState<'a>> },
    CallPiece { tool_call: CallPiece<'a>, tool_calls: CallPiece<'a> },
    Returns(Returns<'a>),
    Ping {},
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Part<'a> {
    Text { text: &'a str, signature: () },
    Image { source: Source<'a> },
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct CallState<'a> {
    name: &'a str,
    arguments: &'a str,
    tool_call_id: &'a str,
}

/// A part of a call: its name first, then its arguments in pieces.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CallPiece<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<&'a str>,
    pub(crate) tool_call_id: &'a str,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Returns<'a> {
    tool_return: &'a str,
    status: &'static str,
    tool_call_id: &'a str,
    stdout: (),
    stderr: (),
    tool_returns: Vec<ReturnState<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct ReturnState<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_return: &'a str,
    status: &'static str,
    tool_call_id: &'a str,
    stdout: (),
    stderr: (),
}

/// What clients are shown of `message`.
pub(crate) fn letta_messages<'a>(message: &'a Message, shown: &Shown) -> Vec<LettaMessage<'a>> {
    let mut out = Vec::new();
    match message.role {
        Role::System => out.push(whole(message, MessageType::SystemMessage, message.otid.as_deref())),
        Role::User => out.push(whole(message, MessageType::UserMessage, message.otid.as_deref())),
        Role::Assistant | Role::Approval => assistant(message, shown, &mut out),
        Role::Tool => out.extend(returns(message, shown)),
    }
    if let Some(types) = &shown.types {
        out.retain(|one| types.contains(&one.message_type));
    }
    out
}

/// Everything that clients are shown of `messages`, in order.
pub(crate) fn all_letta_messages<'a>(messages: &'a [Arc<Message>], shown: &Shown) -> Vec<LettaMessage<'a>> {
    messages.iter().flat_map(|message| letta_messages(message, shown)).collect()
}

/// A part's own id: the message's, with its last byte replaced by the part's index and the byte's own top bit.
pub(crate) fn part_otid(message: MessageId, index: u8) -> String {
    let mut bytes = *message.as_bytes();
    bytes[15] = (bytes[15] & 0x80) | (index & 0x7f);
    MessageId::from_bytes(bytes).uuid().hyphenated().to_string()
}

fn head<'a>(message: &'a Message, message_type: MessageType, body: Body<'a>) -> LettaMessage<'a> {
    LettaMessage {
        id: message.id,
        date: MessageDate(message.created_at),
        name: message.name.as_deref(),
        message_type,
        otid: None,
        sender_id: (),
        step_id: message.step,
        is_err: (),
        seq_id: (),
        run_id: message.run,
        body,
    }
}

fn whole<'a>(message: &'a Message, message_type: MessageType, otid: Option<&'a str>) -> LettaMessage<'a> {
    let mut texts = message.texts();
    let content = match (texts.next(), texts.next(), message.images().next()) {
        (None, _, None) => Content::Text("".into()),
        (Some(only), None, None) => Content::Text(only.into()),
        _ => Content::Parts(message.content.iter().filter_map(part).collect()),
    };
    LettaMessage { otid: otid.map(Cow::Borrowed), ..head(message, message_type, Body::Words { content }) }
}

fn part(part: &ContentPart) -> Option<Part<'_>> {
    match part {
        ContentPart::Text { text } => Some(Part::Text { text, signature: () }),
        ContentPart::Image(image) => Some(Part::Image { source: image.into() }),
        ContentPart::Reasoning { .. } => None,
    }
}

fn assistant<'a>(message: &'a Message, shown: &Shown, out: &mut Vec<LettaMessage<'a>>) {
    let mut push = |message_type, body| {
        let index = u8::try_from(out.len()).unwrap_or(u8::MAX);
        out.push(LettaMessage { otid: Some(part_otid(message.id, index).into()), ..head(message, message_type, body) });
    };
    for part in message.content.iter() {
        match part {
            ContentPart::Text { text } if text.is_empty() => {}
            // No model of this dialect answers with one.
            ContentPart::Image(_) => {}
            ContentPart::Text { text } => {
                push(MessageType::AssistantMessage, Body::Words { content: Content::Text((&**text).into()) });
            }
            ContentPart::Reasoning { text, is_native, signature } => {
                let body =
                    Body::Reasoning { source: source(*is_native), reasoning: text, signature: signature.as_deref() };
                push(MessageType::ReasoningMessage, body);
            }
        }
    }
    let spoken = |call: &ToolCall| if shown.use_assistant_message { call.spoken() } else { None };
    for words in message.tool_calls.iter().filter_map(spoken) {
        push(MessageType::AssistantMessage, Body::Words { content: Content::Text(words.into()) });
    }
    let calls: Vec<CallState<'_>> = message.tool_calls.iter().filter(|call| spoken(call).is_none()).map(call).collect();
    if let Some(first) = calls.first().cloned() {
        push(MessageType::ToolCallMessage, Body::Calls { tool_call: first, tool_calls: calls });
    }
}

/// Letta's word for where a thought comes from.
pub(crate) fn source(is_native: bool) -> &'static str {
    if is_native { "reasoner_model" } else { "non_reasoner_model" }
}

fn call(call: &ToolCall) -> CallState<'_> {
    CallState { name: &call.name, arguments: &call.arguments, tool_call_id: &call.id }
}

/// A tool message, without the returns that only say that the user was spoken to.
fn returns<'a>(message: &'a Message, shown: &Shown) -> Option<LettaMessage<'a>> {
    let hidden = |one: &ToolReturn| {
        shown.use_assistant_message && &*one.name == SEND_MESSAGE && one.status == ToolStatus::Success
    };
    let state = |one: &'a ToolReturn| ReturnState {
        kind: "tool",
        tool_return: &one.text,
        status: one.status.as_str(),
        tool_call_id: &one.call_id,
        stdout: (),
        stderr: (),
    };
    let kept: Vec<&ToolReturn> = message.tool_returns.iter().filter(|one| !hidden(one)).collect();
    let first = kept.first()?;
    let body = Body::Returns(Returns {
        tool_return: &first.text,
        status: first.status.as_str(),
        tool_call_id: &first.call_id,
        stdout: (),
        stderr: (),
        tool_returns: kept.iter().map(|one| state(one)).collect(),
    });
    let one = head(message, MessageType::ToolReturnMessage, body);
    Some(LettaMessage { name: Some(&first.name), otid: Some(part_otid(message.id, 0).into()), ..one })
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
