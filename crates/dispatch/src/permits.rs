//! Order among runs: those of one conversation go one after the other in order of arrival, others side by side.
//!
//! A place in the line and the permit that it becomes are values that give themselves back when they are dropped,
//! so that a run that fails, panics or is cancelled can never block the next.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::ConversationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::request::SubmitError;
use crate::tally::{Tally, Waiting};

/// How many requests may wait.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// Runs that are open at once, waiting ones included.
    pub open_runs: usize,
    /// Runs of one conversation that are open at once.
    pub open_runs_per_conversation: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { open_runs: 1024, open_runs_per_conversation: 64 }
    }
}

/// What a client that came in vain is asked to wait.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The lines before all conversations.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    limits: QueueLimits,
    lines: Arc<Mutex<HashMap<ConversationId, Line>>>,
    open: Arc<Semaphore>,
    tally: Arc<Tally>,
}

#[derive(Debug)]
struct Line {
    turnstile: Arc<Semaphore>,
    open: usize,
}

/// A place in the line of one conversation.
#[derive(Debug)]
pub(crate) struct Place {
    turnstile: Arc<Semaphore>,
    waiting: Waiting,
    leave: Leave,
    _open: OwnedSemaphorePermit,
}

/// Leaves the line when it is dropped.
#[derive(Debug)]
struct Leave {
    lines: Arc<Mutex<HashMap<ConversationId, Line>>>,
    conversation: ConversationId,
}

/// The right to run in one conversation.
#[derive(Debug)]
pub(crate) struct Passed {
    // Declared in the order in which they must be given back: the turnstile opens before the line is left.
    _passed: OwnedSemaphorePermit,
    _leave: Leave,
    _open: OwnedSemaphorePermit,
    /// What a door wants to hold for as long.
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Passed {
    /// Drops `kept` together with this.
    pub(crate) fn keep(&mut self, kept: impl Any + Send + Sync) {
        self.kept.push(Box::new(kept));
    }
}

impl Lines {
    pub(crate) fn new(limits: QueueLimits, tally: Arc<Tally>) -> Self {
        Self { limits, lines: Arc::default(), open: Arc::new(Semaphore::new(limits.open_runs)), tally }
    }

    /// Runs that are open now, waiting ones included.
    pub(crate) fn open_runs(&self) -> usize {
        self.limits.open_runs.saturating_sub(self.open.available_permits())
    }

    /// Leave to be open, for work that waits for nobody.
    pub(crate) fn enter(&self) -> Result<OwnedSemaphorePermit, SubmitError> {
        self.open.clone().try_acquire_owned().map_err(|_| full("this server"))
    }

    /// Joins the line of `conversation`, if it is not too long.
    pub(crate) fn join(&self, conversation: ConversationId) -> Result<Place, SubmitError> {
        let open = self.enter()?;
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line =
            lines.entry(conversation).or_insert_with(|| Line { turnstile: Arc::new(Semaphore::new(1)), open: 0 });
        if line.open >= self.limits.open_runs_per_conversation {
            return Err(full("this conversation"));
        }
        line.open += 1;
        let leave = Leave { lines: self.lines.clone(), conversation };
        let waiting = self.tally.begin_to_wait();
        Ok(Place { turnstile: line.turnstile.clone(), waiting, leave, _open: open })
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

fn full(what: &'static str) -> SubmitError {
    SubmitError::QueueFull { what, retry_after: RETRY_AFTER }
}

impl Place {
    /// Waits until everybody who came earlier is done. None means that the lines were closed.
    pub(crate) async fn pass(self) -> Option<Passed> {
        let passed = self.turnstile.clone().acquire_owned().await.ok()?;
        self.waiting.pass();
        Some(Passed { _passed: passed, _leave: self.leave, _open: self._open, kept: Vec::new() })
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get_mut(&self.conversation) {
            line.open -= 1;
            if line.open == 0 {
                lines.remove(&self.conversation);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(open_runs: usize, per_conversation: usize) -> Lines {
        Lines::new(QueueLimits { open_runs, open_runs_per_conversation: per_conversation }, Arc::default())
    }

    #[tokio::test]
    async fn those_of_one_conversation_pass_one_by_one_in_order() {
        let (lines, id) = (lines(10, 10), ConversationId::random());
        let first = lines.join(id).unwrap().pass().await.unwrap();
        let mut second = Box::pin(lines.join(id).unwrap().pass());
        let mut third = Box::pin(lines.join(id).unwrap().pass());
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(first);
        let second = second.await.unwrap();
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(second);
        drop(third.await.unwrap());
        assert!(lines.is_empty());
    }

    #[tokio::test]
    async fn other_conversations_do_not_wait() {
        let lines = lines(10, 10);
        let _first = lines.join(ConversationId::random()).unwrap().pass().await.unwrap();
        assert!(lines.join(ConversationId::random()).unwrap().pass().await.is_some());
    }

    #[tokio::test]
    async fn a_full_line_and_a_full_house_turn_people_away() {
        let (lines, id) = (lines(3, 2), ConversationId::random());
        let _places = [lines.join(id).unwrap(), lines.join(id).unwrap()];
        assert!(matches!(lines.join(id), Err(SubmitError::QueueFull { what: "this conversation", .. })));
        let _other = lines.join(ConversationId::random()).unwrap();
        assert!(matches!(
            lines.join(ConversationId::random()),
            Err(SubmitError::QueueFull { what: "this server", .. })
        ));
    }

    #[tokio::test]
    async fn whoever_leaves_the_line_blocks_nobody() {
        let (lines, id) = (lines(10, 10), ConversationId::random());
        let first = lines.join(id).unwrap().pass().await.unwrap();
        let mut second = Box::pin(lines.join(id).unwrap().pass());
        assert!(futures_util::poll!(&mut second).is_pending());
        let third = lines.join(id).unwrap().pass();
        drop(second);
        drop(first);
        assert!(third.await.is_some());
        assert!(lines.is_empty());
    }
}
