//! How a run begins: the context goes back, a history is taken over, calls that wait get their returns.
//!
//! Going back is stored with the first step, so that a run that fails changes nothing; where the context has to be
//! compacted before it, with the compaction. A history is stored before the step, because it may be longer than the
//! model's window and only what is stored can be compacted.

use std::sync::Arc;

use domain::{AgentSnapshot, Message, MessageId, Role, SessionRequest, StepId, Timestamp, waiting_calls};
use prompt::packaging;
use storage::{Change, Commit, Store, StoreError};

use crate::input::RunInput;
use crate::step_messages::StepFrame;

/// Messages that are brought back into the context where it does not hold the place to go back to any more.
const MAX_BROUGHT_BACK: u32 = 1_000;

/// The place that a run goes back to, until that is stored: with its first step, or with what is stored before it.
#[derive(Debug)]
pub(crate) struct GoneBack {
    /// This message and all later ones are superseded.
    pub(crate) to: MessageId,
    /// No message of the conversation that stays has this number or a higher one.
    pub(crate) from: u64,
    /// What stays in the context.
    kept: Vec<Arc<Message>>,
}

impl GoneBack {
    /// Goes back to before `to` in the conversation of `snapshot`.
    pub(crate) async fn find(
        store: &Store,
        input: &RunInput,
        snapshot: &AgentSnapshot,
        to: MessageId,
    ) -> Result<Self, StoreError> {
        let context = &snapshot.context;
        if let Some(place) = context.iter().position(|message| message.id == to) {
            return Ok(Self { to, from: context[place].sequence_id, kept: context[..place].to_vec() });
        }
        // It has left the context with a summary that speaks of what came later too, so that can't stay.
        let owner = input.actor.organization;
        let before = store.conversation_messages_before(owner, input.conversation, to, MAX_BROUGHT_BACK).await?;
        let system = context.first().filter(|message| message.role == Role::System).cloned();
        let from = before.last().map_or(0, |last| last.sequence_id + 1);
        let said = before.into_iter().filter(|message| packaging::read_alert(message).is_none());
        Ok(Self { to, from, kept: system.into_iter().chain(said).collect() })
    }

    /// Shows `snapshot` as it is after going back.
    pub(crate) fn show(&self, snapshot: &mut AgentSnapshot) {
        let mut context = self.kept.clone();
        // The system message may have been rewritten since.
        if let (Some(first), Some(system)) = (context.first_mut(), snapshot.context.first())
            && first.id == system.id
        {
            *first = system.clone();
        }
        snapshot.context = Arc::new(context);
    }
}

/// What a run brings that is not stored yet: results of the client's tools, then messages.
pub(crate) fn given(frame: &StepFrame<'_>, context: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let opening = &frame.input.opening;
    let returns = frame.client_returns(&waiting_calls(context), &opening.returns);
    let messages = opening.messages.iter().map(|message| frame.input(message));
    returns.into_iter().chain(messages).map(Arc::new).collect()
}

/// A history as one commit: its messages, the context that they stand in, and the requests that they were.
pub(crate) fn import(input: &RunInput, snapshot: &AgentSnapshot, back: Option<&GoneBack>, at: Timestamp) -> Commit {
    let frame = StepFrame { input, step: StepId::at(at), zone: &snapshot.agent.timezone, at };
    let messages: Vec<Arc<Message>> = input.opening.history.iter().map(|past| Arc::new(frame.past(past))).collect();
    let conversation = input.conversation;
    let added = messages.iter().map(|message| message.id);
    let mut commit = Commit::new(input.actor, at);
    let context = match back {
        None => Change::AppendContext { conversation, messages: added.collect() },
        Some(back) => {
            commit.changes.push(Change::SupersedeFrom { conversation, message: back.to });
            let kept = snapshot.context.iter().map(|message| message.id);
            Change::ReplaceContext { conversation, messages: kept.chain(added).collect() }
        }
    };
    let requests = if input.opening.mark.is_some() { past_requests(input, &messages, at) } else { Vec::new() };
    commit.changes.push(Change::InsertMessages(messages));
    commit.changes.push(context);
    commit.changes.push(Change::InsertSessionRequests(requests));
    commit
}

fn past_requests(input: &RunInput, messages: &[Arc<Message>], at: Timestamp) -> Vec<SessionRequest> {
    let said = input.opening.history.iter().zip(messages).filter(|(past, _)| past.text.is_some());
    said.map(|(past, message)| SessionRequest {
        conversation: input.conversation,
        message: message.id,
        text: past.text,
        run: None,
        body: None,
        idempotency: None,
        apart: false,
        created_at: at,
    })
    .collect()
}

/// What a session remembers of this request: a row for each user message, and one for the whole of it.
pub(crate) fn requests(input: &RunInput, given: &[Arc<Message>], at: Timestamp) -> Vec<SessionRequest> {
    let Some(mark) = &input.opening.mark else { return Vec::new() };
    let row = |message: &Arc<Message>, text| SessionRequest {
        conversation: input.conversation,
        message: message.id,
        text,
        run: None,
        body: None,
        idempotency: None,
        apart: false,
        created_at: at,
    };
    let newest = given.len().saturating_sub(1);
    let said = &given[newest.saturating_sub(mark.said.len())..newest];
    let mut rows: Vec<SessionRequest> =
        said.iter().zip(&mark.said).map(|(message, text)| row(message, Some(*text))).collect();
    // A request begins with the results that it brings, but what users said before its newest message stays theirs.
    let whole = if said.is_empty() { given.first() } else { given.last() };
    rows.extend(whole.map(|first| SessionRequest {
        run: Some(input.run),
        body: mark.body,
        idempotency: mark.idempotency,
        ..row(first, mark.text)
    }));
    if let Some(first) = rows.first_mut() {
        first.apart = mark.apart;
    }
    rows
}
