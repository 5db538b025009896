//! The one thread that writes.
//!
//! It takes all commits that wait together, applies each in a savepoint of one transaction, and makes them durable with
//! one sync of the disk. Nobody is answered before that. A commit that fails, fails alone; a transaction that fails,
//! fails for all of its commits, and the next one starts afresh.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use domain::Timestamp;
use tokio::sync::oneshot;

use crate::apply::{Effect, apply};
use crate::cache::Cache;
use crate::commit::{Commit, Committed};
use crate::dialect::Db;
use crate::error::StoreError;
use crate::runs;

/// Commits that share one sync at most. More would only make the first of them wait.
const MAX_GROUP: usize = 256;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writer is asked to do.
pub(crate) enum Work {
    Commit(Box<Commit>, Reply<Committed>),
    CloseOpenRuns { at: Timestamp, error: String, reply: Reply<u64> },
}

/// The state of the thread.
pub(crate) struct Writer {
    pub(crate) db: Db,
    pub(crate) cache: Arc<Cache>,
    pub(crate) inbox: Receiver<Work>,
}

impl Writer {
    /// Works until the last sender is gone and all work is done, then puts the log away.
    pub(crate) fn run(self) {
        while let Ok(first) = self.inbox.recv() {
            let mut group = vec![first];
            group.extend(self.inbox.try_iter().take(MAX_GROUP - 1));
            self.write(group);
        }
        if let Err(error) = self.db.checkpoint() {
            // Nothing is lost: the log is read again at the next start.
            tracing::warn!(error = %Chain(&error), "the write-ahead log could not be put away");
        }
    }

    fn write(&self, group: Vec<Work>) {
        if let Err(error) = self.db.begin() {
            tracing::error!(error = %Chain(&error), "a transaction could not begin");
            group.into_iter().for_each(|work| work.refuse(&error));
            return;
        }
        let mut effects = Vec::new();
        let mut done = Vec::with_capacity(group.len());
        let mut waiting = group.into_iter();
        // Some errors, such as those of the disk, end the whole transaction.
        let broken = waiting.by_ref().find_map(|work| {
            let result = work.apply(&self.db, &mut effects);
            let broken = (!self.db.in_transaction()).then(|| result.error().unwrap_or(StoreError::Closed));
            done.push(result);
            broken
        });
        self.cache.announce(effects);
        let failure = broken.or_else(|| self.db.commit().err());
        match &failure {
            None => self.cache.apply_announced(),
            Some(error) => self.give_up(error),
        }
        done.into_iter().for_each(|done| done.answer(failure.as_ref()));
        if let Some(error) = &failure {
            waiting.for_each(|work| work.refuse(error));
        }
    }

    fn give_up(&self, error: &StoreError) {
        self.cache.forget_announced();
        tracing::error!(error = %Chain(error), "a transaction was rolled back");
        if let Err(error) = self.db.roll_back() {
            tracing::error!(error = %Chain(&error), "rolling back failed");
        }
    }
}

impl Work {
    fn apply(self, db: &Db, effects: &mut Vec<Effect>) -> Done {
        match self {
            Self::Commit(commit, reply) => {
                let result = db.savepoint(|| apply(db, *commit)).map(|applied| {
                    effects.extend(applied.effects);
                    applied.committed
                });
                Done::Commit(result, reply)
            }
            Self::CloseOpenRuns { at, error, reply } => {
                let result = db.savepoint(|| runs::close_open(db, at, &error));
                effects.push(Effect::RunsClosed);
                Done::CloseOpenRuns(result, reply)
            }
        }
    }

    fn refuse(self, error: &StoreError) {
        match self {
            Self::Commit(_, reply) => answer(reply, Err(error.clone())),
            Self::CloseOpenRuns { reply, .. } => answer(reply, Err(error.clone())),
        }
    }
}

/// Work that was done, but is not durable yet.
enum Done {
    Commit(Result<Committed, StoreError>, Reply<Committed>),
    CloseOpenRuns(Result<u64, StoreError>, Reply<u64>),
}

impl Done {
    fn error(&self) -> Option<StoreError> {
        match self {
            Self::Commit(result, _) => result.as_ref().err().cloned(),
            Self::CloseOpenRuns(result, _) => result.as_ref().err().cloned(),
        }
    }

    /// Tells the caller, who succeeded only if the transaction did.
    fn answer(self, failure: Option<&StoreError>) {
        match self {
            Self::Commit(result, reply) => answer(reply, unless(result, failure)),
            Self::CloseOpenRuns(result, reply) => answer(reply, unless(result, failure)),
        }
    }
}

fn unless<T>(result: Result<T, StoreError>, failure: Option<&StoreError>) -> Result<T, StoreError> {
    result.and_then(|value| failure.map_or(Ok(value), |failure| Err(failure.clone())))
}

fn answer<T>(reply: Reply<T>, result: Result<T, StoreError>) {
    // Whoever asked may have gone; what was committed stays committed.
    reply.send(result).unwrap_or_default();
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
