//! `/v1/archives/{id}/passages` and `POST /v1/passages/search`: passages, whoever has their archives.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::{Actor, Archive, ArchiveId, Passage, PassageId};
use retrieval::ArchivalQuery;
use storage::{ArchiveFilter, PassageFilter};

use super::embeddings::Embeddings;
use crate::LettaApi;
use crate::body::Fields;
use crate::error::ApiError;
use crate::path::{ArchivePath, PassagePath};
use crate::wire::passages::{HitMetadata, PassageHit, PassageSearch, PassageState, read_passage, read_passages};

/// Archives that one search may go through, because each is brought into memory.
const MAX_SEARCHED: u32 = 256;

pub(crate) async fn create(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    ArchivePath(id): ArchivePath,
    fields: Fields,
) -> Result<Response, ApiError> {
    let passages = door.dispatcher.add_passages(actor, id, vec![read_passage(fields)?]).await?;
    let archives = [door.dispatcher.archive_or_not_found(actor, id).await?];
    let shelf = Shelf::of(&door, &archives, &passages).await;
    let shown = passages.first().map(|passage| shelf.show(passage)).ok_or_else(ApiError::internal)?;
    Ok(Json(shown).into_response())
}

pub(crate) async fn create_batch(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    ArchivePath(id): ArchivePath,
    fields: Fields,
) -> Result<Response, ApiError> {
    let passages = door.dispatcher.add_passages(actor, id, read_passages(fields)?).await?;
    let archive = door.dispatcher.archive_or_not_found(actor, id).await?;
    Ok(show_new(&door, archive, &passages).await)
}

pub(crate) async fn delete(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    PassagePath { archive, passage }: PassagePath,
) -> Result<StatusCode, ApiError> {
    door.dispatcher.delete_passage(actor, archive, passage).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn search(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    fields: Fields,
) -> Result<Response, ApiError> {
    let wanted = PassageSearch::read(fields)?;
    let archives = searched(&door, actor, &wanted).await?;
    let (passages, reasons) = ranked(&door, actor, &archives, wanted).await?;
    let shelf = Shelf::of(&door, &archives, &passages).await;
    let hit = |(passage, (score, metadata))| PassageHit { passage: shelf.show(passage), score, metadata };
    let shown: Vec<PassageHit<'_>> = passages.iter().map(|passage| &**passage).zip(reasons).map(hit).collect();
    Ok(Json(shown).into_response())
}

/// The archives that a search goes through. An agent counts more than an archive, as in Letta.
async fn searched(door: &LettaApi, actor: Actor, wanted: &PassageSearch) -> Result<Vec<Archive>, ApiError> {
    if let Some(agent) = wanted.agent {
        return Ok(door.dispatcher.agent_archives(actor, agent).await?);
    }
    if let Some(archive) = wanted.archive {
        return Ok(vec![door.dispatcher.archive_or_not_found(actor, archive).await?]);
    }
    let filter = ArchiveFilter { limit: MAX_SEARCHED + 1, ..ArchiveFilter::default() };
    let archives = door.dispatcher.store().find_archives(actor.organization, &filter).await?;
    if archives.len() > MAX_SEARCHED as usize {
        let text = format!("there are more than {MAX_SEARCHED} archives: name an `archive_id` or an `agent_id`");
        return Err(ApiError::refused(&text));
    }
    Ok(archives)
}

/// Passages, the best first, and for each its score and why it has it.
type Ranked = (Vec<Arc<Passage>>, Vec<(f64, HitMetadata)>);

/// The best passages, or the newest where nothing is looked for.
async fn ranked(
    door: &LettaApi,
    actor: Actor,
    archives: &[Archive],
    wanted: PassageSearch,
) -> Result<Ranked, ApiError> {
    let PassageSearch { tags, match_all_tags, from, until, limit, .. } = wanted;
    let archives: Vec<ArchiveId> = archives.iter().map(|archive| archive.id).collect();
    let Some(text) = wanted.text else {
        let filter = PassageFilter {
            archives,
            tags,
            match_all_tags,
            from,
            until,
            limit,
            ascending: false,
            ..PassageFilter::default()
        };
        let newest = door.dispatcher.store().passages(actor.organization, &filter).await?;
        return Ok(newest.into_iter().map(|passage| (passage, (0.0, HitMetadata::default()))).unzip());
    };
    let query = ArchivalQuery { archives, text, tags, match_all_tags, from, until, limit: limit as usize };
    let found = door.search.archival(actor.organization, &query).await?;
    let mode = found.mode.as_str();
    let hits = found.hits.into_iter().map(|hit| {
        let why = &hit.relevance;
        let metadata = HitMetadata { search_mode: Some(mode), vector_rank: why.vector_rank, fts_rank: why.fts_rank };
        (hit.row, (f64::from(why.score), metadata))
    });
    Ok(hits.unzip())
}

/// What is shown of passages beside themselves.
struct Shelf<'a> {
    archives: &'a [Archive],
    embeddings: Embeddings,
    vectors: HashMap<PassageId, Vec<f32>>,
}

impl<'a> Shelf<'a> {
    /// With vectors, where they are at hand.
    async fn of(door: &LettaApi, archives: &'a [Archive], passages: &[Arc<Passage>]) -> Self {
        let embeddings = Embeddings::of(door, archives).await;
        let mut vectors = HashMap::with_capacity(passages.len());
        for archive in archives {
            let own: Vec<Arc<Passage>> =
                passages.iter().filter(|passage| passage.archive == archive.id).cloned().collect();
            let found = if own.is_empty() { Vec::new() } else { embeddings.vectors(door, archive, &own).await };
            vectors.extend(own.iter().map(|passage| passage.id).zip(found));
        }
        Self { archives, embeddings, vectors }
    }

    fn show<'b>(&'b self, passage: &'b Passage) -> PassageState<'b> {
        let archive = self.archives.iter().find(|archive| archive.id == passage.archive);
        let config = archive.and_then(|archive| self.embeddings.config(&archive.embedding));
        PassageState::new(passage, self.vectors.get(&passage.id).map(Vec::as_slice), config)
    }
}

/// Answers with passages that were just stored in `archive`.
pub(crate) async fn show_new(door: &LettaApi, archive: Archive, passages: &[Arc<Passage>]) -> Response {
    let archives = [archive];
    let shelf = Shelf::of(door, &archives, passages).await;
    let shown: Vec<PassageState<'_>> = passages.iter().map(|passage| shelf.show(passage)).collect();
    Json(shown).into_response()
}

/// Answers with a page of passages, without vectors.
pub(crate) async fn show_list(door: &LettaApi, archives: &[Archive], passages: &[Arc<Passage>]) -> Response {
    let shelf = Shelf::of(door, archives, &[]).await;
    let shown: Vec<PassageState<'_>> = passages.iter().map(|passage| shelf.show(passage)).collect();
    Json(shown).into_response()
}
