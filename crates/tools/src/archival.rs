//! `archival_memory_insert` and `archival_memory_search`: what an agent stores outside of its context, and finds again.

use std::sync::Arc;

use domain::archive::{check_passage_text, clean_tags};
use domain::seams::tool_executor::{ArchivalChange, ToolInvocation, ToolOutcome};
use domain::{Agent, Archive, ArchiveId, ModelHandle, Passage, PassageId, Timestamp, VectorDbProvider};
use retrieval::{ArchivalQuery, Hit, Search};
use serde_json::{Map, Value, json};
use storage::{Store, StoreError};

use crate::fields::Fields;
use crate::memory::{ToolError, refuse};
use crate::moments::{self, End};
use crate::recall::{MOST_RESULTS, USUAL_RESULTS, failed, relevance};

/// Stores a passage in the agent's first archive, which is made where there is none.
pub(crate) async fn archival_memory_insert(store: &Store, call: &ToolInvocation<'_>) -> ToolOutcome {
    let (text, tags) = match passage(call) {
        Ok(passage) => passage,
        Err(error) => return ToolOutcome::error(error.to_string()),
    };
    let agent = &call.snapshot.agent;
    let (archive, new) = match target(store, call).await {
        Ok(target) => target,
        Err(error) => return failed(&error),
    };
    let passage = Passage {
        id: PassageId::at(call.now),
        organization: agent.organization,
        created_by: agent.created_by,
        archive,
        number: 0,
        text: text.into(),
        tags,
        metadata: Map::new(),
        created_at: call.now,
    };
    let reply = format!("Stored in archival memory as {}.", passage.id);
    let mut outcome = ToolOutcome::success(reply, Vec::new());
    outcome.archival.extend(new.map(|archive| ArchivalChange::NewArchive(Box::new(archive))));
    outcome.archival.push(ArchivalChange::Insert(Arc::new(passage)));
    outcome
}

fn passage(call: &ToolInvocation<'_>) -> Result<(String, Arc<[String]>), ToolError> {
    let fields = Fields::new(call.arguments, &["content", "tags"])?;
    let text = fields.text("content")?;
    check_passage_text(text).map_err(|error| refuse!("Nothing was stored: {error}."))?;
    let tags: Vec<String> = fields.texts("tags")?.into_iter().map(str::to_owned).collect();
    let tags = clean_tags(&tags).map_err(|error| refuse!("Nothing was stored: {error}."))?;
    Ok((text.to_owned(), tags))
}

/// The archive that new passages go to, and the archive itself where it has to be made.
async fn target(store: &Store, call: &ToolInvocation<'_>) -> Result<(ArchiveId, Option<Archive>), StoreError> {
    // An earlier call of the same step may have made one.
    let made = call.archival.iter().find_map(|change| match change {
        ArchivalChange::NewArchive(archive) => Some(archive.id),
        ArchivalChange::Insert(_) => None,
    });
    if let Some(made) = made {
        return Ok((made, None));
    }
    let agent = &call.snapshot.agent;
    let archives = store.agent_archives(agent.organization, agent.id).await?;
    if let Some(first) = archives.first() {
        return Ok((first.id, None));
    }
    let archive = default_archive(agent, call.now);
    Ok((archive.id, Some(archive)))
}

/// The archive that an agent gets when it first stores something.
pub fn default_archive(agent: &Agent, now: Timestamp) -> Archive {
    let wanted = agent.embedding.as_deref().and_then(|handle| ModelHandle::parse(handle).ok());
    Archive {
        id: ArchiveId::random(),
        organization: agent.organization,
        created_by: agent.created_by,
        name: format!("{}'s archive", agent.name),
        description: Some(format!("What the agent {} stored for later.", agent.name)),
        embedding: wanted.unwrap_or_else(|| ModelHandle::builtin("embedding")),
        vector_db_provider: VectorDbProvider::Native,
        metadata: Map::new(),
        created_at: now,
        updated_at: now,
    }
}

/// Searches all archives of the agent.
pub(crate) async fn archival_memory_search(search: &Search, store: &Store, call: &ToolInvocation<'_>) -> ToolOutcome {
    let agent = &call.snapshot.agent;
    let mut query = match archival_query(call) {
        Ok(query) => query,
        Err(error) => return ToolOutcome::error(error.to_string()),
    };
    let found = match store.agent_archives(agent.organization, agent.id).await {
        Ok(archives) => {
            query.archives = archives.iter().map(|archive| archive.id).collect();
            search.archival(agent.organization, &query).await
        }
        Err(error) => Err(error),
    };
    match found {
        Ok(found) => {
            let shown: Vec<Value> = found.hits.iter().map(|hit| result(hit, &agent.timezone)).collect();
            ToolOutcome::success(Value::Array(shown).to_string(), Vec::new())
        }
        Err(error) => failed(&error),
    }
}

fn archival_query(call: &ToolInvocation<'_>) -> Result<ArchivalQuery, ToolError> {
    let known = ["query", "tags", "tag_match_mode", "top_k", "start_datetime", "end_datetime"];
    let fields = Fields::new(call.arguments, &known)?;
    let text = fields.text("query")?;
    if text.trim().is_empty() {
        return Err(refuse!("The argument `query` is empty. Say what to look for."));
    }
    let match_all_tags = match fields.given_text("tag_match_mode")? {
        None | Some("any") => false,
        Some("all") => true,
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(refuse!("`tag_match_mode` is `any` or `all`, not `{other}`."));
        }
    };
    let zone = &call.snapshot.agent.timezone;
    let moment = |name: &str, end| match fields.given_text(name)? {
        Some(text) => moments::parse(name, text, zone, end).map(Some),
        None => Ok(None),
    };
    Ok(ArchivalQuery {
        archives: Vec::new(),
        text: text.to_owned(),
        tags: fields.texts("tags")?.into_iter().map(str::to_owned).collect(),
        match_all_tags,
        from: moment("start_datetime", End::Start)?,
        until: moment("end_datetime", End::Finish)?,
        limit: fields.count("top_k", USUAL_RESULTS, MOST_RESULTS)?,
    })
}

fn result(hit: &Hit<Passage>, zone: &str) -> Value {
    json!({
        "timestamp": moments::local(hit.row.created_at, zone),
        "content": &*hit.row.text,
        "tags": &*hit.row.tags,
        "relevance": relevance(&hit.relevance),
    })
}
