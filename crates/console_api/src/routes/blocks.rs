//! `/console/v1/agents/{id}/blocks`: the blocks that an agent has and had, what they were, and how they become that
//! again.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::{Extension, Json};
use dispatch::agent_spec::AgentError;
use dispatch::{Direction, UndoError, UndoRequest, Undone};
use domain::{Actor, Block};
use storage::{BlockVersion, StoreError};

use crate::ConsoleApi;
use crate::body::OptionalBody;
use crate::error::ConsoleError;
use crate::path::{AgentPath, BlockPath};
use crate::wire::history::{BlockEntry, Diff, DiffQuery, History, HistoryQuery, Parting, Sharer, UndoBody, UndoReport};

/// Agents of a shared block that are named.
const MAX_SHARERS: u32 = 100;
/// Labels that an error names.
const MAX_LABELS: usize = 50;

/// Blocks in attach order, then those that the agent was parted from.
pub(crate) async fn list(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
) -> Result<Json<Vec<BlockEntry>>, ConsoleError> {
    let attached = door.dispatcher.agent_blocks(actor, agent).await?;
    let detached = door.dispatcher.detached_blocks(actor, agent).await?;
    let had = detached.iter().map(|one| BlockEntry::new(&one.block, Some(one.into())));
    Ok(Json(attached.iter().map(|block| BlockEntry::new(block, None)).chain(had).collect()))
}

pub(crate) async fn history(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    path: BlockPath,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<History>, ConsoleError> {
    let Query(query) = query?;
    let limit = query.limit()?;
    let (block, detached) = find(&door, actor, &path).await?;
    let store = door.dispatcher.store();
    // One more than is shown, to compare the oldest with.
    let versions = store.block_versions(actor.organization, block.id, query.before, limit + 1).await?;
    let shared_by = sharers(&door, actor, &block).await?;
    Ok(Json(History::new(BlockEntry::new(&block, detached), &versions, limit, shared_by)))
}

pub(crate) async fn diff(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    path: BlockPath,
    query: Result<Query<DiffQuery>, QueryRejection>,
) -> Result<Json<Diff>, ConsoleError> {
    let Query(query) = query?;
    let (block, _) = find(&door, actor, &path).await?;
    let to = query.to.unwrap_or(block.version);
    let from = query.from.unwrap_or(to.saturating_sub(1));
    let (from, to) = (version(&door, actor, &block, from).await?, version(&door, actor, &block, to).await?);
    Ok(Json(Diff::new(from.as_ref(), to.as_ref())))
}

pub(crate) async fn undo(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    path: BlockPath,
    OptionalBody(body): OptionalBody<UndoBody>,
) -> Result<Json<UndoReport>, ConsoleError> {
    step(&door, actor, path, Direction::Undo, body).await
}

pub(crate) async fn redo(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    path: BlockPath,
    OptionalBody(body): OptionalBody<UndoBody>,
) -> Result<Json<UndoReport>, ConsoleError> {
    step(&door, actor, path, Direction::Redo, body).await
}

async fn step(
    door: &ConsoleApi,
    actor: Actor,
    path: BlockPath,
    direction: Direction,
    body: UndoBody,
) -> Result<Json<UndoReport>, ConsoleError> {
    let BlockPath { agent, label } = path.clone();
    let request = UndoRequest { agent, label, direction, version: body.version };
    let undone = match door.dispatcher.undo_block(actor, &request).await {
        Err(UndoError::Agent(error)) => return Err(explain(door, actor, &path, error).await),
        other => other?,
    };
    let store = door.dispatcher.store();
    Ok(Json(match &undone {
        Undone::Changed { block, step } => {
            let change = store.block_version(actor.organization, block.id, step.change).await?;
            UndoReport::changed(block, *step, &change, sharers(door, actor, block).await?)
        }
        Undone::Attached(detachment) => {
            UndoReport::attached(detachment, sharers(door, actor, &detachment.block).await?)
        }
    }))
}

/// The block of that label that the agent has, or else the one that it was parted from last.
async fn find(
    door: &ConsoleApi,
    actor: Actor,
    path: &BlockPath,
) -> Result<(Arc<Block>, Option<Parting>), ConsoleError> {
    let error = match door.dispatcher.agent_block(actor, path.agent, &path.label).await {
        Ok(block) => return Ok((block, None)),
        Err(error) => error,
    };
    if matches!(error, AgentError::NoSuchBlock { .. }) {
        let detached = door.dispatcher.detached_blocks(actor, path.agent).await?;
        if let Some(one) = detached.iter().find(|one| one.block.label.as_str() == path.label) {
            return Ok((one.block.clone(), Some(one.into())));
        }
    }
    Err(explain(door, actor, path, error).await)
}

/// Whoever names a block that is not there is told which there are.
async fn explain(door: &ConsoleApi, actor: Actor, path: &BlockPath, error: AgentError) -> ConsoleError {
    let AgentError::NoSuchBlock { label, .. } = &error else { return error.into() };
    let Ok(blocks) = door.dispatcher.agent_blocks(actor, path.agent).await else { return error.into() };
    let labels: Vec<&str> = blocks.iter().take(MAX_LABELS).map(|block| block.label.as_str()).collect();
    if labels.is_empty() {
        return ConsoleError::not_found(format!("there is no block `{label}`: this agent has no blocks"));
    }
    let more = if blocks.len() > MAX_LABELS { " and others" } else { "" };
    ConsoleError::not_found(format!("there is no block `{label}`; there is {}{more}", labels.join(", ")))
}

/// A version of the block; nothing for the time before the first.
async fn version(
    door: &ConsoleApi,
    actor: Actor,
    block: &Block,
    number: u64,
) -> Result<Option<BlockVersion>, ConsoleError> {
    if number == 0 {
        return Ok(None);
    }
    match door.dispatcher.store().block_version(actor.organization, block.id, number).await {
        Ok(version) => Ok(Some(version)),
        Err(StoreError::NotFound { .. }) => {
            let (label, newest) = (&block.label, block.version);
            Err(ConsoleError::not_found(format!("block `{label}` has versions 1 to {newest}, not {number}")))
        }
        Err(error) => Err(error.into()),
    }
}

async fn sharers(door: &ConsoleApi, actor: Actor, block: &Block) -> Result<Vec<Sharer>, ConsoleError> {
    let agents = door.dispatcher.store().block_agents(actor.organization, block.id, MAX_SHARERS).await?;
    Ok(agents.into_iter().map(Sharer::from).collect())
}
