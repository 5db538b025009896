//! Requests that real clients send, replayed in their order: all are understood, and the context never holds a turn
//! twice.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, TestServer, VendorReply};

use super::{house, last_request, texts};

/// How a request fares.
#[derive(Debug, PartialEq)]
enum Fate {
    /// The model is shown the users' messages and results of exactly this history.
    Mirrors,
    /// It goes on: the model is shown the newest message last.
    GoesOn,
    /// It is answered outside of the session.
    Apart,
    /// Nothing is new in it.
    Empty,
    /// It is a repetition of the request before: answered from what that came to.
    Repeated,
    /// It asks for vectors.
    Vectors,
}

/// What must come of a request of `client`.
fn fate(client: &str, request: &Value) -> Fate {
    if request["path"] == "/v1/embeddings" {
        return Fate::Vectors;
    }
    let marked = request["headers"].as_object().is_some_and(|headers| {
        headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("x-stainless-retry-count") && value == "1")
    });
    match (client, request["scenario"].as_str().unwrap_or_default()) {
        // aider marks nothing, so its commit messages are a session of their own, known by their system text.
        ("aider", _) => Fate::GoesOn,
        (_, "auxiliary") => Fate::Apart,
        (_, "retry") if marked => Fate::Repeated,
        (_, "continue") => Fate::Empty,
        (_, "first" | "follow-up" | "regenerate" | "regenerate-guided" | "edit" | "tools" | "after-tools") => {
            Fate::Mirrors
        }
        _ => Fate::GoesOn,
    }
}

/// What came back.
#[derive(Default)]
struct Answer {
    content: String,
    calls: Vec<String>,
    finish: String,
}

/// Sends a recorded request as it was recorded, but for the agent's name and the ids of calls.
async fn replay(client: &Client, request: &Value, calls: &[String]) -> Result<Answer> {
    let mut client = client.clone();
    for (name, value) in request["headers"].as_object().context("headers")? {
        let is_ours = ["content-type", "authorization"].iter().any(|ours| name.eq_ignore_ascii_case(ours));
        if !is_ours {
            client = client.with_header(name, value.as_str().context("a header is text")?)?;
        }
    }
    let mut text = request["body"].to_string();
    for (number, id) in calls.iter().enumerate() {
        text = text.replace(&format!("\"call_{}\"", number + 1), &json!(id).to_string());
    }
    let mut body: Value = serde_json::from_str(&text)?;
    let path = request["path"].as_str().context("a path")?;
    if path == "/v1/embeddings" {
        // Asked for by the name of a vendor's model, the vendor's vectors are no business of this test.
        body["model"] = json!("builtin/embedding");
        let reply = client.post(path, &body).await?;
        let is_of_tokens = body["input"][0].is_array();
        if is_of_tokens && reply.status == 400 {
            // Where token ids are not taken, the refusal says what to do instead.
            ensure!(reply.json()?["error"]["param"] == "input" && reply.text().contains("check_embedding_ctx_length"));
            return Ok(Answer::default());
        }
        let vectors = reply.ok()?;
        ensure!(vectors["data"].as_array().is_some_and(|all| !all.is_empty()), "{vectors}");
        return Ok(Answer::default());
    }
    body["model"] = json!("ada");
    if body["stream"] == true { streamed(&client, path, &body).await } else { whole(&client, path, &body).await }
}

async fn whole(client: &Client, path: &str, body: &Value) -> Result<Answer> {
    let choice = client.post(path, body).await?.ok()?["choices"][0].clone();
    let calls = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
    Ok(Answer {
        content: choice["message"]["content"].as_str().unwrap_or_default().to_owned(),
        calls: calls.iter().filter_map(|call| call["id"].as_str().map(str::to_owned)).collect(),
        finish: choice["finish_reason"].as_str().unwrap_or_default().to_owned(),
    })
}

async fn streamed(client: &Client, path: &str, body: &Value) -> Result<Answer> {
    let events = client.post_sse(path, body).await?.rest().await?;
    ensure!(events.last().is_some_and(|event| event.data == "[DONE]"), "{:?}", events.last());
    let mut answer = Answer::default();
    for event in &events[..events.len() - 1] {
        let chunk = event.json()?;
        let choice = &chunk["choices"][0];
        answer.content.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            answer.calls.extend(call["id"].as_str().map(str::to_owned));
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            answer.finish = finish.to_owned();
        }
    }
    Ok(answer)
}

/// A vendor that calls the client's tools where it is asked to, and else says what the recordings say.
fn choose(body: &Value) -> Option<VendorReply> {
    if !body["response_format"].is_null() {
        return Some(VendorReply::say("{\"name\": \"Ada\", \"age\": 36}"));
    }
    if body["tool_choice"].is_object() {
        return None;
    }
    let last = body["messages"].as_array()?.last()?;
    let asks = last["role"] == "user" && last.to_string().contains("Weather and time");
    let call = || {
        VendorReply::call("get_weather", json!({"city": "Oslo"})).and_call("get_time", json!({"zone": "Europe/Oslo"}))
    };
    Some(if asks { call() } else { VendorReply::say("It is done.") })
}

/// The texts of one role in what the client sent.
fn sent(request: &Value, role: &str) -> Vec<String> {
    texts(&request["body"], role)
}

fn check(client: &str, request: &Value, vendor: &FakeVendor, asked: usize, answer: &Answer) -> Result<()> {
    let now = vendor.requests().len();
    let fate = fate(client, request);
    match fate {
        Fate::Vectors => ensure!(now == asked),
        Fate::Empty => ensure!(now == asked && answer.content.is_empty() && answer.finish == "stop"),
        Fate::Repeated => ensure!(now == asked && answer.content == "It is done.", "asked the model again"),
        Fate::Apart => {
            let shown = last_request(vendor)?;
            // A task comes alone; what is only not to be kept comes with the agent's memory before it.
            ensure!(now > asked && texts(&shown, "user") == sent(request, "user"), "{shown}");
        }
        Fate::Mirrors => {
            let shown = last_request(vendor)?;
            ensure!(texts(&shown, "user") == sent(request, "user"), "{:?}", texts(&shown, "user"));
            ensure!(texts(&shown, "tool") == sent(request, "tool"), "{:?}", texts(&shown, "tool"));
        }
        Fate::GoesOn => {
            let shown = texts(&last_request(vendor)?, "user");
            ensure!(shown.last() == sent(request, "user").last(), "{shown:?}");
        }
    }
    Ok(())
}

/// Where the recordings are.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../openai_gateway/tests/clients")
}

/// Replays all requests of one client on a server of its own.
async fn replay_all(name: &str) -> Result<(TestServer, Client, FakeVendor)> {
    let file = folder().join(name).with_extension("json");
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let (server, client, vendor) = house("").await?;
    vendor.answer_with(choose);
    let mut calls = Vec::new();
    for request in recorded["requests"].as_array().context("requests")? {
        let asked = vendor.requests().len();
        let of = || format!("{name}: {}", request["scenario"]);
        let answer = replay(&client, request, &calls).await.with_context(of)?;
        check(name, request, &vendor, asked, &answer).with_context(of)?;
        if request["scenario"] == "tools" && answer.finish == "tool_calls" {
            ensure!(answer.calls.len() == 2, "{:?}", answer.calls);
            calls = answer.calls;
        }
    }
    Ok((server, client, vendor))
}

#[tokio::test]
async fn langchain_is_understood() -> Result<()> {
    replay_all("langchain").await.map(drop)
}

#[tokio::test]
async fn litellm_is_understood() -> Result<()> {
    replay_all("litellm").await.map(drop)
}

#[tokio::test]
async fn open_webui_is_understood() -> Result<()> {
    replay_all("open-webui").await.map(drop)
}

#[tokio::test]
async fn openai_for_node_is_understood() -> Result<()> {
    replay_all("openai-node").await.map(drop)
}

#[tokio::test]
async fn openai_for_python_is_understood() -> Result<()> {
    replay_all("openai-python").await.map(drop)
}

#[tokio::test]
async fn the_ai_sdk_for_compatible_servers_is_understood() -> Result<()> {
    replay_all("vercel-ai-compatible").await.map(drop)
}

#[tokio::test]
async fn the_ai_sdk_for_openai_is_understood() -> Result<()> {
    replay_all("vercel-ai-openai").await.map(drop)
}

#[test]
fn every_recording_is_replayed() -> Result<()> {
    let replayed = [
        "aider",
        "langchain",
        "litellm",
        "open-webui",
        "openai-node",
        "openai-python",
        "vercel-ai-compatible",
        "vercel-ai-openai",
    ];
    for entry in std::fs::read_dir(folder())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        ensure!(replayed.contains(&name.trim_end_matches(".json")), "{name} is not replayed");
    }
    Ok(())
}

/// aider sends examples, files that move, and reminders that are gone when a message comes again; it names no chat. So
/// nothing it sends may ever take the context back.
#[tokio::test]
async fn aider_is_understood() -> Result<()> {
    let (_server, _client, vendor) = replay_all("aider").await?;
    let of_chat: Vec<Vec<String>> = vendor
        .requests()
        .iter()
        .filter(|request| texts(&request.body, "system").join(" ").contains("You change code."))
        .map(|request| texts(&request.body, "user"))
        .collect();
    for (before, after) in of_chat.iter().zip(of_chat.iter().skip(1)) {
        ensure!(after.starts_with(before) && after.len() == before.len() + 1, "{before:?}\n{after:?}");
    }
    Ok(())
}
