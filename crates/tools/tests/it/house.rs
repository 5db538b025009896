//! An agent in a store of its own that calls tools.

use std::path::PathBuf;
use std::sync::Arc;

use domain::seams::tool_executor::{ArchivalChange, ToolExecutor, ToolInvocation, ToolOutcome};
use domain::{
    Actor, Agent, AgentSnapshot, Archival, ContentPart, LlmConfig, Memory, Message, MessageId, ModelHandle, Role,
    RunId, Timestamp, ToolCall, ToolId, ToolStatus,
};
use retrieval::Search;
use retrieval::embed::Embedders;
use serde_json::Value;
use storage::{Change, Commit, Store, StoreConfig};
use tools::{Toolbox, catalog};

pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) me: Actor,
    toolbox: Toolbox,
    _directory: tempfile::TempDir,
}

/// Noon in New York, which is the agents' zone.
pub(crate) fn noon() -> Timestamp {
    "2026-01-20T17:00:00Z".parse().unwrap()
}

impl House {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::at(directory.path().join("store.db")), noon()).unwrap();
        let search = Search::new(store.clone(), Embedders::local_only(PathBuf::new()));
        let toolbox = Toolbox::new(store.clone(), search);
        Self { store, me: Actor::default_user(), toolbox, _directory: directory }
    }

    pub(crate) async fn apply(&self, changes: impl IntoIterator<Item = Change>) {
        let mut commit = Commit::new(self.me, noon());
        commit.changes.extend(changes);
        self.store.commit(commit).await.unwrap();
    }

    pub(crate) async fn agent(&self) -> AgentSnapshot {
        let model = LlmConfig::new(ModelHandle::builtin("guide"), "guide", 32_000);
        let (mut agent, talk) = Agent::plain(self.me, "ada", model, noon());
        agent.timezone = "America/New_York".to_owned();
        let conversation = talk.id;
        self.apply([Change::InsertAgent(Box::new(agent.clone())), Change::InsertConversation(Box::new(talk))]).await;
        AgentSnapshot {
            agent: Arc::new(agent),
            conversation,
            identity: None,
            memory: Memory::default(),
            tools: Arc::new([]),
            context: Arc::default(),
            message_count: 0,
            archival: Archival::default(),
        }
    }

    pub(crate) async fn say(&self, of: &AgentSnapshot, said: Vec<Said<'_>>) {
        let messages = said.into_iter().map(|said| Arc::new(said.message(of))).collect();
        self.apply([Change::InsertMessages(messages)]).await;
    }

    pub(crate) async fn call(&self, of: &AgentSnapshot, name: &str, arguments: Value) -> ToolOutcome {
        self.call_after(of, name, arguments, &[]).await
    }

    /// A call after others of the same step.
    pub(crate) async fn call_after(
        &self,
        of: &AgentSnapshot,
        name: &str,
        arguments: Value,
        archival: &[ArchivalChange],
    ) -> ToolOutcome {
        let tool = catalog::by_name(name).unwrap().to_tool(ToolId::random(), self.me, noon());
        let Value::Object(arguments) = arguments else { panic!("an object is needed") };
        let invocation = ToolInvocation {
            tool: &tool,
            arguments: &arguments,
            memory: &of.memory,
            archival,
            snapshot: of,
            run: this_run(),
            set_aside_from: None,
            now: noon(),
        };
        self.toolbox.execute(invocation).await
    }

    /// The JSON that a call which worked gave.
    pub(crate) async fn ask(&self, of: &AgentSnapshot, name: &str, arguments: Value) -> Value {
        let outcome = self.call(of, name, arguments).await;
        assert_eq!(outcome.status, ToolStatus::Success, "{}", outcome.text);
        serde_json::from_str(&outcome.text).unwrap()
    }
}

/// The run that calls the tools.
pub(crate) fn this_run() -> RunId {
    RunId::from_bytes([7; 16])
}

/// Something that was said.
#[derive(Clone)]
pub(crate) struct Said<'a> {
    pub(crate) role: Role,
    pub(crate) text: &'a str,
    pub(crate) at: &'a str,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) thought: Option<&'a str>,
    pub(crate) run: Option<RunId>,
}

impl<'a> Said<'a> {
    pub(crate) fn by(role: Role, text: &'a str, at: &'a str) -> Self {
        Self { role, text, at, calls: Vec::new(), thought: None, run: None }
    }

    fn message(self, of: &AgentSnapshot) -> Message {
        let thought =
            self.thought.map(|text| ContentPart::Reasoning { text: text.into(), is_native: true, signature: None });
        let words = (!self.text.is_empty()).then(|| ContentPart::text(self.text));
        Message {
            id: MessageId::random(),
            organization: of.agent.organization,
            agent: of.agent.id,
            conversation: of.conversation,
            identity: None,
            sequence_id: 0,
            role: self.role,
            content: thought.into_iter().chain(words).collect(),
            tool_calls: self.calls.into(),
            tool_returns: Arc::new([]),
            name: None,
            model: None,
            otid: None,
            run: self.run,
            step: None,
            standing: domain::Standing::Kept,
            created_at: self.at.parse().unwrap(),
        }
    }
}

pub(crate) fn tool_call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: "call_1".into(), name: name.into(), arguments: arguments.to_string().into() }
}
