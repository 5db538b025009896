//! Which agent a request means: `model` is an agent's exact name or its id.

use domain::{Actor, AgentId};
use storage::{AgentFilter, Store};

use crate::error::ApiError;

/// Names that an error lists at most.
const LISTED: u32 = 50;

/// The agent that `model` names. There is no fuzzy fallback.
pub(crate) async fn agent_by_name(store: &Store, actor: Actor, model: &str) -> Result<AgentId, ApiError> {
    let owner = actor.organization;
    if let Ok(id) = model.parse::<AgentId>() {
        return match store.agent(owner, id).await {
            Ok(_) => Ok(id),
            Err(storage::StoreError::NotFound { .. }) => Err(unknown(store, actor, model).await),
            Err(error) => Err(error.into()),
        };
    }
    let named = AgentFilter { name: Some(model.to_owned()), limit: LISTED, ..AgentFilter::default() };
    let found = store.agents(owner, &named).await?;
    match found.as_slice() {
        [] => Err(unknown(store, actor, model).await),
        [only] => Ok(only.id),
        several => {
            let ids: Vec<String> = several.iter().map(|agent| agent.id.to_string()).collect();
            Err(ApiError::ambiguous_model(model, &ids))
        }
    }
}

async fn unknown(store: &Store, actor: Actor, model: &str) -> ApiError {
    let all = AgentFilter { limit: LISTED, ..AgentFilter::default() };
    match store.agents(actor.organization, &all).await {
        Ok(agents) => {
            let names: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
            ApiError::unknown_model(model, &names)
        }
        Err(error) => error.into(),
    }
}
