//! Envelopes, first messages, arguments and tool schemas have the skeleton of the recorded ones.

use std::sync::Arc;

use domain::{
    Actor, AgentId, AgentType, ContentPart, ConversationId, Message, MessageId, Role, Tool, ToolCall, ToolId,
    ToolReturn, ToolStatus, ToolType,
};
use prompt::history::{HistoryOptions, chat_messages};
use prompt::initial::{Boot, BootOrder, InitialMessage, initial_sequence};
use prompt::tool_specs::{SEND_MESSAGE, SpecOptions, specs};
use prompt::{heartbeats, packaging};
use serde_json::{Value, json};

use crate::line_kinds::{facts, json_lines};
use crate::samples::at;

fn check(name: &str, text: &str) {
    let recorded = facts(include_str!("../facts/envelopes.json"));
    assert_eq!(recorded[name], json!(json_lines(text)), "{name}: {text}");
}

#[test]
fn envelopes() {
    check("return", &packaging::function_return(ToolStatus::Success, "Done.", at(), "UTC"));
    check("failed_return", &packaging::function_return(ToolStatus::Error, "No.", at(), "UTC"));
    check("boot_return", &packaging::boot_return(at(), "UTC"));
    check("login", &packaging::login(at(), "UTC"));
    check("heartbeat", &packaging::heartbeat(heartbeats::CONTINUE_RULE, at(), "UTC"));
    check("summary", &packaging::summary_alert("They talked.", at(), "America/New_York"));
}

fn message(draft: InitialMessage) -> Arc<Message> {
    Arc::new(Message {
        id: MessageId::from_bytes([1; 16]),
        organization: Actor::default_user().organization,
        agent: AgentId::from_bytes([2; 16]),
        conversation: ConversationId::from_bytes([3; 16]),
        identity: None,
        sequence_id: 0,
        role: draft.role,
        content: draft.content.into(),
        tool_calls: draft.tool_calls.into(),
        tool_returns: draft.tool_returns.into(),
        name: draft.name,
        model: None,
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: at(),
    })
}

fn first_arguments(context: &[Arc<Message>], inner_thoughts: bool) -> Arc<str> {
    let shown = chat_messages(context, &HistoryOptions { inner_thoughts, max_return_chars: None, images: true });
    assert!(shown[0].content.is_empty(), "the thought is shown nowhere but in the arguments");
    shown[0].tool_calls[0].arguments.clone()
}

#[test]
fn the_first_messages() {
    let boot = Boot {
        kind: AgentType::MemgptV2,
        order: BootOrder::AssistantFirst,
        call_id: "4b8cdae2-4f8d-469d-a629-3537e6455925",
        at: at(),
        zone: "UTC",
    };
    let context: Vec<_> = initial_sequence(&boot).into_iter().map(message).collect();
    check("boot_arguments", &first_arguments(&context, false));
    check("boot_arguments_with_thought", &first_arguments(&context, true));
    check("boot_return", context[1].first_text());
    check("login", context[2].first_text());
}

#[test]
fn a_thought_is_shown_as_the_first_argument() {
    let arguments = r#"{"label": "human", "new_str": "Likes pie.", "insert_line": 0, "request_heartbeat": true}"#;
    let call = message(InitialMessage {
        role: Role::Assistant,
        content: vec![ContentPart::Reasoning { text: "Pie!".into(), is_native: false, signature: None }],
        tool_calls: vec![ToolCall { id: "c1".into(), name: "memory_insert".into(), arguments: arguments.into() }],
        tool_returns: Vec::new(),
        name: None,
    });
    let returned = message(InitialMessage {
        role: Role::Tool,
        content: vec![ContentPart::text("{}")],
        tool_calls: Vec::new(),
        tool_returns: vec![ToolReturn {
            call_id: "c1".into(),
            name: "memory_insert".into(),
            status: ToolStatus::Success,
            text: "Done.".into(),
        }],
        name: None,
    });
    check("arguments_with_thought", &first_arguments(&[call, returned], true));
}

fn tool(name: &str, properties: &[(&str, &str)]) -> Arc<Tool> {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<_, _> =
        properties.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind }))).collect();
    let actor = Actor::default_user();
    Arc::new(Tool {
        id: ToolId::from_bytes([4; 16]),
        organization: actor.organization,
        created_by: actor.user,
        name: name.into(),
        description: "Does it.".into(),
        kind: ToolType::LettaCore,
        parameters: Arc::new(json!({ "type": "object", "properties": properties, "required": required })),
        tags: Vec::new(),
        return_char_limit: 50_000,
        default_requires_approval: false,
        enable_parallel_execution: false,
        created_at: at(),
        updated_at: at(),
    })
}

#[test]
fn tool_schemas() {
    let insert = tool("memory_insert", &[("label", "string"), ("new_str", "string"), ("insert_line", "integer")]);
    let tools = [insert, tool(SEND_MESSAGE, &[("message", "string")])];
    let recorded = facts(include_str!("../facts/tool_schemas.json"));
    for (name, inner_thoughts, request_heartbeat) in
        [("plain", false, false), ("heartbeat", false, true), ("thoughts_and_heartbeat", true, true)]
    {
        let terminal = |tool: &str| tool == SEND_MESSAGE;
        let options = SpecOptions { inner_thoughts, request_heartbeat, terminal: &terminal, response_format: None };
        // A plain agent answers in words and has no `send_message`.
        let offered = tools.iter().filter(|tool| !recorded[name][&*tool.name].is_null());
        let shown: serde_json::Map<String, Value> = specs(offered, &options)
            .iter()
            .map(|spec| (spec.name.to_string(), schema_skeleton(&spec.parameters)))
            .collect();
        assert_eq!(recorded[name], Value::Object(shown), "{name}");
    }
}

fn schema_skeleton(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().unwrap().iter();
    let properties: Vec<_> =
        properties.map(|(name, schema)| format!("{name}: {}", schema["type"].as_str().unwrap())).collect();
    json!({ "properties": properties, "required": schema["required"] })
}
