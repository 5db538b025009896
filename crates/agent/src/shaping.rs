//! Holds an answer to the JSON shape that its caller wants, where the vendor can't.
//!
//! Nothing of such an answer is shown before it was looked at. One that does not fit is asked for again with what was
//! wrong with it; neither the misfit nor the complaint is stored.

use std::sync::Arc;

use domain::agent::LoopPolicy;
use domain::seams::chat_model::{ChatMessage, ChatModel, FinishReason};
use domain::{ContentPart, ResponseFormat, Role, ToolCall, Usage};
use prompt::answer_shape::{AnswerShape, complaint};

use crate::ask_model::Answer;
use crate::events::RunFailure;

/// How often an answer is asked for again.
const MAX_REPEATS: u32 = 2;

/// The shape of one answer, and what was tried to get it.
pub(crate) struct Shaping {
    shape: Option<AnswerShape>,
    shown: Vec<ChatMessage>,
    repeats: u32,
    spent: Usage,
}

/// What becomes of an answer.
pub(crate) enum Judged {
    Taken(Box<Answer>),
    AskAgain,
}

impl Shaping {
    /// What has to be done for an answer of `model` to have the shape of `format`. Vendors hold plain answers to a shape,
    /// never what is said by a tool.
    pub(crate) fn new(
        model: &dyn ChatModel,
        policy: LoopPolicy,
        format: Option<&ResponseFormat>,
    ) -> Result<Self, RunFailure> {
        let enforces = |format: &ResponseFormat| policy == LoopPolicy::V3 && model.enforces(format);
        let shape = match format.filter(|format| !enforces(format)) {
            None => None,
            Some(format) => AnswerShape::of(format).map_err(|fault| RunFailure::BadShape(fault.0))?,
        };
        let shown = shape.iter().map(|shape| said(Role::System, shape.instruction())).collect();
        Ok(Self { shape, shown, repeats: 0, spent: Usage::default() })
    }

    /// Whether words must not be shown before they were looked at.
    pub(crate) fn holds(&self) -> bool {
        self.shape.is_some()
    }

    /// What the model is shown after the context.
    pub(crate) fn shown(&self) -> &[ChatMessage] {
        &self.shown
    }

    /// Looks at an answer. One that calls tools is not the last word yet, and one that was cut can't be mended.
    pub(crate) fn judge(&mut self, mut answer: Answer) -> Result<Judged, RunFailure> {
        let Some(shape) = &self.shape else { return Ok(Judged::Taken(Box::new(answer))) };
        answer.usage += self.spent;
        let words = spoken(&answer).filter(|_| answer.finish != FinishReason::Length);
        let Some(words) = words else { return Ok(Judged::Taken(Box::new(answer))) };
        match shape.check(&words) {
            Ok(bare) => {
                if answer.calls.is_empty() {
                    answer.text = bare;
                }
                Ok(Judged::Taken(Box::new(answer)))
            }
            Err(fault) if self.repeats >= MAX_REPEATS => Err(RunFailure::WrongShape(fault)),
            Err(fault) => {
                self.repeats += 1;
                self.spent = answer.usage;
                self.shown.extend([said(Role::Assistant, words), said(Role::User, complaint(&fault))]);
                Ok(Judged::AskAgain)
            }
        }
    }
}

/// The words for the user: a plain answer, or those of the only call, if that is how the agent speaks.
fn spoken(answer: &Answer) -> Option<String> {
    match answer.calls.as_slice() {
        [] => Some(answer.text.clone()),
        [call] => {
            let call = ToolCall {
                id: Arc::default(),
                name: call.name.as_str().into(),
                arguments: call.arguments.as_str().into(),
            };
            call.spoken()
        }
        _ => None,
    }
}

fn said(role: Role, text: String) -> ChatMessage {
    ChatMessage { role, content: Arc::new([ContentPart::text(text)]), tool_calls: Arc::default(), tool_call_id: None }
}
