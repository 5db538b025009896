//! Applies a commit to the database, change by change.
//!
//! Runs inside a savepoint of the writer: whatever fails here leaves nothing behind. Each change also leaves an
//! [`Effect`], by which the writer keeps the snapshots in memory in step once the transaction is durable.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{
    Actor, AgentId, ApiKey, ApiKeyId, ArchiveId, Block, BlockId, ConversationId, IdentityId, Message, MessageId,
    OrganizationId, Passage, RunStatus, StopReason, Timestamp, ToolId,
};

use crate::commit::{Change, Commit, Committed, RunUpdate};
use crate::conversations::OpenConversation;
use crate::dialect::{Db, stored_time};
use crate::error::StoreError;
use crate::{
    agents, api_keys, archives, blocks, conversations, messages, owners, passages, runs, scoped_blocks, search_index,
    session_requests, sessions, tools, upkeep,
};

/// Where and for whom a change is made.
pub(crate) struct Scope<'a> {
    pub(crate) db: &'a Db,
    pub(crate) actor: Actor,
    pub(crate) at: Timestamp,
}

impl Scope<'_> {
    pub(crate) fn owner(&self) -> OrganizationId {
        self.actor.organization
    }

    pub(crate) fn owner_bytes(&self) -> &[u8; 16] {
        self.actor.organization.as_bytes()
    }

    /// Refuses a new row that says it belongs to somebody else.
    pub(crate) fn check_owner(&self, noun: &str, owner: OrganizationId) -> Result<(), StoreError> {
        if owner == self.owner() {
            return Ok(());
        }
        Err(StoreError::Invalid(format!("a new {noun} must belong to the organisation of whoever makes it")))
    }

    /// Tells a conflict in the words of the noun, instead of by the columns that collided.
    pub(crate) fn named<T>(
        result: Result<T, StoreError>,
        noun: &'static str,
        id: impl ToString,
    ) -> Result<T, StoreError> {
        result.map_err(|error| match error {
            StoreError::Conflict { reason, .. } => StoreError::conflict(noun, id, reason),
            other => other,
        })
    }
}

/// What a durable change means for the snapshots in memory.
#[derive(Debug)]
pub(crate) enum Effect {
    AgentChanged(AgentId),
    AgentDeleted(AgentId),
    BlockChanged(Arc<Block>),
    BlockDeleted(BlockId),
    BlockDetached {
        agent: AgentId,
        block: BlockId,
    },
    /// An agent's blocks or tools are others now.
    MembersChanged(AgentId),
    /// The blocks that a person has with an agent are others now.
    PersonBlocksChanged {
        agent: AgentId,
        identity: IdentityId,
    },
    ConversationBlocksChanged(ConversationId),
    ToolChanged(ToolId),
    MessagesInserted(Vec<Arc<Message>>),
    PassagesInserted {
        owner: OrganizationId,
        archive: ArchiveId,
        rows: usize,
    },
    MessageRewritten(Arc<Message>),
    /// The conversation's messages from this number on were set aside.
    MessagesSuperseded {
        conversation: ConversationId,
        from: u64,
    },
    ContextAppended {
        conversation: ConversationId,
        messages: Vec<ContextMessage>,
    },
    ContextReplaced {
        conversation: ConversationId,
        messages: Vec<ContextMessage>,
    },
    RunCompleted {
        agent: AgentId,
        at: Timestamp,
        reason: Option<StopReason>,
    },
    KeyMade(Arc<ApiKey>),
    KeyRevoked(ApiKeyId),
    /// Runs of any agent ended.
    RunsClosed,
    /// Anything may be another.
    Repaired,
}

/// A member of a context list, and the message itself where the same commit made it.
pub(crate) type ContextMessage = (MessageId, Option<Arc<Message>>);

/// What came of a commit.
pub(crate) struct Applied {
    pub(crate) committed: Committed,
    pub(crate) effects: Vec<Effect>,
}

/// Applies all changes of `commit`, or fails at the first that can't be made.
pub(crate) fn apply(db: &Db, commit: &Commit) -> Result<Applied, StoreError> {
    let scope = Scope { db, actor: commit.actor, at: commit.at };
    let mut progress = Progress::default();
    for change in &commit.changes {
        progress.apply(&scope, change)?;
    }
    progress.open.iter().try_for_each(|conversation| conversation.write(&scope))?;
    for agent in progress.settled_agents {
        agents::check_default_conversation(&scope, agent)?;
    }
    let sequence_ids = progress.inserted.iter().map(|message| message.sequence_id).collect();
    let committed = Committed { sequence_ids, messages: progress.inserted, passages: progress.passages };
    Ok(Applied { committed, effects: progress.effects })
}

/// What the changes so far have left for the later ones.
#[derive(Default)]
struct Progress {
    effects: Vec<Effect>,
    inserted: Vec<Arc<Message>>,
    passages: Vec<Arc<Passage>>,
    /// Conversations of the owner that are added to.
    open: Vec<OpenConversation>,
    /// Agents whose default conversation must exist when the commit ends.
    settled_agents: Vec<AgentId>,
    /// Ids of upserted tools that were stored under the id of an older tool.
    kept_tools: HashMap<ToolId, ToolId>,
}

impl Progress {
    fn apply(&mut self, scope: &Scope<'_>, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::InsertOrganization(organization) => owners::insert_organization(scope, organization),
            Change::InsertUser(user) => owners::insert_user(scope, user),
            Change::InsertIdentity(identity) => owners::insert_identity(scope, identity),
            Change::InsertAgent(agent) => {
                agents::insert(scope, agent)?;
                self.settled_agents.push(agent.id);
                self.leave(Effect::AgentChanged(agent.id))
            }
            Change::UpdateAgent(agent) => {
                agents::update(scope, agent)?;
                self.settled_agents.push(agent.id);
                self.leave(Effect::AgentChanged(agent.id))
            }
            Change::DeleteAgent(agent) => {
                agents::delete(scope, *agent)?;
                self.settled_agents.retain(|settled| settled != agent);
                self.open.retain(|open| open.agent != *agent);
                self.leave(Effect::AgentDeleted(*agent))
            }
            Change::InsertConversation(conversation) => conversations::insert(scope, conversation),
            Change::InsertMessages(new) => self.insert_messages(scope, new),
            Change::UpdateMessage(message) => self.rewrite_message(scope, message),
            Change::AppendContext { conversation, messages } => self.append_context(scope, *conversation, messages),
            Change::ReplaceContext { conversation, messages } => self.replace_context(scope, *conversation, messages),
            Change::SupersedeFrom { conversation, message } => self.supersede(scope, *conversation, *message),
            Change::InsertRun(run) => {
                runs::insert(scope, run)?;
                self.complete(run.agent, run.completed_at, run.stop_reason)
            }
            Change::UpdateRun(update) => self.update_run(scope, update),
            Change::InsertStep(step) => runs::insert_step(scope, step),
            Change::MarkDone(name) => upkeep::mark_done(scope, name),
            other => self.apply_member(scope, other),
        }
    }

    /// The changes to blocks and tools, which are an agent's members.
    fn apply_member(&mut self, scope: &Scope<'_>, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::InsertBlock { block, editor } => blocks::insert(scope, block, *editor),
            Change::UpdateBlock { block, editor } => {
                let stored = blocks::update(scope, block, *editor)?;
                self.leave(Effect::BlockChanged(Arc::new(stored)))
            }
            Change::DeleteBlock(block) => {
                blocks::delete(scope, *block)?;
                self.leave(Effect::BlockDeleted(*block))
            }
            Change::AttachBlock { agent, block } => {
                blocks::attach(scope, *agent, *block)?;
                self.leave(Effect::MembersChanged(*agent))
            }
            Change::AttachPersonBlock { agent, identity, block } => {
                scoped_blocks::attach_to_person(scope, *agent, *identity, *block)?;
                self.leave(Effect::PersonBlocksChanged { agent: *agent, identity: *identity })
            }
            Change::AttachConversationBlock { conversation, block } => {
                scoped_blocks::attach_to_conversation(scope, *conversation, *block)?;
                self.leave(Effect::ConversationBlocksChanged(*conversation))
            }
            Change::DetachBlock { agent, block, editor } => {
                blocks::detach(scope, *agent, *block, *editor)?;
                self.leave(Effect::BlockDetached { agent: *agent, block: *block })
            }
            Change::UpsertTool(tool) => {
                let stored = tools::upsert(scope, tool)?;
                self.kept_tools.insert(tool.id, stored);
                self.leave(Effect::ToolChanged(stored))
            }
            Change::AttachTool { agent, tool } => {
                tools::attach(scope, *agent, self.kept_tool(*tool))?;
                self.leave(Effect::MembersChanged(*agent))
            }
            Change::DetachTool { agent, tool } => {
                tools::detach(scope, *agent, self.kept_tool(*tool))?;
                self.leave(Effect::MembersChanged(*agent))
            }
            other => self.apply_archival(scope, other),
        }
    }

    /// The changes to sessions and API keys, which no snapshot shows, and then to archives and to the search index.
    fn apply_archival(&mut self, scope: &Scope<'_>, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::InsertSession(session) => sessions::insert(scope, session),
            Change::UpdateSession { conversation, overlay, preface } => {
                sessions::update(scope, *conversation, *overlay, *preface)
            }
            Change::TouchSession(conversation) => sessions::touch(scope, *conversation),
            Change::InsertSessionRequests(new) => {
                new.iter().try_for_each(|request| session_requests::insert(scope, request))
            }
            Change::InsertApiKey(key) => {
                let stored = api_keys::insert(scope, key)?;
                self.leave(Effect::KeyMade(Arc::new(stored)))
            }
            Change::RevokeApiKey(key) => {
                api_keys::revoke(scope, *key)?;
                self.leave(Effect::KeyRevoked(*key))
            }
            Change::NoteKeyUses(uses) => api_keys::note_uses(scope, uses),
            Change::InsertArchive(archive) => archives::insert(scope, archive),
            Change::UpdateArchive(archive) => archives::update(scope, archive),
            Change::DeleteArchive(archive) => {
                self.leave_for_agents(scope, *archive)?;
                archives::delete(scope, *archive)
            }
            Change::AttachArchive { agent, archive } => {
                archives::attach(scope, *agent, *archive)?;
                self.leave(Effect::MembersChanged(*agent))
            }
            Change::DetachArchive { agent, archive } => {
                archives::detach(scope, *agent, *archive)?;
                self.leave(Effect::MembersChanged(*agent))
            }
            Change::InsertPassages(new) => self.insert_passages(scope, new),
            Change::DeletePassage(passage) => {
                let archive = passages::delete(scope, *passage)?;
                self.leave_for_agents(scope, archive)
            }
            Change::InsertSegment { scope: of, segment } => search_index::insert_segment(scope, *of, segment),
            Change::InsertVectors { scope: of, vectors } => search_index::insert_vectors(scope, *of, vectors),
            Change::DropVectors { scope: of, embedding } => search_index::drop_vectors(scope, *of, embedding),
            Change::DropSegments(of) => search_index::drop_segments(scope, *of),
            // `apply` and `apply_member` take all others.
            _ => Ok(()),
        }
    }

    fn insert_passages(&mut self, scope: &Scope<'_>, new: &[Arc<Passage>]) -> Result<(), StoreError> {
        let mut archives: Vec<(ArchiveId, usize)> = Vec::new();
        for passage in new {
            self.passages.push(passages::insert(scope, passage)?);
            match archives.iter_mut().find(|(archive, _)| *archive == passage.archive) {
                Some((_, rows)) => *rows += 1,
                None => archives.push((passage.archive, 1)),
            }
        }
        for (archive, rows) in archives {
            self.leave(Effect::PassagesInserted { owner: scope.owner(), archive, rows })?;
            self.leave_for_agents(scope, archive)?;
        }
        Ok(())
    }

    /// What every agent is told about an archive is another now.
    fn leave_for_agents(&mut self, scope: &Scope<'_>, archive: ArchiveId) -> Result<(), StoreError> {
        self.effects.extend(archives::agents_of(scope, archive)?.into_iter().map(Effect::MembersChanged));
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "every arm of `apply` ends in a result")]
    fn leave(&mut self, effect: Effect) -> Result<(), StoreError> {
        self.effects.push(effect);
        Ok(())
    }

    fn kept_tool(&self, tool: ToolId) -> ToolId {
        self.kept_tools.get(&tool).copied().unwrap_or(tool)
    }

    fn insert_messages(&mut self, scope: &Scope<'_>, new: &[Arc<Message>]) -> Result<(), StoreError> {
        let start = self.inserted.len();
        for (number, message) in (messages::next_number(scope)?..).zip(new) {
            let conversation = self.open(scope, message.conversation)?;
            if conversation.agent != message.agent {
                return Err(StoreError::not_found("conversation", message.conversation));
            }
            conversation.count(number, message.standing);
            let person = conversation.identity;
            self.inserted.push(messages::insert(scope, message, number, person)?);
        }
        self.leave(Effect::MessagesInserted(self.inserted[start..].to_vec()))
    }

    /// A conversation to be written when the commit ends.
    fn open(&mut self, scope: &Scope<'_>, id: ConversationId) -> Result<&mut OpenConversation, StoreError> {
        let place = match self.open.iter().position(|open| open.id == id) {
            Some(place) => place,
            None => {
                self.open.push(OpenConversation::load(scope, id)?);
                self.open.len() - 1
            }
        };
        Ok(&mut self.open[place])
    }

    fn rewrite_message(&mut self, scope: &Scope<'_>, message: &Arc<Message>) -> Result<(), StoreError> {
        messages::rewrite(scope, message)?;
        if let Some(inserted) = self.inserted.iter_mut().find(|inserted| inserted.id == message.id) {
            *inserted = messages::rewritten(inserted, message);
        }
        self.leave(Effect::MessageRewritten(message.clone()))
    }

    fn supersede(
        &mut self,
        scope: &Scope<'_>,
        conversation: ConversationId,
        message: MessageId,
    ) -> Result<(), StoreError> {
        let from = messages::number_in(scope, message, conversation)?;
        let from = from.ok_or_else(|| StoreError::not_found("message", message))?;
        session_requests::supersede(scope, conversation, from)?;
        let here = self.inserted.iter_mut().filter(|inserted| inserted.conversation == conversation);
        for inserted in here.filter(|inserted| messages::is_superseded_from(inserted, from)) {
            *inserted = messages::superseded(inserted);
        }
        self.leave(Effect::MessagesSuperseded { conversation, from })
    }

    fn append_context(
        &mut self,
        scope: &Scope<'_>,
        conversation: ConversationId,
        messages: &[MessageId],
    ) -> Result<(), StoreError> {
        let (numbers, messages) = self.resolve(scope, conversation, messages)?;
        self.open(scope, conversation)?.append(scope, &numbers)?;
        self.leave(Effect::ContextAppended { conversation, messages })
    }

    fn replace_context(
        &mut self,
        scope: &Scope<'_>,
        conversation: ConversationId,
        messages: &[MessageId],
    ) -> Result<(), StoreError> {
        let (numbers, messages) = self.resolve(scope, conversation, messages)?;
        self.open(scope, conversation)?.replace(scope, &numbers)?;
        self.leave(Effect::ContextReplaced { conversation, messages })
    }

    /// Numbers of messages by their ids, and the messages themselves where they are at hand.
    fn resolve(
        &mut self,
        scope: &Scope<'_>,
        conversation: ConversationId,
        ids: &[MessageId],
    ) -> Result<(Vec<u64>, Vec<ContextMessage>), StoreError> {
        self.open(scope, conversation)?;
        let mut numbers = Vec::with_capacity(ids.len());
        let mut found = Vec::with_capacity(ids.len());
        for &id in ids {
            let made = self.inserted.iter().find(|message| message.id == id && message.conversation == conversation);
            let number = match made {
                Some(message) => Some(message.sequence_id),
                None => messages::number_in(scope, id, conversation)?,
            };
            numbers.push(number.ok_or_else(|| StoreError::not_found("message", id))?);
            found.push((id, made.cloned()));
        }
        Ok((numbers, found))
    }

    fn update_run(&mut self, scope: &Scope<'_>, update: &RunUpdate) -> Result<(), StoreError> {
        let mut update = update.clone();
        if !matches!(update.status, RunStatus::Created | RunStatus::Running) {
            // What is over has an end, also where the caller left it out.
            update.completed_at.get_or_insert(scope.at);
        }
        runs::update(scope, &update)?;
        self.complete(update.agent, update.completed_at, update.stop_reason)
    }

    fn complete(
        &mut self,
        agent: AgentId,
        at: Option<Timestamp>,
        reason: Option<StopReason>,
    ) -> Result<(), StoreError> {
        match at {
            Some(at) => self.leave(Effect::RunCompleted { agent, at: stored_time(at), reason }),
            None => Ok(()),
        }
    }
}
