//! `/console/v1/agents/{id}/embedding`: which model an agent's memory is embedded with, and how far that is.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::{Extension, Json};
use domain::{Actor, AgentId, ModelHandle};
use storage::{Change, Commit, SearchScope};

use crate::ConsoleApi;
use crate::body::OptionalBody;
use crate::error::ConsoleError;
use crate::path::AgentPath;
use crate::wire::embedding::{EmbeddingBody, EmbeddingReport};

/// How long one request works before it says how far it is.
const WORK: Duration = Duration::from_millis(500);

/// Says how far the vectors of an agent's messages and archives are.
pub(crate) async fn show(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
) -> Result<Json<EmbeddingReport>, ConsoleError> {
    Ok(Json(report(&door, actor, agent).await?))
}

/// Chooses another model, where one is named, and goes on embedding for a moment. Whoever wants it done calls again
/// until it is; what was embedded before an interruption stays.
pub(crate) async fn go_on(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
    OptionalBody(body): OptionalBody<EmbeddingBody>,
) -> Result<Json<EmbeddingReport>, ConsoleError> {
    if let Some(model) = &body.model {
        choose(&door, actor, agent, model).await?;
    }
    let begin = Instant::now();
    for scope in scopes(&door, actor, agent).await? {
        door.search.index(actor.organization, scope, &mut |_| begin.elapsed() < WORK).await?;
        if begin.elapsed() >= WORK {
            break;
        }
    }
    Ok(Json(report(&door, actor, agent).await?))
}

/// Makes the agent and its archives use a model that can be reached. Searches go on with the old vectors where those are
/// kept and reach further; rows without vectors are found by their words meanwhile.
async fn choose(door: &ConsoleApi, actor: Actor, agent: AgentId, model: &str) -> Result<(), ConsoleError> {
    let handle = ModelHandle::parse(model).map_err(|error| ConsoleError::invalid(error.to_string()))?;
    door.search.check_embedding(&handle).await?;
    let store = door.dispatcher.store();
    let mut changed = (*store.agent(actor.organization, agent).await?).clone();
    changed.embedding = Some(handle.to_string());
    let now = (door.clock)();
    let mut commit = Commit::new(actor, now).with(Change::UpdateAgent(Box::new(changed)));
    for mut archive in store.agent_archives(actor.organization, agent).await? {
        archive.embedding = handle.clone();
        commit.changes.push(Change::UpdateArchive(Box::new(archive)));
    }
    store.commit(commit).await?;
    Ok(())
}

async fn scopes(door: &ConsoleApi, actor: Actor, agent: AgentId) -> Result<Vec<SearchScope>, ConsoleError> {
    let archives = door.dispatcher.store().agent_archives(actor.organization, agent).await?;
    let archives = archives.iter().map(|archive| SearchScope::Archive(archive.id));
    Ok(std::iter::once(SearchScope::Recall(agent)).chain(archives).collect())
}

async fn report(door: &ConsoleApi, actor: Actor, agent: AgentId) -> Result<EmbeddingReport, ConsoleError> {
    let mut report = EmbeddingReport::default();
    for scope in scopes(door, actor, agent).await? {
        report.add(&door.search.progress(actor.organization, scope).await?);
    }
    Ok(report)
}
