//! How many rows each scope got that no index has seen, so that the indexer sleeps until there is enough to do.
//!
//! A hint, not a record: it starts empty with the program, and whoever indexes counts the rows themselves.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::OrganizationId;
use tokio::sync::Notify;

use crate::apply::Effect;
use crate::search_index::SearchScope;
use crate::store::Store;

type Waiting = HashMap<(OrganizationId, SearchScope), u64>;

/// Scopes with rows that wait.
#[derive(Default)]
pub(crate) struct Backlog {
    waiting: Mutex<Waiting>,
    grew: Notify,
}

impl Backlog {
    /// Counts the rows that a durable group of commits brought.
    pub(crate) fn note(&self, effects: &[Effect]) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut grew = false;
        for (key, rows) in effects.iter().filter_map(brought) {
            *waiting.entry(key).or_default() += rows as u64;
            grew = true;
        }
        if grew {
            self.grew.notify_one();
        }
    }
}

/// The scope that an effect brought rows to, and how many.
fn brought(effect: &Effect) -> Option<((OrganizationId, SearchScope), usize)> {
    match effect {
        Effect::MessagesInserted(messages) => {
            let first = messages.first()?;
            Some(((first.organization, SearchScope::Recall(first.agent)), messages.len()))
        }
        Effect::PassagesInserted { owner, archive, rows } => Some(((*owner, SearchScope::Archive(*archive)), *rows)),
        _ => None,
    }
}

impl Store {
    /// Waits until rows were added since this was last called.
    pub async fn backlog_grew(&self) {
        self.rows_waiting().grew.notified().await;
    }

    /// The scopes that got rows since they were last forgotten, and how many.
    pub fn backlog(&self) -> Vec<(OrganizationId, SearchScope, u64)> {
        let waiting = self.waiting();
        let mut rows: Vec<_> = waiting.iter().map(|((owner, scope), rows)| (*owner, *scope, *rows)).collect();
        rows.sort_unstable_by_key(|(_, scope, _)| *scope);
        rows
    }

    /// Begins to count anew for these scopes.
    pub fn forget_backlog(&self, scopes: &[(OrganizationId, SearchScope)]) {
        let mut waiting = self.waiting();
        for key in scopes {
            waiting.remove(key);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.rows_waiting().waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
