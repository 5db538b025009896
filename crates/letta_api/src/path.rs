//! Ids and labels in paths. An id that is none is refused before any handler runs.

use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use domain::AgentId;
use http::request::Parts;

use crate::error::ApiError;

/// The agent that a path names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentPath(pub(crate) AgentId);

/// A block that a path names by its agent and its label.
#[derive(Debug, Clone)]
pub(crate) struct BlockPath {
    pub(crate) agent: AgentId,
    pub(crate) label: String,
}

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self(agent_id(&params)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BlockPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self { agent: agent_id(&params)?, label: param(&params, "block_label").to_owned() })
    }
}

async fn params<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<RawPathParams, ApiError> {
    let broken = |_| ApiError::invalid("string_unicode", &["path"], "the path is not UTF-8 once it is decoded");
    RawPathParams::from_request_parts(parts, state).await.map_err(broken)
}

fn param<'a>(params: &'a RawPathParams, name: &str) -> &'a str {
    params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}

fn agent_id(params: &RawPathParams) -> Result<AgentId, ApiError> {
    let text = param(params, "agent_id");
    AgentId::from_str(text).map_err(|error| ApiError::bad_id(&["path", "agent_id"], &error))
}
