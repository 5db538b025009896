//! Messages: what was said, thought, called and returned, in the order of their `sequence_id`.

use std::sync::Arc;

use jiff::Timestamp;

use crate::ids::{AgentId, ConversationId, IdentityId, MessageId, OrganizationId, RunId, StepId};
use crate::image::Image;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
    Approval,
}

impl Role {
    /// The word that stores and dialects use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Approval => "approval",
        }
    }

    /// The role of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant, Self::Tool, Self::Approval]
            .into_iter()
            .find(|role| role.as_str() == text)
    }
}

/// A piece of a message's content.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Words, as the model sees them.
    Text { text: Arc<str> },
    /// Private reasoning.
    Reasoning {
        text: Arc<str>,
        /// True if the model has reasoning of its own, false if it wrote the thought as a tool argument.
        is_native: bool,
        /// The vendor's proof of authorship, to be sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Arc<str>>,
    },
    /// Something to look at. Only users' messages hold images.
    Image(Image),
}

impl ContentPart {
    /// A text part.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The words of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Reasoning { .. } | Self::Image(_) => None,
        }
    }

    /// The image of an image part.
    pub fn as_image(&self) -> Option<&Image> {
        match self {
            Self::Image(image) => Some(image),
            Self::Text { .. } | Self::Reasoning { .. } => None,
        }
    }
}

/// A model's wish to have a tool run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolCall {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// JSON text as the model wrote it, without the injected thought.
    pub arguments: Arc<str>,
}

/// The tool by which agents that must call tools speak to the user.
pub const SEND_MESSAGE: &str = "send_message";

impl ToolCall {
    /// The words for the user, if this is a call of [`SEND_MESSAGE`]. A structured message is given as JSON.
    pub fn spoken(&self) -> Option<String> {
        if &*self.name != SEND_MESSAGE {
            return None;
        }
        let arguments: serde_json::Value = serde_json::from_str(&self.arguments).ok()?;
        match arguments.get("message")? {
            serde_json::Value::String(text) => Some(text.clone()),
            structured => Some(structured.to_string()),
        }
    }
}

/// How a tool call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Success,
    Error,
}

impl ToolStatus {
    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
        }
    }
}

/// What a tool answered. The packed text that the model is shown is the message's content.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolReturn {
    pub call_id: Arc<str>,
    pub name: Arc<str>,
    pub status: ToolStatus,
    /// The bare return, without the envelope.
    pub text: Arc<str>,
}

/// Whether a message is part of what the agent remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Standing {
    /// It was said, and a search finds it.
    #[default]
    Kept,
    /// The client went back to before it. It stays, and a search finds it only if asked to.
    Superseded,
    /// A client's example of how to answer: part of the context, never of what is remembered.
    Example,
}

impl Standing {
    /// The word that the store uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Superseded => "superseded",
            Self::Example => "example",
        }
    }

    /// The standing of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Kept, Self::Superseded, Self::Example].into_iter().find(|standing| standing.as_str() == text)
    }
}

/// A message, kept for ever.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: MessageId,
    pub organization: OrganizationId,
    pub agent: AgentId,
    pub conversation: ConversationId,
    /// Whose message it is, where a caller named a person.
    pub identity: Option<IdentityId>,
    /// The store's order; 0 until committed.
    pub sequence_id: u64,
    pub role: Role,
    pub content: Arc<[ContentPart]>,
    /// Calls of an assistant or approval message.
    pub tool_calls: Arc<[ToolCall]>,
    /// Returns of a tool message, one content part each.
    pub tool_returns: Arc<[ToolReturn]>,
    pub name: Option<Arc<str>>,
    /// The model that wrote it.
    pub model: Option<Arc<str>>,
    /// The client's own id for it.
    pub otid: Option<Arc<str>>,
    pub run: Option<RunId>,
    pub step: Option<StepId>,
    pub standing: Standing,
    pub created_at: Timestamp,
}

impl Message {
    /// All its words, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(ContentPart::as_text)
    }

    /// All its images, in order.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.content.iter().filter_map(ContentPart::as_image)
    }

    /// The first text part, which is all of the text of most messages.
    pub fn first_text(&self) -> &str {
        self.texts().next().unwrap_or_default()
    }
}
