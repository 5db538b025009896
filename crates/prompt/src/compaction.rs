//! Where a full context is cut: which messages go and which stay.
//!
//! Pure. A cut never comes between a tool call and its return, nor between a call and the heartbeat or the approval
//! that belongs to it: vendors refuse half of a pair, and a model that sees one can't make sense of it. The system
//! message and the newest messages always stay, and the order is kept.

use std::collections::HashSet;
use std::sync::Arc;

use domain::{CompactionMode, Message, Role};

use crate::packaging::{self, Alert};

/// What to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutGoal {
    pub mode: CompactionMode,
    /// Tokens that kept messages may have, the system message not counted.
    pub keep_tokens: u64,
    /// How many messages at the end must stay, because they are not stored yet.
    pub pinned: usize,
}

/// A context taken apart. Every message is in exactly one of the lists, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    /// The system message, if there is one.
    pub system: Option<usize>,
    /// Earlier summaries and alerts about what has left the context: the new summary takes their place.
    pub notes: Vec<usize>,
    pub evicted: Vec<usize>,
    pub kept: Vec<usize>,
}

/// Cuts `context`, whose messages have `tokens` each.
pub fn plan_cut(context: &[Arc<Message>], tokens: &[u64], goal: &CutGoal) -> Cut {
    let system = context.first().filter(|message| message.role == Role::System).map(|_| 0);
    let start = usize::from(system.is_some());
    let is_note = |message: &Message| packaging::read_alert(message).is_some();
    let notes = start + context[start..].iter().take_while(|message| is_note(message)).count();
    let history = History::new(&context[notes..], tokens.get(notes..).unwrap_or_default(), goal.pinned);
    let stays = history.stays(goal);
    let places = |wanted: bool| (notes..context.len()).filter(|index| stays[index - notes] == wanted).collect();
    Cut { system, notes: (start..notes).collect(), evicted: places(false), kept: places(true) }
}

/// The messages after the system message and the notes.
struct History<'a> {
    messages: &'a [Arc<Message>],
    tokens: &'a [u64],
    /// Tokens from each place to the end.
    after: Vec<u64>,
    pinned: usize,
}

impl<'a> History<'a> {
    fn new(messages: &'a [Arc<Message>], tokens: &'a [u64], pinned: usize) -> Self {
        let mut after = vec![0; messages.len() + 1];
        for index in (0..messages.len()).rev() {
            after[index] = after[index + 1] + tokens.get(index).copied().unwrap_or_default();
        }
        Self { messages, tokens, after, pinned: pinned.min(messages.len()) }
    }

    /// Which messages stay.
    fn stays(&self, goal: &CutGoal) -> Vec<bool> {
        let borders = safe_borders(self.messages);
        let open = self.open_exchange();
        let last = self.last_border(&borders);
        let start = match goal.mode {
            CompactionMode::All if self.after[open] <= goal.keep_tokens => at_or_before(&borders, open.min(last)),
            CompactionMode::All | CompactionMode::SlidingWindow => self.window_start(&borders, last, goal.keep_tokens),
        };
        let mut stays: Vec<bool> = (0..self.messages.len()).map(|index| index >= start).collect();
        if start > open {
            // The run goes on with what it was asked, even where its first steps are gone.
            let question = (open..start).take_while(|index| is_input(&self.messages[*index]));
            let size: u64 = question.clone().map(|index| self.tokens[index]).sum();
            if size + self.after[start] <= goal.keep_tokens {
                question.for_each(|index| stays[index] = true);
            }
        }
        stays
    }

    /// The first border from which all that follows is small enough; the last one if nothing is.
    fn window_start(&self, borders: &[usize], last: usize, keep_tokens: u64) -> usize {
        let fits = |border: &&usize| self.after[**border] <= keep_tokens;
        let Some(first) = borders.iter().filter(|border| **border <= last).find(fits).copied() else { return last };
        // A whole exchange reads better than the end of one, unless that gives up much of what could be kept.
        let between = borders.iter().copied().filter(|border| (first..=last).contains(border));
        match between.into_iter().find(|border| self.begins_exchange(*border)) {
            Some(exchange) if self.after[exchange] * 4 >= self.after[first] * 3 => exchange,
            _ => first,
        }
    }

    /// The last place where a cut may be: something stays, and what is pinned does.
    fn last_border(&self, borders: &[usize]) -> usize {
        let end = self.messages.len();
        let latest = (end - self.pinned).min(end.saturating_sub(1));
        at_or_before(borders, latest)
    }

    /// Where the exchange begins that the next answer belongs to.
    fn open_exchange(&self) -> usize {
        let end = self.messages.len();
        if self.pinned > 0 {
            return end - self.pinned;
        }
        (0..end).rev().find(|index| self.begins_exchange(*index)).unwrap_or(0)
    }

    /// Whether a person's words begin here that don't follow other words of theirs.
    fn begins_exchange(&self, index: usize) -> bool {
        is_input(&self.messages[index]) && (index == 0 || !is_input(&self.messages[index - 1]))
    }
}

/// The last border that is not after `place`.
fn at_or_before(borders: &[usize], place: usize) -> usize {
    borders.iter().rev().copied().find(|border| *border <= place).unwrap_or(0)
}

/// Whether a message is what somebody outside said, and not something that the runtime put in.
fn is_input(message: &Message) -> bool {
    match message.role {
        Role::User | Role::System => !packaging::is_heartbeat(message),
        Role::Assistant | Role::Tool | Role::Approval => false,
    }
}

/// The places where a context may be cut; the message at a place is the first that stays.
fn safe_borders(messages: &[Arc<Message>]) -> Vec<usize> {
    let mut borders = Vec::new();
    // Calls of the last message that made some, as far as they have no return yet.
    let mut waiting: HashSet<&str> = HashSet::new();
    let mut open_since = None;
    for (index, message) in messages.iter().enumerate() {
        if begins_something(message) {
            borders.push(index);
        }
        if !message.tool_calls.is_empty() {
            waiting = message.tool_calls.iter().map(|call| &*call.id).collect();
            open_since = Some(index);
        }
        for returned in message.tool_returns.iter() {
            if waiting.remove(&*returned.call_id)
                && let Some(made) = open_since
            {
                borders.truncate(borders.partition_point(|border| *border <= made));
            }
        }
    }
    // Calls that wait for somebody outside: their returns are still to come.
    if let Some(made) = open_since.filter(|_| !waiting.is_empty()) {
        let answered = messages[made + 1..].iter().any(|message| matches!(message.role, Role::User | Role::Assistant));
        if !answered {
            borders.retain(|border| *border <= made);
        }
    }
    borders
}

/// Whether a message can be the first that a model sees.
fn begins_something(message: &Message) -> bool {
    match message.role {
        Role::Tool => false,
        // An answer to a request for approval belongs to the request.
        Role::Approval => !message.tool_calls.is_empty(),
        Role::User => !packaging::is_heartbeat(message),
        Role::Assistant | Role::System => true,
    }
}

/// The summary and the alert among the notes of a cut, the newest of each.
pub fn notes_of<'a>(context: &'a [Arc<Message>], cut: &Cut) -> Notes<'a> {
    let mut notes = Notes::default();
    for message in cut.notes.iter().map(|index| &context[*index]) {
        match packaging::read_alert(message) {
            Some(Alert::Summary(summary)) => notes.summary = Some((message, summary)),
            Some(Alert::Evicted(count)) => notes.unsummarised = Some((message, count)),
            None => {}
        }
    }
    notes
}

/// What a context says about messages that have left it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notes<'a> {
    /// The summary so far.
    pub summary: Option<(&'a Arc<Message>, String)>,
    /// How many messages have left without one.
    pub unsummarised: Option<(&'a Arc<Message>, usize)>,
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
