//! A commit is a value: everything that one request changes, applied in one transaction or not at all.
//!
//! All writes go through here, a step of an agent as well as an edit by a door. Nothing in this file knows which
//! database applies it. Ids and times are the caller's.

use std::sync::Arc;

use domain::{
    Actor, Agent, AgentId, ApiKey, ApiKeyId, Archive, ArchiveId, Block, BlockId, Conversation, ConversationId, Digest,
    Identity, IdentityId, Message, MessageId, Organization, OrganizationId, Passage, PassageId, Run, RunId, RunStatus,
    Session, SessionRequest, Step, StopReason, Timestamp, Tool, ToolId, Usage, User,
};

use crate::search_index::{SearchScope, Segment, VectorStretch};

/// What the change history of a block says about who changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockEditor {
    /// A tool call of a run.
    Tool(RunId),
    /// A client, through a door.
    Api,
    /// A run of an agent that tends other agents' memory while they sleep.
    Sleeptime(RunId),
    /// It came with an agent that was made elsewhere.
    Import,
    /// A person took a change back: the block is again what it was at that version.
    Undo { to_version: u64 },
    /// A person made a change that was taken back once more.
    Redo { to_version: u64 },
}

/// One change. A [`Commit`] applies its changes in order.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new organisation. Only an actor of that organisation can make it, because no other may touch its rows.
    InsertOrganization(Box<Organization>),
    /// A new member of the actor's organisation.
    InsertUser(Box<User>),
    /// A new agent with no blocks, tools or conversations yet; its default conversation follows in the same commit.
    InsertAgent(Box<Agent>),
    /// Replaces the settings of an agent; fails if it does not exist.
    UpdateAgent(Box<Agent>),
    /// Removes an agent with its conversations, sessions, messages, runs and steps. Its blocks stay, but not those that
    /// only its people or conversations had.
    DeleteAgent(AgentId),
    InsertConversation(Box<Conversation>),
    /// A new block; its first version goes into the history.
    InsertBlock {
        block: Box<Block>,
        editor: BlockEditor,
    },
    /// Replaces a block whose stored version is `block.version`; the store then counts it one up.
    /// Fails with `Conflict` where somebody else was faster.
    UpdateBlock {
        block: Box<Block>,
        editor: BlockEditor,
    },
    /// Removes a block everywhere, with its history. Whoever only wants it out of sight detaches it.
    DeleteBlock(BlockId),
    /// Attaches a block as the agent's last; fails with `Conflict` where the label is taken.
    AttachBlock {
        agent: AgentId,
        block: BlockId,
    },
    /// Takes a block away from an agent, its people and its conversations. It stays in the store, and the store
    /// remembers that the agent had it.
    DetachBlock {
        agent: AgentId,
        block: BlockId,
        editor: BlockEditor,
    },
    /// Attaches a block as the last of those that a person has of their own with an agent; fails with `Conflict` where
    /// the person has the label.
    AttachPersonBlock {
        agent: AgentId,
        identity: IdentityId,
        block: BlockId,
    },
    /// Attaches a block as the conversation's last; fails with `Conflict` where the conversation has the label.
    AttachConversationBlock {
        conversation: ConversationId,
        block: BlockId,
    },
    /// Makes a tool, or replaces the one of the same name in the organisation, which keeps its id.
    UpsertTool(Box<Tool>),
    /// Attaches a tool as the agent's last; one that is attached already stays where it is. The id of a tool that was
    /// upserted in the same commit may be the new one or the one that was kept.
    AttachTool {
        agent: AgentId,
        tool: ToolId,
    },
    DetachTool {
        agent: AgentId,
        tool: ToolId,
    },
    InsertIdentity(Box<Identity>),
    /// A new archive that no agent has yet.
    InsertArchive(Box<Archive>),
    /// Replaces name, description, embedding model and metadata of an archive.
    UpdateArchive(Box<Archive>),
    /// Removes an archive with its passages, from all agents.
    DeleteArchive(ArchiveId),
    /// Attaches an archive as the agent's last; one that is attached already stays where it is.
    AttachArchive {
        agent: AgentId,
        archive: ArchiveId,
    },
    DetachArchive {
        agent: AgentId,
        archive: ArchiveId,
    },
    /// New passages, numbered by the store in this order.
    InsertPassages(Vec<Arc<Passage>>),
    DeletePassage(PassageId),
    /// Adds a stretch to the search index; fails with `Conflict` where somebody else indexed the same rows.
    InsertSegment {
        scope: SearchScope,
        segment: Box<Segment>,
    },
    /// Adds a stretch of vectors; fails with `Conflict` where somebody else embedded the same rows with the same model.
    InsertVectors {
        scope: SearchScope,
        vectors: Box<VectorStretch>,
    },
    /// Removes a model's vectors.
    DropVectors {
        scope: SearchScope,
        embedding: String,
    },
    /// Removes the postings of a scope, which cost nothing to make again.
    DropSegments(SearchScope),
    /// New messages, numbered by the store in this order. What is said in a person's conversation is that person's,
    /// unless the message names another.
    InsertMessages(Vec<Arc<Message>>),
    /// Rewrites the content of a message in place: the system message when its memory section changed.
    UpdateMessage(Arc<Message>),
    /// Adds to the end of a conversation's context list; the messages must be the conversation's own.
    AppendContext {
        conversation: ConversationId,
        messages: Vec<MessageId>,
    },
    /// Replaces a conversation's context list; the messages must be the conversation's own.
    ReplaceContext {
        conversation: ConversationId,
        messages: Vec<MessageId>,
    },
    /// Sets aside a message and all later ones of its conversation, because a client went back to before it. They stay
    /// in the store and in the context list; examples and system messages stay what they are.
    SupersedeFrom {
        conversation: ConversationId,
        message: MessageId,
    },
    /// A new session; fails with `Conflict` where the agent has one with that key, or the conversation is one already.
    InsertSession(Box<Session>),
    /// Says which of the client's system texts a session has now, and that it was used.
    UpdateSession {
        conversation: ConversationId,
        overlay: Option<Digest>,
        preface: Option<Digest>,
    },
    /// Says that a session was used. A conversation that is none is left as it is.
    TouchSession(ConversationId),
    /// Adds requests to sessions, in this order, after the messages that came of them; fails with `Conflict` of an
    /// `idempotency` where a request has the same.
    InsertSessionRequests(Vec<SessionRequest>),
    InsertRun(Box<Run>),
    /// Fails with `Conflict` where the run is over already.
    UpdateRun(RunUpdate),
    InsertStep(Box<Step>),
    /// A new API key; fails with `Conflict` where the organisation has a live one of that name.
    InsertApiKey(Box<ApiKey>),
    /// Revokes an API key for good. One that was revoked before stays as it was.
    RevokeApiKey(ApiKeyId),
    /// Says when API keys were last used.
    NoteKeyUses(Vec<(ApiKeyId, Timestamp)>),
    /// Remembers that some work on stored rows was done; see [`Store::is_done`](crate::Store::is_done).
    MarkDone(&'static str),
}

/// How a run goes on.
#[derive(Debug, Clone)]
pub struct RunUpdate {
    pub run: RunId,
    pub agent: AgentId,
    pub status: RunStatus,
    pub stop_reason: Option<StopReason>,
    pub error: Option<String>,
    /// Totals so far, not additions.
    pub usage: Usage,
    pub step_count: u32,
    pub completed_at: Option<Timestamp>,
}

/// Changes that become visible together.
#[derive(Debug, Clone)]
pub struct Commit {
    pub actor: Actor,
    pub at: Timestamp,
    pub changes: Vec<Change>,
}

impl Commit {
    /// An empty commit on behalf of `actor`.
    pub fn new(actor: Actor, at: Timestamp) -> Self {
        Self { actor, at, changes: Vec::new() }
    }

    /// Adds one change.
    #[must_use]
    pub fn with(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// Whose rows it touches. The store refuses every other.
    pub fn owner(&self) -> OrganizationId {
        self.actor.organization
    }
}

/// What the store made of a commit.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The numbers given to the messages of all [`Change::InsertMessages`], in order.
    pub sequence_ids: Vec<u64>,
    /// Those messages as they are stored, numbers included.
    pub messages: Vec<Arc<Message>>,
    /// The passages of all [`Change::InsertPassages`] as they are stored, numbers included.
    pub passages: Vec<Arc<Passage>>,
}
