//! The one thread that writes.
//!
//! It takes all commits that wait together, applies them in one transaction, and makes them durable with one sync of the
//! disk. Nobody is answered before that. A commit that fails, fails alone; a transaction that fails, fails for all of
//! its commits, and the next one starts afresh.
//!
//! Hardly any commit fails, and savepoints cost each page a copy, so a group is first tried without them. Where one
//! does fail, nothing of that try is kept, and the group is applied again with a savepoint for each.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use domain::Timestamp;
use tokio::sync::oneshot;

use crate::apply::{Effect, apply};
use crate::backlog::Backlog;
use crate::cache::Cache;
use crate::commit::{Commit, Committed};
use crate::dialect::Db;
use crate::error::StoreError;
use crate::live_keys::{KeyEffect, LiveKeys};
use crate::write_tally::WriteTally;
use crate::{repair, runs};

/// Commits that share one sync at most. More would only make the first of them wait.
const MAX_GROUP: usize = 256;

/// Transactions between two requests to put the log away.
const GROUPS_PER_CHECKPOINT: u32 = 500;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writer is asked to do.
pub(crate) enum Work {
    Commit(Box<Commit>, Reply<Committed>),
    CloseOpenRuns { at: Timestamp, error: String, reply: Reply<u64> },
    Repair { at: Timestamp, reply: Reply<Vec<String>> },
}

/// The state of the thread.
pub(crate) struct Writer {
    pub(crate) db: Db,
    pub(crate) cache: Arc<Cache>,
    pub(crate) keys: LiveKeys,
    pub(crate) backlog: Arc<Backlog>,
    pub(crate) writes: Arc<WriteTally>,
    pub(crate) inbox: Receiver<Work>,
    /// Asks another thread to move the log into the database.
    pub(crate) checkpoints: SyncSender<()>,
}

impl Writer {
    /// Works until the last sender is gone and all work is done, then puts the log away.
    pub(crate) fn run(self) {
        let mut groups: u32 = 0;
        while let Ok(first) = self.inbox.recv() {
            let mut group = vec![first];
            group.extend(self.inbox.try_iter().take(MAX_GROUP - 1));
            self.write(group);
            groups = groups.wrapping_add(1);
            if groups.is_multiple_of(GROUPS_PER_CHECKPOINT) {
                // One that is still under way is as good as a new one.
                self.checkpoints.try_send(()).unwrap_or_default();
            }
        }
        if let Err(error) = self.db.checkpoint() {
            // Nothing is lost: the log is read again at the next start.
            tracing::warn!(error = %Chain(&error), "the write-ahead log could not be put away");
        }
    }

    fn write(&self, group: Vec<Work>) {
        let first_try = if group.len() == 1 { Isolation::Alone } else { Isolation::Together };
        let tried = match self.try_group(&group, first_try) {
            Tried::OneFailed => self.try_group(&group, Isolation::Savepoints),
            tried => tried,
        };
        match tried {
            Tried::Durable(results) => {
                let failed = results.iter().filter(|result| result.is_err()).count();
                self.writes.wrote(results.len() - failed, failed);
                group.into_iter().zip(results).for_each(|(work, result)| work.answer(result));
            }
            Tried::Broken(error) => self.lose(group, &error),
            // Savepoints fail alone, so this is the transaction's own failure, which is told as such.
            Tried::OneFailed => self.lose(group, &StoreError::Closed),
        }
    }

    fn lose(&self, group: Vec<Work>, error: &StoreError) {
        self.writes.lost(group.len());
        group.into_iter().for_each(|work| work.answer(Err(error.clone())));
    }

    /// Applies the whole group, and makes it durable unless one of its commits must fail alone.
    fn try_group(&self, group: &[Work], isolation: Isolation) -> Tried {
        if let Err(error) = self.db.begin() {
            tracing::error!(error = %Chain(&error), "a transaction could not begin");
            return Tried::Broken(error);
        }
        let mut effects = Vec::new();
        let mut results = Vec::with_capacity(group.len());
        for work in group {
            let result = match isolation {
                Isolation::Savepoints => self.db.savepoint(|| work.apply(&self.db, &mut effects)),
                Isolation::Alone | Isolation::Together => work.apply(&self.db, &mut effects),
            };
            // Some errors, such as those of the disk, end the whole transaction.
            if !self.db.in_transaction() {
                return self.give_up(result.err().unwrap_or(StoreError::Closed));
            }
            match (&result, isolation) {
                (Err(_), Isolation::Together) => {
                    return match self.db.roll_back() {
                        Ok(()) => Tried::OneFailed,
                        Err(error) => self.give_up(error),
                    };
                }
                (Err(error), Isolation::Alone) => {
                    let error = error.clone();
                    return match self.db.roll_back() {
                        Ok(()) => Tried::Broken(error),
                        Err(error) => self.give_up(error),
                    };
                }
                _ => results.push(result),
            }
        }
        self.backlog.note(&effects);
        let of_keys: Vec<KeyEffect> = effects.iter().filter_map(KeyEffect::of).collect();
        self.cache.announce(effects);
        if let Err(error) = self.db.commit() {
            self.cache.forget_announced();
            return self.give_up(error);
        }
        self.cache.apply_announced();
        of_keys.iter().for_each(|effect| self.keys.apply(effect));
        Tried::Durable(results)
    }

    fn give_up(&self, error: StoreError) -> Tried {
        tracing::error!(error = %Chain(&error), "a transaction was rolled back");
        if let Err(error) = self.db.roll_back() {
            tracing::error!(error = %Chain(&error), "rolling back failed");
        }
        Tried::Broken(error)
    }
}

/// How commits of one group are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isolation {
    /// There is only one.
    Alone,
    /// Not at all: if one fails, the group is undone.
    Together,
    /// Each can be undone on its own.
    Savepoints,
}

/// What came of a group.
enum Tried {
    /// It is on the disk; a commit that failed alone left no trace.
    Durable(Vec<Result<Outcome, StoreError>>),
    /// One of several failed, and nothing was kept.
    OneFailed,
    /// Nothing was kept, for this reason.
    Broken(StoreError),
}

/// What one piece of work gave.
enum Outcome {
    Committed(Committed),
    Closed(u64),
    Repaired(Vec<String>),
}

impl Work {
    fn apply(&self, db: &Db, effects: &mut Vec<Effect>) -> Result<Outcome, StoreError> {
        match self {
            Self::Commit(commit, _) => {
                let applied = apply(db, commit)?;
                effects.extend(applied.effects);
                Ok(Outcome::Committed(applied.committed))
            }
            Self::CloseOpenRuns { at, error, .. } => {
                let closed = runs::close_open(db, *at, error)?;
                effects.push(Effect::RunsClosed);
                Ok(Outcome::Closed(closed))
            }
            Self::Repair { at, .. } => {
                let done = repair::repair(db, *at)?;
                effects.push(Effect::Repaired);
                Ok(Outcome::Repaired(done))
            }
        }
    }

    /// Tells whoever asked. They may have gone; what was committed stays committed.
    fn answer(self, result: Result<Outcome, StoreError>) {
        // Each kind of work has one kind of outcome; another is as good as none.
        match self {
            Self::Commit(_, reply) => tell(reply, result, |outcome| match outcome {
                Outcome::Committed(committed) => Some(committed),
                Outcome::Closed(_) | Outcome::Repaired(_) => None,
            }),
            Self::CloseOpenRuns { reply, .. } => tell(reply, result, |outcome| match outcome {
                Outcome::Closed(closed) => Some(closed),
                Outcome::Committed(_) | Outcome::Repaired(_) => None,
            }),
            Self::Repair { reply, .. } => tell(reply, result, |outcome| match outcome {
                Outcome::Repaired(done) => Some(done),
                Outcome::Committed(_) | Outcome::Closed(_) => None,
            }),
        }
    }
}

fn tell<T>(reply: Reply<T>, result: Result<Outcome, StoreError>, take: fn(Outcome) -> Option<T>) {
    let answer = result.and_then(|outcome| take(outcome).ok_or(StoreError::Closed));
    reply.send(answer).unwrap_or_default();
}

/// An error with its causes, for the log.
struct Chain<'a>(&'a StoreError);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = std::error::Error::source(self.0);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
