//! Ids and labels in paths. An id that is none is refused before any handler runs.

use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use domain::{AgentId, ApiKeyId};
use http::request::Parts;

use crate::error::ConsoleError;

/// The agent that a path names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentPath(pub(crate) AgentId);

/// The API key that a path names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyPath(pub(crate) ApiKeyId);

/// A block that a path names by its agent and its label.
#[derive(Debug, Clone)]
pub(crate) struct BlockPath {
    pub(crate) agent: AgentId,
    pub(crate) label: String,
}

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let params = params(parts, state).await?;
        Ok(Self(AgentId::from_str(param(&params, "agent_id"))?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let params = params(parts, state).await?;
        Ok(Self(ApiKeyId::from_str(param(&params, "key_id"))?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BlockPath {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let params = params(parts, state).await?;
        let agent = AgentId::from_str(param(&params, "agent_id"))?;
        Ok(Self { agent, label: param(&params, "block_label").to_owned() })
    }
}

async fn params<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<RawPathParams, ConsoleError> {
    let broken = |_| ConsoleError::invalid("the path is not UTF-8 once it is decoded");
    RawPathParams::from_request_parts(parts, state).await.map_err(broken)
}

fn param<'a>(params: &'a RawPathParams, name: &str) -> &'a str {
    params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}
