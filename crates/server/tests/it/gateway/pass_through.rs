//! Models asked directly: what the client wrote reaches the vendor, what the vendor wrote reaches the client, and
//! neither sees the other's key.

use anyhow::{Context, Result, ensure};
use http::Method;
use serde_json::{Value, json};
use testkit::fake_vendor::{FakeVendor, VendorMode, VendorOptions, VendorReply};
use testkit::sync::Gate;
use testkit::{Client, HttpReply, TestServer};

use super::{CHAT, ask, house};
use crate::house::{VENDOR_MODEL, create_agent, setup};

const ON: &str = "[gateway]\npass_through = true\n";
const KEY: &str = "sk-of-the-operator";

/// A server on a vendor of its own kind, where models can be asked directly.
async fn open(vendor: &FakeVendor) -> Result<(TestServer, Client)> {
    let folder = tempfile::tempdir()?.keep();
    let file = folder.join("librarian.toml");
    std::fs::write(&file, ON)?;
    let server = setup().env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", vendor.url());
    let server = TestServer::start(server.arg("--config").arg(&file)).await?;
    let client = server.client()?;
    Ok((server, client))
}

fn direct(text: &str) -> Value {
    json!({"model": VENDOR_MODEL, "messages": [{"role": "user", "content": text}]})
}

fn streamed(text: &str) -> Value {
    json!({"model": VENDOR_MODEL, "stream": true, "messages": [{"role": "user", "content": text}]})
}

fn error(reply: &HttpReply) -> Result<Value> {
    let error = reply.json()?["error"].clone();
    for key in ["message", "type", "param", "code"] {
        ensure!(error.get(key).is_some(), "an error has four keys: {error}");
    }
    Ok(error)
}

#[tokio::test]
async fn every_field_reaches_the_vendor_and_its_answer_comes_back() -> Result<()> {
    let vendor = FakeVendor::with(VendorOptions { mode: VendorMode::Plain, ..VendorOptions::default() })?;
    let (_server, client) = open(&vendor).await?;
    let picture = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]);
    let mut body = json!({
        "n": 3, "logprobs": true, "top_logprobs": 5, "audio": {"voice": "alloy"}, "of_tomorrow": [{"a": 1.5}],
        "messages": [{"role": "user", "content": picture, "cache_control": {"type": "ephemeral"}}],
        "metadata": {"task": "title"}, "store": false, "model": VENDOR_MODEL,
    });
    let direct = Client::new(&vendor.origin())?;
    for stream in [false, true] {
        body["stream"] = json!(stream);
        let reply = client.post(CHAT, &body).await?;
        let alone = direct.post(CHAT, &body).await?;
        ensure!(reply.status == 200 && reply.body == alone.body, "{}", reply.text());
        let kind = if stream { "text/event-stream; charset=utf-8" } else { "application/json" };
        ensure!(reply.header("content-type") == Some(kind), "{:?}", reply.headers);
        client.post(CHAT, &body).await?;
        let seen = direct.get("/_requests").await?.ok()?[0]["body"].clone();
        let mut sent = body.clone();
        sent["model"] = json!("gpt-4o-mini");
        ensure!(seen == sent, "{seen}");
    }
    Ok(())
}

#[tokio::test]
async fn the_operators_key_goes_along_and_the_clients_headers_stay() -> Result<()> {
    let vendor = FakeVendor::with(VendorOptions { api_key: Some(KEY.to_owned()), ..VendorOptions::default() })?;
    let (_server, client) = open(&vendor).await?;
    let client = client.with_header("authorization", "Bearer sk-of-the-client")?.with_header("x-secret", "7")?;
    let client = client.with_header("x-session-id", "chat")?.with_header("openai-organization", "org")?;
    client.post(CHAT, &direct("[[say:hello]]")).await?.ok()?;
    let seen = vendor.requests().pop().context("the vendor was asked")?;
    ensure!(seen.header("authorization") == Some(&format!("Bearer {KEY}")), "{:?}", seen.headers);
    for header in ["x-secret", "x-session-id", "openai-organization"] {
        ensure!(seen.header(header).is_none(), "{header} went along");
    }
    Ok(())
}

#[tokio::test]
async fn off_by_default_and_unknown_names_are_404() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    for path in [CHAT, "/v1/completions"] {
        let mut body = direct("hello");
        body["prompt"] = json!("hello");
        let refused = client.post(path, &body).await?;
        ensure!(refused.status == 404 && error(&refused)?["code"] == "model_not_found", "{}", refused.text());
    }
    ensure!(vendor.requests().is_empty(), "nobody asked the vendor");
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    for model in ["nobody/gpt-4o", "http://127.0.0.1:1/v1", "openai", "builtin/other", "/"] {
        let mut body = direct("hello");
        body["model"] = json!(model);
        let refused = client.post(CHAT, &body).await?;
        ensure!(refused.status == 404 && error(&refused)?["code"] == "model_not_found", "{model}: {}", refused.text());
    }
    Ok(())
}

#[tokio::test]
async fn an_agents_name_goes_before_a_handle_and_the_guide_is_asked_too() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    let mut body = direct("[[say:from the vendor]]");
    body["model"] = json!("builtin/guide");
    let answer = client.post(CHAT, &body).await?.ok()?;
    ensure!(answer["model"] == "builtin/guide" && vendor.requests().is_empty(), "{answer}");
    client.post(CHAT, &direct("[[say:from the vendor]]")).await?.ok()?;
    let asked = vendor.requests().pop().context("the vendor was asked")?;
    ensure!(asked.body["messages"].as_array().map(Vec::len) == Some(1), "no agent is involved: {}", asked.body);
    create_agent(&client, VENDOR_MODEL, VENDOR_MODEL).await?;
    client.post(CHAT, &direct("[[say:from the agent]]")).await?.ok()?;
    let asked = vendor.requests().pop().context("the vendor was asked")?;
    ensure!(asked.body["messages"].as_array().is_some_and(|list| list.len() > 1), "an agent is: {}", asked.body);
    Ok(())
}

#[tokio::test]
async fn a_vendors_errors_have_our_shape_and_no_key() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    for (text, status, kind, code) in [
        ("[[error:401]]", 502, "api_error", Value::Null),
        ("[[error:403]]", 502, "api_error", Value::Null),
        ("[[error:429]][[retry-after:7]]", 429, "rate_limit_error", json!("rate_limit_exceeded")),
        ("[[error:400]]", 400, "invalid_request_error", Value::Null),
        ("[[error:400 context_length_exceeded]]", 400, "invalid_request_error", json!("context_length_exceeded")),
        ("[[error:404 model_not_found]]", 404, "invalid_request_error", json!("model_not_found")),
        ("[[error:500]]", 503, "api_error", Value::Null),
        ("[[cut]]", 502, "api_error", Value::Null),
    ] {
        let reply = client.post(CHAT, &direct(text)).await?;
        let error = error(&reply)?;
        ensure!(reply.status == status && error["type"] == kind && error["code"] == code, "{text}: {}", reply.text());
        ensure!(!reply.text().contains(KEY));
        if status == 429 {
            ensure!(reply.header("retry-after") == Some("7"), "{:?}", reply.headers);
        }
    }
    drop(vendor);
    let gone = client.post(CHAT, &direct("hello")).await?;
    ensure!(gone.status == 503, "{}", gone.text());
    Ok(())
}

#[tokio::test]
async fn a_cut_stream_ends_in_an_error_and_without_done() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    let mut events = client.post_sse(CHAT, &streamed("[[say:one two three four]][[cut]]")).await?;
    let events = events.rest().await?;
    let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
    let last = events.last().context("events")?.json()?;
    ensure!(data.len() > 1 && data[1].contains("one"), "{data:?}");
    ensure!(last["error"]["message"].is_string() && last["error"]["code"].is_null(), "{last}");
    ensure!(!data.contains(&"[DONE]"), "{data:?}");
    Ok(())
}

#[tokio::test]
async fn pieces_come_as_the_vendor_sends_them() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    let gate = Gate::new();
    vendor.push(VendorReply::say("before and after the gate").held_halfway(&gate));
    let mut events = client.post_sse(CHAT, &streamed("hello")).await?;
    let mut said = String::new();
    while said.len() < 5 {
        let event = events.next().await?.context("the stream goes on")?.json()?;
        said += event["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
    }
    gate.release();
    let rest = events.rest().await?;
    ensure!(rest.last().is_some_and(|event| event.data == "[DONE]"), "{rest:?}");
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_closes_the_connection_to_the_vendor() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    let mut events = client.post_sse(CHAT, &streamed("[[say:one two three]][[stall]]")).await?;
    events.next().await?.context("an event")?;
    vendor.until(|tally| tally.stalled == 1).await?;
    drop(events);
    vendor.until(|tally| tally.hung_up == 1).await?;
    // Before the first byte, too.
    let gate = Gate::new();
    vendor.push(VendorReply::say("late").held_by(&gate));
    let body = direct("hello");
    tokio::select! {
        _ = client.post(CHAT, &body) => anyhow::bail!("the gate is closed"),
        () = gate.reached() => {}
    }
    vendor.until(|tally| tally.hung_up == 2).await?;
    Ok(())
}

#[tokio::test]
async fn what_is_for_agents_is_refused_by_name() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    let mut body = direct("hello");
    body["tool_results"] = json!([{"tool_call_id": "x", "result": "y"}]);
    let refused = client.post(CHAT, &body).await?;
    ensure!(refused.status == 400 && error(&refused)?["param"] == "tool_results", "{}", refused.text());
    let broken = client.send_bytes(Method::POST, CHAT, Some("{\"model\": \"openai/x\"".into())).await?;
    ensure!(broken.status == 400 && error(&broken)?["type"] == "invalid_request_error", "{}", broken.text());
    ensure!(vendor.requests().is_empty(), "nobody asked the vendor");
    let other = client.post(CHAT, &ask("hello")).await?;
    ensure!(other.status == 404, "an unknown agent is still unknown: {}", other.text());
    Ok(())
}

#[tokio::test]
async fn the_older_dialect_passes_through() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client) = open(&vendor).await?;
    let body = json!({"model": VENDOR_MODEL, "prompt": ["a", [1, 2]], "logprobs": 2, "suffix": "z", "best_of": 3});
    let answer = client.post("/v1/completions", &body).await?.ok()?;
    ensure!(answer["choices"].as_array().map(Vec::len) == Some(2), "{answer}");
    ensure!(answer["choices"][1]["logprobs"]["tokens"].is_array(), "{answer}");
    let seen = vendor.all_requests().pop().context("the vendor was asked")?;
    ensure!(seen.path == "/v1/completions" && seen.body["prompt"] == body["prompt"], "{}", seen.body);
    ensure!(seen.body["best_of"] == 3 && seen.body["model"] == "gpt-4o-mini", "{}", seen.body);
    Ok(())
}
