//! What the vendor is to answer, before it is put into wire format.
//!
//! A reply says what a model wants; [`super::shape`] fits it to the request (forced tools, missing arguments).

use std::time::Duration;

use serde_json::{Map, Value};

use crate::sync::Gate;

/// One answer of the vendor.
#[derive(Debug, Clone, Default)]
pub struct VendorReply {
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) calls: Vec<WantedCall>,
    pub(super) refusal: Option<Refusal>,
    pub(super) retry_after: Option<String>,
    pub(super) delay: Duration,
    pub(super) gate: Option<Gate>,
    pub(super) halfway: Halfway,
    pub(super) finish: Option<String>,
    pub(super) total_tokens: Option<u64>,
    pub(super) verbatim: bool,
}

/// A tool call that the model wants to make.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WantedCall {
    pub(super) name: String,
    pub(super) arguments: Arguments,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arguments {
    /// Completed with what the tool's schema requires.
    Object(Map<String, Value>),
    /// Sent as it is, JSON or not.
    Text(String),
}

/// What happens when half of the answer is out.
#[derive(Debug, Clone, Default)]
pub(super) enum Halfway {
    #[default]
    GoOn,
    /// The connection is closed.
    Cut,
    /// Nothing more comes until the client leaves.
    Stall,
    /// The rest comes when the gate is released.
    Hold(Gate),
}

/// An error answer in OpenAI's shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) param: Option<String>,
    pub(super) code: Option<String>,
}

impl Refusal {
    /// A request that the vendor does not understand.
    pub(super) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), param: Some(param.into()), code: None }
    }

    /// An error that was asked for.
    pub(super) fn scripted(status: u16, code: Option<String>) -> Self {
        let usual = match status {
            401 => Some("invalid_api_key"),
            404 => Some("model_not_found"),
            429 => Some("rate_limit_exceeded"),
            _ => None,
        };
        let message = format!("the script asks for status {status}");
        Self { status, message, param: None, code: code.or(usual.map(str::to_owned)) }
    }
}

impl VendorReply {
    /// An answer in words. Where the model must call a tool and `send_message` is one, the words travel in it.
    pub fn say(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// One tool call; required arguments that are missing get a value of the right type.
    ///
    /// Anything but a JSON object is sent as its text, unfinished and unfilled.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// An error instead of an answer.
    pub fn error(status: u16) -> Self {
        Self { refusal: Some(Refusal::scripted(status, None)), ..Self::default() }
    }

    /// The error of a request that is longer than the model's context window.
    pub fn context_too_long() -> Self {
        let code = Some("context_length_exceeded".to_owned());
        Self { refusal: Some(Refusal::scripted(400, code)), ..Self::default() }
    }

    /// One more tool call.
    pub fn and_call(self, name: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(arguments) => Arguments::Object(arguments),
            other => Arguments::Text(other.to_string()),
        };
        self.with_call(name.into(), arguments)
    }

    /// One more tool call with exactly this argument text.
    pub fn and_call_text(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.with_call(name.into(), Arguments::Text(arguments.into()))
    }

    fn with_call(mut self, name: String, arguments: Arguments) -> Self {
        self.calls.push(WantedCall { name, arguments });
        self
    }

    /// Words beside the calls.
    pub fn and_say(self, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    /// Private reasoning before the answer.
    pub fn thinking(self, text: impl Into<String>) -> Self {
        Self { reasoning: Some(text.into()), ..self }
    }

    /// The error's `Retry-After` header.
    pub fn retry_after(self, seconds: impl ToString) -> Self {
        Self { retry_after: Some(seconds.to_string()), ..self }
    }

    /// Waits before the first byte.
    pub fn delayed(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Sends nothing, not even a status, until `gate` is released.
    pub fn held_by(self, gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..self }
    }

    /// Sends half of the answer, and the rest when `gate` is released.
    pub fn held_halfway(self, gate: &Gate) -> Self {
        Self { halfway: Halfway::Hold(gate.clone()), ..self }
    }

    /// Closes the connection when half of the answer is out.
    pub fn cut(self) -> Self {
        Self { halfway: Halfway::Cut, ..self }
    }

    /// Sends half of the answer, then waits until the client leaves.
    pub fn stalled(self) -> Self {
        Self { halfway: Halfway::Stall, ..self }
    }

    /// Stops with this reason, whatever was said.
    pub fn finished_as(self, reason: impl Into<String>) -> Self {
        Self { finish: Some(reason.into()), ..self }
    }

    /// Reports this many tokens for request and answer together.
    pub fn total_tokens(self, tokens: u64) -> Self {
        Self { total_tokens: Some(tokens), ..self }
    }

    /// Sends the reply as it is, even where an honest model would have to call a tool or to fill in arguments.
    pub fn verbatim(self) -> Self {
        Self { verbatim: true, ..self }
    }
}
