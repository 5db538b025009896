//! Ids and labels in paths. An id that is none is refused before any handler runs.

use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use domain::AgentId;
use http::request::Parts;

use crate::error::ConsoleError;

/// A block that a path names by its agent and its label.
#[derive(Debug, Clone)]
pub(crate) struct BlockPath {
    pub(crate) agent: AgentId,
    pub(crate) label: String,
}

/// An agent that a path names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentPath(pub(crate) AgentId);

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let BlockPath { agent, .. } = BlockPath::from_request_parts(parts, state).await?;
        Ok(Self(agent))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BlockPath {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let broken = |_| ConsoleError::invalid("the path is not UTF-8 once it is decoded");
        let params = RawPathParams::from_request_parts(parts, state).await.map_err(broken)?;
        let param = |name: &str| params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value);
        Ok(Self { agent: AgentId::from_str(param("agent_id"))?, label: param("block_label").to_owned() })
    }
}
