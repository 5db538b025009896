//! What the writer has done since the start, for the operator's figures.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts that the writer adds to and anybody reads.
#[derive(Debug, Default)]
pub(crate) struct WriteTally {
    durable: AtomicU64,
    failed: AtomicU64,
    transactions: AtomicU64,
}

/// What the writer has done since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// Commits that are on the disk.
    pub durable: u64,
    /// Commits of which nothing was kept.
    pub failed: u64,
    /// Transactions, each with one sync of the disk, that those on the disk shared.
    pub transactions: u64,
}

impl WriteTally {
    /// A transaction is on the disk, without those of its commits that failed alone.
    pub(crate) fn wrote(&self, durable: usize, failed: usize) {
        self.transactions.fetch_add(1, Relaxed);
        self.durable.fetch_add(durable as u64, Relaxed);
        self.failed.fetch_add(failed as u64, Relaxed);
    }

    /// A transaction was undone, with all of its commits.
    pub(crate) fn lost(&self, commits: usize) {
        self.failed.fetch_add(commits as u64, Relaxed);
    }

    pub(crate) fn read(&self) -> Writes {
        Writes {
            durable: self.durable.load(Relaxed),
            failed: self.failed.load(Relaxed),
            transactions: self.transactions.load(Relaxed),
        }
    }
}
