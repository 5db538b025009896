//! The events of a streamed answer: `data:` lines of compact JSON, a blank line after each.

use std::fmt::Write;

use dispatch::events::{Finished, Piece, PieceKind, RunEvent};
use domain::{Message, MessageId, RunId, StopReason, Timestamp, Usage};
use serde::Serialize;

use super::errors::ModelFailure;
use super::message_requests::Streaming;
use super::messages::{Body, CallPiece, Content, LettaMessage, MessageType, Shown, letta_messages, part_otid, source};
use super::times::MessageDate;
use crate::error::ApiError;

/// Why a run stopped.
#[derive(Debug, Serialize)]
pub(crate) struct StopReasonState {
    message_type: &'static str,
    stop_reason: &'static str,
}

impl From<StopReason> for StopReasonState {
    fn from(reason: StopReason) -> Self {
        Self { message_type: "stop_reason", stop_reason: reason.as_str() }
    }
}

/// What a run cost.
#[derive(Debug, Serialize)]
pub(crate) struct UsageState {
    message_type: &'static str,
    completion_tokens: u64,
    prompt_tokens: u64,
    total_tokens: u64,
    step_count: u32,
    run_ids: (),
    cached_input_tokens: u64,
    cache_write_tokens: u64,
    reasoning_tokens: u64,
}

impl UsageState {
    /// The usage of a run of so many steps.
    pub(crate) fn new(usage: Usage, step_count: u32) -> Self {
        Self {
            message_type: "usage_statistics",
            completion_tokens: usage.completion_tokens,
            prompt_tokens: usage.prompt_tokens,
            total_tokens: usage.total_tokens,
            step_count,
            run_ids: (),
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}

#[derive(Serialize)]
struct ErrorMessage<'a> {
    message_type: &'static str,
    run_id: RunId,
    error_type: &'a str,
    message: &'a str,
    detail: &'a str,
}

/// Which parts of a message were streamed already.
#[derive(Debug)]
struct Heard {
    message: MessageId,
    parts: Vec<MessageType>,
}

/// Writes events as a client wants them.
#[derive(Debug)]
pub(crate) struct EventWriter {
    run: RunId,
    shown: Shown,
    streaming: Streaming,
    heard: Option<Heard>,
    ready: String,
}

impl EventWriter {
    /// A writer of `run`'s events.
    pub(crate) fn new(run: RunId, shown: Shown, streaming: Streaming) -> Self {
        Self { run, shown, streaming, heard: None, ready: String::new() }
    }

    /// What was written since the last look.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.ready)
    }

    /// Writes `event`; true if it was the last.
    pub(crate) fn event(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Piece(piece) => self.piece(piece),
            RunEvent::StepCommitted { messages, .. } => messages.iter().for_each(|message| self.message(message)),
            RunEvent::Finished(finished) => {
                self.finished(finished);
                return true;
            }
        }
        false
    }

    /// A sign of life: one that clients see, or one that only keeps the connection open.
    pub(crate) fn quiet(&mut self, ping: bool, now: Timestamp) {
        if ping {
            self.push(&LettaMessage {
                id: MessageId::random(),
                date: MessageDate(now),
                name: None,
                message_type: MessageType::Ping,
                otid: None,
                sender_id: (),
                step_id: None,
                is_err: (),
                seq_id: (),
                run_id: Some(self.run),
                body: Body::Ping {},
            });
        } else {
            self.ready.push_str(": keep-alive\n\n");
        }
    }

    /// The stream broke off for a fault of ours.
    pub(crate) fn broken(&mut self) {
        self.push(&StopReasonState::from(StopReason::Error));
        self.error(&ApiError::internal().failure());
        self.done();
    }

    fn piece(&mut self, piece: &Piece) {
        if self.streaming != Streaming::Tokens {
            return;
        }
        let text = |text| Body::Words { content: Content::Text(text) };
        let call = |name, arguments, tool_call_id| {
            let one = CallPiece { name, arguments, tool_call_id };
            Body::CallPiece { tool_call: one.clone(), tool_calls: one }
        };
        let (message_type, body) = match &piece.kind {
            PieceKind::Text(words) => (MessageType::AssistantMessage, text(words.as_str().into())),
            PieceKind::Reasoning { text, is_native } => (
                MessageType::ReasoningMessage,
                Body::Reasoning { source: source(*is_native), reasoning: text, signature: None },
            ),
            PieceKind::ToolCallStarted { call_id, name } => {
                (MessageType::ToolCallMessage, call(Some(&**name), None, &**call_id))
            }
            PieceKind::ToolCallArguments { call_id, fragment } => {
                (MessageType::ToolCallMessage, call(None, Some(fragment.as_str()), &**call_id))
            }
        };
        let index = self.part_index(piece.message, message_type);
        if self.is_wanted(message_type) {
            self.push(&LettaMessage {
                id: piece.message,
                date: MessageDate(piece.at),
                name: None,
                message_type,
                otid: Some(part_otid(piece.message, index).into()),
                sender_id: (),
                step_id: Some(piece.step),
                is_err: (),
                seq_id: (),
                run_id: Some(self.run),
                body,
            });
        }
    }

    /// The place of this kind of part among those of its message.
    fn part_index(&mut self, message: MessageId, part: MessageType) -> u8 {
        let heard = match &mut self.heard {
            Some(heard) if heard.message == message => heard,
            slot => slot.insert(Heard { message, parts: Vec::new() }),
        };
        let found = heard.parts.iter().position(|known| *known == part);
        let index = found.unwrap_or_else(|| {
            heard.parts.push(part);
            heard.parts.len() - 1
        });
        u8::try_from(index).unwrap_or(u8::MAX)
    }

    fn is_wanted(&self, message_type: MessageType) -> bool {
        self.shown.types.as_ref().is_none_or(|types| types.contains(&message_type))
    }

    /// A stored message, without the parts that were streamed.
    fn message(&mut self, message: &Message) {
        let shown = self.shown.clone();
        for one in letta_messages(message, &shown) {
            let heard = self.heard.as_ref().filter(|heard| heard.message == one.id);
            if !heard.is_some_and(|heard| heard.parts.contains(&one.message_type)) {
                self.push(&one);
            }
        }
    }

    fn finished(&mut self, finished: &Finished) {
        self.push(&StopReasonState::from(finished.stop_reason));
        match &finished.failure {
            Some(failure) => self.error(&ApiError::from(failure).failure()),
            None => self.push(&UsageState::new(finished.usage, finished.step_count)),
        }
        self.done();
    }

    fn error(&mut self, failure: &ModelFailure) {
        self.ready.push_str("event: error\n");
        let ModelFailure { kind, message, detail } = failure;
        let run_id = self.run;
        self.push(&ErrorMessage { message_type: "error_message", run_id, error_type: kind, message, detail });
    }

    fn done(&mut self) {
        self.ready.push_str("data: [DONE]\n\n");
    }

    fn push(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(json) => {
                // Writing into a String can't fail.
                let _ = write!(self.ready, "data: {json}\n\n");
            }
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
