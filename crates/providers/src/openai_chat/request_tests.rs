//! What is written on the wire, field by field.

use std::sync::Arc;

use domain::message::ToolCall;
use domain::seams::chat_model::Sampling;
use domain::{ConversationId, Image, StepId};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::profile;

fn request() -> ModelRequest {
    ModelRequest {
        conversation: ConversationId::from_bytes([1; 16]),
        step: StepId::from_bytes([2; 16]),
        model: "gpt-4o-mini".into(),
        messages: Vec::new(),
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        parallel_tool_calls: false,
        sampling: Sampling::default(),
    }
}

fn message(role: Role, parts: &[ContentPart]) -> ChatMessage {
    ChatMessage { role, content: parts.into(), tool_calls: Arc::from([]), tool_call_id: None }
}

fn thought(text: &str, is_native: bool) -> ContentPart {
    ContentPart::Reasoning { text: text.into(), is_native, signature: None }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Does it.".into(),
        parameters: Arc::new(json!({ "type": "object", "properties": { "z": {}, "a": {} } })),
        strict: None,
    }
}

fn written(request: &ModelRequest, vendor: &str) -> String {
    String::from_utf8(body(request, &profile::named(vendor).unwrap().requests, &RenderedMessages::default()).unwrap())
        .unwrap()
}

fn check(request: &ModelRequest, vendor: &str, expected: Expect) {
    let value: Value = serde_json::from_str(&written(request, vendor)).unwrap();
    let Value::Object(fields) = value else { panic!("not an object") };
    let lines: Vec<_> = fields
        .iter()
        .flat_map(|(name, value)| match value {
            Value::Array(items) => items.iter().map(|item| format!("{name}[] {item}")).collect(),
            value => vec![format!("{name} {value}")],
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn every_kind_of_message_is_written() {
    let call = ToolCall { id: "call_1".into(), name: "look".into(), arguments: r#"{"q":"x"}"#.into() };
    let mut calling = message(Role::Assistant, &[thought("hm", true), thought("as argument", false)]);
    calling.tool_calls = Arc::from([call.clone()]);
    let mut approval = message(Role::Approval, &[ContentPart::text("May I?")]);
    approval.tool_calls = Arc::from([call]);
    let mut answer = message(Role::Tool, &[ContentPart::text("found")]);
    answer.tool_call_id = Some("call_1".into());
    let mut request = request();
    request.messages = vec![
        message(Role::System, &[ContentPart::text("Be \"good\".")]),
        message(Role::User, &[ContentPart::text("one"), ContentPart::text("two")]),
        calling,
        answer,
        approval,
        message(Role::Assistant, &[]),
    ];
    check(
        &request,
        "openai",
        expect![[r#"
        model "gpt-4o-mini"
        messages[] {"role":"system","content":"Be \"good\"."}
        messages[] {"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}
        messages[] {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"x\"}"}}]}
        messages[] {"role":"tool","content":"found","tool_call_id":"call_1"}
        messages[] {"role":"assistant","content":"May I?","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"x\"}"}}]}
        messages[] {"role":"assistant","content":""}
        stream true
        stream_options {"include_usage":true}"#]],
    );
    check(
        &request,
        "vllm",
        expect![[r#"
        model "gpt-4o-mini"
        messages[] {"role":"system","content":"Be \"good\"."}
        messages[] {"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}
        messages[] {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"x\"}"}}]}
        messages[] {"role":"tool","content":"found","tool_call_id":"call_1"}
        messages[] {"role":"assistant","content":"May I?","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"x\"}"}}]}
        messages[] {"role":"assistant","content":""}
        stream true
        stream_options {"include_usage":true}"#]],
    );
    check(
        &request,
        "openrouter",
        expect![[r#"
        model "gpt-4o-mini"
        messages[] {"role":"system","content":"Be \"good\"."}
        messages[] {"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}
        messages[] {"role":"assistant","content":null,"reasoning":"hm","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"x\"}"}}]}
        messages[] {"role":"tool","content":"found","tool_call_id":"call_1"}
        messages[] {"role":"assistant","content":"May I?","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"x\"}"}}]}
        messages[] {"role":"assistant","content":""}
        stream true
        stream_options {"include_usage":true}"#]],
    );
}

#[test]
fn images_go_as_parts_beside_the_words() {
    let image = |url: &str, detail| ContentPart::Image(Image { source: ImageSource::from_url(url).unwrap(), detail });
    let mut request = request();
    request.messages = vec![
        message(Role::User, &[ContentPart::text("What is it?"), image("https://example.com/a.png?x=\"1\"", None)]),
        message(
            Role::User,
            &[image("data:image/png;base64,iVBORw0KGgo=", Some(ImageDetail::Low)), ContentPart::text("")],
        ),
        message(Role::User, &[ContentPart::text("no image")]),
    ];
    check(
        &request,
        "openai",
        expect![[r#"
        model "gpt-4o-mini"
        messages[] {"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"https://example.com/a.png?x=\"1\""}}]}
        messages[] {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}}]}
        messages[] {"role":"user","content":"no image"}
        stream true
        stream_options {"include_usage":true}"#]],
    );
}

fn full() -> ModelRequest {
    let mut request = request();
    request.tools = Arc::from([tool("look"), tool("say")]);
    request.tool_choice = ToolChoice::Required;
    request.sampling.temperature = Some(0.7);
    request.sampling.frequency_penalty = Some(1.0);
    request.sampling.max_output_tokens = Some(4096);
    request.sampling.reasoning_effort = Some("low".to_owned());
    request.sampling.user = Some("user-1".to_owned());
    request
}

#[test]
fn fields_follow_the_vendor() {
    let request = full();
    check(
        &request,
        "openai",
        expect![[r#"
        model "gpt-4o-mini"
        tools[] {"type":"function","function":{"name":"look","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tools[] {"type":"function","function":{"name":"say","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tool_choice "required"
        parallel_tool_calls false
        temperature 0.7
        frequency_penalty 1.0
        max_completion_tokens 4096
        stream true
        stream_options {"include_usage":true}
        user "user-1""#]],
    );
    check(
        &request,
        "ollama",
        expect![[r#"
        model "gpt-4o-mini"
        tools[] {"type":"function","function":{"name":"look","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tools[] {"type":"function","function":{"name":"say","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tool_choice "auto"
        parallel_tool_calls false
        temperature 0.7
        frequency_penalty 1.0
        max_tokens 4096
        reasoning_effort "low"
        stream true
        stream_options {"include_usage":true}
        user "user-1""#]],
    );
}

#[test]
fn a_model_that_thinks_gets_no_temperature() {
    let mut request = full();
    request.model = "o3-mini".into();
    check(
        &request,
        "openai",
        expect![[r#"
        model "o3-mini"
        tools[] {"type":"function","function":{"name":"look","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tools[] {"type":"function","function":{"name":"say","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tool_choice "required"
        max_completion_tokens 4096
        reasoning_effort "low"
        stream true
        stream_options {"include_usage":true}
        user "user-1""#]],
    );
    request.model = "openai/gpt-5".into();
    check(
        &request,
        "openrouter",
        expect![[r#"
        model "openai/gpt-5"
        tools[] {"type":"function","function":{"name":"look","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tools[] {"type":"function","function":{"name":"say","description":"Does it.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
        tool_choice "required"
        parallel_tool_calls false
        max_tokens 4096
        reasoning_effort "low"
        stream true
        stream_options {"include_usage":true}
        user "user-1""#]],
    );
}

#[test]
fn one_tool_is_demanded_as_the_vendor_can() {
    let mut request = full();
    request.tool_choice = ToolChoice::Function("say".into());
    for (vendor, expected) in [
        ("openai", r#"{"type":"function","function":{"name":"say"}} 2"#),
        ("lmstudio", r#""required" 1"#),
        ("ollama", r#""auto" 1"#),
    ] {
        let value: Value = serde_json::from_str(&written(&request, vendor)).unwrap();
        let tools = value["tools"].as_array().unwrap();
        assert_eq!(format!("{} {}", value["tool_choice"], tools.len()), expected, "{vendor}");
        assert_eq!(tools.last().unwrap()["function"]["name"], "say");
    }
}

#[test]
fn the_shape_of_the_answer_is_asked_for() {
    let schema = json!({ "name": "answer", "schema": { "type": "object" }, "strict": true });
    for (format, expected) in [
        (ResponseFormat::Text, Value::Null),
        (ResponseFormat::JsonObject, json!({ "type": "json_object" })),
        (
            ResponseFormat::JsonSchema { json_schema: schema.clone() },
            json!({ "type": "json_schema", "json_schema": schema }),
        ),
    ] {
        let mut request = request();
        request.sampling.response_format = Some(format);
        let value: Value = serde_json::from_str(&written(&request, "openai")).unwrap();
        assert_eq!(value["response_format"], expected);
    }
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    assert_eq!(written(&full(), "openai"), written(&full(), "openai"));
}
