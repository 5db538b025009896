//! A store in a directory of its own, and short ways to fill it.

use std::sync::Arc;

use domain::block::BlockDraft;
use domain::{
    Actor, Agent, AgentId, AgentType, Block, BlockId, ContentPart, Conversation, ConversationId, Label, LlmConfig,
    Message, MessageId, ModelHandle, Organization, OrganizationId, Role, Run, RunId, RunStatus, Timestamp, Tool,
    ToolId, ToolType, Usage, User, UserId,
};
use storage::{BlockEditor, Change, Commit, Committed, Store, StoreConfig, StoreError};
use tempfile::TempDir;

pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) config: StoreConfig,
    pub(crate) me: Actor,
    _directory: TempDir,
}

/// An agent with its default conversation.
#[derive(Clone, Copy)]
pub(crate) struct Home {
    pub(crate) agent: AgentId,
    pub(crate) conversation: ConversationId,
}

/// A fixed moment, and `micros` after it.
pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(1_800_000_000_000_000 + micros).unwrap()
}

impl House {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(adjust: impl FnOnce(&mut StoreConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = StoreConfig::at(directory.path().join("house").join("store.db"));
        adjust(&mut config);
        let store = Store::open(&config, at(0)).unwrap();
        Self { store, config, me: Actor::default_user(), _directory: directory }
    }

    pub(crate) fn owner(&self) -> OrganizationId {
        self.me.organization
    }

    /// A second look at the same file, with nothing in memory.
    pub(crate) fn fresh(&self) -> Store {
        Store::open(&self.config, at(0)).unwrap()
    }

    /// The file itself.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.config.path).unwrap()
    }

    pub(crate) fn commit(&self) -> Commit {
        Commit::new(self.me, at(1))
    }

    pub(crate) async fn apply(&self, changes: impl IntoIterator<Item = Change>) -> Result<Committed, StoreError> {
        let mut commit = self.commit();
        commit.changes.extend(changes);
        self.store.commit(commit).await
    }

    pub(crate) async fn new_home(&self, name: &str) -> Home {
        let (agent, conversation) = agent(self.me, name);
        let home = Home { agent: agent.id, conversation: conversation.id };
        let changes = [Change::InsertAgent(Box::new(agent)), Change::InsertConversation(Box::new(conversation))];
        self.apply(changes).await.unwrap();
        home
    }

    pub(crate) async fn new_block(&self, label: &str, value: &str) -> Block {
        let block = block(self.me, label, value);
        self.apply([insert_block(&block)]).await.unwrap();
        block
    }

    /// Stores messages and puts them into the context.
    pub(crate) async fn say(&self, home: Home, texts: &[&str]) -> Vec<MessageId> {
        let messages: Vec<_> = texts.iter().map(|text| message(self.me, home, text)).collect();
        let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
        self.apply(said(home, messages)).await.unwrap();
        ids
    }

    /// The words of a conversation's context.
    pub(crate) async fn context(&self, home: Home) -> Vec<String> {
        let snapshot = self.store.snapshot(self.owner(), home.agent, home.conversation).await.unwrap();
        snapshot.context.iter().map(|message| message.first_text().to_owned()).collect()
    }

    /// Rows of every table, by the name of the table.
    pub(crate) fn row_counts(&self) -> Vec<(String, i64)> {
        let raw = self.raw();
        let mut tables = raw.prepare("select name from sqlite_master where type = 'table' order by name").unwrap();
        let names: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let count = |name: &String| raw.query_row(&format!("select count(*) from {name}"), [], |row| row.get(0));
        names
            .into_iter()
            .filter(|name| !name.starts_with("sqlite"))
            .map(|name| (name.clone(), count(&name).unwrap()))
            .collect()
    }
}

pub(crate) fn said(home: Home, messages: Vec<Arc<Message>>) -> [Change; 2] {
    let ids = messages.iter().map(|message| message.id).collect();
    [Change::InsertMessages(messages), Change::AppendContext { conversation: home.conversation, messages: ids }]
}

pub(crate) fn agent(me: Actor, name: &str) -> (Agent, Conversation) {
    let conversation = Conversation {
        id: ConversationId::random(),
        organization: me.organization,
        agent: AgentId::random(),
        identity: None,
        summary: None,
        created_at: at(0),
        updated_at: at(0),
    };
    let agent = Agent {
        id: conversation.agent,
        organization: me.organization,
        created_by: me.user,
        name: name.to_owned(),
        description: Some("keeps books".to_owned()),
        kind: AgentType::MemgptV2,
        system: "You keep books.".to_owned(),
        llm_config: LlmConfig::new(ModelHandle::parse("builtin/guide").unwrap(), "guide", 32_000),
        embedding: None,
        response_format: None,
        compaction_settings: None,
        tool_rules: Vec::new(),
        tags: vec!["b".to_owned(), "a".to_owned()],
        metadata: serde_json::Map::from_iter([("z".to_owned(), 1.into()), ("a".to_owned(), "x".into())]),
        timezone: "UTC".to_owned(),
        message_buffer_autoclear: false,
        max_files_open: 5,
        per_file_view_window_char_limit: 1_000,
        hidden: false,
        default_conversation: conversation.id,
        last_run_completion: None,
        last_stop_reason: None,
        created_at: at(0),
        updated_at: at(0),
    };
    (agent, conversation)
}

pub(crate) fn block(me: Actor, label: &str, value: &str) -> Block {
    Block::new(BlockDraft {
        id: BlockId::random(),
        organization: me.organization,
        created_by: me.user,
        label: Label::new(label).unwrap(),
        value: value.to_owned(),
        limit: 100,
        description: None,
        read_only: false,
        metadata: serde_json::Map::new(),
        created_at: at(0),
    })
    .unwrap()
}

pub(crate) fn insert_block(block: &Block) -> Change {
    Change::InsertBlock { block: Box::new(block.clone()), editor: BlockEditor::Api }
}

pub(crate) fn update_block(block: &Block) -> Change {
    Change::UpdateBlock { block: Box::new(block.clone()), editor: BlockEditor::Api }
}

pub(crate) fn tool(me: Actor, name: &str) -> Tool {
    Tool {
        id: ToolId::random(),
        organization: me.organization,
        created_by: me.user,
        name: name.into(),
        description: "does things".into(),
        kind: ToolType::Custom,
        parameters: Arc::new(serde_json::json!({"type": "object", "properties": {}, "required": []})),
        tags: Vec::new(),
        return_char_limit: 1_000,
        default_requires_approval: false,
        enable_parallel_execution: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn message(me: Actor, home: Home, text: &str) -> Arc<Message> {
    Arc::new(Message {
        id: MessageId::random(),
        organization: me.organization,
        agent: home.agent,
        conversation: home.conversation,
        identity: None,
        sequence_id: 0,
        role: Role::User,
        content: Arc::from([ContentPart::text(text)]),
        tool_calls: Arc::from([]),
        tool_returns: Arc::from([]),
        name: None,
        model: None,
        otid: None,
        run: None,
        step: None,
        // Not a whole microsecond: what is kept in memory must be what the file can hold.
        standing: domain::Standing::Kept,
        created_at: Timestamp::from_nanosecond(at(2).as_nanosecond() + 345).unwrap(),
    })
}

pub(crate) fn run(me: Actor, home: Home) -> Run {
    Run {
        id: RunId::random(),
        organization: me.organization,
        agent: home.agent,
        conversation: home.conversation,
        status: RunStatus::Running,
        stop_reason: None,
        error: None,
        background: false,
        usage: Usage::default(),
        step_count: 0,
        created_at: at(3),
        completed_at: None,
    }
}

/// A second organisation with a user.
pub(crate) async fn stranger(store: &Store) -> Actor {
    let actor = Actor { user: UserId::random(), organization: OrganizationId::random() };
    let organization = Organization { id: actor.organization, name: "others".to_owned(), created_at: at(0) };
    let user = User { id: actor.user, organization: actor.organization, name: "other".to_owned(), created_at: at(0) };
    let commit = Commit::new(actor, at(0))
        .with(Change::InsertOrganization(Box::new(organization)))
        .with(Change::InsertUser(Box::new(user)));
    store.commit(commit).await.unwrap();
    actor
}

/// What went wrong, in one word.
pub(crate) fn word<T>(result: &Result<T, StoreError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(StoreError::NotFound { .. }) => "not found",
        Err(StoreError::Conflict { .. }) => "conflict",
        Err(StoreError::Invalid(_)) => "invalid",
        Err(StoreError::Full) => "full",
        Err(StoreError::Busy) => "busy",
        Err(StoreError::Closed) => "closed",
        Err(StoreError::Corrupt(_)) => "corrupt",
        Err(StoreError::Database(_)) => "database",
    }
}
