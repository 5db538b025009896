//! Tests of the module beside this file.

use domain::{Actor, Timestamp, ToolId, ToolType};
use expect_test::{Expect, expect};

use super::*;

fn tool(name: &str, parameters: Value) -> Arc<Tool> {
    let actor = Actor::default_user();
    Arc::new(Tool {
        id: ToolId::from_bytes([4; 16]),
        organization: actor.organization,
        created_by: actor.user,
        name: name.into(),
        description: "Does it.".into(),
        kind: ToolType::Custom,
        parameters: Arc::new(parameters),
        tags: Vec::new(),
        return_char_limit: 50_000,
        default_requires_approval: false,
        enable_parallel_execution: false,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    })
}

fn send_message() -> Arc<Tool> {
    let message = json!({ "type": "string", "description": "Words." });
    tool(SEND_MESSAGE, json!({ "type": "object", "properties": { "message": message }, "required": ["message"] }))
}

fn plain<'a>() -> SpecOptions<'a> {
    SpecOptions { inner_thoughts: false, request_heartbeat: false, terminal: &|_| false, response_format: None }
}

fn check(tool: &Arc<Tool>, options: &SpecOptions<'_>, expected: Expect) {
    let shown = specs(std::iter::once(tool), options);
    let mut schema = (*shown[0].parameters).clone();
    // The words are ours to change; the shape is not.
    for name in [THINKING, REQUEST_HEARTBEAT] {
        if let Some(property) = schema["properties"].get_mut(name) {
            property["description"] = "…".into();
        }
    }
    expected.assert_eq(&schema.to_string());
}

#[test]
fn a_tool_without_additions_shares_its_schema() {
    let tool = send_message();
    let shown = specs(std::iter::once(&tool), &plain());
    assert!(Arc::ptr_eq(&shown[0].parameters, &tool.parameters));
    assert_eq!((&*shown[0].name, &*shown[0].description), (SEND_MESSAGE, "Does it."));
}

#[test]
fn a_thought_comes_first_and_the_wish_to_go_on_last() {
    let options = SpecOptions { inner_thoughts: true, request_heartbeat: true, ..plain() };
    check(
        &send_message(),
        &options,
        expect![[
            r#"{"type":"object","properties":{"thinking":{"type":"string","description":"…"},"message":{"type":"string","description":"Words."},"request_heartbeat":{"type":"boolean","description":"…"}},"required":["thinking","message","request_heartbeat"]}"#
        ]],
    );
}

#[test]
fn a_tool_that_ends_the_run_takes_no_wish_to_go_on() {
    let options = SpecOptions { request_heartbeat: true, terminal: &|name| name == SEND_MESSAGE, ..plain() };
    check(
        &send_message(),
        &options,
        expect![[
            r#"{"type":"object","properties":{"message":{"type":"string","description":"Words."}},"required":["message"]}"#
        ]],
    );
}

#[test]
fn an_odd_schema_becomes_an_object() {
    let options = SpecOptions { inner_thoughts: true, request_heartbeat: true, ..plain() };
    check(
        &tool("odd", json!(null)),
        &options,
        expect![[
            r#"{"type":"object","properties":{"thinking":{"type":"string","description":"…"},"request_heartbeat":{"type":"boolean","description":"…"}},"required":["thinking","request_heartbeat"]}"#
        ]],
    );
    let own = json!({
        "additionalProperties": false,
        "required": ["request_heartbeat", "x"],
        "properties": { "request_heartbeat": {}, "x": {}, "thinking": {} },
    });
    check(
        &tool("own", own),
        &options,
        expect![[
            r#"{"additionalProperties":false,"required":["thinking","x","request_heartbeat"],"properties":{"thinking":{"type":"string","description":"…"},"x":{},"request_heartbeat":{"type":"boolean","description":"…"}},"type":"object"}"#
        ]],
    );
}

#[test]
fn the_response_format_shapes_only_the_message() {
    let schema = json!({ "type": "object", "properties": { "answer": { "type": "string" } } });
    let wrapped = ResponseFormat::JsonSchema { json_schema: json!({ "name": "a", "schema": schema, "strict": true }) };
    let bare = ResponseFormat::JsonSchema { json_schema: schema };
    let with = |format| SpecOptions { response_format: Some(format), ..plain() };
    check(
        &send_message(),
        &with(&wrapped),
        expect![[
            r#"{"type":"object","properties":{"message":{"type":"object","properties":{"answer":{"type":"string"}}}},"required":["message"]}"#
        ]],
    );
    check(
        &send_message(),
        &with(&bare),
        expect![[
            r#"{"type":"object","properties":{"message":{"type":"object","properties":{"answer":{"type":"string"}}}},"required":["message"]}"#
        ]],
    );
    check(
        &send_message(),
        &with(&ResponseFormat::JsonObject),
        expect![[
            r#"{"type":"object","properties":{"message":{"type":"object","description":"What to tell the user, as a JSON object.","properties":{},"additionalProperties":true}},"required":["message"]}"#
        ]],
    );
    check(
        &send_message(),
        &with(&ResponseFormat::Text),
        expect![[
            r#"{"type":"object","properties":{"message":{"type":"string","description":"Words."}},"required":["message"]}"#
        ]],
    );
    let other = tool("other", json!({ "type": "object", "properties": { "message": {} }, "required": [] }));
    check(&other, &with(&bare), expect![[r#"{"type":"object","properties":{"message":{}},"required":[]}"#]]);
}
