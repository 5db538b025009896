//! Searching messages and passages: one way for tools, the command line and measurements.
//!
//! A search brings the index up to date, ranks, reads the best rows, and looks at those once more with their words at
//! hand. If the embedding model fails, words alone decide, and the answer says so.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use domain::embedding::BUILTIN_EMBEDDING;
use domain::seams::embedder::{EmbedError, Embedder};
use domain::{
    AgentId, ArchiveId, ConversationId, Message, ModelHandle, OrganizationId, Passage, Role, RunId, Standing, Timestamp,
};
use storage::{SearchScope, Store, StoreError};
use tokio::sync::Semaphore;

use crate::document::searchable_text;
use crate::embed::Embedders;
use crate::filter::{Filter, Whose};
use crate::index::ScopeIndex;
use crate::indexer::{IndexError, Indexer, Progress, named_embedding};
use crate::question::Question;
use crate::rank::{Ingredients, Looked, first_look};
use crate::scopes::{Loaded, Scopes, blocking};
use crate::second_look::{Lexicon, second_look};
use crate::vectors::QueryVector;
use crate::words::{Mark, mark};

/// The most results of one search.
pub const MAX_RESULTS: usize = 200;
/// Characters of a query that count.
const MAX_QUERY_CHARS: usize = 8_000;
/// How long a search waits for the vector of its query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Scopes that can be indexed at the same time, at most.
const TURNS: usize = 64;

/// A search in an agent's messages.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallQuery {
    pub agent: AgentId,
    pub text: String,
    /// Only messages of these roles; empty means all that can be found.
    pub roles: Vec<Role>,
    /// Only messages from then on.
    pub from: Option<Timestamp>,
    /// Only messages before then.
    pub until: Option<Timestamp>,
    /// Only messages of this conversation.
    pub conversation: Option<ConversationId>,
    pub whose: Whose,
    /// Whether what a client went back to before may be found too.
    pub superseded: bool,
    /// A conversation whose messages are about to be set aside from this number on: they answer no search any more.
    pub set_aside: Option<(ConversationId, u64)>,
    /// Only messages with a lower number.
    pub before: Option<u64>,
    /// Leaves out the run that asks, or it would find its own question.
    pub except_run: Option<RunId>,
    pub limit: usize,
}

impl RecallQuery {
    /// A search in all that an agent was told.
    pub fn new(agent: AgentId, text: impl Into<String>, limit: usize) -> Self {
        Self {
            agent,
            text: text.into(),
            roles: Vec::new(),
            from: None,
            until: None,
            conversation: None,
            whose: Whose::Anyone,
            superseded: false,
            set_aside: None,
            before: None,
            except_run: None,
            limit,
        }
    }

    /// Whether a row that was found may be shown. The index says the same, but rows may have changed since.
    fn allows(&self, message: &Message) -> bool {
        let stands = match message.standing {
            Standing::Kept => true,
            Standing::Superseded => self.superseded,
            Standing::Example => false,
        };
        let goes = self
            .set_aside
            .is_some_and(|(conversation, from)| message.conversation == conversation && message.sequence_id >= from);
        stands && !goes && self.whose.allows(message) && (self.except_run.is_none() || message.run != self.except_run)
    }
}

/// A search in archives.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchivalQuery {
    pub archives: Vec<ArchiveId>,
    pub text: String,
    pub tags: Vec<String>,
    /// Whether a passage must have all of the tags or any of them.
    pub match_all_tags: bool,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub limit: usize,
}

/// What the ranking was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    Hybrid,
    /// There were no vectors to compare with.
    FullText,
}

impl SearchMode {
    /// The word that clients know.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::FullText => "fts",
        }
    }
}

/// Why a row ranked where it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Relevance {
    /// The score that decided; comparable within one search only.
    pub score: f32,
    /// Its place by words alone, from 1.
    pub fts_rank: Option<usize>,
    /// Its place by vectors alone, from 1.
    pub vector_rank: Option<usize>,
    /// The cosine with the query.
    pub cosine: Option<f32>,
    /// Words of the query that it has, or its neighbours have.
    pub words: Vec<String>,
}

/// A row that was found.
#[derive(Debug, Clone)]
pub struct Hit<T> {
    pub row: Arc<T>,
    /// Its words as they were searched.
    pub text: String,
    pub relevance: Relevance,
}

/// What a search found, the best first.
#[derive(Debug, Clone)]
pub struct Found<T> {
    pub mode: SearchMode,
    pub hits: Vec<Hit<T>>,
}

/// The searcher. Cheap to clone.
#[derive(Clone)]
pub struct Search {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    scopes: Scopes,
    embedders: Embedders,
    ingredients: Ingredients,
    /// Whose turn it is to index a scope. A few scopes share one, so that their number does not grow.
    turns: [Semaphore; TURNS],
}

impl Search {
    /// A searcher of `store`; `embedders` knows the embedding models.
    pub fn new(store: Store, embedders: Embedders) -> Self {
        Self::with(store, embedders, Ingredients::ALL)
    }

    /// A searcher that leaves something out, to measure what it adds.
    pub fn with(store: Store, embedders: Embedders, ingredients: Ingredients) -> Self {
        let scopes = Scopes::new(store.clone());
        let turns = std::array::from_fn(|_| Semaphore::new(1));
        Self { shared: Arc::new(Shared { store, scopes, embedders, ingredients, turns }) }
    }

    /// Searches an agent's messages.
    pub async fn recall(&self, owner: OrganizationId, query: &RecallQuery) -> Result<Found<Message>, StoreError> {
        let scope = SearchScope::Recall(query.agent);
        let (whose, with_gone) = (query.whose, query.superseded);
        let mut filter =
            Filter { whose, with_gone, roles: query.roles.clone(), before: query.before, ..Filter::default() };
        filter.within(query.from, query.until);
        filter.set_aside = query.set_aside.map(|(id, from)| (mark(Mark::Conversation, id.as_bytes()), from));
        filter.every.extend(query.conversation.map(|id| mark(Mark::Conversation, id.as_bytes())));
        let looked = self.look(owner, &[scope], &query.text, filter).await?;
        let numbers: Vec<u64> = looked.0.candidates.iter().map(|candidate| candidate.number).collect();
        let rows = self.shared.store.messages_by_number(owner, query.agent, &numbers).await?;
        let rows = rows
            .into_iter()
            .filter(|message| query.allows(message))
            .filter_map(|message| Some((message.sequence_id, (searchable_text(&message)?, message))))
            .collect();
        self.best(looked, rows, query.limit).await
    }

    /// Searches archives.
    pub async fn archival(&self, owner: OrganizationId, query: &ArchivalQuery) -> Result<Found<Passage>, StoreError> {
        let scopes: Vec<SearchScope> = query.archives.iter().map(|archive| SearchScope::Archive(*archive)).collect();
        let mut filter = Filter::default();
        filter.within(query.from, query.until);
        let tags = query.tags.iter().map(|tag| mark(Mark::Tag, tag.trim().as_bytes())).collect();
        if query.match_all_tags {
            filter.every = tags;
        } else {
            filter.any = tags;
        }
        let looked = self.look(owner, &scopes, &query.text, filter).await?;
        let numbers: Vec<u64> = looked.0.candidates.iter().map(|candidate| candidate.number).collect();
        let rows = self.shared.store.passages_by_number(owner, &numbers).await?;
        let rows = rows.into_iter().map(|passage| (passage.number, (passage.text.to_string(), passage))).collect();
        self.best(looked, rows, query.limit).await
    }

    /// The rows worth a second look, the best first.
    async fn look(
        &self,
        owner: OrganizationId,
        scopes: &[SearchScope],
        text: &str,
        filter: Filter,
    ) -> Result<(Looked, Vec<Arc<Loaded>>), StoreError> {
        let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
        let mut parts: Vec<(Arc<Loaded>, QueryModel)> = Vec::with_capacity(scopes.len());
        for scope in scopes {
            let embedder = match self.embedder(owner, *scope).await {
                Ok(embedder) => Some(embedder),
                Err(IndexError::Embed(_)) => None,
                Err(IndexError::Store(error)) => return Err(error),
            };
            let loaded = self.shared.scopes.current(owner, *scope, embedder.as_ref()).await?;
            let embedding = loaded.read().vectors.embedding.clone();
            let model = self.query_model(embedding.as_deref(), &text).await;
            parts.push((loaded, model));
        }
        let ingredients = self.shared.ingredients;
        let builtin = self.shared.embedders.builtin().clone();
        blocking(move || {
            let question = Question::new(&text, &builtin);
            let guards: Vec<_> = parts.iter().map(|(loaded, _)| loaded.read()).collect();
            let indexes: Vec<&ScopeIndex> = guards.iter().map(|guard| &**guard).collect();
            let asked = question.asked(&indexes);
            let vectors: Vec<Option<QueryVector>> = parts
                .iter()
                .map(|(_, model)| match model {
                    QueryModel::Builtin => Some(QueryVector::new(&question.builtin_vector(&asked))),
                    QueryModel::Other(vector) => Some(QueryVector::new(vector)),
                    QueryModel::None => None,
                })
                .collect();
            let with_vectors: Vec<_> =
                indexes.iter().zip(&vectors).map(|(index, vector)| (*index, vector.as_ref())).collect();
            let looked = first_look(&with_vectors, asked, &filter, ingredients);
            drop(guards);
            (looked, parts.into_iter().map(|(loaded, _)| loaded).collect())
        })
        .await
    }

    /// The embedder that a scope should have. Fails where the owner has no such scope.
    pub(crate) async fn embedder(
        &self,
        owner: OrganizationId,
        scope: SearchScope,
    ) -> Result<Arc<dyn Embedder>, IndexError> {
        let named = named_embedding(&self.shared.store, owner, scope).await?;
        Ok(self.shared.embedders.for_agent(named.as_deref()).await?)
    }

    /// How the query becomes a vector that can be compared with those of this model.
    async fn query_model(&self, embedding: Option<&str>, text: &str) -> QueryModel {
        let Some(embedding) = embedding.filter(|_| self.shared.ingredients.vectors) else { return QueryModel::None };
        if embedding == BUILTIN_EMBEDDING {
            return QueryModel::Builtin;
        }
        let texts = [Arc::<str>::from(text)];
        let vectors = async {
            let handle =
                ModelHandle::parse(embedding).map_err(|_| EmbedError::Unavailable { detail: embedding.into() })?;
            self.shared.embedders.named(&handle).await?.embed(&texts).await
        };
        match tokio::time::timeout(QUERY_TIMEOUT, vectors).await {
            Ok(Ok(vectors)) => vectors.into_iter().next().map_or(QueryModel::None, QueryModel::Other),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a query could not be embedded");
                QueryModel::None
            }
            Err(_) => {
                tracing::warn!(embedding, "the embedding model took too long for a query");
                QueryModel::None
            }
        }
    }

    /// The best rows after a look at their words.
    async fn best<T: Send + Sync + 'static>(
        &self,
        (mut looked, searched): (Looked, Vec<Arc<Loaded>>),
        mut rows: HashMap<u64, (String, Arc<T>)>,
        limit: usize,
    ) -> Result<Found<T>, StoreError> {
        // What was deleted in between is not there any more.
        looked.candidates.retain(|candidate| rows.contains_key(&candidate.number));
        let (builtin, ingredients) = (self.shared.embedders.builtin().clone(), self.shared.ingredients);
        blocking(move || {
            let mode = if looked.with_vectors { SearchMode::Hybrid } else { SearchMode::FullText };
            let rows: Vec<(String, Arc<T>)> =
                looked.candidates.iter().filter_map(|candidate| rows.remove(&candidate.number)).collect();
            let texts: Vec<&str> = rows.iter().map(|(text, _)| text.as_str()).collect();
            let guards: Vec<_> = searched.iter().map(|loaded| loaded.read()).collect();
            let indexes: Vec<&ScopeIndex> = guards.iter().map(|guard| &**guard).collect();
            let lexicon = Lexicon { builtin: &builtin, indexes: &indexes };
            let ranked = second_look(&looked, &texts, &lexicon, ingredients);
            let hits = ranked.into_iter().take(limit.min(MAX_RESULTS)).map(|(place, relevance)| {
                let (text, row) = &rows[place];
                Hit { row: row.clone(), text: text.clone(), relevance }
            });
            Found { mode, hits: hits.collect() }
        })
        .await
    }
}

/// Where the vector of a query comes from.
enum QueryModel {
    /// From the built-in model, once it is known which words are rare.
    Builtin,
    Other(Vec<f32>),
    /// There is none: words alone decide.
    None,
}

impl Search {
    pub(crate) fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Brings the kept index of a scope up to date and tells how far it is; stops where `told` says false.
    pub async fn index(
        &self,
        owner: OrganizationId,
        scope: SearchScope,
        told: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<(), IndexError> {
        let embedder = self.embedder(owner, scope).await?;
        self.indexer(owner, scope, &embedder).run(told).await
    }

    /// Whether an embedding model can be reached.
    pub async fn check_embedding(&self, handle: &ModelHandle) -> Result<(), EmbedError> {
        self.shared.embedders.named(handle).await.map(drop)
    }

    /// How far the vectors of a scope are.
    pub async fn progress(&self, owner: OrganizationId, scope: SearchScope) -> Result<Progress, IndexError> {
        let embedder = self.embedder(owner, scope).await?;
        Ok(self.indexer(owner, scope, &embedder).progress().await?)
    }

    fn indexer<'a>(
        &'a self,
        owner: OrganizationId,
        scope: SearchScope,
        embedder: &'a Arc<dyn Embedder>,
    ) -> Indexer<'a> {
        let mut hasher = DefaultHasher::new();
        scope.hash(&mut hasher);
        let turn = &self.shared.turns[hasher.finish() as usize % TURNS];
        Indexer { store: &self.shared.store, owner, scope, embedder, turn }
    }

    /// Forgets what is in memory of a scope, so that it is read anew.
    pub fn forget(&self, scope: SearchScope) {
        self.shared.scopes.forget(scope);
    }
}
