//! `POST /console/v1/agents/{id}/search`: a search as the agent's tools do it, with why each hit ranked.

use axum::extract::State;
use axum::{Extension, Json};
use domain::Actor;

use crate::ConsoleApi;
use crate::body::OptionalBody;
use crate::error::ConsoleError;
use crate::path::AgentPath;
use crate::wire::search::{SearchBody, SearchReport, Where};

pub(crate) async fn run(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
    OptionalBody(body): OptionalBody<SearchBody>,
) -> Result<Json<SearchReport>, ConsoleError> {
    let owner = actor.organization;
    match body.place {
        Where::Conversation => {
            let found = door.search.recall(owner, &body.recall(agent)?).await?;
            Ok(Json(SearchReport::of_messages(&found)))
        }
        Where::Archive => {
            let archives = door.dispatcher.store().agent_archives(owner, agent).await?;
            let archives = archives.iter().map(|archive| archive.id).collect();
            let found = door.search.archival(owner, &body.archival(archives)?).await?;
            Ok(Json(SearchReport::of_passages(&found)))
        }
    }
}
