//! Turns a model's raw events into the pieces that a watcher may see.
//!
//! What is private stays marked as such: under V2 the words beside a tool call are the model's own thoughts, and its
//! words for the user are the decoded `message` argument of `send_message`.

use std::sync::Arc;

use domain::agent::LoopPolicy;
use domain::seams::chat_model::ModelEvent;
use domain::{MessageId, StepId, Timestamp};
use prompt::tool_specs::{SEND_MESSAGE, THINKING};
use tokio::sync::mpsc;

use crate::ask_model::Answer;
use crate::events::{Piece, PieceKind, RunEvent};
use crate::field_decoder::FieldDecoder;
use crate::input::ClientTools;

const FIELDS: &[&str] = &["message", THINKING];
const THINKING_FIELD: usize = 1;

/// Where a run's events go.
#[derive(Debug, Clone)]
pub struct EventSink {
    sender: mpsc::Sender<RunEvent>,
    pieces: bool,
}

impl EventSink {
    /// A sink that sends pieces too if `pieces` is set.
    pub fn new(sender: mpsc::Sender<RunEvent>, pieces: bool) -> Self {
        Self { sender, pieces }
    }

    /// A sink of which nobody hears anything.
    pub(crate) fn silent() -> Self {
        Self { sender: mpsc::channel(1).0, pieces: false }
    }

    /// Sends one event; a watcher that has left is no reason to stop.
    pub async fn send(&self, event: RunEvent) {
        if self.sender.send(event).await.is_err() {
            tracing::debug!("nobody watches this run any more");
        }
    }
}

/// What is fixed while one answer arrives.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is decided by itself, and any of them may hold")]
pub struct Hearing<'a> {
    pub sink: &'a EventSink,
    pub message: MessageId,
    pub step: StepId,
    pub at: Timestamp,
    pub policy: LoopPolicy,
    /// Thoughts are an argument of each call.
    pub inner_thoughts: bool,
    /// Whether `send_message` will run as the model writes it: words that will be refused or replaced are not shown.
    pub speaks: bool,
    /// Words are shown when the step is stored, because they may have to be asked for again.
    pub holds: bool,
    /// Tools that the client runs.
    pub client: &'a ClientTools,
    /// Whether calls of those are the client's in this answer.
    pub offers_client: bool,
}

impl<'a> Hearing<'a> {
    /// A model that answers in plain words and has no tools of ours.
    pub(crate) fn plain(
        sink: &'a EventSink,
        (message, step): (MessageId, StepId),
        at: Timestamp,
        client: &'a ClientTools,
    ) -> Self {
        Self {
            sink,
            message,
            step,
            at,
            policy: LoopPolicy::V3,
            inner_thoughts: false,
            speaks: false,
            holds: false,
            client,
            offers_client: false,
        }
    }
}

/// Listens to one answer.
pub struct Listener<'a> {
    hearing: Hearing<'a>,
    shown: bool,
    calls: Vec<Call>,
}

/// A call that is still being written.
enum Call {
    /// Shown as it is written.
    Plain { id: Arc<str> },
    /// Only the thought and, if it speaks, the words in it are shown.
    Decoded { decoder: FieldDecoder, speaks: bool },
    /// Nothing is shown of it: V2 takes one call of an answer, and a client's call that may hold a thought is shown
    /// when it is stored without it.
    Dropped,
}

impl<'a> Listener<'a> {
    /// A listener to the answer of one step.
    pub fn new(hearing: Hearing<'a>) -> Self {
        Self { hearing, shown: false, calls: Vec::new() }
    }

    /// Whether anything was shown to anybody.
    pub fn has_shown(&self) -> bool {
        self.shown
    }

    /// An attempt begins.
    pub fn begin(&mut self) {
        self.calls.clear();
    }

    /// Shows what `event` adds.
    pub async fn hear(&mut self, event: &ModelEvent) {
        if !self.hearing.sink.pieces {
            return;
        }
        match event {
            ModelEvent::Text(text) if self.hearing.policy == LoopPolicy::V3 && !self.hearing.holds => {
                self.show(PieceKind::Text(text.clone())).await;
            }
            // Under V2 these are thoughts, unless no call follows: `end` decides.
            ModelEvent::Text(_) | ModelEvent::ReasoningSignature(_) => {}
            ModelEvent::Reasoning(text) => {
                self.show(PieceKind::Reasoning { text: text.clone(), is_native: true }).await;
            }
            ModelEvent::ToolCallStarted { id, name, .. } => self.call_started(id, name).await,
            ModelEvent::ToolCallArguments { index, fragment } => self.arguments(*index, fragment).await,
            ModelEvent::Usage(_) | ModelEvent::Finished(_) => {}
        }
    }

    /// The answer is complete.
    pub async fn end(&mut self, answer: &Answer) {
        if !self.hearing.sink.pieces || self.hearing.policy == LoopPolicy::V3 || answer.text.is_empty() {
            return;
        }
        if self.hearing.holds && answer.calls.is_empty() {
            return;
        }
        let text = answer.text.clone();
        let kind = if answer.calls.is_empty() {
            PieceKind::Text(text)
        } else {
            PieceKind::Reasoning { text, is_native: false }
        };
        self.show(kind).await;
    }

    async fn show(&mut self, kind: PieceKind) {
        self.shown = true;
        let Hearing { message, step, at, .. } = self.hearing;
        self.hearing.sink.send(RunEvent::Piece(Piece { message, step, at, kind })).await;
    }

    async fn call_started(&mut self, id: &str, name: &str) {
        if self.hearing.policy == LoopPolicy::V2 && !self.calls.is_empty() {
            self.calls.push(Call::Dropped);
            return;
        }
        if self.hearing.client.spec(name).is_some() && !self.streams_client_calls() {
            self.calls.push(Call::Dropped);
            return;
        }
        let speaks = name == SEND_MESSAGE && self.hearing.speaks;
        if speaks || self.hearing.inner_thoughts {
            self.calls.push(Call::Decoded { decoder: FieldDecoder::new(FIELDS), speaks });
            return;
        }
        let call_id: Arc<str> = id.into();
        self.calls.push(Call::Plain { id: call_id.clone() });
        self.show(PieceKind::ToolCallStarted { call_id, name: name.into() }).await;
    }

    /// Whether what the model writes into a client's call is what the client gets. Agents that think in their calls may
    /// think in these too.
    fn streams_client_calls(&self) -> bool {
        let Hearing { policy, inner_thoughts, offers_client, .. } = self.hearing;
        offers_client && !inner_thoughts && policy == LoopPolicy::V3
    }

    async fn arguments(&mut self, index: usize, fragment: &str) {
        let (found, speaks) = match self.calls.get_mut(index) {
            None | Some(Call::Dropped) => return,
            Some(Call::Plain { id }) => {
                let call_id = id.clone();
                return self.show(PieceKind::ToolCallArguments { call_id, fragment: fragment.to_owned() }).await;
            }
            Some(Call::Decoded { decoder, speaks }) => (decoder.push(fragment), *speaks),
        };
        let thinks = self.hearing.inner_thoughts;
        for piece in found {
            match piece.field {
                THINKING_FIELD if thinks => {
                    self.show(PieceKind::Reasoning { text: piece.text, is_native: false }).await;
                }
                THINKING_FIELD => {}
                _ if speaks && !self.hearing.holds => self.show(PieceKind::Text(piece.text)).await,
                _ => {}
            }
        }
    }
}
