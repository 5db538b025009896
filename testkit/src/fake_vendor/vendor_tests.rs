//! The vendor over real HTTP, seen by the client of this crate.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::http_client::{Client, Reply, SseEvent};
use crate::sync::Gate;

const CHAT: &str = "/v1/chat/completions";

fn ask(text: &str) -> Value {
    json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}]})
}

fn ask_streaming(text: &str) -> Value {
    let mut body = ask(text);
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    body
}

fn client(vendor: &FakeVendor) -> Client {
    Client::new(&vendor.origin()).unwrap()
}

async fn answer(text: &str) -> Reply {
    let vendor = FakeVendor::start().unwrap();
    client(&vendor).post(CHAT, &ask(text)).await.unwrap()
}

/// The deltas of a stream in one line each.
fn deltas(events: &[SseEvent]) -> String {
    let line = |event: &SseEvent| match event.json() {
        Err(_) => event.data.clone(),
        Ok(chunk) => match chunk["choices"].get(0) {
            Some(choice) => format!("{} {}", choice["delta"], choice["finish_reason"]),
            None => format!("usage {}", chunk["usage"]["total_tokens"]),
        },
    };
    events.iter().map(|event| line(event) + "\n").collect()
}

async fn check_stream(body: &Value, expected: Expect) {
    let vendor = FakeVendor::start().unwrap();
    let events = client(&vendor).post_sse(CHAT, body).await.unwrap().rest().await.unwrap();
    expected.assert_eq(&deltas(&events));
}

#[tokio::test]
async fn an_answer_at_once() {
    let reply = answer("[[think:Hm.]][[say:Good day!]][[tokens:100]]").await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    expect![[r#"{"id":"chatcmpl-fake00000000000000000001","object":"chat.completion","created":1760000000,"model":"gpt-4o-mini","choices":[{"index":0,"message":{"role":"assistant","content":"Good day!","refusal":null,"reasoning_content":"Hm."},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":96,"completion_tokens":4,"total_tokens":100,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0}},"service_tier":"default","system_fingerprint":"fp_fake"}"#]]
    .assert_eq(&reply.text());
}

#[tokio::test]
async fn a_streamed_answer() {
    check_stream(
        &ask_streaming("[[think:Hm.]][[say:Good day!]][[length]][[tokens:9]]"),
        expect![[r#"
            {"role":"assistant","content":"","refusal":null} null
            {"reasoning_content":"Hm."} null
            {"content":"Good "} null
            {"content":"day!"} null
            {} "length"
            usage 9
            [DONE]
        "#]],
    )
    .await;
}

#[tokio::test]
async fn streamed_calls() {
    let mut body = ask_streaming(r#"[[tools-together]][[tool:a {"x":1}]][[tool:b]]"#);
    let parameters = json!({"type": "object", "properties": {"y": {"type": "boolean"}}, "required": ["y"]});
    body["tools"] = json!([{"type": "function", "function": {"name": "b", "parameters": parameters}}]);
    check_stream(
        &body,
        expect![[r#"
            {"role":"assistant","content":null,"refusal":null} null
            {"tool_calls":[{"index":0,"id":"call_000000000000000000001000","type":"function","function":{"name":"a","arguments":""}}]} null
            {"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]} null
            {"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]} null
            {"tool_calls":[{"index":1,"id":"call_000000000000000000001001","type":"function","function":{"name":"b","arguments":""}}]} null
            {"tool_calls":[{"index":1,"function":{"arguments":"{\"y\":"}}]} null
            {"tool_calls":[{"index":1,"function":{"arguments":"false"}}]} null
            {"tool_calls":[{"index":1,"function":{"arguments":"}"}}]} null
            {} "tool_calls"
            usage 82
            [DONE]
        "#]],
    )
    .await;
}

#[tokio::test]
async fn errors_have_openais_shape() {
    let reply = answer("[[error:429]][[retry-after:3]]").await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("3")));
    expect![[r#"{"error":{"message":"the script asks for status 429","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#]]
        .assert_eq(&reply.text());

    let vendor = FakeVendor::start().unwrap();
    let orphan = json!({"model": "m", "messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]});
    let reply = client(&vendor).post(CHAT, &orphan).await.unwrap();
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json().unwrap()["error"]["param"], "messages[0].tool_call_id");
    let reply = client(&vendor).send_bytes(http::Method::POST, CHAT, Some("{broken".into())).await.unwrap();
    assert_eq!(reply.status, 400);
    assert_eq!(client(&vendor).get("/v1/nothing").await.unwrap().status, 404);
}

#[tokio::test]
async fn an_error_once_lets_the_retry_through() {
    let vendor = FakeVendor::start().unwrap();
    let body = ask("[[error-once:500]][[say:ok]]");
    let statuses = [client(&vendor).post(CHAT, &body).await.unwrap(), client(&vendor).post(CHAT, &body).await.unwrap()];
    assert_eq!(statuses.map(|reply| reply.status.as_u16()), [500, 200]);
}

#[tokio::test]
async fn a_cut_answer_ends_in_an_error_after_its_first_half() {
    let vendor = FakeVendor::start().unwrap();
    let mut events = client(&vendor).post_sse(CHAT, &ask_streaming("[[say:one two three]][[cut]]")).await.unwrap();
    let mut seen = Vec::new();
    let error = loop {
        match events.next().await {
            Ok(Some(event)) => seen.push(event),
            Ok(None) => panic!("the stream ended well"),
            Err(error) => break error,
        }
    };
    assert!(format!("{error}").contains("cut"), "{error:#}");
    expect![[r#"
        {"role":"assistant","content":"","refusal":null} null
        {"content":"one t"} null
    "#]]
    .assert_eq(&deltas(&seen));
    client(&vendor).post(CHAT, &ask("[[cut]]")).await.unwrap_err();
    assert_eq!(vendor.tally(), Tally { requests: 2, answered: 2, stalled: 0, hung_up: 0, too_long: 0 });
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let vendor = FakeVendor::start().unwrap();
    let mut events = client(&vendor).post_sse(CHAT, &ask_streaming("[[say:one two three]][[stall]]")).await.unwrap();
    events.next().await.unwrap().unwrap();
    vendor.until(|tally| tally.stalled == 1).await.unwrap();
    assert_eq!(vendor.requests()[0].outcome(), Outcome::Open);
    drop(events);
    vendor.until(|tally| tally.hung_up == 1).await.unwrap();
    assert!(vendor.requests()[0].hung_up());
}

#[tokio::test]
async fn a_client_that_leaves_before_the_first_byte_is_noticed() {
    let vendor = FakeVendor::start().unwrap();
    let gate = Gate::new();
    vendor.push(VendorReply::say("late").held_by(&gate));
    {
        let client = client(&vendor);
        let body = ask("hello");
        tokio::select! {
            _ = client.post(CHAT, &body) => panic!("the gate is closed"),
            () = gate.reached() => {}
        }
    }
    vendor.until(|tally| tally.hung_up == 1).await.unwrap();
}

#[tokio::test]
async fn script_closure_and_directives_in_that_order() {
    let vendor = FakeVendor::start().unwrap();
    let gate = Gate::new();
    gate.release();
    vendor.push(VendorReply::say("script").held_halfway(&gate));
    vendor.answer_with(|body| (body["model"] == "other").then(|| VendorReply::say("closure")));
    let mut said = Vec::new();
    for model in ["other", "other", "gpt-4o-mini"] {
        let mut body = ask("[[say:directive]]");
        body["model"] = json!(model);
        let reply = client(&vendor).post(CHAT, &body).await.unwrap().ok().unwrap();
        said.push(reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned());
    }
    assert_eq!(said, ["script", "closure", "directive"]);
    assert_eq!(vendor.remaining(), 0);
}

#[tokio::test]
async fn models_and_keys() {
    let options = VendorOptions { api_key: Some("secret".to_owned()), ..VendorOptions::default() };
    let vendor = FakeVendor::with(options).unwrap();
    let stranger = client(&vendor);
    assert_eq!(stranger.get("/v1/models").await.unwrap().status, 401);
    assert_eq!(stranger.post(CHAT, &ask("hi")).await.unwrap().status, 401);
    let friend = stranger.with_header("authorization", "Bearer secret").unwrap();
    let models = friend.get("/v1/models").await.unwrap().ok().unwrap();
    assert_eq!(models["data"][0]["context_length"], 128_000);
    assert_eq!(friend.get("/v1/models/gpt-4o").await.unwrap().ok().unwrap()["id"], "gpt-4o");
    assert_eq!(friend.get("/v1/models/none").await.unwrap().status, 404);
    assert_eq!(vendor.requests().len(), 1);
    assert_eq!(vendor.all_requests().len(), 5);
}

#[tokio::test]
async fn recorded_requests_can_be_looked_at_and_forgotten() {
    let vendor = FakeVendor::start().unwrap();
    let client = client(&vendor).with_header("x-trace", "7").unwrap();
    client.post(CHAT, &ask("hi")).await.unwrap();
    let seen = client.get("/_requests").await.unwrap().ok().unwrap();
    assert_eq!(seen[0]["body"], ask("hi"));
    assert_eq!((&seen[0]["headers"]["x-trace"], &seen[0]["answered"]), (&json!("7"), &json!(true)));
    client.delete("/_requests").await.unwrap();
    assert_eq!(client.get("/_requests").await.unwrap().ok().unwrap(), json!([]));
}

#[tokio::test]
async fn the_plain_vendor_answers_anything() {
    let vendor = FakeVendor::with(VendorOptions { mode: VendorMode::Plain, ..VendorOptions::default() }).unwrap();
    let reply = client(&vendor).post(CHAT, &json!({"anything": 1})).await.unwrap().ok().unwrap();
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    let events = client(&vendor).post_sse(CHAT, &json!({"stream": true})).await.unwrap().rest().await.unwrap();
    assert_eq!(events.last().map(|event| event.data.as_str()), Some("[DONE]"));
    let seen = client(&vendor).get("/_requests").await.unwrap().ok().unwrap();
    assert_eq!(seen, json!([{"body": {"stream": true}}]));
}

#[tokio::test]
async fn texts_have_vectors_and_directives_count() {
    let vendor = FakeVendor::start().unwrap();
    let post =
        async |input: &str| client(&vendor).post("/v1/embeddings", &json!({"model": "e", "input": [input]})).await;
    let reply = post("hello").await.unwrap().json().unwrap();
    assert_eq!(reply["data"][0]["embedding"].as_array().map(Vec::len), Some(64));
    assert_eq!(reply["usage"]["total_tokens"], 2);
    assert_eq!(post("[[error:503]]").await.unwrap().status, 503);
    let statuses = [post("[[error-once:429]]").await.unwrap(), post("[[error-once:429]]").await.unwrap()];
    assert_eq!(statuses.map(|reply| reply.status.as_u16()), [429, 200]);
    post("[[cut]]").await.unwrap_err();
    let wrong = client(&vendor).post("/v1/embeddings", &json!({"model": "e", "input": ""})).await.unwrap();
    assert_eq!(wrong.status, 400);
    assert_eq!(vendor.embedding_requests().len(), 6);
    assert_eq!(vendor.tally().requests, 0, "the tally counts chats");
}
