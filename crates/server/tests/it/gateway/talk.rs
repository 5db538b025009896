//! What tests of tools, streams and repetitions have in common: two agents, and answers taken apart.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, HttpReply, TestServer};
use tokio::task::JoinSet;

use super::{CHAT, chat, house};
use crate::house::VENDOR_MODEL;

/// An agent that speaks through `send_message`, and one that speaks plainly.
pub(crate) const BOTH: [&str; 2] = ["sam", "ada"];

/// Each of them in two ways, for example streamed and whole.
pub(crate) const EACH_WAY: [(&str, bool); 4] = [("sam", false), ("sam", true), ("ada", false), ("ada", true)];

/// A server with `sam`, who speaks through `send_message`, and `ada`, who speaks plainly.
pub(crate) async fn two_agents() -> Result<(TestServer, Client, FakeVendor)> {
    let (server, client, vendor) = house("").await?;
    agent_of_kind(&client, "sam", "memgpt_v2_agent", VENDOR_MODEL).await?;
    Ok((server, client, vendor))
}

/// Makes an agent of one of Letta's kinds.
pub(crate) async fn agent_of_kind(client: &Client, name: &str, kind: &str, model: &str) -> Result<()> {
    let blocks = json!([{"label": "human", "value": "", "limit": 100_000}]);
    let body = json!({"name": name, "model": model, "agent_type": kind, "memory_blocks": blocks});
    client.post("/v1/agents/", &body).await?.ok().map(drop)
}

/// Makes an agent that may say several things in one run: no rule ends it with the first.
pub(crate) async fn talkative_agent(client: &Client, name: &str) -> Result<()> {
    let blocks = json!([{"label": "human", "value": ""}]);
    let body = json!({
        "name": name, "model": VENDOR_MODEL, "agent_type": "memgpt_v2_agent", "memory_blocks": blocks,
        "include_base_tool_rules": false,
    });
    client.post("/v1/agents/", &body).await?.ok().map(drop)
}

/// The agent of that name as Letta's door shows it.
pub(crate) async fn agent(client: &Client, name: &str) -> Result<Value> {
    Ok(client.get(&format!("/v1/agents/?name={name}")).await?.ok()?[0].clone())
}

/// A request of one user message to `agent`, with more fields.
pub(crate) fn ask_of(agent: &str, text: &str, more: Value) -> Value {
    with(json!({"model": agent, "messages": [user(text)]}), more)
}

/// `body` with more fields.
pub(crate) fn with(mut body: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut body, more) {
        fields.extend(more);
    }
    body
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The result of a call.
pub(crate) fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A tool that takes a city.
pub(crate) fn tool(name: &str) -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "function": {"name": name, "description": "Weather.", "parameters": parameters}})
}

/// The one message of a whole answer, and why it ended.
pub(crate) fn message(reply: &HttpReply) -> Result<(Value, String)> {
    let answer = reply.ok()?;
    ensure!(answer["object"] == "chat.completion" && answer["choices"][0]["index"] == 0, "{answer}");
    let choice = &answer["choices"][0];
    Ok((choice["message"].clone(), choice["finish_reason"].as_str().context("it ended")?.to_owned()))
}

/// The error of a refused request.
pub(crate) fn error(reply: &HttpReply) -> Result<(u16, Value)> {
    let body = reply.json()?;
    let error = body["error"].clone();
    let Value::Object(fields) = &error else { bail!("no error: {body}") };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    ensure!(names == ["message", "type", "param", "code"], "{error}");
    Ok((reply.status.as_u16(), error))
}

/// A stream that was read to its end.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    pub(crate) chunks: Vec<Value>,
    /// Whether `[DONE]` came last.
    pub(crate) is_done: bool,
}

/// Sends `body` in the chat that `session` names and reads the stream to its end.
pub(crate) async fn stream(client: &Client, session: &str, body: &Value) -> Result<Streamed> {
    let client = client.clone().with_header("x-session-id", session)?;
    let mut reader = client.post_sse(CHAT, &with(body.clone(), json!({"stream": true}))).await?;
    if !reader.status.is_success() {
        let status = reader.status;
        bail!("{status}: {}", reader.text().await?);
    }
    let mut streamed = Streamed::default();
    while let Some(event) = reader.next().await? {
        ensure!(event.event.is_none() && !streamed.is_done, "{event:?} after {streamed:?}");
        match event.data.as_str() {
            "[DONE]" => streamed.is_done = true,
            _ => streamed.chunks.push(event.json()?),
        }
    }
    Ok(streamed)
}

/// What an answer says, streamed or whole: its words, its calls, and why it ended.
pub(crate) async fn told(
    client: &Client,
    session: &str,
    body: &Value,
    is_streamed: bool,
) -> Result<(String, Vec<Value>, String)> {
    if is_streamed {
        let streamed = stream(client, session, body).await?;
        ensure!(streamed.is_done, "{streamed:?}");
        return Ok((streamed.content(), streamed.calls()?, streamed.finish()?));
    }
    let (said, finish) = message(&chat(client, session, body).await?)?;
    let calls = said["tool_calls"].as_array().cloned().unwrap_or_default();
    Ok((said["content"].as_str().unwrap_or_default().to_owned(), calls, finish))
}

/// Sends `body` without waiting for its answer. Dropping the set hangs up.
pub(crate) fn aside(client: &Client, body: &Value) -> JoinSet<Result<HttpReply>> {
    let (client, body) = (client.clone(), body.clone());
    let mut sent = JoinSet::new();
    sent.spawn(async move { client.post(CHAT, &body).await });
    sent
}

impl Streamed {
    fn choices(&self) -> impl Iterator<Item = &Value> {
        self.chunks.iter().map(|chunk| &chunk["choices"][0]).filter(|choice| choice.is_object())
    }

    /// All that the deltas say in words.
    pub(crate) fn content(&self) -> String {
        self.choices().filter_map(|choice| choice["delta"]["content"].as_str()).collect()
    }

    /// Why it ended; it must say so once, in a chunk with an empty delta.
    pub(crate) fn finish(&self) -> Result<String> {
        let ends: Vec<&Value> = self.choices().filter(|choice| !choice["finish_reason"].is_null()).collect();
        ensure!(ends.len() == 1 && ends[0]["delta"] == json!({}), "{ends:?}");
        ends[0]["finish_reason"].as_str().map(str::to_owned).context("a reason is text")
    }

    /// The calls as an accumulator of an SDK puts them together: by index, with id and name from the first delta only.
    pub(crate) fn calls(&self) -> Result<Vec<Value>> {
        let mut calls: Vec<(Value, usize)> = Vec::new();
        for delta in self.choices().filter_map(|choice| choice["delta"]["tool_calls"].as_array()).flatten() {
            let index = delta["index"].as_u64().context("a delta has an index")? as usize;
            if index == calls.len() {
                ensure!(delta["type"] == "function" && delta["id"].is_string(), "{delta}");
                calls.push((delta.clone(), 0));
                continue;
            }
            let (call, pieces) = calls.get_mut(index).context("calls come in order")?;
            ensure!(delta.get("id").is_none() && delta.get("type").is_none(), "an id is sent once: {delta}");
            ensure!(delta["function"].get("name").is_none(), "a name is sent once: {delta}");
            let more = delta["function"]["arguments"].as_str().context("arguments are text")?;
            let so_far = call["function"]["arguments"].as_str().unwrap_or_default().to_owned();
            call["function"]["arguments"] = json!(so_far + more);
            *pieces += 1;
        }
        calls
            .into_iter()
            .map(|(mut call, pieces)| {
                ensure!(pieces > 0, "arguments come after the name: {call}");
                call.as_object_mut().context("a call is an object")?.remove("index");
                Ok(call)
            })
            .collect()
    }
}

/// The names of the tools in a request to the vendor.
pub(crate) fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned)).collect()
}

/// Each call in a request to the vendor with what stands for it as its result: name and text, in order.
pub(crate) fn pairs(request: &Value) -> Result<Vec<(String, String)>> {
    let messages = request["messages"].as_array().context("a request has messages")?;
    let mut pairs = Vec::new();
    for call in messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten() {
        let returned = messages.iter().find(|message| message["tool_call_id"] == call["id"]);
        let returned = returned.with_context(|| format!("a call without its return: {call}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        pairs.push((text(&call["function"]["name"]), text(&returned["content"])));
    }
    Ok(pairs)
}
