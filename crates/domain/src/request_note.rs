//! What is noted of a request while it is answered, for the operator's log and figures.
//!
//! The server puts an empty [`RequestNote`] on every request; a door writes into it what only the door knows, and the
//! server reads it when the answer is over. It must never hold content: no words, no names of people or sessions, no
//! keys.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::ids::{AgentId, ConversationId, RunId};
use crate::run::StopReason;
use crate::usage::Usage;

/// Characters of a model's name that are noted.
const MODEL_LENGTH: usize = 100;

/// A note that the server and one door share. Cheap to clone; all clones are the same note.
#[derive(Debug, Clone, Default)]
pub struct RequestNote(Arc<Mutex<Noted>>);

/// What was noted.
#[derive(Debug, Default)]
pub struct Noted {
    /// The model as the client named it, cut to a fixed length.
    pub model: Option<Box<str>>,
    pub agent: Option<AgentId>,
    pub run: Option<Arc<RunNote>>,
    /// Tokens that were read and written where no run did.
    took: Option<(u64, u64)>,
    /// Pieces of an answer of which nobody said what it took.
    pieces: Option<u64>,
    pub unescaped: UnescapeCount,
}

/// A run as a note names it, and how it ended once it has.
#[derive(Debug)]
pub struct RunNote {
    pub run: RunId,
    /// None where a model was asked without an agent.
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    ended: OnceLock<(StopReason, Usage)>,
}

/// What the undoing of doubled escapes did to an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnescapeCount {
    /// Chunks that came out as they went in, and their bytes.
    pub passed: u64,
    pub passed_bytes: u64,
    /// Chunks that came out otherwise, and their bytes.
    pub changed: u64,
    pub changed_bytes: u64,
    /// Bytes that waited for a later chunk.
    pub held_bytes: u64,
}

impl RequestNote {
    /// The model that was asked for.
    pub fn asked_for(&self, model: &str) {
        let end = model.char_indices().nth(MODEL_LENGTH).map_or(model.len(), |(end, _)| end);
        self.lock().model = Some(Box::from(&model[..end]));
    }

    /// The agent that answers.
    pub fn answered_by(&self, agent: AgentId) {
        self.lock().agent = Some(agent);
    }

    /// The run that answers.
    pub fn answered_in(&self, run: Arc<RunNote>) {
        self.lock().run = Some(run);
    }

    /// Tokens that were read and written, where no run did.
    pub fn took(&self, read: u64, written: u64) {
        self.lock().took = Some((read, written));
    }

    /// Pieces in which an answer came of which nobody said what it took.
    pub fn came_in(&self, pieces: u64) {
        self.lock().pieces = Some(pieces);
    }

    /// What became of an answer's escapes.
    pub fn unescaped(&self, count: UnescapeCount) {
        self.lock().unescaped = count;
    }

    /// What was noted so far. Nothing of it stays behind.
    pub fn take(&self) -> Noted {
        std::mem::take(&mut *self.lock())
    }

    /// Tokens that the answer took so far as is known: those read and those written.
    pub fn tokens(&self) -> Option<(u64, u64)> {
        self.lock().tokens()
    }

    /// Pieces of the answer, where a door counted them and the tokens are not known.
    pub fn pieces(&self) -> Option<u64> {
        self.lock().pieces
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Noted {
    /// Tokens that were read and written, where that is known.
    pub fn tokens(&self) -> Option<(u64, u64)> {
        let of_run = self.run.as_ref().and_then(|run| run.ended()).map(|(_, usage)| usage);
        let of_run = of_run.map(|usage| (usage.prompt_tokens, usage.completion_tokens));
        of_run.or(self.took)
    }
}

impl RunNote {
    /// A run that has not ended.
    pub fn new(run: RunId, agent: Option<AgentId>, conversation: Option<ConversationId>) -> Self {
        Self { run, agent, conversation, ended: OnceLock::new() }
    }

    /// The run is over. It ends once; what is said later is not heard.
    pub fn end(&self, reason: StopReason, usage: Usage) {
        self.ended.get_or_init(|| (reason, usage));
    }

    /// Why it ended and what it took, once it has ended.
    pub fn ended(&self) -> Option<(StopReason, Usage)> {
        self.ended.get().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let note = RequestNote::default();
        note.asked_for(&"ä".repeat(150));
        assert_eq!(note.take().model.as_deref(), Some("ä".repeat(100).as_str()));
        note.asked_for("short");
        assert_eq!(note.take().model.as_deref(), Some("short"));
    }

    #[test]
    fn tokens_are_known_when_the_run_has_ended() {
        let (note, run) = (RequestNote::default(), Arc::new(RunNote::new(RunId::random(), None, None)));
        let of_the_door = note.clone();
        of_the_door.answered_in(run.clone());
        assert_eq!(note.tokens(), None);
        let usage = |prompt_tokens| Usage { prompt_tokens, completion_tokens: 2, ..Usage::default() };
        run.end(StopReason::EndTurn, usage(7));
        run.end(StopReason::Error, usage(9));
        assert_eq!(note.tokens(), Some((7, 2)));
        assert_eq!(note.take().tokens(), Some((7, 2)));
        assert_eq!(note.tokens(), None);
    }
}
