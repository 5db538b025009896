//! A server with a fake vendor behind it, and the few requests that most tests make.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, HttpReply, ServerSetup, TestServer};
use tokio::task::JoinHandle;

/// The model that the fake vendor answers as.
pub(crate) const VENDOR_MODEL: &str = "openai/gpt-4o-mini";

/// How the real binary is started.
pub(crate) fn setup() -> ServerSetup {
    ServerSetup::new(env!("CARGO_BIN_EXE_librarian"))
}

/// A server that knows no provider, and a client of it.
pub(crate) async fn alone() -> Result<(TestServer, Client)> {
    let server = TestServer::start(setup()).await?;
    let client = server.client()?;
    Ok((server, client))
}

/// A server whose OpenAI is the fake vendor.
pub(crate) async fn with_vendor() -> Result<(TestServer, Client, FakeVendor)> {
    let vendor = FakeVendor::start()?;
    let server = TestServer::start(setup().vendor(&vendor)).await?;
    let client = server.client()?;
    Ok((server, client, vendor))
}

/// Makes an agent on `model` with an empty block `human`, and gives its id.
pub(crate) async fn create_agent(client: &Client, name: &str, model: &str) -> Result<String> {
    let blocks = json!([{"label": "human", "value": "", "limit": 1_000_000}, {"label": "persona", "value": "Kind."}]);
    let agent = client.post("/v1/agents/", &json!({"name": name, "model": model, "memory_blocks": blocks})).await?;
    agent.ok()?["id"].as_str().map(str::to_owned).context("an agent has an id")
}

/// Sends one message through Letta's door.
pub(crate) async fn say(client: &Client, agent: &str, text: &str) -> Result<HttpReply> {
    let body = json!({"messages": [{"role": "user", "content": text}]});
    client.post(&format!("/v1/agents/{agent}/messages"), &body).await
}

/// Sends one message without waiting for its answer.
#[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
pub(crate) fn say_aside(client: &Client, agent: &str, text: &str) -> JoinHandle<Result<HttpReply>> {
    let (client, agent, text) = (client.clone(), agent.to_owned(), text.to_owned());
    tokio::spawn(async move { say(&client, &agent, &text).await })
}

/// The words of an answer of Letta's door.
pub(crate) fn words(answer: &Value) -> String {
    let messages = answer["messages"].as_array().cloned().unwrap_or_default();
    let spoken = messages.iter().filter(|message| message["message_type"] == "assistant_message");
    spoken.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}
