//! Keeps the index of what grows: seals stretches of postings and embeds rows, in the background.
//!
//! Every stretch is one commit, so whatever stops the work, the next try goes on where it ended. It never holds up a
//! message: a search looks at rows that are not indexed yet by itself.

use std::sync::Arc;

use domain::seams::embedder::{EmbedError, Embedder, Pace};
use domain::{Actor, OrganizationId, Timestamp};
use storage::{Change, Commit, Coverage, SearchScope, Segment, Store, StoreError, VectorStretch};
use tokio::sync::Semaphore;

use crate::document::Document;
use crate::scopes::{blocking, documents_after};
use crate::segment::{OpenSegment, SEGMENT_DOCUMENTS};
use crate::vectors::VectorTable;
use crate::words::Words;

/// Documents that are embedded and kept at once where that takes long: little is lost if it is interrupted.
const SLOW_BATCH: usize = 64;

/// How far the vectors of a scope are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The model that the scope is embedded with.
    pub embedding: String,
    /// Rows that its vectors reach.
    pub done: u64,
    pub total: u64,
}

/// Why a scope could not be indexed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// The embedding model that a scope's owner named. Fails where the owner has no such scope.
pub(crate) async fn named_embedding(
    store: &Store,
    owner: OrganizationId,
    scope: SearchScope,
) -> Result<Option<String>, StoreError> {
    Ok(match scope {
        SearchScope::Recall(agent) => store.agent(owner, agent).await?.embedding.clone(),
        SearchScope::Archive(archive) => Some(store.archive(owner, archive).await?.embedding.to_string()),
    })
}

/// A commit of the index's own upkeep.
pub(crate) fn upkeep(owner: OrganizationId) -> Commit {
    let actor = Actor { organization: owner, ..Actor::default_user() };
    // Nothing that is kept of the index has a time.
    Commit::new(actor, Timestamp::UNIX_EPOCH)
}

/// Brings one scope's kept index up to date, for one embedding model.
pub(crate) struct Indexer<'a> {
    pub(crate) store: &'a Store,
    pub(crate) owner: OrganizationId,
    pub(crate) scope: SearchScope,
    pub(crate) embedder: &'a Arc<dyn Embedder>,
    /// Held for one stretch at a time: two that embed the same rows would pay for them twice.
    pub(crate) turn: &'a Semaphore,
}

impl Indexer<'_> {
    /// Seals what is long enough, embeds what has no vectors, and drops vectors of other models once those are complete.
    /// `told` hears how far it is; if it says false, the work stops there.
    pub(crate) async fn run(&self, told: &mut (dyn FnMut(Progress) -> bool + Send)) -> Result<(), IndexError> {
        while self.seal_one().await? {}
        while self.embed_some().await? {
            let progress = self.progress().await?;
            let left = progress.done < progress.total;
            // Whoever hears that all is done does not come again, so the work goes on to its very end.
            if !told(progress) && left {
                return Ok(());
            }
        }
        told(self.progress().await?);
        self.drop_others().await
    }

    /// How far the vectors are.
    pub(crate) async fn progress(&self) -> Result<Progress, StoreError> {
        let total = self.store.rows_after(self.owner, self.scope, 0).await?;
        let reached = self.embedded_to().await?;
        let done = match self.embedder.pace() {
            // The newest rows of a fast model are embedded when they are searched.
            Pace::Instant => reached >= self.sealed_to().await?,
            // The last rows may be such as nobody searches for.
            Pace::Slow => self.documents(reached, 1).await?.0.is_empty(),
        };
        let left = if done { 0 } else { self.store.rows_after(self.owner, self.scope, reached).await? };
        Ok(Progress { embedding: self.handle().to_owned(), done: total - left.min(total), total })
    }

    fn handle(&self) -> &str {
        self.embedder.config().handle.as_str()
    }

    async fn sealed_to(&self) -> Result<u64, StoreError> {
        self.store.indexed_to(self.owner, self.scope).await
    }

    async fn embedded_to(&self) -> Result<u64, StoreError> {
        let coverage = self.store.coverage(self.owner, self.scope).await?;
        Ok(coverage.iter().find(|one| one.embedding == self.handle()).map_or(0, |one| one.last))
    }

    /// Up to so many documents after a row, and the row that they reach.
    async fn documents(&self, mut after: u64, wanted: usize) -> Result<(Vec<Document>, u64), StoreError> {
        let mut documents = Vec::with_capacity(wanted);
        while documents.len() < wanted {
            let Some((last, more)) = documents_after(self.store, self.owner, self.scope, after).await? else { break };
            documents.extend(more);
            after = last;
        }
        if documents.len() > wanted {
            documents.truncate(wanted);
            after = documents.last().map_or(after, |last| last.number);
        }
        Ok((documents, after))
    }

    /// Seals the next stretch, if there are documents enough.
    async fn seal_one(&self) -> Result<bool, IndexError> {
        let _turn = self.turn.acquire().await;
        let after = self.sealed_to().await?;
        if self.store.rows_after(self.owner, self.scope, after).await? < SEGMENT_DOCUMENTS as u64 {
            return Ok(false);
        }
        let (documents, _) = self.documents(after, SEGMENT_DOCUMENTS).await?;
        let [first, .., last] = &documents[..] else { return Ok(false) };
        if documents.len() < SEGMENT_DOCUMENTS {
            return Ok(false);
        }
        let (first, last, count) = (first.number, last.number, documents.len() as u64);
        let (content, documents) = blocking(move || {
            let (words, mut open) = (Words::new(), OpenSegment::default());
            for document in &documents {
                open.add(document, &words);
            }
            (open.seal(), documents)
        })
        .await?;
        let segment = Box::new(Segment { first, last, documents: count, content });
        let mut commit = upkeep(self.owner).with(Change::InsertSegment { scope: self.scope, segment });
        // Mostly the vectors are as far as the postings, and then the texts are at hand.
        if self.embedder.pace() == Pace::Instant && self.embedded_to().await? == after {
            let vectors = Box::new(self.vectors(&documents, last).await?);
            commit.changes.push(Change::InsertVectors { scope: self.scope, vectors });
        }
        self.keep(commit).await?;
        Ok(true)
    }

    /// Embeds the next rows: of a fast model only those that are sealed, of a slow one all.
    async fn embed_some(&self) -> Result<bool, IndexError> {
        let _turn = self.turn.acquire().await;
        let after = self.embedded_to().await?;
        let batch = match self.embedder.pace() {
            Pace::Instant if after >= self.sealed_to().await? => return Ok(false),
            Pace::Instant => SEGMENT_DOCUMENTS,
            Pace::Slow => SLOW_BATCH,
        };
        let (documents, reached) = self.documents(after, batch).await?;
        if documents.is_empty() {
            return Ok(false);
        }
        let vectors = Box::new(self.vectors(&documents, reached).await?);
        self.keep(upkeep(self.owner).with(Change::InsertVectors { scope: self.scope, vectors })).await?;
        Ok(true)
    }

    async fn vectors(&self, documents: &[Document], last: u64) -> Result<VectorStretch, IndexError> {
        let texts: Vec<Arc<str>> = documents.iter().map(|document| document.text.as_str().into()).collect();
        let vectors = self.embedder.embed(&texts).await?;
        let dimensions = self.embedder.config().dimensions;
        let mut table = VectorTable::new(dimensions as usize);
        vectors.iter().for_each(|vector| table.push(vector));
        let numbers: Vec<u64> = documents.iter().map(|document| document.number).collect();
        if table.len() != documents.len() || vectors.iter().any(|vector| vector.len() != dimensions as usize) {
            let detail = format!("not every text got a vector of {dimensions} numbers");
            return Err(IndexError::Embed(EmbedError::Broken { detail }));
        }
        Ok(VectorStretch {
            embedding: self.handle().to_owned(),
            first: documents.first().map_or(last, |first| first.number),
            last,
            documents: documents.len() as u64,
            dimensions,
            content: table.keep(&numbers),
        })
    }

    /// Vectors of other models are of no use once this one's are complete.
    async fn drop_others(&self) -> Result<(), IndexError> {
        // A model that stands in for the named one, which may be back tomorrow, must not cost that one's vectors.
        let named = named_embedding(self.store, self.owner, self.scope).await?;
        let used = |one: &Coverage| one.embedding == self.handle() || Some(&one.embedding) == named.as_ref();
        let coverage = self.store.coverage(self.owner, self.scope).await?;
        let mut commit = upkeep(self.owner);
        for other in coverage.into_iter().filter(|one| !used(one)) {
            commit.changes.push(Change::DropVectors { scope: self.scope, embedding: other.embedding });
        }
        if !commit.changes.is_empty() {
            self.keep(commit).await?;
        }
        Ok(())
    }

    /// Commits; if somebody else did the same work at the same time, theirs is as good.
    async fn keep(&self, commit: Commit) -> Result<(), IndexError> {
        match self.store.commit(commit).await {
            Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
