//! The store: one handle for all rooms, with the threads that own the database behind it.
//!
//! Its interface holds nothing of an engine. Reads and commits are sent to threads, because the engine blocks; the
//! threads end when the last handle is gone.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;

use domain::Timestamp;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::backlog::Backlog;
use crate::backup::{self, SideWork};
use crate::cache::Cache;
use crate::commit::{Commit, Committed};
use crate::dialect::Db;
use crate::error::{DatabaseError, StoreError};
use crate::live_keys::LiveKeys;
use crate::write_tally::{WriteTally, Writes};
use crate::writer::{Work, Writer};
use crate::{api_keys, migrate, owners, restore};

/// Where the store is and how much it may take.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The database file.
    pub path: PathBuf,
    /// Threads that read side by side.
    pub readers: usize,
    /// Conversations whose context is held in memory.
    pub cached_conversations: usize,
    /// The most bytes that the database may grow to; none means as many as the disk has.
    pub max_bytes: Option<u64>,
}

impl StoreConfig {
    /// A store at `path` with the usual settings.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), readers: 2, cached_conversations: 512, max_bytes: None }
    }
}

/// The store. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

type Job = Box<dyn FnOnce(&Db) + Send>;

/// The ways to the threads; none of them once the store is closed.
struct Lines {
    commits: Sender<Work>,
    reads: Sender<Job>,
}

struct Shared {
    lines: RwLock<Option<Lines>>,
    cache: Arc<Cache>,
    keys: LiveKeys,
    backlog: Arc<Backlog>,
    writes: Arc<WriteTally>,
    /// Each thread drops its sender when it has ended and its connection is closed.
    ended: Mutex<Vec<oneshot::Receiver<()>>>,
    side_work: SideWork,
}

impl Store {
    /// Opens the database, making it where there is none, and brings it up to date.
    pub fn open(config: &StoreConfig, now: Timestamp) -> Result<Self, StoreError> {
        backup::remove_leftovers(&config.path)?;
        restore::remove_leftovers(&config.path)?;
        let db = Db::open_writer(&config.path, config.max_bytes)?;
        migrate::migrate(&db)?;
        owners::ensure_default(&db, now)?;
        let keys = LiveKeys::new(api_keys::live(&db)?);
        let cache = Arc::new(Cache::new(config.cached_conversations.max(1)));
        let (commits, inbox) = mpsc::channel();
        let (reads, jobs) = mpsc::channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut ended = Vec::new();
        for number in 0..config.readers.max(1) {
            let (db, jobs) = (Db::open_reader(&config.path)?, jobs.clone());
            ended.push(start(&format!("store-reader-{number}"), move || serve_reads(&db, &jobs))?);
        }
        let (checkpoints, wanted) = mpsc::sync_channel(1);
        let checkpointer = Db::open_checkpointer(&config.path)?;
        ended.push(start("store-log", move || put_log_away(&checkpointer, &wanted))?);
        let backlog = Arc::<Backlog>::default();
        let writes = Arc::<WriteTally>::default();
        let (to_cache, to_backlog, counted) = (cache.clone(), backlog.clone(), writes.clone());
        let keys_kept = keys.clone();
        let writer =
            Writer { db, cache: to_cache, keys: keys_kept, backlog: to_backlog, writes: counted, inbox, checkpoints };
        ended.push(start("store-writer", move || writer.run())?);
        let lines = RwLock::new(Some(Lines { commits, reads }));
        let side_work = SideWork::new(&config.path);
        let ended = Mutex::new(ended);
        Ok(Self { shared: Arc::new(Shared { lines, cache, keys, backlog, writes, ended, side_work }) })
    }

    /// What was written since the store was opened.
    pub fn writes(&self) -> Writes {
        self.shared.writes.read()
    }

    /// Applies all changes of a commit or none. They are on the disk when this returns. Whoever stops waiting takes
    /// nothing back: the commit is applied or fails all the same.
    pub async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.write(|reply| Work::Commit(Box::new(commit), reply)).await
    }

    /// Closes every run that a crash has left open, as failed for this reason, and says how many there were.
    pub async fn close_open_runs(&self, now: Timestamp, error: &str) -> Result<u64, StoreError> {
        let error = error.to_owned();
        self.write(|reply| Work::CloseOpenRuns { at: now, error, reply }).await
    }

    /// Finishes all that was asked for so far, puts the log away and closes the files. Other handles are then refused
    /// with [`StoreError::Closed`].
    pub async fn close(self) {
        let lines = self.shared.lines.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(lines);
        self.shared.side_work.close();
        let ended = std::mem::take(&mut *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in ended {
            // Nothing is ever sent: the error is the sign that the thread has ended.
            thread.await.unwrap_or_default();
        }
    }

    pub(crate) async fn write<T>(
        &self,
        work: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Work,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.with_lines(|lines| lines.commits.send(work(reply)).map_err(|_| StoreError::Closed))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs `work` on a reader.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |db| {
            // A caller that has gone needs no rows.
            if !reply.is_closed() {
                reply.send(work(db)).unwrap_or_default();
            }
        });
        self.with_lines(|lines| lines.reads.send(job).map_err(|_| StoreError::Closed))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.shared.cache
    }

    pub(crate) fn held_keys(&self) -> &LiveKeys {
        &self.shared.keys
    }

    pub(crate) fn rows_waiting(&self) -> &Backlog {
        &self.shared.backlog
    }

    pub(crate) fn side_work(&self) -> &SideWork {
        &self.shared.side_work
    }

    /// Refuses a store that was closed.
    pub(crate) fn ensure_open(&self) -> Result<(), StoreError> {
        self.with_lines(|_| Ok(()))
    }

    /// Lets [`Self::close`] wait for one more thread.
    pub(crate) fn wait_for(&self, thread: oneshot::Receiver<()>) {
        let mut ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.retain_mut(|thread| thread.try_recv() == Err(TryRecvError::Empty));
        ended.push(thread);
    }

    fn with_lines(&self, send: impl FnOnce(&Lines) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let lines = self.shared.lines.read().unwrap_or_else(PoisonError::into_inner);
        lines.as_ref().map_or(Err(StoreError::Closed), send)
    }
}

/// Starts a thread and gives a receiver that fails when it has ended.
pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<oneshot::Receiver<()>, StoreError> {
    let (end, ended) = oneshot::channel();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            work();
            drop(end);
        })
        .map_err(|error| StoreError::Database(DatabaseError::new(error)))?;
    Ok(ended)
}

/// Moves the log into the database whenever the writer asks, so that no commit has to wait for it.
fn put_log_away(db: &Db, wanted: &Receiver<()>) {
    while wanted.recv().is_ok() {
        if let Err(error) = db.checkpoint_quietly() {
            // Nothing is lost: the writer does it itself when the log is long.
            tracing::warn!(error = &error as &dyn std::error::Error, "the log could not be put away");
        }
    }
}

fn serve_reads(db: &Db, jobs: &Mutex<Receiver<Job>>) {
    loop {
        // One reader waits for the next job and the others for their chance to wait; the lock is free while one works.
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(job) => job(db),
            Err(_) => return,
        }
    }
}
