//! The shape of an agent.

use domain::agent::AgentType;
use domain::block::BlockDraft;
use domain::model_config::ModelHandle;
use domain::tool::{DEFAULT_RETURN_CHAR_LIMIT, ToolType};
use domain::{Actor, BlockId, ConversationId, Label, Timestamp, ToolId};
use serde_json::json;

use super::*;

fn tool() -> Tool {
    let (actor, now) = (Actor::default_user(), Timestamp::UNIX_EPOCH);
    Tool {
        id: ToolId::random(),
        organization: actor.organization,
        created_by: actor.user,
        name: "memory_insert".into(),
        description: "Adds a line.".into(),
        kind: ToolType::LettaSleeptimeCore,
        parameters: Arc::new(json!({"type": "object"})),
        tags: vec!["letta_sleeptime_core".into()],
        return_char_limit: DEFAULT_RETURN_CHAR_LIMIT,
        default_requires_approval: false,
        enable_parallel_execution: false,
        created_at: now,
        updated_at: now,
    }
}

fn parts() -> AgentParts {
    let (actor, now) = (Actor::default_user(), Timestamp::UNIX_EPOCH);
    let handle = ModelHandle::parse("openai/gpt-4o-mini").expect("a handle");
    let agent = Agent {
        id: AgentId::random(),
        organization: actor.organization,
        created_by: actor.user,
        name: "golden".into(),
        description: None,
        kind: AgentType::LettaV1,
        system: "Be kind.".into(),
        llm_config: LlmConfig::new(handle, "openai", 32_000),
        embedding: None,
        response_format: None,
        compaction_settings: None,
        tool_rules: Vec::new(),
        tags: vec!["a".into()],
        metadata: Map::from_iter([("k".to_owned(), json!("v"))]),
        timezone: "UTC".into(),
        message_buffer_autoclear: false,
        max_files_open: 5,
        per_file_view_window_char_limit: 50_000,
        hidden: false,
        default_conversation: ConversationId::random(),
        last_run_completion: None,
        last_stop_reason: None,
        created_at: now,
        updated_at: now,
    };
    let block = Block::new(BlockDraft {
        id: BlockId::random(),
        organization: actor.organization,
        created_by: actor.user,
        label: Label::new("human").expect("a label"),
        value: "Sam".into(),
        limit: 100,
        description: None,
        read_only: false,
        metadata: Map::new(),
        created_at: now,
    });
    AgentParts {
        agent: Arc::new(agent),
        message_ids: vec![MessageId::random()],
        blocks: vec![Arc::new(block.expect("a block"))],
        tools: vec![Arc::new(tool())],
        endpoint: Some("http://127.0.0.1:9177/v1".into()),
    }
}

#[test]
fn the_shape_is_the_recorded_one() {
    let facts: Value = serde_json::from_str(include_str!("../../tests/facts/agent.json")).expect("facts");
    super::super::facts::check(&serde_json::to_value(AgentState::from(&parts())).expect("JSON"), &facts);
}

#[test]
fn what_an_agent_does_not_have_is_null() {
    let mut parts = parts();
    let agent = Arc::make_mut(&mut parts.agent);
    agent.metadata.clear();
    let shown = serde_json::to_value(AgentState::from(&parts)).expect("JSON");
    for name in ["metadata", "description", "hidden", "enable_sleeptime", "embedding_config", "last_stop_reason"] {
        assert!(shown[name].is_null(), "{name}");
    }
}
