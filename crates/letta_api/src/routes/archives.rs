//! `/v1/archives`, and which agents have which.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::{Actor, Archive};
use storage::{AgentFilter, ArchiveFilter, SearchScope};

use super::agents::{Relations, show_all};
use super::embeddings::Embeddings;
use crate::LettaApi;
use crate::body::Fields;
use crate::error::ApiError;
use crate::path::{ArchivePath, SharePath};
use crate::query::Query;
use crate::wire::archives::{ArchiveState, read_archive, read_archive_patch};

const DEFAULT_LIMIT: u32 = 50;

pub(crate) async fn create(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    fields: Fields,
) -> Result<Response, ApiError> {
    let archive = door.dispatcher.create_archive(actor, read_archive(fields)?).await?;
    Ok(show(&door, archive).await)
}

pub(crate) async fn list(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    query: Query,
) -> Result<Response, ApiError> {
    let filter = ArchiveFilter {
        name: query.text("name").map(str::to_owned),
        agent: query.id("agent_id")?,
        before: query.id("before")?,
        after: query.id("after")?,
        limit: query.limit(DEFAULT_LIMIT)?,
        ascending: query.ascending(false)?,
    };
    let archives = door.dispatcher.store().find_archives(actor.organization, &filter).await?;
    let embeddings = Embeddings::of(&door, &archives).await;
    let shown = archives.iter().map(|archive| ArchiveState::new(archive, embeddings.config(&archive.embedding)));
    Ok(Json(shown.collect::<Vec<_>>()).into_response())
}

pub(crate) async fn retrieve(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    ArchivePath(id): ArchivePath,
) -> Result<Response, ApiError> {
    let archive = door.dispatcher.archive_or_not_found(actor, id).await?;
    Ok(show(&door, archive).await)
}

pub(crate) async fn modify(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    ArchivePath(id): ArchivePath,
    fields: Fields,
) -> Result<Response, ApiError> {
    let archive = door.dispatcher.modify_archive(actor, id, read_archive_patch(fields)?).await?;
    Ok(show(&door, archive).await)
}

pub(crate) async fn delete(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    ArchivePath(id): ArchivePath,
) -> Result<StatusCode, ApiError> {
    door.dispatcher.delete_archive(actor, id).await?;
    door.search.forget(SearchScope::Archive(id));
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn agents(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    ArchivePath(id): ArchivePath,
    query: Query,
) -> Result<Response, ApiError> {
    door.dispatcher.archive_or_not_found(actor, id).await?;
    let filter = AgentFilter {
        archive: Some(id),
        before: query.id("before")?,
        after: query.id("after")?,
        limit: query.limit(DEFAULT_LIMIT)?,
        ascending: query.ascending(false)?,
        // Whoever asks who can read an archive must be told of all.
        include_hidden: true,
        ..AgentFilter::default()
    };
    show_all(&door, actor, &filter, &Relations::named(&query)).await
}

pub(crate) async fn attach(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    SharePath { agent, archive }: SharePath,
) -> Result<Json<()>, ApiError> {
    door.dispatcher.attach_archive(actor, agent, archive).await?;
    Ok(Json(()))
}

pub(crate) async fn detach(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    SharePath { agent, archive }: SharePath,
) -> Result<Json<()>, ApiError> {
    door.dispatcher.detach_archive(actor, agent, archive).await?;
    Ok(Json(()))
}

async fn show(door: &LettaApi, archive: Archive) -> Response {
    let archives = [archive];
    let embeddings = Embeddings::of(door, &archives).await;
    let [archive] = &archives;
    Json(ArchiveState::new(archive, embeddings.config(&archive.embedding))).into_response()
}
