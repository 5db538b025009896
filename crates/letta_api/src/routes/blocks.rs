//! `/v1/agents/{id}/core-memory/blocks`: the blocks that an agent sees.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::{Actor, Block, BlockId};

use crate::LettaApi;
use crate::body::Fields;
use crate::error::ApiError;
use crate::path::{AgentPath, BlockPath};
use crate::query::Query;
use crate::wire::blocks::{BlockState, BlockUpdate};

const DEFAULT_LIMIT: u32 = 100;

pub(crate) async fn list(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
    query: Query,
) -> Result<Response, ApiError> {
    let blocks = page(door.dispatcher.agent_blocks(actor, agent).await?, &query)?;
    let shown: Vec<BlockState<'_>> = blocks.iter().map(|block| BlockState::from(&**block)).collect();
    Ok(Json(shown).into_response())
}

pub(crate) async fn retrieve(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    BlockPath { agent, label }: BlockPath,
) -> Result<Response, ApiError> {
    let block = door.dispatcher.agent_block(actor, agent, &label).await?;
    Ok(Json(BlockState::from(&*block)).into_response())
}

pub(crate) async fn modify(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    BlockPath { agent, label }: BlockPath,
    fields: Fields,
) -> Result<Response, ApiError> {
    let update = BlockUpdate::read(fields)?;
    let block = door.dispatcher.modify_agent_block(actor, agent, &label, |block| update.applied_to(block)).await?;
    Ok(Json(BlockState::from(&block)).into_response())
}

/// One page in attach order, which is the order that the agent sees; `order=desc` turns it round.
fn page(mut blocks: Vec<Arc<Block>>, query: &Query) -> Result<Vec<Arc<Block>>, ApiError> {
    if !query.ascending(true)? {
        blocks.reverse();
    }
    let place = |id: Option<BlockId>| id.and_then(|id| blocks.iter().position(|block| block.id == id));
    let from = place(query.id("after")?).map_or(0, |position| position + 1);
    let to = place(query.id("before")?).unwrap_or(blocks.len());
    let limit = query.limit(DEFAULT_LIMIT)? as usize;
    // Whoever pages backwards wants the blocks nearest to the one that it has.
    let from = if query.has("before") { from.max(to.saturating_sub(limit)) } else { from };
    Ok(blocks.into_iter().take(to).skip(from).take(limit).collect())
}
