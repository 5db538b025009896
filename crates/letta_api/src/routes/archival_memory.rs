//! `/v1/agents/{id}/archival-memory`: what an agent stored for later, in all of its archives.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use dispatch::moments::End;
use domain::Actor;
use retrieval::ArchivalQuery;
use serde_json::{Value, json};
use storage::PassageFilter;

use super::passages::{show_list, show_new};
use crate::LettaApi;
use crate::body::Fields;
use crate::error::ApiError;
use crate::path::{AgentPath, MemoryPath};
use crate::query::Query;
use crate::wire::passages::{ArchivalResults, MAX_RESULTS, check_text, few_tags, match_all, moment, read_passage};

const DEFAULT_LIMIT: u32 = 100;
const DEFAULT_RESULTS: u32 = 10;

pub(crate) async fn create(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
    fields: Fields,
) -> Result<Response, ApiError> {
    let passage = door.dispatcher.add_agent_passage(actor, agent, read_passage(fields)?).await?;
    let archive = door.dispatcher.archive_or_not_found(actor, passage.archive).await?;
    Ok(show_new(&door, archive, &[passage]).await)
}

pub(crate) async fn list(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
    query: Query,
) -> Result<Response, ApiError> {
    let archives = door.dispatcher.agent_archives(actor, agent).await?;
    query.text("search").map_or(Ok(()), |text| check_text(&["query", "search"], text))?;
    let filter = PassageFilter {
        archives: archives.iter().map(|archive| archive.id).collect(),
        text: query.text("search").map(str::to_owned),
        before: query.id("before")?,
        after: query.id("after")?,
        limit: query.limit(DEFAULT_LIMIT)?,
        ascending: query.ascending(query.flag("ascending", true)?)?,
        ..PassageFilter::default()
    };
    let passages = door.dispatcher.store().passages(actor.organization, &filter).await?;
    Ok(show_list(&door, &archives, &passages).await)
}

pub(crate) async fn search(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
    query: Query,
) -> Result<Response, ApiError> {
    let agent = door.dispatcher.agent_or_not_found(actor, agent).await?;
    let missing = || ApiError::invalid("missing", &["query", "query"], "say what to look for");
    let text = query.text("query").filter(|text| !text.trim().is_empty()).ok_or_else(missing)?;
    check_text(&["query", "query"], text)?;
    let time = |name: &'static str, end| {
        query.text(name).map(|text| moment(&["query", name], text, &agent.timezone, end)).transpose()
    };
    let archives = door.dispatcher.agent_archives(actor, agent.id).await?;
    let question = ArchivalQuery {
        archives: archives.iter().map(|archive| archive.id).collect(),
        text: text.to_owned(),
        tags: few_tags(&["query", "tags"], query.all("tags"))?,
        match_all_tags: match_all(&["query", "tag_match_mode"], query.text("tag_match_mode"))?,
        from: time("start_datetime", End::Start)?,
        until: time("end_datetime", End::Finish)?,
        limit: query.count("top_k", DEFAULT_RESULTS, MAX_RESULTS)? as usize,
    };
    let found = door.search.archival(actor.organization, &question).await?;
    Ok(Json(ArchivalResults::new(&found, &agent.timezone)).into_response())
}

pub(crate) async fn delete(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    MemoryPath { agent, passage }: MemoryPath,
) -> Result<Json<Value>, ApiError> {
    door.dispatcher.delete_agent_passage(actor, agent, passage).await?;
    Ok(Json(json!({ "message": format!("Memory id={passage} successfully deleted") })))
}
