//! The indexes in memory: loaded when first searched, kept in step with the rows, forgotten when others need the room.
//!
//! An index is brought up to date by whoever searches it: rows are numbered in the order in which they became visible,
//! so all that is new is what has a higher number than the last row that was seen. Nothing has to be told to anybody
//! when a message commits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use domain::OrganizationId;
use domain::seams::embedder::{Embedder, Pace};
use storage::{Change, Coverage, Page, SearchScope, Store, StoreError};
use tokio::sync::Semaphore;

use crate::document::Document;
use crate::index::{ScopeIndex, Vectors};
use crate::indexer::upkeep;
use crate::segment::Damaged;
use crate::vectors::VectorTable;
use crate::words::{Mark, mark};

/// Bytes that all indexes together may take, unless one alone takes more.
const BUDGET: usize = 512 * 1024 * 1024;
/// Rows that are read at once.
pub(crate) const ROWS_AT_ONCE: u32 = 1_000;
/// Kept stretches that are read at once.
pub(crate) const STRETCHES_AT_ONCE: u32 = 16;

/// All indexes in memory.
pub(crate) struct Scopes {
    store: Store,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    loaded: HashMap<SearchScope, Slot>,
    clock: u64,
}

struct Slot {
    index: Arc<Loaded>,
    used: u64,
    size: usize,
}

/// One index in memory.
pub(crate) struct Loaded {
    index: RwLock<ScopeIndex>,
    /// Held by the one that brings it up to date.
    turn: Semaphore,
}

impl Loaded {
    fn new() -> Self {
        Self { index: RwLock::default(), turn: Semaphore::new(1) }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, ScopeIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ScopeIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scopes {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, slots: Mutex::default() }
    }

    /// The index of a scope with every row that is committed by now. `embedder` is the one that the scope should have, if
    /// it can be reached.
    pub(crate) async fn current(
        &self,
        owner: OrganizationId,
        scope: SearchScope,
        embedder: Option<&Arc<dyn Embedder>>,
    ) -> Result<Arc<Loaded>, StoreError> {
        let loaded = self.slot(scope);
        {
            let _turn = loaded.turn.acquire().await;
            let refresh = Refresh { store: &self.store, owner, scope, loaded: &loaded, embedder };
            refresh.run().await?;
        }
        self.make_room(scope, loaded.read().size());
        Ok(loaded)
    }

    /// Forgets an index, so that it is loaded anew.
    pub(crate) fn forget(&self, scope: SearchScope) {
        self.lock().loaded.remove(&scope);
    }

    fn slot(&self, scope: SearchScope) -> Arc<Loaded> {
        let mut slots = self.lock();
        slots.clock += 1;
        let used = slots.clock;
        let slot = slots.loaded.entry(scope).or_insert_with(|| Slot { index: Arc::new(Loaded::new()), used, size: 0 });
        slot.used = used;
        slot.index.clone()
    }

    /// Drops what was not used for longest while there is too much; never the one just used.
    fn make_room(&self, keep: SearchScope, size: usize) {
        let mut slots = self.lock();
        if let Some(slot) = slots.loaded.get_mut(&keep) {
            slot.size = size;
        }
        while slots.loaded.values().map(|slot| slot.size).sum::<usize>() > BUDGET {
            let others = slots.loaded.iter().filter(|(scope, _)| **scope != keep);
            let Some(oldest) = others.min_by_key(|(_, slot)| slot.used).map(|(scope, _)| *scope) else { return };
            slots.loaded.remove(&oldest);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings one index up to date.
struct Refresh<'a> {
    store: &'a Store,
    owner: OrganizationId,
    scope: SearchScope,
    loaded: &'a Arc<Loaded>,
    embedder: Option<&'a Arc<dyn Embedder>>,
}

impl Refresh<'_> {
    async fn run(&self) -> Result<(), StoreError> {
        if self.loaded.read().last_row == 0 {
            self.load_segments().await?;
        }
        self.learn_people().await?;
        self.choose_vectors().await?;
        self.load_vectors().await?;
        self.add_rows().await?;
        if !self.is_instant() {
            self.load_vectors().await?;
        }
        self.forget_rows().await
    }

    /// The model that the scope should have.
    fn wanted(&self) -> Option<&str> {
        self.embedder.map(|embedder| embedder.config().handle.as_str())
    }

    fn is_instant(&self) -> bool {
        self.embedder.is_some_and(|embedder| embedder.pace() == Pace::Instant)
    }

    /// Reads what is kept. Damaged stretches are thrown away: the rows are all that is needed.
    async fn load_segments(&self) -> Result<(), StoreError> {
        let mut after = 0;
        loop {
            let segments = self.store.segments(self.owner, self.scope, page(after)).await?;
            let Some(last) = segments.last() else { return Ok(()) };
            after = last.last;
            let loaded = self.loaded.clone();
            let added = blocking(move || {
                let mut index = loaded.write();
                segments.iter().try_for_each(|segment| index.add_sealed(&segment.content))
            })
            .await?;
            if added.is_err() {
                tracing::warn!(scope = ?self.scope, "the search index is damaged and is made again from the rows");
                *self.loaded.write() = ScopeIndex::default();
                return self.change(Change::DropSegments(self.scope)).await;
            }
        }
    }

    /// Kept stretches say whose a document is only to who knows the person.
    async fn learn_people(&self) -> Result<(), StoreError> {
        let SearchScope::Recall(agent) = self.scope else { return Ok(()) };
        if self.loaded.read().people_known {
            return Ok(());
        }
        let people = self.store.message_people(self.owner, agent).await?;
        let loaded = self.loaded.clone();
        blocking(move || {
            let mut index = loaded.write();
            people.iter().for_each(|person| index.add_person(mark(Mark::Identity, person.as_bytes())));
            index.people_known = true;
        })
        .await
    }

    /// Takes the vectors of the wanted model, or of another while the wanted one's do not reach as far.
    async fn choose_vectors(&self) -> Result<(), StoreError> {
        let wanted = self.wanted();
        let has = self.loaded.read().vectors.embedding.clone();
        if has.is_some() && (wanted.is_none() || has.as_deref() == wanted) {
            return Ok(());
        }
        let coverage = self.store.coverage(self.owner, self.scope).await?;
        let chosen = choose(wanted.unwrap_or_default(), &coverage);
        if chosen.is_empty() {
            return Ok(());
        }
        let mut index = self.loaded.write();
        if index.vectors.embedding.as_deref() != Some(chosen) {
            index.vectors = Vectors { embedding: Some(chosen.to_owned()), ..Vectors::default() };
        }
        Ok(())
    }

    async fn load_vectors(&self) -> Result<(), StoreError> {
        loop {
            let (embedding, after, missing) = {
                let index = self.loaded.read();
                let vectors = &index.vectors;
                (vectors.embedding.clone(), vectors.kept_to, index.len() - vectors.table.len())
            };
            let Some(embedding) = embedding.filter(|_| missing > 0) else { return Ok(()) };
            let stretches = self.store.vectors(self.owner, self.scope, &embedding, page(after)).await?;
            if stretches.is_empty() {
                return Ok(());
            }
            let loaded = self.loaded.clone();
            let more = blocking(move || add_all_vectors(&mut loaded.write(), &stretches));
            match more.await? {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Damaged) => {
                    tracing::warn!(scope = ?self.scope, embedding, "kept vectors are damaged and are made again");
                    self.loaded.write().vectors = Vectors { embedding: Some(embedding.clone()), ..Vectors::default() };
                    return self.change(Change::DropVectors { scope: self.scope, embedding }).await;
                }
            }
        }
    }

    async fn add_rows(&self) -> Result<(), StoreError> {
        loop {
            let after = self.loaded.read().last_row;
            let Some((last, documents)) = documents_after(self.store, self.owner, self.scope, after).await? else {
                return Ok(());
            };
            let vectors = self.vectors_of(&documents).await;
            let loaded = self.loaded.clone();
            blocking(move || {
                let mut index = loaded.write();
                add_documents(&mut index, &documents, &vectors);
                index.last_row = index.last_row.max(last);
            })
            .await?;
        }
    }

    /// Vectors of new documents, where that takes no time and all before them have theirs.
    async fn vectors_of(&self, documents: &[Document]) -> Vec<Vec<f32>> {
        let ready = {
            let index = self.loaded.read();
            index.vectors.embedding.as_deref() == self.wanted() && index.vectors.table.len() == index.len()
        };
        let Some(embedder) = self.embedder.filter(|_| ready && self.is_instant()) else { return Vec::new() };
        let texts: Vec<Arc<str>> = documents.iter().map(|document| document.text.as_str().into()).collect();
        embedder.embed(&texts).await.unwrap_or_default()
    }

    async fn forget_rows(&self) -> Result<(), StoreError> {
        // A message that is superseded before it is read here says so itself.
        let after = self.loaded.read().last_gone;
        let gone = self.store.gone_after(self.owner, self.scope, after).await?;
        let mut index = self.loaded.write();
        for gone in gone {
            index.forget(gone.number);
            index.last_gone = gone.ordinal;
        }
        Ok(())
    }

    async fn change(&self, change: Change) -> Result<(), StoreError> {
        self.store.commit(upkeep(self.owner).with(change)).await.map(drop)
    }
}

fn page(after: u64) -> Page {
    Page { after, limit: STRETCHES_AT_ONCE }
}

/// The model whose vectors to search with.
fn choose<'a>(wanted: &'a str, coverage: &'a [Coverage]) -> &'a str {
    let reach = |name: &str| coverage.iter().find(|one| one.embedding == name).map_or(0, |one| one.last);
    let longest = coverage.iter().max_by_key(|one| one.last);
    match longest {
        Some(other) if other.last > reach(wanted) => &other.embedding,
        _ => wanted,
    }
}

/// Adds documents, and their vectors as long as there is one for each document before.
fn add_documents(index: &mut ScopeIndex, documents: &[Document], vectors: &[Vec<f32>]) {
    for (place, document) in documents.iter().enumerate() {
        index.add(document);
        let next = index.vectors.table.len() + 1 == index.len();
        let Some(vector) = vectors.get(place).filter(|_| next) else { continue };
        if index.vectors.table.len() == 0 {
            index.vectors.table = VectorTable::new(vector.len());
        }
        index.vectors.table.push(vector);
    }
}

/// Adds kept stretches of vectors; false if one reaches rows that the index has not seen yet.
fn add_all_vectors(index: &mut ScopeIndex, stretches: &[storage::VectorStretch]) -> Result<bool, Damaged> {
    for stretch in stretches {
        if !add_vectors(index, stretch)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds a kept stretch of vectors; false if it reaches rows that the index has not seen yet.
fn add_vectors(index: &mut ScopeIndex, stretch: &storage::VectorStretch) -> Result<bool, Damaged> {
    if stretch.last > index.last_row {
        return Ok(false);
    }
    let start = index.vectors.table.len();
    let end = index.numbers().partition_point(|number| *number <= stretch.last);
    let rows = index.numbers().get(start..end).ok_or(Damaged)?.to_vec();
    if start == 0 {
        index.vectors.table = VectorTable::new(stretch.dimensions as usize);
    }
    let count = usize::try_from(stretch.documents).map_err(|_| Damaged)?;
    index.vectors.table.extend(&stretch.content, count, &rows)?;
    index.vectors.kept_to = stretch.last;
    Ok(true)
}

/// The next rows of a scope: the number of the last, and those that are searchable. None where there are no more.
pub(crate) async fn documents_after(
    store: &Store,
    owner: OrganizationId,
    scope: SearchScope,
    after: u64,
) -> Result<Option<(u64, Vec<Document>)>, StoreError> {
    match scope {
        SearchScope::Recall(agent) => {
            let rows = store.messages_after(owner, agent, after, ROWS_AT_ONCE).await?;
            let documents = rows.iter().filter_map(|message| Document::of_message(message)).collect();
            Ok(rows.last().map(|last| (last.sequence_id, documents)))
        }
        SearchScope::Archive(archive) => {
            let rows = store.passages_after(owner, archive, after, ROWS_AT_ONCE).await?;
            let documents = rows.iter().map(|passage| Document::of_passage(passage)).collect();
            Ok(rows.last().map(|last| (last.number, documents)))
        }
    }
}

/// Runs what takes long on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    // It fails only if the work panicked or the program is stopping.
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_that_reaches_furthest_is_searched_with() {
        let cover = |embedding: &str, last| Coverage { embedding: embedding.to_owned(), last, documents: last };
        assert_eq!(choose("a", &[]), "a");
        assert_eq!(choose("a", &[cover("b", 5)]), "b");
        assert_eq!(choose("a", &[cover("b", 5), cover("a", 3)]), "b");
        assert_eq!(choose("a", &[cover("a", 5), cover("b", 5)]), "a");
    }
}
