//! A store with one agent in a directory of its own, and short ways to run that agent and to look at what is kept.
//!
//! Every run that goes through [`House::run`] is held to what must be true of all runs, whatever the test looks at.

use std::cell::Cell;
use std::sync::Arc;

use agent::events::RunEvent;
use agent::{
    EventSink, FindSummariser, InputMessage, Opening, RunInput, RunOptions, RunPermit, RunPorts, TokenMeter, drive,
};
use domain::block::BlockDraft;
use domain::seams::chat_model::ChatModel;
use domain::seams::tool_executor::ToolExecutor;
use domain::{
    Actor, Agent, AgentId, AgentSnapshot, AgentType, Block, BlockId, ContentPart, Conversation, ConversationId, Label,
    LlmConfig, Message, ModelHandle, Role, Run, RunId, Timestamp, ToolId,
};
use serde_json::Value;
use storage::{BlockEditor, Change, Commit, MessageFilter, Store, StoreConfig};
use tempfile::TempDir;
use testkit::{Reply, ScriptedModel};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::Toolbox;

use crate::played::Played;

thread_local! {
    /// Seconds since the house was built. Each test has a thread of its own, and so a clock of its own.
    static SECONDS: Cell<i64> = const { Cell::new(0) };
}

/// The house's clock: each look at it is a second later.
pub(crate) fn clock() -> Timestamp {
    let now = SECONDS.get() + 1;
    SECONDS.set(now);
    Timestamp::from_second(1_800_000_000 + now).unwrap()
}

/// Lets time pass.
pub(crate) fn days_pass(days: i64) {
    SECONDS.set(SECONDS.get() + days * 86_400);
}

/// A store, one of its agents, and how that agent is run. Clones share the store.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) me: Actor,
    pub(crate) agent: AgentId,
    pub(crate) conversation: ConversationId,
    pub(crate) toolbox: Arc<dyn ToolExecutor>,
    pub(crate) meter: Arc<TokenMeter>,
    pub(crate) summarisers: FindSummariser,
    pub(crate) max_steps: u32,
    /// Whether watchers are shown pieces.
    pub(crate) pieces: bool,
    pub(crate) cancel: CancellationToken,
    pub(crate) stopping: CancellationToken,
    config: StoreConfig,
    _directory: Arc<TempDir>,
}

/// The tools of the house.
pub(crate) fn toolbox(store: &Store) -> Toolbox {
    Toolbox::new(
        store.clone(),
        retrieval::Search::new(store.clone(), retrieval::embed::Embedders::local_only(std::path::PathBuf::new())),
    )
}

impl House {
    /// An agent with the blocks `human` and `persona`, these tools in this order, and these rules.
    pub(crate) async fn of(kind: AgentType, tools: &[&str], rules: Value) -> Self {
        SECONDS.set(0);
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let config = StoreConfig::at(directory.path().join("store.db"));
        let store = Store::open(&config, clock()).unwrap();
        let house = Self {
            toolbox: Arc::new(toolbox(&store)),
            store,
            me: Actor::default_user(),
            agent: AgentId::random(),
            conversation: ConversationId::random(),
            meter: Arc::default(),
            summarisers: Arc::new(|_| Box::pin(async { Err("nobody was asked to summarise".to_owned()) })),
            max_steps: agent::step_loop::DEFAULT_MAX_STEPS,
            pieces: true,
            cancel: CancellationToken::new(),
            stopping: CancellationToken::new(),
            config,
            _directory: directory,
        };
        let blocks = [house.new_block("human", "Name: Ada").await, house.new_block("persona", "A librarian.").await];
        house.settle(kind, tools, rules, &blocks).await;
        house
    }

    /// An agent that may answer in plain words.
    pub(crate) async fn v3(tools: &[&str], rules: Value) -> Self {
        Self::of(AgentType::LettaV1, tools, rules).await
    }

    /// An agent that must call tools: `send_message`, which ends its runs, and these.
    pub(crate) async fn v2(tools: &[&str], rules: Value) -> Self {
        Self::of(AgentType::MemgptV2, &[&["send_message"], tools].concat(), with_exit(rules)).await
    }

    /// Another agent of the same store that has the same `human` block and no other.
    pub(crate) async fn neighbour(&self, tools: &[&str]) -> Self {
        let mut other = self.clone();
        (other.agent, other.conversation) = (AgentId::random(), ConversationId::random());
        let shared = self.block("human").await.id;
        other.settle(AgentType::LettaV1, tools, Value::Array(Vec::new()), &[shared]).await;
        other
    }

    /// The same house for another run, whose client has not left.
    pub(crate) fn clone_uncancelled(&self) -> Self {
        Self { cancel: CancellationToken::new(), ..self.clone() }
    }

    async fn settle(&self, kind: AgentType, tools: &[&str], rules: Value, blocks: &[BlockId]) {
        let now = clock();
        let mut changes = vec![
            Change::InsertAgent(Box::new(self.new_agent(kind, rules))),
            Change::InsertConversation(Box::new(Conversation {
                id: self.conversation,
                organization: self.me.organization,
                agent: self.agent,
                identity: None,
                summary: None,
                created_at: now,
                updated_at: now,
            })),
        ];
        let agent = self.agent;
        changes.extend(blocks.iter().map(|block| Change::AttachBlock { agent, block: *block }));
        for name in tools {
            let tool = tools::catalog::by_name(name).unwrap().to_tool(ToolId::random(), self.me, now);
            let id = tool.id;
            changes.extend([Change::UpsertTool(Box::new(tool)), Change::AttachTool { agent, tool: id }]);
        }
        self.apply(changes).await;
    }

    fn new_agent(&self, kind: AgentType, rules: Value) -> Agent {
        let now = clock();
        Agent {
            id: self.agent,
            organization: self.me.organization,
            created_by: self.me.user,
            name: "Ada's".to_owned(),
            description: None,
            kind,
            system: "You keep books.".to_owned(),
            llm_config: LlmConfig::new(ModelHandle::parse("scripted/one").unwrap(), "openai", 32_000),
            embedding: None,
            response_format: None,
            compaction_settings: None,
            tool_rules: serde_json::from_value(rules).unwrap(),
            tags: Vec::new(),
            metadata: serde_json::Map::new(),
            timezone: "UTC".to_owned(),
            message_buffer_autoclear: false,
            max_files_open: 5,
            per_file_view_window_char_limit: 1_000,
            hidden: false,
            default_conversation: self.conversation,
            last_run_completion: None,
            last_stop_reason: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Changes the agent's settings.
    pub(crate) async fn adjust(&self, change: impl FnOnce(&mut Agent)) {
        let mut agent = Agent::clone(&self.snapshot().await.agent);
        change(&mut agent);
        self.apply([Change::UpdateAgent(Box::new(agent))]).await;
    }

    /// What somebody else writes, as one commit.
    pub(crate) async fn apply(&self, changes: impl IntoIterator<Item = Change>) {
        let mut commit = Commit::new(self.me, clock());
        commit.changes.extend(changes);
        self.store.commit(commit).await.unwrap();
    }

    /// A block that nobody has yet.
    pub(crate) async fn new_block(&self, label: &str, value: &str) -> BlockId {
        let block = Block::new(BlockDraft {
            id: BlockId::random(),
            organization: self.me.organization,
            created_by: self.me.user,
            label: Label::new(label).unwrap(),
            value: value.to_owned(),
            limit: 1_000,
            description: None,
            read_only: false,
            metadata: serde_json::Map::new(),
            created_at: clock(),
        })
        .unwrap();
        let id = block.id;
        self.apply([Change::InsertBlock { block: Box::new(block), editor: BlockEditor::Api }]).await;
        id
    }

    /// Somebody else adds a line to a block of the agent.
    pub(crate) async fn add_line(&self, label: &str, line: &str) {
        let mut block = self.block(label).await;
        block.set_value(format!("{}\n{line}", block.value())).unwrap();
        self.apply([Change::UpdateBlock { block: Box::new(block), editor: BlockEditor::Api }]).await;
    }

    /// One of the agent's blocks.
    pub(crate) async fn block(&self, label: &str) -> Block {
        Block::clone(self.snapshot().await.memory.by_label(label).unwrap())
    }

    pub(crate) async fn snapshot(&self) -> AgentSnapshot {
        self.store.snapshot(self.me.organization, self.agent, self.conversation).await.unwrap()
    }

    /// All messages of the agent as the file has them, oldest first.
    pub(crate) async fn messages(&self) -> Vec<Arc<Message>> {
        let filter = MessageFilter { ascending: true, ..MessageFilter::newest(self.agent, 1_000) };
        self.fresh().messages(self.me.organization, &filter).await.unwrap()
    }

    /// A run's row.
    pub(crate) async fn run_row(&self, run: RunId) -> Run {
        self.store.run(self.me.organization, run).await.unwrap()
    }

    /// A second look at the same file, with nothing in memory.
    pub(crate) fn fresh(&self) -> Store {
        Store::open(&self.config, clock()).unwrap()
    }

    /// Says "Hello" to the agent, whose model plays `replies`.
    pub(crate) async fn run(&self, replies: impl IntoIterator<Item = Reply>) -> Played {
        self.run_with(&ScriptedModel::playing(replies)).await
    }

    /// Says "Hello" to the agent with this model.
    pub(crate) async fn run_with(&self, model: &ScriptedModel) -> Played {
        let (sender, mut events) = mpsc::channel(1);
        let driven = self.drive(Arc::new(model.clone()), sender);
        let heard = async {
            let mut heard = Vec::new();
            while let Some(event) = events.recv().await {
                heard.push(event);
            }
            heard
        };
        let (finished, events) = Box::pin(async { tokio::join!(driven, heard) }).await;
        let played = Played { finished, events, requests: model.requests(), messages: self.messages().await };
        played.check(self).await;
        played
    }

    /// The run itself; its events go to `sender`, which is dropped at the end.
    pub(crate) async fn drive(
        &self,
        model: Arc<dyn ChatModel>,
        sender: mpsc::Sender<RunEvent>,
    ) -> agent::events::Finished {
        self.drive_saying("Hello", model, sender).await
    }

    /// A run that begins with these words.
    pub(crate) async fn drive_saying(
        &self,
        words: &str,
        model: Arc<dyn ChatModel>,
        sender: mpsc::Sender<RunEvent>,
    ) -> agent::events::Finished {
        let ports = RunPorts {
            store: self.store.clone(),
            model,
            toolbox: self.toolbox.clone(),
            meter: self.meter.clone(),
            summarisers: self.summarisers.clone(),
            clock,
            cancel: self.cancel.clone(),
            stopping: self.stopping.clone(),
        };
        let message = InputMessage {
            role: Role::User,
            content: Arc::new([ContentPart::text(words)]),
            name: None,
            otid: Some("mine".into()),
        };
        let input = RunInput {
            run: RunId::random(),
            actor: self.me,
            agent: self.agent,
            conversation: self.conversation,
            identity: None,
            opening: Opening::messages(vec![message]),
            options: RunOptions { max_steps: Some(self.max_steps), ..RunOptions::default() },
            background: false,
        };
        Box::pin(drive(input, &ports, &EventSink::new(sender, self.pieces), &RunPermit::new(()))).await
    }
}

/// `rules` and the one that `send_message` ends a run.
fn with_exit(rules: Value) -> Value {
    let mut all = vec![serde_json::json!({"type": "exit_loop", "tool_name": "send_message"})];
    if let Value::Array(rules) = rules {
        all.extend(rules);
    }
    Value::Array(all)
}

/// A call that adds a line to the block `human`.
pub(crate) fn insert(line: &str) -> Reply {
    Reply::call("memory_insert", &serde_json::json!({"label": "human", "new_str": line}))
}

/// A call that speaks to the user.
pub(crate) fn say(words: &str) -> Reply {
    Reply::call("send_message", &serde_json::json!({"message": words}))
}
