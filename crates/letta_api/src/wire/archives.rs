//! An archive as clients see, make and change it.

use dispatch::{ArchivePatch, ArchiveSpec};
use domain::{Archive, ArchiveId, OrganizationId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::models::EmbeddingConfigState;
use super::times::ResourceTime;
use crate::body::Fields;
use crate::error::ApiError;

/// An archive.
#[derive(Debug, Serialize)]
pub(crate) struct ArchiveState<'a> {
    created_by_id: UserId,
    last_updated_by_id: UserId,
    created_at: ResourceTime,
    updated_at: ResourceTime,
    name: &'a str,
    description: Option<&'a str>,
    organization_id: OrganizationId,
    vector_db_provider: &'static str,
    embedding_config: Option<EmbeddingConfigState<'a>>,
    metadata: Option<&'a Map<String, Value>>,
    id: ArchiveId,
}

impl<'a> ArchiveState<'a> {
    pub(crate) fn new(archive: &'a Archive, embedding_config: Option<EmbeddingConfigState<'a>>) -> Self {
        Self {
            created_by_id: archive.created_by,
            last_updated_by_id: archive.created_by,
            created_at: ResourceTime(archive.created_at),
            updated_at: ResourceTime(archive.updated_at),
            name: &archive.name,
            description: archive.description.as_deref(),
            organization_id: archive.organization,
            vector_db_provider: archive.vector_db_provider.as_str(),
            embedding_config,
            metadata: Some(&archive.metadata).filter(|metadata| !metadata.is_empty()),
            id: archive.id,
        }
    }
}

/// The older way to name an embedding model, of which only the handle counts.
#[derive(Deserialize)]
struct OlderEmbedding {
    #[serde(default)]
    handle: Option<String>,
}

/// Reads the body of a POST.
pub(crate) fn read_archive(mut fields: Fields) -> Result<ArchiveSpec, ApiError> {
    let older: Option<OlderEmbedding> = fields.take("embedding_config")?;
    Ok(ArchiveSpec {
        name: fields.need("name")?,
        description: fields.take("description")?,
        embedding: fields.take("embedding")?.or(older.and_then(|older| older.handle)),
    })
}

/// Reads the body of a PATCH.
pub(crate) fn read_archive_patch(mut fields: Fields) -> Result<ArchivePatch, ApiError> {
    Ok(ArchivePatch { name: fields.take("name")?, description: fields.take_nullable("description")? })
}

#[cfg(test)]
#[path = "archives_tests.rs"]
mod tests;
