//! How many rows each scope got that no index has seen, so that the indexer sleeps until there is enough to do.
//!
//! A hint, not a record: it starts empty with the program, and whoever indexes counts the rows themselves.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use domain::OrganizationId;
use tokio::sync::Notify;

use crate::apply::Effect;
use crate::search_index::SearchScope;
use crate::store::Store;

/// Scopes with rows that wait.
#[derive(Default)]
pub(crate) struct Backlog {
    waiting: Mutex<HashMap<(OrganizationId, SearchScope), u64>>,
    grew: Notify,
}

impl Backlog {
    /// Counts the rows that a durable group of commits brought.
    pub(crate) fn note(&self, effects: &[Effect]) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.len();
        let mut grew = false;
        for effect in effects {
            let (key, rows) = match effect {
                Effect::MessagesInserted(messages) => {
                    let Some(first) = messages.first() else { continue };
                    ((first.organization, SearchScope::Recall(first.agent)), messages.len())
                }
                Effect::PassagesInserted { owner, archive, rows } => ((*owner, SearchScope::Archive(*archive)), *rows),
                _ => continue,
            };
            *waiting.entry(key).or_default() += rows as u64;
            grew = true;
        }
        if grew || waiting.len() > before {
            self.grew.notify_one();
        }
    }
}

impl Store {
    /// Waits until rows were added since this was last called.
    pub async fn backlog_grew(&self) {
        self.backlog().grew.notified().await;
    }

    /// Takes the scopes that got at least so many rows since they were last taken.
    pub fn take_backlog(
        &self,
        at_least: impl Fn(OrganizationId, SearchScope) -> u64,
    ) -> Vec<(OrganizationId, SearchScope)> {
        let mut waiting = self.backlog().waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready: Vec<_> = waiting
            .iter()
            .filter(|((owner, scope), rows)| **rows >= at_least(*owner, *scope))
            .map(|(key, _)| *key)
            .collect();
        ready.sort_unstable_by_key(|(_, scope)| *scope);
        for key in &ready {
            waiting.remove(key);
        }
        ready
    }
}
