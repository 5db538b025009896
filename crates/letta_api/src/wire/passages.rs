//! Passages as clients see, store and search them.

use dispatch::moments::{self, End};
use dispatch::{MAX_BATCH, PassageSpec};
use domain::archive::MAX_TAGS;
use domain::{AgentId, ArchiveId, OrganizationId, Passage, PassageId, Timestamp, UserId};
use retrieval::{Found, Hit};
use serde::Serialize;
use serde_json::{Map, Value};

use super::models::EmbeddingConfigState;
use super::times::{LocalTime, ResourceTime};
use crate::body::Fields;
use crate::error::ApiError;

/// The most results that a client may ask for.
pub(crate) const MAX_RESULTS: u32 = 100;
const DEFAULT_RESULTS: u32 = 50;
/// Characters that a search may have.
const MAX_QUERY_CHARS: usize = 8_000;

/// A passage.
#[derive(Debug, Serialize)]
pub(crate) struct PassageState<'a> {
    created_by_id: UserId,
    last_updated_by_id: UserId,
    created_at: ResourceTime,
    updated_at: ResourceTime,
    is_deleted: bool,
    organization_id: OrganizationId,
    archive_id: ArchiveId,
    source_id: (),
    file_id: (),
    file_name: (),
    metadata: &'a Map<String, Value>,
    tags: Option<&'a [String]>,
    id: PassageId,
    text: &'a str,
    /// Null where it is not at hand: in lists, and where the model is not one that answers at once.
    embedding: Option<&'a [f32]>,
    embedding_config: Option<EmbeddingConfigState<'a>>,
}

impl<'a> PassageState<'a> {
    pub(crate) fn new(
        passage: &'a Passage,
        embedding: Option<&'a [f32]>,
        embedding_config: Option<EmbeddingConfigState<'a>>,
    ) -> Self {
        Self {
            created_by_id: passage.created_by,
            last_updated_by_id: passage.created_by,
            created_at: ResourceTime(passage.created_at),
            updated_at: ResourceTime(passage.created_at),
            is_deleted: false,
            organization_id: passage.organization,
            archive_id: passage.archive,
            source_id: (),
            file_id: (),
            file_name: (),
            metadata: &passage.metadata,
            tags: Some(&*passage.tags).filter(|tags| !tags.is_empty()),
            id: passage.id,
            text: &passage.text,
            embedding,
            embedding_config,
        }
    }
}

/// What a search in an agent's archives found.
#[derive(Debug, Serialize)]
pub(crate) struct ArchivalResults<'a> {
    results: Vec<ArchivalResult<'a>>,
    count: usize,
}

#[derive(Debug, Serialize)]
struct ArchivalResult<'a> {
    id: PassageId,
    timestamp: LocalTime<'a>,
    content: &'a str,
    tags: &'a [String],
}

impl<'a> ArchivalResults<'a> {
    /// `zone` is the agent's.
    pub(crate) fn new(found: &'a Found<Passage>, zone: &'a str) -> Self {
        let result = |hit: &'a Hit<Passage>| ArchivalResult {
            id: hit.row.id,
            timestamp: LocalTime { at: hit.row.created_at, zone },
            content: &hit.row.text,
            tags: &hit.row.tags,
        };
        Self { results: found.hits.iter().map(result).collect(), count: found.hits.len() }
    }
}

/// One passage that a search in any archives found.
#[derive(Debug, Serialize)]
pub(crate) struct PassageHit<'a> {
    pub(crate) passage: PassageState<'a>,
    pub(crate) score: f64,
    pub(crate) metadata: HitMetadata,
}

/// Why a passage ranked where it did; empty where nothing was ranked.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct HitMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search_mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vector_rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fts_rank: Option<usize>,
}

/// Reads the body of a POST.
pub(crate) fn read_passage(mut fields: Fields) -> Result<PassageSpec, ApiError> {
    let created_at = fields.take::<String>("created_at")?;
    let created_at = created_at.map(|text| moment(&["body", "created_at"], &text, "UTC", End::Start));
    Ok(PassageSpec {
        text: fields.need("text")?,
        tags: fields.take("tags")?.unwrap_or_default(),
        metadata: fields.take("metadata")?.unwrap_or_default(),
        created_at: created_at.transpose()?,
    })
}

/// Reads the body of a POST with many passages.
pub(crate) fn read_passages(mut fields: Fields) -> Result<Vec<PassageSpec>, ApiError> {
    let passages: Vec<Map<String, Value>> = fields.need("passages")?;
    if passages.len() > MAX_BATCH {
        let text = format!("{MAX_BATCH} passages can be stored at once");
        return Err(ApiError::invalid("too_long", &["body", "passages"], &text));
    }
    passages.into_iter().map(|passage| read_passage(Fields::of(passage))).collect()
}

/// A search in any archives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PassageSearch {
    /// None lists the newest passages.
    pub(crate) text: Option<String>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) archive: Option<ArchiveId>,
    pub(crate) tags: Vec<String>,
    pub(crate) match_all_tags: bool,
    pub(crate) limit: u32,
    pub(crate) from: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl PassageSearch {
    pub(crate) fn read(mut fields: Fields) -> Result<Self, ApiError> {
        let text: Option<String> = fields.take("query")?;
        let text = text.filter(|text| !text.trim().is_empty());
        text.as_deref().map_or(Ok(()), |text| check_text(&["body", "query"], text))?;
        let limit = fields.take::<i64>("limit")?.unwrap_or(DEFAULT_RESULTS.into());
        let limit = u32::try_from(limit).ok().filter(|limit| (1..=MAX_RESULTS).contains(limit)).ok_or_else(|| {
            let text = format!("limit must be between 1 and {MAX_RESULTS}");
            ApiError::invalid("value_error", &["body", "limit"], &text)
        })?;
        let mut time = |name: &'static str, end| {
            let text: Option<String> = fields.take(name)?;
            text.map(|text| moment(&["body", name], &text, "UTC", end)).transpose()
        };
        let (from, until) = (time("start_date", End::Start)?, time("end_date", End::Finish)?);
        let mode: Option<String> = fields.take("tag_match_mode")?;
        Ok(Self {
            text,
            agent: id(&mut fields, "agent_id")?,
            archive: id(&mut fields, "archive_id")?,
            tags: few_tags(&["body", "tags"], fields.take("tags")?.unwrap_or_default())?,
            match_all_tags: match_all(&["body", "tag_match_mode"], mode.as_deref())?,
            limit,
            from,
            until,
        })
    }
}

fn id<T: std::str::FromStr<Err = domain::IdError>>(
    fields: &mut Fields,
    name: &'static str,
) -> Result<Option<T>, ApiError> {
    let text: Option<String> = fields.take(name)?;
    text.map(|text| text.parse().map_err(|error| ApiError::bad_id(&["body", name], &error))).transpose()
}

/// A time that a client named; without a zone of its own it is one of `zone`.
pub(crate) fn moment(place: &[&str], text: &str, zone: &str, end: End) -> Result<Timestamp, ApiError> {
    let name = place.last().copied().unwrap_or_default();
    moments::parse(name, text, zone, end)
        .map_err(|error| ApiError::invalid("datetime_parsing", place, &error.to_string()))
}

/// Whether a passage must have all tags.
pub(crate) fn match_all(place: &[&str], mode: Option<&str>) -> Result<bool, ApiError> {
    match mode {
        None | Some("any") => Ok(false),
        Some("all") => Ok(true),
        Some(_) => Err(ApiError::invalid("enum", place, "tag_match_mode must be `any` or `all`")),
    }
}

/// Tags to search for, if they are not more than a passage can have.
pub(crate) fn few_tags(place: &[&str], tags: Vec<String>) -> Result<Vec<String>, ApiError> {
    if tags.len() > MAX_TAGS {
        return Err(ApiError::invalid("too_long", place, &format!("a search can name {MAX_TAGS} tags at most")));
    }
    Ok(tags.into_iter().map(|tag| tag.trim().to_owned()).collect())
}

/// Refuses a search that is too long.
pub(crate) fn check_text(place: &[&str], text: &str) -> Result<(), ApiError> {
    if text.chars().count() > MAX_QUERY_CHARS {
        let text = format!("a search can have {MAX_QUERY_CHARS} characters at most");
        return Err(ApiError::invalid("string_too_long", place, &text));
    }
    Ok(())
}

#[cfg(test)]
#[path = "passages_tests.rs"]
mod tests;
