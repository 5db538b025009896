//! Calls through the seam: routing, refusals, cut returns.

use std::sync::Arc;

use domain::block::BlockDraft;
use domain::{
    Actor, Agent, AgentId, AgentSnapshot, AgentType, Block, BlockId, ConversationId, Label, LlmConfig, Memory,
    ModelHandle, RunId, Timestamp, ToolId,
};
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use storage::StoreConfig;

use super::*;

fn memory() -> Memory {
    let Actor { user, organization } = Actor::default_user();
    let draft = BlockDraft {
        id: BlockId::random(),
        organization,
        created_by: user,
        label: Label::new("human").expect("a good label"),
        value: "Likes tea.".to_owned(),
        limit: 100,
        description: None,
        read_only: false,
        metadata: Map::new(),
        created_at: Timestamp::UNIX_EPOCH,
    };
    Memory::new(vec![Arc::new(Block::new(draft).expect("a good block"))])
}

fn snapshot() -> AgentSnapshot {
    let Actor { user, organization } = Actor::default_user();
    let conversation = ConversationId::random();
    let handle = ModelHandle::parse("builtin/guide").expect("a good handle");
    let agent = Agent {
        id: AgentId::random(),
        organization,
        created_by: user,
        name: "test".to_owned(),
        description: None,
        kind: AgentType::LettaV1,
        system: String::new(),
        llm_config: LlmConfig::new(handle, "openai", 32_000),
        embedding: None,
        response_format: None,
        compaction_settings: None,
        tool_rules: Vec::new(),
        tags: Vec::new(),
        metadata: Map::new(),
        timezone: "UTC".to_owned(),
        message_buffer_autoclear: false,
        max_files_open: 5,
        per_file_view_window_char_limit: 1000,
        hidden: false,
        default_conversation: conversation,
        last_run_completion: None,
        last_stop_reason: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    AgentSnapshot {
        agent: Arc::new(agent),
        conversation,
        identity: None,
        memory: memory(),
        tools: Arc::new([]),
        context: Arc::default(),
        message_count: 0,
        archival: domain::Archival::default(),
    }
}

fn tool(name: &str, kind: ToolType, return_char_limit: u32) -> Tool {
    let builtin = crate::catalog::by_name("memory").expect("it exists");
    let tool = builtin.to_tool(ToolId::random(), Actor::default_user(), Timestamp::UNIX_EPOCH);
    Tool { name: name.into(), kind, return_char_limit, ..tool }
}

async fn call(tool: &Tool, arguments: Value) -> ToolOutcome {
    let Value::Object(arguments) = arguments else { panic!("an object is needed") };
    let snapshot = snapshot();
    let now = Timestamp::UNIX_EPOCH;
    let memory = snapshot.memory.clone();
    let invocation = ToolInvocation {
        tool,
        arguments: &arguments,
        memory: &memory,
        archival: &[],
        snapshot: &snapshot,
        run: RunId::random(),
        set_aside_from: None,
        now,
    };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&StoreConfig::at(folder.path().join("store.db")), now).unwrap();
    let search = Search::new(store.clone(), retrieval::embed::Embedders::local_only(std::path::PathBuf::new()));
    Toolbox::new(store, search).execute(invocation).await
}

async fn check(tool: Tool, arguments: Value, expected: Expect) {
    let outcome = call(&tool, arguments).await;
    expected.assert_eq(&format!("{} {} changes: {}", outcome.status.as_str(), outcome.changes.len(), outcome.text));
}

#[tokio::test]
async fn built_in_tools_run_by_name() {
    let limit = 50_000;
    check(
        tool("send_message", ToolType::LettaCore, limit),
        json!({"message": "Hi"}),
        expect!["success 0 changes: Sent message successfully."],
    )
    .await;
    let insert = json!({"label": "human", "new_str": "Has a cat."});
    check(
        tool("memory_insert", ToolType::LettaSleeptimeCore, limit),
        insert,
        expect!["success 1 changes: Inserted `Has a cat.` at the end of the memory block `human`."],
    )
    .await;
    let append = json!({"label": "robot", "content": "x"});
    check(
        tool("core_memory_append", ToolType::LettaMemoryCore, limit),
        append,
        expect!["error 0 changes: There is no memory block `robot`. The blocks that you have: `human`."],
    )
    .await;
}

#[tokio::test]
async fn what_can_not_run_says_so() {
    check(tool("roll_dice", ToolType::Custom, 1000), json!({}), expect!["error 0 changes: The tool `roll_dice` was not run: it is made of code, and this server has no sandbox to run code in. Calling it again will not help."]).await;
    check(tool("send_message", ToolType::Custom, 1000), json!({"message": "Hi"}), expect!["error 0 changes: The tool `send_message` was not run: it is made of code, and this server has no sandbox to run code in. Calling it again will not help."]).await;
    check(tool("web_search", ToolType::LettaCore, 1000), json!({"query": "x"}), expect!["error 0 changes: The tool `web_search` was not run: this version of the server does not have it. Calling it again will not help."]).await;
}

#[tokio::test]
async fn long_returns_are_cut_by_characters() {
    check(
        tool("send_message", ToolType::LettaCore, 4),
        json!({"message": "Hi"}),
        expect!["success 0 changes: Sent… [cut: the return has 26 characters, and only the first 4 are shown]"],
    )
    .await;
    check(
        tool("send_message", ToolType::LettaCore, 26),
        json!({"message": "Hi"}),
        expect!["success 0 changes: Sent message successfully."],
    )
    .await;
    let wide = json!({"label": "猫猫猫猫猫", "content": "x"});
    check(tool("core_memory_append", ToolType::LettaMemoryCore, 28), wide, expect!["error 0 changes: There is no memory block `猫猫… [cut: the return has 68 characters, and only the first 28 are shown]"]).await;
}
