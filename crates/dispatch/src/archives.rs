//! Archives and passages on behalf of clients: what a caller left out, and what is too much.
//!
//! An agent's own calls come as changes of its step instead; both make an agent's first archive in the same way.

use std::sync::Arc;

use domain::archive::{PassageError, check_passage_text, clean_tags};
use domain::{Actor, Agent, AgentId, Archive, ArchiveId, ModelHandle, Passage, PassageId, Timestamp, VectorDbProvider};
use serde_json::{Map, Value};
use storage::{Change, Commit, StoreError};
use tools::archival::default_archive;

use crate::agent_spec::AgentError;
use crate::create_agent::invalid;
use crate::dispatcher::Dispatcher;

/// The most passages that may be stored with one request.
pub const MAX_BATCH: usize = 1_000;
/// Archives that one agent may have: each of its searches goes through all of them.
const MAX_AGENT_ARCHIVES: usize = 64;
const MAX_NAME_CHARS: usize = 256;
const MAX_DESCRIPTION_CHARS: usize = 10_000;

/// A new archive.
#[derive(Debug, Clone, Default)]
pub struct ArchiveSpec {
    pub name: String,
    pub description: Option<String>,
    /// A handle `provider/model`; None means the built-in model.
    pub embedding: Option<String>,
}

/// Changes to an archive. The outer option says whether the field was given.
#[derive(Debug, Clone, Default)]
pub struct ArchivePatch {
    pub name: Option<String>,
    pub description: Option<Option<String>>,
}

/// A new passage.
#[derive(Debug, Clone, Default)]
pub struct PassageSpec {
    pub text: String,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
    /// None means now.
    pub created_at: Option<Timestamp>,
}

/// Why archives stay as they are, named by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Change the passage.
    #[error(transparent)]
    Passage(#[from] PassageError),
    #[error("Archive with ID {0} not found")]
    NoSuchArchive(ArchiveId),
    #[error("Passage with ID {0} not found")]
    NoSuchPassage(PassageId),
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl From<StoreError> for ArchiveError {
    fn from(error: StoreError) -> Self {
        Self::Agent(error.into())
    }
}

impl Dispatcher {
    /// The archive, or the error that names it.
    pub async fn archive_or_not_found(&self, actor: Actor, id: ArchiveId) -> Result<Archive, ArchiveError> {
        match self.inner.store.archive(actor.organization, id).await {
            Err(StoreError::NotFound { .. }) => Err(ArchiveError::NoSuchArchive(id)),
            found => Ok(found?),
        }
    }

    /// The agent's archives in attach order.
    pub async fn agent_archives(&self, actor: Actor, agent: AgentId) -> Result<Vec<Archive>, ArchiveError> {
        self.agent_or_not_found(actor, agent).await?;
        Ok(self.inner.store.agent_archives(actor.organization, agent).await?)
    }

    /// Makes an archive that no agent has yet.
    pub async fn create_archive(&self, actor: Actor, spec: ArchiveSpec) -> Result<Archive, ArchiveError> {
        let now = (self.inner.clock)();
        check_texts(&spec.name, spec.description.as_deref())?;
        let embedding = match spec.embedding {
            Some(handle) => ModelHandle::parse(&handle).map_err(|error| invalid(error.to_string()))?,
            None => ModelHandle::builtin("embedding"),
        };
        let archive = Archive {
            id: ArchiveId::random(),
            organization: actor.organization,
            created_by: actor.user,
            name: spec.name,
            description: spec.description,
            embedding,
            vector_db_provider: VectorDbProvider::Native,
            metadata: Map::new(),
            created_at: now,
            updated_at: now,
        };
        let insert = Change::InsertArchive(Box::new(archive.clone()));
        self.inner.store.commit(Commit::new(actor, now).with(insert)).await?;
        Ok(archive)
    }

    /// Applies `patch`.
    pub async fn modify_archive(
        &self,
        actor: Actor,
        id: ArchiveId,
        patch: ArchivePatch,
    ) -> Result<Archive, ArchiveError> {
        let _turn = self.inner.archives_turn.acquire().await;
        let now = (self.inner.clock)();
        let mut archive = self.archive_or_not_found(actor, id).await?;
        archive.name = patch.name.unwrap_or(archive.name);
        archive.description = patch.description.unwrap_or(archive.description);
        archive.updated_at = now;
        check_texts(&archive.name, archive.description.as_deref())?;
        let update = Change::UpdateArchive(Box::new(archive.clone()));
        self.inner.store.commit(Commit::new(actor, now).with(update)).await?;
        Ok(archive)
    }

    /// Removes an archive with its passages, from all agents.
    pub async fn delete_archive(&self, actor: Actor, id: ArchiveId) -> Result<(), ArchiveError> {
        self.archive_or_not_found(actor, id).await?;
        self.change_archives(actor, Change::DeleteArchive(id)).await
    }

    /// Gives an agent an archive, as its last. One that it has already stays where it is.
    pub async fn attach_archive(&self, actor: Actor, agent: AgentId, archive: ArchiveId) -> Result<(), ArchiveError> {
        let _turn = self.inner.archives_turn.acquire().await;
        let attached = self.agent_archives(actor, agent).await?;
        self.archive_or_not_found(actor, archive).await?;
        if attached.iter().any(|has| has.id == archive) {
            return Ok(());
        }
        if attached.len() >= MAX_AGENT_ARCHIVES {
            return Err(invalid(format!("an agent can have {MAX_AGENT_ARCHIVES} archives: detach one first")).into());
        }
        self.change_archives(actor, Change::AttachArchive { agent, archive }).await
    }

    /// Takes an archive from an agent. Its passages stay for others.
    pub async fn detach_archive(&self, actor: Actor, agent: AgentId, archive: ArchiveId) -> Result<(), ArchiveError> {
        let _turn = self.inner.archives_turn.acquire().await;
        let attached = self.agent_archives(actor, agent).await?;
        if !attached.iter().any(|has| has.id == archive) {
            return Err(ArchiveError::NoSuchArchive(archive));
        }
        self.change_archives(actor, Change::DetachArchive { agent, archive }).await
    }

    /// Stores passages in an archive, all or none.
    pub async fn add_passages(
        &self,
        actor: Actor,
        archive: ArchiveId,
        specs: Vec<PassageSpec>,
    ) -> Result<Vec<Arc<Passage>>, ArchiveError> {
        let now = (self.inner.clock)();
        if specs.len() > MAX_BATCH {
            return Err(invalid(format!("{MAX_BATCH} passages can be stored at once, not {}", specs.len())).into());
        }
        self.archive_or_not_found(actor, archive).await?;
        let place = Place { actor, archive, now };
        let passages = specs.into_iter().map(|spec| place.passage(spec)).collect::<Result<_, _>>()?;
        self.insert(Commit::new(actor, now), passages).await
    }

    /// Stores a passage in the agent's first archive, which is made where there is none.
    pub async fn add_agent_passage(
        &self,
        actor: Actor,
        agent: AgentId,
        spec: PassageSpec,
    ) -> Result<Arc<Passage>, ArchiveError> {
        let agent = self.agent_or_not_found(actor, agent).await?;
        let store = &self.inner.store;
        let mut attached = store.agent_archives(actor.organization, agent.id).await?;
        // Two requests at once must not make two first archives; whoever has one need not wait for others.
        let _turn = match attached.is_empty() {
            true => Some(self.inner.archives_turn.acquire().await),
            false => None,
        };
        if attached.is_empty() {
            attached = store.agent_archives(actor.organization, agent.id).await?;
        }
        let now = (self.inner.clock)();
        let mut commit = Commit::new(actor, now);
        let archive = match attached.first() {
            Some(first) => first.id,
            None => first_archive(&agent, &mut commit),
        };
        let passage = Place { actor, archive, now }.passage(spec)?;
        let stored = self.insert(commit, vec![passage]).await?;
        stored.into_iter().next().ok_or_else(|| StoreError::Corrupt("a new passage was not stored".to_owned()).into())
    }

    /// Removes a passage of one of the agent's archives.
    pub async fn delete_agent_passage(
        &self,
        actor: Actor,
        agent: AgentId,
        passage: PassageId,
    ) -> Result<(), ArchiveError> {
        let archives = self.agent_archives(actor, agent).await?;
        self.delete_passage_of(actor, passage, |archive| archives.iter().any(|has| has.id == archive)).await
    }

    /// Removes a passage of an archive.
    pub async fn delete_passage(
        &self,
        actor: Actor,
        archive: ArchiveId,
        passage: PassageId,
    ) -> Result<(), ArchiveError> {
        self.archive_or_not_found(actor, archive).await?;
        self.delete_passage_of(actor, passage, |holder| holder == archive).await
    }

    async fn delete_passage_of(
        &self,
        actor: Actor,
        id: PassageId,
        may_hold: impl Fn(ArchiveId) -> bool,
    ) -> Result<(), ArchiveError> {
        match self.inner.store.passage(actor.organization, id).await {
            Ok(passage) if may_hold(passage.archive) => self.change_archives(actor, Change::DeletePassage(id)).await,
            Ok(_) | Err(StoreError::NotFound { .. }) => Err(ArchiveError::NoSuchPassage(id)),
            Err(error) => Err(error.into()),
        }
    }

    async fn change_archives(&self, actor: Actor, change: Change) -> Result<(), ArchiveError> {
        self.inner.store.commit(Commit::new(actor, (self.inner.clock)()).with(change)).await?;
        Ok(())
    }

    async fn insert(&self, commit: Commit, passages: Vec<Arc<Passage>>) -> Result<Vec<Arc<Passage>>, ArchiveError> {
        if passages.is_empty() {
            return Ok(passages);
        }
        Ok(self.inner.store.commit(commit.with(Change::InsertPassages(passages))).await?.passages)
    }
}

/// Where, when and for whom passages are stored.
struct Place {
    actor: Actor,
    archive: ArchiveId,
    now: Timestamp,
}

impl Place {
    fn passage(&self, spec: PassageSpec) -> Result<Arc<Passage>, PassageError> {
        check_passage_text(&spec.text)?;
        Ok(Arc::new(Passage {
            id: PassageId::at(self.now),
            organization: self.actor.organization,
            created_by: self.actor.user,
            archive: self.archive,
            number: 0,
            text: spec.text.into(),
            tags: clean_tags(&spec.tags)?,
            metadata: spec.metadata,
            created_at: spec.created_at.unwrap_or(self.now),
        }))
    }
}

/// Adds the making of an agent's first archive to `commit`.
fn first_archive(agent: &Agent, commit: &mut Commit) -> ArchiveId {
    let archive = default_archive(agent, commit.at);
    let id = archive.id;
    commit.changes.push(Change::InsertArchive(Box::new(archive)));
    commit.changes.push(Change::AttachArchive { agent: agent.id, archive: id });
    id
}

fn check_texts(name: &str, description: Option<&str>) -> Result<(), AgentError> {
    let printable = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if !printable || name.chars().count() > MAX_NAME_CHARS {
        return Err(invalid(format!(
            "an archive's name needs 1 to {MAX_NAME_CHARS} characters without control characters"
        )));
    }
    if description.is_some_and(|text| text.contains('\0') || text.chars().count() > MAX_DESCRIPTION_CHARS) {
        return Err(invalid(format!(
            "an archive's description can have {MAX_DESCRIPTION_CHARS} characters at most, and no NUL"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_descriptions_have_limits() {
        let long = "x".repeat(MAX_NAME_CHARS + 1);
        for (name, description, fits) in [
            ("shelf", None, true),
            ("shelf", Some("about tea"), true),
            (" ", None, false),
            ("a\nb", None, false),
            (long.as_str(), None, false),
            ("shelf", Some("a\0b"), false),
        ] {
            assert_eq!(check_texts(name, description).is_ok(), fits, "{name:?} {description:?}");
        }
    }

    #[test]
    fn a_passage_keeps_the_time_that_it_is_given() {
        let (actor, now) = (Actor::default_user(), Timestamp::UNIX_EPOCH);
        let place = Place { actor, archive: ArchiveId::random(), now };
        let then: Timestamp = "2001-02-03T04:05:06Z".parse().unwrap();
        let spec = PassageSpec { text: "Tea.".into(), tags: vec![" a ".into(), "a".into()], ..PassageSpec::default() };
        let passage = place.passage(PassageSpec { created_at: Some(then), ..spec.clone() }).unwrap();
        assert_eq!((passage.created_at, &*passage.tags), (then, &["a".to_owned()][..]));
        assert_eq!(place.passage(spec).unwrap().created_at, now);
        assert_eq!(place.passage(PassageSpec::default()), Err(PassageError::Empty));
    }
}
