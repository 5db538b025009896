//! Indexing in the background: what was left when the program last ended, then what comes.

use std::time::Duration;

use domain::OrganizationId;
use domain::seams::embedder::Pace;
use storage::{SearchScope, StoreError};
use tokio::time::Instant;

use crate::indexer::IndexError;
use crate::search::Search;
use crate::segment::SEGMENT_DOCUMENTS;

/// How long rows are gathered before they are looked at.
const GATHER: Duration = Duration::from_millis(500);
/// How long to leave a model alone that failed.
const RETRY_AFTER: Duration = Duration::from_secs(30);

type Scope = (OrganizationId, SearchScope);

impl Search {
    /// Keeps the index of what grows, for as long as it is polled.
    pub async fn keep_up(&self) {
        let mut ready = self.store().search_scopes().await.unwrap_or_else(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "the search index can't be looked at");
            Vec::new()
        });
        let mut put_off: Vec<Scope> = Vec::new();
        let mut retry_at = Instant::now();
        loop {
            let failed = self.index_all(std::mem::take(&mut ready)).await;
            if !failed.is_empty() {
                put_off.extend(failed);
                retry_at = Instant::now() + RETRY_AFTER;
            }
            let waiting = !put_off.is_empty();
            tokio::select! {
                () = self.store().backlog_grew() => tokio::time::sleep(GATHER).await,
                () = tokio::time::sleep_until(retry_at), if waiting => {}
            }
            if Instant::now() >= retry_at {
                ready.append(&mut put_off);
            }
            ready.extend(self.grown(&put_off).await);
            self.store().forget_backlog(&ready);
        }
    }

    /// Indexes scopes and gives those that have to be tried again.
    async fn index_all(&self, scopes: Vec<Scope>) -> Vec<Scope> {
        let mut failed = Vec::new();
        for scope in scopes {
            if !self.caught_up(scope).await {
                failed.push(scope);
            }
        }
        failed
    }

    /// Scopes that grew enough to be worth the work.
    async fn grown(&self, put_off: &[Scope]) -> Vec<Scope> {
        let mut grown = Vec::new();
        for (owner, scope, rows) in self.store().backlog() {
            if !put_off.contains(&(owner, scope)) && rows >= self.worth_the_work(owner, scope).await {
                grown.push((owner, scope));
            }
        }
        grown
    }

    /// Indexes a scope; false if that has to be tried again.
    async fn caught_up(&self, (owner, scope): Scope) -> bool {
        match self.index(owner, scope, &mut |_| true).await {
            Ok(()) | Err(IndexError::Store(StoreError::NotFound { .. })) => true,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, ?scope, "indexing is put off");
                false
            }
        }
    }

    /// How many new rows a scope needs before it is indexed: a slow model should begin at once.
    async fn worth_the_work(&self, owner: OrganizationId, scope: SearchScope) -> u64 {
        match self.embedder(owner, scope).await {
            Ok(embedder) if embedder.pace() == Pace::Slow => 1,
            Ok(_) | Err(_) => SEGMENT_DOCUMENTS as u64,
        }
    }
}
