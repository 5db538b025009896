//! Builds the messages of one step as they are stored.
//!
//! Models and tools may write anything. NUL, which no store keeps, is replaced here, so that it can't cost a run.

use std::sync::Arc;

use domain::{ContentPart, Message, MessageId, Role, RunId, StepId, Timestamp, ToolCall, ToolReturn, ToolStatus};
use prompt::client_tools::ABANDONED;
use prompt::{heartbeats, packaging};

use crate::ask_model::Answer;
use crate::input::{ClientReturn, InputMessage, PastMessage, RunInput};
use crate::plan::PlannedCall;
use crate::step_loop::{Heartbeat, Returned};

/// What all messages of one step have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepFrame<'a> {
    pub(crate) input: &'a RunInput,
    pub(crate) step: StepId,
    /// The agent's time zone.
    pub(crate) zone: &'a str,
    pub(crate) at: Timestamp,
}

impl StepFrame<'_> {
    /// A message with nothing in it yet.
    fn message(&self, id: MessageId, role: Role, content: Vec<ContentPart>) -> Message {
        Message {
            id,
            organization: self.input.actor.organization,
            agent: self.input.agent,
            conversation: self.input.conversation,
            identity: self.input.identity,
            sequence_id: 0,
            role,
            content: content.into(),
            tool_calls: Arc::new([]),
            tool_returns: Arc::new([]),
            name: None,
            model: None,
            otid: None,
            run: Some(self.run()),
            step: Some(self.step),
            standing: domain::Standing::Kept,
            created_at: self.at,
        }
    }

    fn run(&self) -> RunId {
        self.input.run
    }

    /// What the caller brought.
    pub(crate) fn input(&self, input: &InputMessage) -> Message {
        let mut message = self.message(MessageId::at(self.at), input.role, Vec::new());
        message.content = input.content.clone();
        message.name = input.name.clone();
        message.otid = input.otid.clone();
        message
    }

    /// What was said elsewhere.
    pub(crate) fn past(&self, past: &PastMessage) -> Message {
        let mut message = self.message(MessageId::at(self.at), past.role, Vec::new());
        message.content = past.content.clone();
        message.tool_calls = past.tool_calls.clone();
        message.tool_returns = past.tool_returns.clone();
        message.name = past.name.clone();
        message.standing = past.standing;
        // No run of ours said it.
        message.run = None;
        message
    }

    /// What the client's tools gave back for the calls that wait; a call of which nothing came has failed. None if none
    /// waits.
    pub(crate) fn client_returns(&self, waiting: &[&ToolCall], returns: &[ClientReturn]) -> Option<Message> {
        let first = waiting.first()?;
        let answered = waiting.iter().map(|call| {
            let given = returns.iter().find(|given| given.call_id == call.id);
            let (status, text) = given.map_or((ToolStatus::Error, ABANDONED.into()), |it| (it.status, it.text.clone()));
            ToolReturn { call_id: call.id.clone(), name: call.name.clone(), status, text: storable(text) }
        });
        let returns: Vec<ToolReturn> = answered.collect();
        // Without an envelope: the client's words are the client's.
        let content = returns.iter().map(|returned| ContentPart::text(returned.text.clone())).collect();
        let mut message = self.message(MessageId::at(self.at), Role::Tool, content);
        message.name = Some(first.name.clone());
        message.tool_returns = returns.into();
        Some(message)
    }

    /// The system message of a conversation that has none yet.
    pub(crate) fn system(&self, text: String) -> Message {
        let mut message = self.message(MessageId::at(self.at), Role::System, vec![ContentPart::text(text)]);
        message.step = None;
        message
    }

    /// What the model said, thought and called; None if that was nothing.
    pub(crate) fn assistant(
        &self,
        id: MessageId,
        answer: &Answer,
        calls: &[PlannedCall],
        words_are_thoughts: bool,
    ) -> Option<Message> {
        let mut content = Vec::new();
        if !answer.reasoning.is_empty() {
            content.push(ContentPart::Reasoning {
                text: storable(answer.reasoning.as_str()),
                is_native: true,
                signature: answer.signature.as_deref().map(storable),
            });
        }
        let thoughts = calls.iter().filter_map(|call| call.thinking.as_deref());
        let words = (!answer.text.trim().is_empty()).then_some(answer.text.as_str());
        let private = words.filter(|_| words_are_thoughts && !calls.is_empty());
        content.extend(
            private
                .into_iter()
                .chain(thoughts)
                .filter(|thought| !thought.is_empty())
                .map(|thought| ContentPart::Reasoning { text: storable(thought), is_native: false, signature: None }),
        );
        if private.is_none() {
            content.extend(words.map(|words| ContentPart::text(storable(words))));
        }
        if content.is_empty() && calls.is_empty() {
            return None;
        }
        let mut message = self.message(id, Role::Assistant, content);
        message.tool_calls = calls.iter().map(|call| storable_call(&call.call)).collect();
        Some(message)
    }

    /// What the agent's tools returned, one content part each; None if there were none.
    pub(crate) fn returns(&self, calls: &[PlannedCall], returns: &[Returned]) -> Option<Message> {
        let own = || calls.iter().filter(|call| call.is_own());
        let first = own().next()?;
        let content = returns
            .iter()
            .map(|returned| {
                ContentPart::text(packaging::function_return(returned.status, &returned.text, self.at, self.zone))
            })
            .collect();
        let mut message = self.message(MessageId::at(self.at), Role::Tool, content);
        message.name = Some(storable(first.call.name.clone()));
        message.tool_returns = own()
            .zip(returns)
            .map(|(call, returned)| {
                let ToolCall { id, name, .. } = storable_call(&call.call);
                ToolReturn { call_id: id, name, status: returned.status, text: storable(returned.text.clone()) }
            })
            .collect();
        Some(message)
    }

    /// What wakes the model again.
    pub(crate) fn heartbeat(&self, heartbeat: &Heartbeat) -> Message {
        let reason = match heartbeat {
            Heartbeat::Requested => heartbeats::REQUESTED.to_owned(),
            Heartbeat::ToolFailed => heartbeats::TOOL_FAILED.to_owned(),
            Heartbeat::RuleViolated => heartbeats::RULE_VIOLATED.to_owned(),
            Heartbeat::ContinueRule => heartbeats::CONTINUE_RULE.to_owned(),
            Heartbeat::ChildRule => heartbeats::CHILD_RULE.to_owned(),
            Heartbeat::RequiredBeforeExit(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                heartbeats::required_before_exit(&names)
            }
        };
        let text = packaging::heartbeat(&reason, self.at, self.zone);
        self.message(MessageId::at(self.at), Role::User, vec![ContentPart::text(text)])
    }
}

fn storable_call(call: &ToolCall) -> ToolCall {
    let [id, name, arguments] = [&call.id, &call.name, &call.arguments].map(|text| storable(text.clone()));
    ToolCall { id, name, arguments }
}

fn storable(text: impl Into<Arc<str>>) -> Arc<str> {
    let text = text.into();
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text }
}
