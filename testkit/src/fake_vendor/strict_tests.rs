//! What the strict check lets through and what it refuses.

use serde_json::json;

use super::*;

fn fields(body: &Value) -> String {
    match check(body) {
        Ok(()) => "ok".to_owned(),
        Err(refusal) => refusal.param.unwrap_or_default(),
    }
}

/// Checks a request with these fields beside a model and one user message.
fn with(extra: Value) -> String {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let all = body.as_object_mut().unwrap();
    all.extend(extra.as_object().unwrap().clone());
    fields(&body)
}

fn messages(messages: Value) -> String {
    fields(&json!({"model": "m", "messages": messages}))
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}})
}

#[test]
fn settings_have_their_types_and_ranges() {
    for (extra, expected) in [
        (json!({}), "ok"),
        (json!({"temperature": 0.7, "stream": true, "stream_options": {"include_usage": true}, "user": "u"}), "ok"),
        (json!({"temperature": null, "tools": null, "stop": ["a"], "response_format": {"type": "text"}}), "ok"),
        (json!({"temperature": "0.7"}), "temperature"),
        (json!({"temperature": 2.5}), "temperature"),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"max_tokens": 5, "max_completion_tokens": 5}), "max_tokens"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"stream_options": {"include_usage": true}}), "stream_options"),
        (json!({"response_format": {"type": "xml"}}), "response_format.type"),
        (json!({"surprise": 1}), "surprise"),
        (json!({"n": 2}), "n"),
        (json!({"model": ""}), "model"),
        (json!({"messages": []}), "messages"),
    ] {
        assert_eq!(with(extra.clone()), expected, "{extra}");
    }
    assert_eq!(fields(&json!([])), "");
}

#[test]
fn tools_and_the_choice_among_them() {
    let bare_array = json!({"type": "function", "function": {"name": "a", "parameters": {
        "type": "object", "properties": {"tags": {"type": "array"}}}}});
    for (extra, expected) in [
        (json!({"tools": [tool("a"), tool("b")], "tool_choice": "required", "parallel_tool_calls": false}), "ok"),
        (json!({"tools": [tool("a")], "tool_choice": {"type": "function", "function": {"name": "a"}}}), "ok"),
        (
            json!({"tools": [tool("a")], "tool_choice": {"type": "function", "function": {"name": "b"}}}),
            "tool_choice.function.name",
        ),
        (json!({"tools": [tool("a")], "tool_choice": "any"}), "tool_choice"),
        (json!({"tool_choice": "auto"}), "tool_choice"),
        (json!({"parallel_tool_calls": true}), "parallel_tool_calls"),
        (json!({"tools": []}), "tools"),
        (json!({"tools": [tool("a"), tool("a")]}), "tools[1].function.name"),
        (json!({"tools": [tool("a b")]}), "tools[0].function.name"),
        (json!({"tools": [bare_array]}), "tools[0].function.parameters.properties.tags"),
        (
            json!({"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "string"}}}]}),
            "tools[0].function.parameters",
        ),
    ] {
        assert_eq!(with(extra.clone()), expected, "{extra}");
    }
}

#[test]
fn every_call_has_its_answer_and_every_answer_its_call() {
    let user = json!({"role": "user", "content": "hi"});
    let asks = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    };
    let answers = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "done"});
    for (list, expected) in [
        (json!([user, asks(&["a", "b"]), answers("b"), answers("a"), user]), "ok"),
        (json!([user, asks(&["a"]), answers("a"), asks(&["a"]), answers("a")]), "ok"),
        (json!([user, asks(&["a", "b"]), answers("a"), user]), "messages[3]"),
        (json!([user, asks(&["a"])]), "messages"),
        (json!([user, answers("a")]), "messages[1].tool_call_id"),
        (json!([user, asks(&["a"]), answers("a"), answers("a")]), "messages[3].tool_call_id"),
        (json!([user, asks(&["a"]), user, answers("a")]), "messages[2]"),
        (json!([user, asks(&["a", "a"])]), "messages[1].tool_calls"),
        (json!([user, asks(&[])]), "messages[1].tool_calls"),
        (json!([user, asks(&[&"x".repeat(41)])]), "messages[1].tool_calls"),
    ] {
        assert_eq!(messages(list.clone()), expected, "{list}");
    }
}

#[test]
fn messages_have_known_roles_and_content() {
    for (message, expected) in [
        (json!({"role": "system", "content": "s"}), "ok"),
        (json!({"role": "assistant", "content": "a", "reasoning_content": "r"}), "ok"),
        (json!({"role": "user", "content": [{"type": "text", "text": "t"}]}), "ok"),
        (json!({"role": "user", "content": null}), "messages[0].content"),
        (json!({"role": "user", "content": []}), "messages[0].content"),
        (json!({"role": "user", "content": [{"type": "text"}]}), "messages[0].content"),
        (json!({"role": "assistant", "content": null}), "messages[0].content"),
        (json!({"role": "approval", "content": "x"}), "messages[0].role"),
        (json!({"content": "x"}), "messages[0].role"),
        (json!({"role": "user", "content": "x", "name": 1}), "messages[0].name"),
    ] {
        assert_eq!(messages(json!([message])), expected, "{message}");
    }
}

#[test]
fn images_are_whole_and_of_users() {
    let part = |image: Value| json!([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": image}]);
    let of = |role: &str, image: Value| messages(json!([{"role": role, "content": part(image)}]));
    for (image, expected) in [
        (json!({"url": "https://example.com/a.png"}), "ok"),
        (json!({"url": "data:image/png;base64,AAAA", "detail": "low"}), "ok"),
        (json!({"url": "data:image/png;base64,AAA"}), "messages[0].content.image_url.url"),
        (json!({"url": "data:image/bmp;base64,AAAA"}), "messages[0].content.image_url.url"),
        (json!({"url": "data:image/png,AAAA"}), "messages[0].content.image_url.url"),
        (json!({"url": "ftp://example.com/a.png"}), "messages[0].content.image_url.url"),
        (json!({"url": "https://h/a", "detail": "most"}), "messages[0].content.image_url.detail"),
        (json!({"url": "https://h/a", "detail": null}), "messages[0].content.image_url.detail"),
        (json!({"url": "https://h/a", "size": 1}), "messages[0].content.image_url"),
        (json!("https://h/a"), "messages[0].content"),
    ] {
        assert_eq!(of("user", image.clone()), expected, "{image}");
    }
    let image = json!({"url": "https://h/a"});
    assert_eq!(of("system", image.clone()), "messages[0].content");
    assert_eq!(of("assistant", image.clone()), "messages[0].content");
    let blind = json!({"model": "gpt-3.5-turbo", "messages": [{"role": "user", "content": part(image)}]});
    assert_eq!(fields(&blind), "messages[0].content.image_url");
}
