//! Ids and labels in paths. An id that is none is refused before any handler runs.

use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use domain::{AgentId, ArchiveId, IdError, PassageId};
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

/// The archive that a path names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArchivePath(pub(crate) ArchiveId);

/// An agent and an archive that is to be its own, or is not to be any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharePath {
    pub(crate) agent: AgentId,
    pub(crate) archive: ArchiveId,
}

/// A passage that a path names by an agent that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryPath {
    pub(crate) agent: AgentId,
    pub(crate) passage: PassageId,
}

/// A passage that a path names by its archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassagePath {
    pub(crate) archive: ArchiveId,
    pub(crate) passage: PassageId,
}

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self(id(&params, "agent_id")?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BlockPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self { agent: id(&params, "agent_id")?, label: param(&params, "block_label").to_owned() })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ArchivePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self(id(&params, "archive_id")?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SharePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self { agent: id(&params, "agent_id")?, archive: id(&params, "archive_id")? })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MemoryPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self { agent: id(&params, "agent_id")?, passage: id(&params, "memory_id")? })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PassagePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = params(parts, state).await?;
        Ok(Self { archive: id(&params, "archive_id")?, passage: id(&params, "passage_id")? })
    }
}

async fn params<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<RawPathParams, ApiError> {
    let broken = |_| ApiError::invalid("string_unicode", &["path"], "the path is not UTF-8 once it is decoded");
    RawPathParams::from_request_parts(parts, state).await.map_err(broken)
}

fn param<'a>(params: &'a RawPathParams, name: &str) -> &'a str {
    params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}

fn id<T: FromStr<Err = IdError>>(params: &RawPathParams, name: &str) -> Result<T, ApiError> {
    param(params, name).parse().map_err(|error| ApiError::bad_id(&["path", name], &error))
}
