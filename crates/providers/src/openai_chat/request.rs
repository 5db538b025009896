//! A request as the dialect writes it, straight from the borrowed [`ModelRequest`].
//!
//! An agent has hundreds of messages in its context, and each call sends them all; those that an earlier call wrote are
//! not written again. The same request always gives the same bytes, which vendors' prompt caches depend on.

use std::fmt;

use domain::image::{ImageDetail, ImageSource};
use domain::message::{ContentPart, Role, ToolCall};
use domain::model_config::ResponseFormat;
use domain::seams::chat_model::{ChatMessage, ModelRequest, ToolChoice, ToolSpec};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::rendered::RenderedMessages;
use crate::profile::{EffortRule, MaxTokensField, ReasoningField, RequestRules};

/// The body of a request. What `rendered` has of its messages is copied.
pub(crate) fn body(
    request: &ModelRequest,
    rules: &RequestRules,
    rendered: &RenderedMessages,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::with_capacity(expected_size(request));
    body.extend_from_slice(b"{\"model\":");
    serde_json::to_writer(&mut body, &*request.model)?;
    body.extend_from_slice(b",\"messages\":[");
    rendered.write(request.conversation, &request.messages, rules.reasoning_sent_as, &mut body)?;
    body.push(b']');
    // The settings are an object of their own, which is never empty; its first brace becomes the comma before it.
    let settings = body.len();
    serde_json::to_writer(&mut body, &Settings::new(request, rules))?;
    body[settings] = b',';
    Ok(body)
}

/// One message as the dialect writes it.
pub(crate) fn write_message(
    message: &ChatMessage,
    reasoning: Option<ReasoningField>,
    json: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    serde_json::to_writer(json, &WireMessage { message, reasoning })
}

/// Room for the texts and their wrapping, so that the buffer grows once or never.
fn expected_size(request: &ModelRequest) -> usize {
    let texts: usize = request
        .messages
        .iter()
        .map(|message| {
            let parts: usize = message.content.iter().map(part_size).sum();
            let calls: usize = message.tool_calls.iter().map(|call| call.arguments.len() + 128).sum();
            parts + calls + 96
        })
        .sum();
    texts + texts / 8 + request.tools.len() * 1536 + 512
}

fn part_size(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text { text } => text.len(),
        ContentPart::Image(image) => image.source.size() + 96,
        ContentPart::Reasoning { .. } => 0,
    }
}

/// Everything but the model's name and the messages.
#[derive(Serialize)]
struct Settings<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logit_bias: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Settings<'a> {
    fn new(request: &'a ModelRequest, rules: &'a RequestRules) -> Self {
        let model = &*request.model;
        let thinks = rules.is_reasoning_model(model);
        let sends_effort = thinks || rules.reasoning_effort == EffortRule::Always;
        let has_tools = !request.tools.is_empty();
        let sampling = &request.sampling;
        let limit = sampling.max_output_tokens;
        Self {
            tools: has_tools.then(|| Tools::of(request, rules)),
            tool_choice: has_tools.then(|| Choice::of(&request.tool_choice, rules)),
            parallel_tool_calls: (has_tools && rules.knows_parallel_calls(model))
                .then_some(request.parallel_tool_calls),
            temperature: sampling.temperature.filter(|_| !thinks),
            top_p: sampling.top_p.filter(|_| !thinks),
            frequency_penalty: sampling.frequency_penalty.filter(|_| !thinks),
            presence_penalty: sampling.presence_penalty.filter(|_| !thinks),
            logit_bias: sampling.logit_bias.as_ref().filter(|_| !thinks),
            stop: Some(&*sampling.stop).filter(|stop| !stop.is_empty()),
            seed: sampling.seed,
            max_tokens: limit.filter(|_| rules.max_tokens_field == MaxTokensField::MaxTokens),
            max_completion_tokens: limit.filter(|_| rules.max_tokens_field == MaxTokensField::MaxCompletionTokens),
            reasoning_effort: sampling.reasoning_effort.as_deref().filter(|_| sends_effort),
            verbosity: sampling.verbosity.as_deref(),
            response_format: sampling.response_format.as_ref().and_then(Format::of),
            stream: true,
            stream_options: rules.stream_options.then_some(StreamOptions { include_usage: true }),
            user: sampling.user.as_deref(),
        }
    }
}

struct WireMessage<'a> {
    message: &'a ChatMessage,
    reasoning: Option<ReasoningField>,
}

impl Serialize for WireMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.message;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", role_word(message.role))?;
        map.serialize_entry("content", &Content(message))?;
        if let Some(field) = self.reasoning
            && let Some(text) = native_reasoning(message)
        {
            let name = match field {
                ReasoningField::ReasoningContent => "reasoning_content",
                ReasoningField::Reasoning => "reasoning",
            };
            map.serialize_entry(name, &text)?;
        }
        if !message.tool_calls.is_empty() {
            map.serialize_entry("tool_calls", &Calls(&message.tool_calls))?;
        }
        if let Some(call) = &message.tool_call_id {
            map.serialize_entry("tool_call_id", &**call)?;
        }
        map.end()
    }
}

/// The dialect has no word for approvals: such a message is the assistant's wish to call a tool.
fn role_word(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant | Role::Approval => "assistant",
        Role::Tool => "tool",
    }
}

/// The reasoning that the model itself wrote; a thought that was a tool argument goes back as one.
fn native_reasoning(message: &ChatMessage) -> Option<Joined<'_>> {
    let is_native = |part: &ContentPart| matches!(part, ContentPart::Reasoning { is_native: true, .. });
    message.content.iter().any(is_native).then_some(Joined(&message.content))
}

struct Joined<'a>(&'a [ContentPart]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in self.0 {
            if let ContentPart::Reasoning { text, is_native: true, .. } = part {
                f.write_str(text)?;
            }
        }
        Ok(())
    }
}

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

struct Content<'a>(&'a ChatMessage);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.content.iter().any(|part| part.as_image().is_some()) {
            return serializer.collect_seq(self.0.content.iter().filter_map(Part::of));
        }
        let mut texts = self.0.content.iter().filter_map(ContentPart::as_text);
        let Some(first) = texts.next() else {
            let calls_only = !self.0.tool_calls.is_empty();
            return if calls_only { serializer.serialize_none() } else { serializer.serialize_str("") };
        };
        let Some(second) = texts.next() else {
            return serializer.serialize_str(first);
        };
        let mut parts = serializer.serialize_seq(None)?;
        for text in [first, second].into_iter().chain(texts) {
            parts.serialize_element(&Part::Text { text })?;
        }
        parts.end()
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Address<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
}

impl<'a> Part<'a> {
    fn of(part: &'a ContentPart) -> Option<Self> {
        match part {
            // Some vendors refuse a text part without text.
            ContentPart::Text { text } if text.is_empty() => None,
            ContentPart::Text { text } => Some(Self::Text { text }),
            ContentPart::Image(image) => {
                let detail = image.detail.map(ImageDetail::as_str);
                Some(Self::ImageUrl { image_url: ImageUrl { url: Address(&image.source), detail } })
            }
            ContentPart::Reasoning { .. } => None,
        }
    }
}

/// The dialect has one field for an image and for the way to it.
struct Address<'a>(&'a ImageSource);

impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ImageSource::Url { url } => f.write_str(url),
            ImageSource::Base64 { media_type, data } => write!(f, "data:{};base64,{data}", media_type.as_str()),
        }
    }
}

impl Serialize for Address<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

struct Calls<'a>(&'a [ToolCall]);

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|call| WireCall {
            id: &call.id,
            kind: "function",
            function: CalledFunction { name: &call.name, arguments: &call.arguments },
        }))
    }
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

struct Tools<'a> {
    tools: &'a [ToolSpec],
    /// The only tool that is shown, where the server can't be told to call it.
    only: Option<&'a str>,
}

impl<'a> Tools<'a> {
    fn of(request: &'a ModelRequest, rules: &RequestRules) -> Self {
        let only = match &request.tool_choice {
            ToolChoice::Function(name) if !rules.tool_choice_function => Some(&**name),
            ToolChoice::Function(_) | ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
        };
        Self { tools: &request.tools, only }
    }
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = self.tools.iter().filter(|tool| self.only.is_none_or(|only| only == &*tool.name));
        serializer.collect_seq(shown.map(|tool| WireTool {
            kind: "function",
            function: OfferedFunction {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
                strict: tool.strict,
            },
        }))
    }
}

#[derive(Serialize)]
struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Function {
        #[serde(rename = "type")]
        kind: &'static str,
        function: ChosenFunction<'a>,
    },
}

#[derive(Serialize)]
struct ChosenFunction<'a> {
    name: &'a str,
}

impl<'a> Choice<'a> {
    fn of(choice: &'a ToolChoice, rules: &RequestRules) -> Self {
        match choice {
            ToolChoice::Function(name) if rules.tool_choice_function => {
                Self::Function { kind: "function", function: ChosenFunction { name } }
            }
            ToolChoice::None => Self::Word("none"),
            ToolChoice::Function(_) | ToolChoice::Required if rules.tool_choice_required => Self::Word("required"),
            ToolChoice::Function(_) | ToolChoice::Required | ToolChoice::Auto => Self::Word("auto"),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonObject,
    JsonSchema { json_schema: &'a Value },
}

impl<'a> Format<'a> {
    /// Free text is what every server gives unasked, and some don't know the word for it.
    fn of(format: &'a ResponseFormat) -> Option<Self> {
        match format {
            ResponseFormat::Text => None,
            ResponseFormat::JsonObject => Some(Self::JsonObject),
            ResponseFormat::JsonSchema { json_schema } => Some(Self::JsonSchema { json_schema }),
        }
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
