//! OpenAI's door as its clients use it: sessions, people, tools, edits, repetitions and hang-ups, against the real
//! binary and in view of what the vendor is sent.

mod aliases;
mod body_room;
mod completions;
mod deltas;
mod doors;
mod edits;
mod hang_ups;
mod history;
mod images;
mod models;
mod order;
mod overlay;
mod overlay_kept;
mod pass_through;
mod people;
mod private_memory;
mod real_clients;
mod response_format;
mod retries;
mod sessions;
mod shapes;
mod streaming;
mod talk;
mod tasks;
mod tool_names;
mod tools;
mod two_keys;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, HttpReply, TestServer};

use crate::house::{VENDOR_MODEL, create_agent, setup};

/// Where chats are sent.
pub(crate) const CHAT: &str = "/v1/chat/completions";

/// A server with the agent `ada` on the fake vendor, and what the operator wrote into its configuration.
pub(crate) async fn house(config: &str) -> Result<(TestServer, Client, FakeVendor)> {
    let vendor = FakeVendor::start()?;
    let folder = tempfile::tempdir()?.keep();
    let file = folder.join("librarian.toml");
    std::fs::write(&file, config)?;
    let server = TestServer::start(setup().vendor(&vendor).arg("--config").arg(&file)).await?;
    let client = server.client()?;
    create_agent(&client, "ada", VENDOR_MODEL).await?;
    Ok((server, client, vendor))
}

/// A request of one user message.
pub(crate) fn ask(text: &str) -> Value {
    json!({"model": "ada", "messages": [{"role": "user", "content": text}]})
}

/// A request with a system text and one user message.
pub(crate) fn ask_under(system: &str, text: &str) -> Value {
    json!({"model": "ada", "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]})
}

/// A request with a whole history: pairs of what the user said and what was answered, then the newest message.
pub(crate) fn ask_after(past: &[(&str, &str)], text: &str) -> Value {
    let mut messages = Vec::new();
    for (said, answered) in past {
        messages.push(json!({"role": "user", "content": said}));
        messages.push(json!({"role": "assistant", "content": answered}));
    }
    messages.push(json!({"role": "user", "content": text}));
    json!({"model": "ada", "messages": messages})
}

/// Sends `body` in the chat that `session` names.
pub(crate) async fn chat(client: &Client, session: &str, body: &Value) -> Result<HttpReply> {
    client.clone().with_header("x-session-id", session)?.post(CHAT, body).await
}

/// The words of an answer.
pub(crate) fn content(reply: &HttpReply) -> Result<String> {
    let answer = reply.ok()?;
    answer["choices"][0]["message"]["content"].as_str().map(str::to_owned).context("an answer has content")
}

/// What the vendor was sent in its last request, as text.
pub(crate) fn last_request(vendor: &FakeVendor) -> Result<Value> {
    Ok(vendor.requests().last().context("the vendor was asked")?.body.clone())
}

/// The texts of the messages of one role in a request to the vendor.
pub(crate) fn texts(request: &Value, role: &str) -> Vec<String> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().filter(|message| message["role"] == role).map(|message| text(&message["content"])).collect()
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
