//! The shape of a context overview, field by field.

use std::sync::Arc;

use domain::{Actor, ConversationId, Role, Timestamp, ToolStatus};
use expect_test::expect;
use serde_json::json;

use super::*;

fn message(role: Role) -> Message {
    Message {
        id: MessageId::from_bytes([1; 16]),
        organization: Actor::default_user().organization,
        agent: AgentId::from_bytes([2; 16]),
        conversation: ConversationId::from_bytes([3; 16]),
        identity: None,
        sequence_id: 1,
        role,
        content: Arc::new([ContentPart::text("packed")]),
        tool_calls: Arc::default(),
        tool_returns: Arc::default(),
        name: None,
        model: Some("openai/gpt-4o".into()),
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

fn overview(messages: Vec<Arc<Message>>) -> ContextOverview {
    let section = |text: &str, tokens| Section { text: text.to_owned(), tokens };
    ContextOverview {
        window: 8_192,
        system: section("base", 10),
        blocks: section("blocks", 20),
        tool_rules: None,
        directories: Some(section("files", 30)),
        metadata: section("metadata", 40),
        summary: Some(section("summary", 50)),
        tools: Arc::new([ToolSpec {
            name: "t".into(),
            description: "d".into(),
            parameters: Arc::new(json!({})),
            strict: None,
        }]),
        tools_tokens: 60,
        messages: Arc::new(messages),
        messages_tokens: 70,
        message_count: 99,
        passages: 7,
    }
}

#[test]
fn an_overview_has_the_recorded_fields_and_adds_up() {
    let overview = overview(Vec::new());
    let shown = serde_json::to_string(&ContextWindowOverview::from(&overview)).unwrap();
    expect![[r#"{"context_window_size_max":8192,"context_window_size_current":280,"num_messages":0,"num_archival_memory":7,"num_recall_memory":99,"num_tokens_external_memory_summary":40,"external_memory_summary":"metadata","num_tokens_system":10,"system_prompt":"base","num_tokens_core_memory":20,"core_memory":"blocks","num_tokens_memory_filesystem":0,"memory_filesystem":null,"num_tokens_tool_usage_rules":0,"tool_usage_rules":null,"num_tokens_directories":30,"directories":"files","num_tokens_summary_memory":50,"summary_memory":"summary","num_tokens_functions_definitions":60,"functions_definitions":[{"function":{"name":"t","description":"d","parameters":{},"strict":null},"type":"function"}],"num_tokens_messages":70,"messages":[]}"#]]
    .assert_eq(&shown);
}

#[test]
fn messages_are_shown_as_they_are_stored() {
    let mut called = message(Role::Assistant);
    called.content = Arc::new([ContentPart::Reasoning { text: "hm".into(), is_native: true, signature: None }]);
    called.tool_calls = Arc::new([ToolCall { id: "c".into(), name: "t".into(), arguments: "{}".into() }]);
    let mut answered = message(Role::Tool);
    answered.tool_returns = Arc::new([ToolReturn {
        call_id: "c".into(),
        name: "t".into(),
        status: ToolStatus::Success,
        text: "bare".into(),
    }]);
    let overview = overview(vec![Arc::new(called), Arc::new(answered)]);
    let shown = serde_json::to_value(ContextWindowOverview::from(&overview)).unwrap();
    let short = |index: usize| {
        let message = &shown["messages"][index];
        json!([
            message["role"],
            message["model"],
            message["content"],
            message["tool_calls"],
            message["tool_call_id"],
            message["tool_returns"]
        ])
    };
    expect![[r#"["assistant","gpt-4o",[{"type":"reasoning","is_native":true,"reasoning":"hm","signature":null}],[{"id":"c","function":{"arguments":"{}","name":"t"},"type":"function"}],null,[]]"#]]
    .assert_eq(&short(0).to_string());
    expect![[r#"["tool","gpt-4o",[{"type":"text","text":"packed","signature":null}],null,"c",[{"tool_call_id":"c","status":"success","stdout":null,"stderr":null,"func_response":"packed"}]]"#]]
    .assert_eq(&short(1).to_string());
    assert_eq!(shown["num_messages"], 2);
}
