//! One step between its first look at the context and its commit.

use std::sync::Arc;

use domain::{AgentSnapshot, Message, MessageId, StepId, Timestamp};

use crate::ask_model::Answer;
use crate::plan::PlannedCall;
use crate::render::SystemMessage;

/// One step before its commit.
pub(crate) struct OpenStep {
    pub(crate) id: StepId,
    pub(crate) message: MessageId,
    pub(crate) at: Timestamp,
    pub(crate) system: SystemMessage,
    pub(crate) new_system: Option<Arc<Message>>,
    pub(crate) given: Vec<Arc<Message>>,
    pub(crate) answer: Answer,
    pub(crate) calls: Vec<PlannedCall>,
}

impl OpenStep {
    /// A step in which nothing has happened yet.
    pub(crate) fn new(at: Timestamp) -> Self {
        Self {
            id: StepId::at(at),
            message: MessageId::at(at),
            at,
            system: SystemMessage::Stored,
            new_system: None,
            given: Vec::new(),
            answer: Answer::empty(),
            calls: Vec::new(),
        }
    }
}

/// The context list of one step, before its answer.
pub(crate) fn context(
    snapshot: &AgentSnapshot,
    system: &SystemMessage,
    new_system: Option<&Arc<Message>>,
    given: &[Arc<Message>],
) -> Vec<Arc<Message>> {
    let stored = &snapshot.context;
    let mut context = Vec::with_capacity(stored.len() + given.len() + 1);
    match system {
        SystemMessage::Stored => context.extend_from_slice(stored),
        SystemMessage::Rewritten(message) => {
            context.push(message.clone());
            context.extend_from_slice(stored.get(1..).unwrap_or_default());
        }
        SystemMessage::Missing(_) => {
            context.extend(new_system.cloned());
            context.extend_from_slice(stored);
        }
    }
    context.extend_from_slice(given);
    context
}

/// Gives a unique id to calls that came without one, or with one that another call has.
pub(crate) fn name_calls(answer: &mut Answer) {
    for index in 0..answer.calls.len() {
        let (before, rest) = answer.calls.split_at_mut(index);
        let call = &mut rest[0];
        if call.id.is_empty() || before.iter().any(|other| other.id == call.id) {
            let random = MessageId::random().uuid().simple().to_string();
            call.id = format!("call_{}", &random[..24]);
        }
    }
}
