//! A run that is over: what its watcher heard, what its model was asked, and what is kept of it.

use std::fmt::Write;
use std::sync::Arc;

use agent::events::{Finished, PieceKind, RunEvent};
use domain::seams::chat_model::{ModelRequest, ToolChoice};
use domain::{ContentPart, Message, MessageId, Role, RunStatus, ToolStatus};
use expect_test::Expect;

use crate::house::House;

pub(crate) struct Played {
    pub(crate) finished: Finished,
    pub(crate) events: Vec<RunEvent>,
    /// Everything that the model was asked, in order.
    pub(crate) requests: Vec<Arc<ModelRequest>>,
    /// Every message of the agent after the run.
    pub(crate) messages: Vec<Arc<Message>>,
}

impl Played {
    /// The run as a script, step by step.
    pub(crate) fn script(&self) -> String {
        let mut script = String::new();
        for (index, request) in self.requests.iter().enumerate() {
            let tools: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
            let choice = match &request.tool_choice {
                ToolChoice::Auto => "may call",
                ToolChoice::None => "may look at",
                ToolChoice::Required => "must call one of",
                ToolChoice::Function(_) => "must call",
            };
            let tools = if tools.is_empty() { "nothing".to_owned() } else { tools.join(", ") };
            writeln!(script, "> {choice} {tools}").unwrap();
            let asked_again = self.requests[index + 1..].iter().any(|later| later.step == request.step);
            let step = self.stored().filter(|message| message.step == Some(request.step) && !asked_again);
            script.extend(step.map(|message| lines(message)));
        }
        script + self.finished.stop_reason.as_str()
    }

    /// Compares the run with what it should have been.
    pub(crate) fn expect(&self, expected: Expect) {
        expected.assert_eq(&self.script());
    }

    /// The messages that this run left.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.messages.iter().filter(|message| message.run == Some(self.finished.run))
    }

    /// The text of the system message in a request.
    pub(crate) fn system(&self, request: usize) -> &str {
        let first = &self.requests[request].messages[0];
        assert_eq!(first.role, Role::System);
        first.content[0].as_text().unwrap()
    }

    /// Pieces in order.
    pub(crate) fn pieces(&self) -> Vec<PieceKind> {
        let pieces = self.events.iter().filter_map(|event| match event {
            RunEvent::Piece(piece) => Some(piece.kind.clone()),
            RunEvent::StepCommitted { .. } | RunEvent::Finished(_) => None,
        });
        pieces.collect()
    }

    /// What must be true of every run.
    pub(crate) async fn check(&self, house: &House) {
        self.check_rows(house).await;
        self.check_context(house).await;
        self.check_events();
    }

    /// The run's row is closed and says what the caller was told, and what is kept besides.
    async fn check_rows(&self, house: &House) {
        let row = house.run_row(self.finished.run).await;
        let steps = house.store.steps_of_run(house.me.organization, row.id).await.unwrap();
        assert_eq!(row.stop_reason, Some(self.finished.stop_reason));
        assert_eq!(row.status, self.finished.stop_reason.run_status());
        assert!(row.completed_at.is_some());
        let went_wrong = self.finished.failure.is_some() || row.status == RunStatus::Cancelled;
        assert_eq!(row.error.is_some(), went_wrong, "{:?}", row.error);
        assert_eq!((row.usage, row.step_count), (self.finished.usage, self.finished.step_count));
        assert_eq!(row.step_count as usize, steps.len(), "steps that are told of are kept");
        let tokens: u64 = steps.iter().map(|step| step.usage.total_tokens).sum();
        assert!(tokens == row.usage.total_tokens || went_wrong, "an open step may cost tokens and leave nothing else");
        for message in self.stored().filter(|message| message.role != Role::System) {
            assert!(steps.iter().any(|step| Some(step.id) == message.step), "a message belongs to a step that is kept");
        }
    }

    /// The context holds every message, the system message first, and no call without its return.
    async fn check_context(&self, house: &House) {
        let context = house.fresh().context_ids(house.me.organization, house.conversation).await.unwrap();
        let mut all: Vec<MessageId> = self.messages.iter().map(|message| message.id).collect();
        let system = self.messages.iter().position(|message| message.role == Role::System);
        if let Some(system) = system {
            all[..=system].rotate_right(1);
        }
        let snapshot = house.snapshot().await;
        if !snapshot.agent.message_buffer_autoclear {
            assert_eq!(context, all);
        }
        let warm: Vec<MessageId> = snapshot.context.iter().map(|message| message.id).collect();
        assert_eq!(context, warm, "memory and file are of one mind");
        for (index, message) in self.messages.iter().enumerate().filter(|(_, message)| !message.tool_calls.is_empty()) {
            let calls: Vec<_> = message.tool_calls.iter().map(|call| &call.id).collect();
            let returns: Vec<_> = self.messages[index + 1].tool_returns.iter().map(|one| &one.call_id).collect();
            assert_eq!(calls, returns);
        }
    }

    /// A watcher is told of each message that is kept, and pieces of words are those of the message.
    fn check_events(&self) {
        let told: Vec<MessageId> = self.events.iter().flat_map(told_in).collect();
        let kept = self.stored().filter(|message| matches!(message.role, Role::Assistant | Role::Tool));
        assert_eq!(told, kept.map(|message| message.id).collect::<Vec<_>>());
        for message in self.stored() {
            let words: String = self.events.iter().filter_map(|event| text_of(event, message.id)).collect();
            assert!(words.is_empty() || words == spoken(message), "shown: {words}\nkept: {}", spoken(message));
        }
    }
}

fn told_in(event: &RunEvent) -> Vec<MessageId> {
    match event {
        RunEvent::StepCommitted { messages, .. } => messages.iter().map(|message| message.id).collect(),
        RunEvent::Piece(_) | RunEvent::Finished(_) => Vec::new(),
    }
}

/// The words for the user that `event` adds to a message.
fn text_of(event: &RunEvent, id: MessageId) -> Option<&str> {
    match event {
        RunEvent::Piece(piece) if piece.message == id => match &piece.kind {
            PieceKind::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The words for the user in a message.
pub(crate) fn spoken(message: &Message) -> String {
    let said = message.tool_calls.iter().filter_map(domain::ToolCall::spoken);
    message.texts().map(str::to_owned).chain(said).collect()
}

/// A message as lines of a script.
fn lines(message: &Message) -> String {
    let who = message.role.as_str();
    if message.role == Role::Tool {
        let returns = message.tool_returns.iter().map(|one| {
            let status = if one.status == ToolStatus::Success { "" } else { " failed" };
            format!("{who} {}{status}: {}\n", one.name, one.text)
        });
        return returns.collect();
    }
    let parts = message.content.iter().map(|part| match part {
        ContentPart::Text { text } => format!("{who}: {}\n", bare(text)),
        ContentPart::Reasoning { text, is_native: true, .. } => format!("{who} reasons: {text}\n"),
        ContentPart::Reasoning { text, .. } => format!("{who} thinks: {text}\n"),
        ContentPart::Image(_) => format!("{who} shows an image\n"),
    });
    let calls = message.tool_calls.iter().map(|call| format!("{who} calls {} {}\n", call.name, call.arguments));
    parts.chain(calls).collect()
}

/// The text of a heartbeat without its envelope; any other text as it is.
fn bare(text: &str) -> String {
    let envelope: Option<serde_json::Value> = serde_json::from_str(text).ok();
    match envelope.as_ref().and_then(|envelope| envelope["reason"].as_str()) {
        Some(reason) => format!("(heartbeat) {}", reason.trim_start_matches(prompt::packaging::NON_USER_MSG_PREFIX)),
        None => text.to_owned(),
    }
}
