//! A search and its hits as JSON.

use domain::{AgentId, ArchiveId, ConversationId, IdentityId, Message, Passage, Role, Timestamp};
use retrieval::{ArchivalQuery, Found, RecallQuery, Relevance, Whose};
use serde::{Deserialize, Serialize};

use crate::error::ConsoleError;

/// Results that a search gives unless more are asked for.
const USUAL_RESULTS: usize = 10;

/// What to look for, and where.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SearchBody {
    query: String,
    #[serde(rename = "where")]
    pub(crate) place: Where,
    limit: Option<usize>,
    roles: Vec<String>,
    start: Option<String>,
    end: Option<String>,
    conversation: Option<ConversationId>,
    identity: Option<IdentityId>,
    superseded: bool,
    tags: Vec<String>,
    match_all_tags: bool,
}

/// Which memory to search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Where {
    #[default]
    Conversation,
    Archive,
}

impl SearchBody {
    pub(crate) fn recall(&self, agent: AgentId) -> Result<RecallQuery, ConsoleError> {
        let mut query = RecallQuery::new(agent, self.text()?, self.limit());
        query.roles = self.roles.iter().map(|role| parse_role(role)).collect::<Result<_, _>>()?;
        query.from = moment("start", self.start.as_deref())?;
        query.until = moment("end", self.end.as_deref())?;
        query.conversation = self.conversation;
        query.whose = self.identity.map_or(Whose::Anyone, |identity| Whose::Person(Some(identity)));
        query.superseded = self.superseded;
        Ok(query)
    }

    pub(crate) fn archival(&self, archives: Vec<ArchiveId>) -> Result<ArchivalQuery, ConsoleError> {
        Ok(ArchivalQuery {
            archives,
            text: self.text()?,
            tags: self.tags.clone(),
            match_all_tags: self.match_all_tags,
            from: moment("start", self.start.as_deref())?,
            until: moment("end", self.end.as_deref())?,
            limit: self.limit(),
        })
    }

    fn text(&self) -> Result<String, ConsoleError> {
        if self.query.trim().is_empty() {
            return Err(ConsoleError::invalid("`query` says what to look for, and it is empty"));
        }
        Ok(self.query.clone())
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(USUAL_RESULTS).clamp(1, retrieval::MAX_RESULTS)
    }
}

fn parse_role(text: &str) -> Result<Role, ConsoleError> {
    Role::parse(text).ok_or_else(|| ConsoleError::invalid(format!("there is no role `{text}`")))
}

fn moment(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, ConsoleError> {
    let wrong = |_| ConsoleError::invalid(format!("`{name}` must be a time such as 2026-01-31T14:30:00Z"));
    text.map(|text| text.parse().map_err(wrong)).transpose()
}

/// What was found, the best first.
#[derive(Debug, Serialize)]
pub(crate) struct SearchReport {
    search_mode: &'static str,
    results: Vec<HitView>,
}

#[derive(Debug, Serialize)]
struct HitView {
    id: String,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    text: String,
    relevance: RelevanceView,
}

#[derive(Debug, Serialize)]
struct RelevanceView {
    score: f32,
    fts_rank: Option<usize>,
    vector_rank: Option<usize>,
    cosine: Option<f32>,
    words: Vec<String>,
}

impl From<&Relevance> for RelevanceView {
    fn from(relevance: &Relevance) -> Self {
        Self {
            score: relevance.score,
            fts_rank: relevance.fts_rank,
            vector_rank: relevance.vector_rank,
            cosine: relevance.cosine,
            words: relevance.words.clone(),
        }
    }
}

impl SearchReport {
    pub(crate) fn of_messages(found: &Found<Message>) -> Self {
        let results = found.hits.iter().map(|hit| HitView {
            id: hit.row.id.to_string(),
            at: hit.row.created_at.to_string(),
            role: Some(hit.row.role.as_str()),
            name: hit.row.name.as_deref().map(str::to_owned),
            tags: Vec::new(),
            text: hit.text.clone(),
            relevance: (&hit.relevance).into(),
        });
        Self { search_mode: found.mode.as_str(), results: results.collect() }
    }

    pub(crate) fn of_passages(found: &Found<Passage>) -> Self {
        let results = found.hits.iter().map(|hit| HitView {
            id: hit.row.id.to_string(),
            at: hit.row.created_at.to_string(),
            role: None,
            name: None,
            tags: hit.row.tags.to_vec(),
            text: hit.text.clone(),
            relevance: (&hit.relevance).into(),
        });
        Self { search_mode: found.mode.as_str(), results: results.collect() }
    }
}
