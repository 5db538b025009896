//! What is wrong has one clear outcome in the dialect of its door, and leaves the store as it was.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, HttpReply, TestServer};

use crate::house::{VENDOR_MODEL, create_agent, say, setup, with_vendor, words};
use crate::strace::Strace;

const UNKNOWN: &str = "agent-00000000-0000-4000-8000-0000000000ff";

async fn post(client: &Client, path: &str, body: &str) -> Result<HttpReply> {
    client.send_bytes(Method::POST, path, Some(Bytes::copy_from_slice(body.as_bytes()))).await
}

/// A server that takes bodies of 1 MiB at most, with a fake vendor behind it.
async fn small_bodies() -> Result<(TestServer, Client, FakeVendor)> {
    let (vendor, file) = (FakeVendor::start()?, tempfile::tempdir()?.keep().join("librarian.toml"));
    std::fs::write(&file, "[limits]\nbody_mib = 1\n")?;
    let server = TestServer::start(setup().vendor(&vendor).arg("--config").arg(&file)).await?;
    let client = server.client()?;
    Ok((server, client, vendor))
}

async fn count(client: &Client, agent: &str) -> Result<usize> {
    let listed = client.get(&format!("/v1/agents/{agent}/messages?limit=1000")).await?.ok()?;
    Ok(listed.as_array().context("a list")?.len())
}

/// An error of OpenAI's door has these four fields, and its own type and code.
fn openai_error(reply: &HttpReply) -> Result<Value> {
    let error = reply.json()?["error"].clone();
    let keys: Vec<_> = error.as_object().context("an error")?.keys().cloned().collect();
    ensure!(keys == ["message", "type", "param", "code"], "{keys:?}");
    ensure!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
    Ok(error)
}

#[tokio::test]
async fn openais_door_refuses_in_openais_words() -> Result<()> {
    let (_server, client, _vendor) = small_bodies().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    let long = format!(r#"{{"model":"a","messages":[{{"role":"user","content":"{}"}}]}}"#, "x".repeat(1_100_000));
    let cases: &[(&str, u16)] = &[
        ("", 400),
        ("{\"model\": ", 400),
        ("[]", 400),
        ("\"text\"", 400),
        ("{}", 400),
        (r#"{"model": "a"}"#, 400),
        (r#"{"model": 7, "messages": [{"role": "user", "content": "x"}]}"#, 400),
        (r#"{"model": "a", "messages": "x"}"#, 400),
        (r#"{"model": "a", "messages": []}"#, 400),
        (r#"{"model": "a", "messages": [{"role": "user"}]}"#, 400),
        (r#"{"model": "a", "messages": [{"role": "user", "content": ""}]}"#, 400),
        (r#"{"model": "a", "messages": [{"role": "user", "content": 5}]}"#, 400),
        (r#"{"model": "a", "messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": "y"}]}"#, 400),
        (r#"{"model": "a", "messages": [{"role": "user", "content": "x"}], "stream": "yes"}"#, 400),
        (r#"{"model": "nobody", "messages": [{"role": "user", "content": "x"}]}"#, 404),
        (r#"{"model": "A", "messages": [{"role": "user", "content": "x"}]}"#, 404),
        (&long, 413),
    ];
    for (body, status) in cases {
        let reply = post(&client, "/v1/chat/completions", body).await?;
        let start: String = body.chars().take(120).collect();
        ensure!(reply.status.as_u16() == *status, "{start} gave {}: {}", reply.status, reply.text());
        openai_error(&reply).with_context(|| format!("{start}: {}", reply.text()))?;
    }
    ensure!(count(&client, &agent).await? == 1, "something was kept");
    Ok(())
}

#[tokio::test]
async fn lettas_door_refuses_in_lettas_words() -> Result<()> {
    let (_server, client, _vendor) = small_bodies().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    let messages = format!("/v1/agents/{agent}/messages");
    let unknown = format!("/v1/agents/{UNKNOWN}/messages");
    let long = format!(r#"{{"input":"{}"}}"#, "x".repeat(1_100_000));
    let cases: &[(&str, &str, u16)] = &[
        (&messages, "", 422),
        (&messages, "{\"input\": ", 422),
        (&messages, "[1]", 422),
        (&messages, "{}", 422),
        (&messages, r#"{"messages": []}"#, 422),
        (&messages, r#"{"messages": [{"role": "user", "content": " "}]}"#, 422),
        (&messages, r#"{"messages": [{"role": "robot", "content": "x"}]}"#, 422),
        (&messages, r#"{"input": "a\u0000b"}"#, 422),
        (&messages, r#"{"input": "x", "max_steps": 0}"#, 422),
        (&messages, r#"{"input": "x", "max_steps": 100000}"#, 422),
        (&messages, &long, 413),
        (&unknown, r#"{"input": "x"}"#, 404),
        ("/v1/agents/nope/messages", r#"{"input": "x"}"#, 422),
        ("/v1/agents/", r#"{"model": "openai/nope"}"#, 404),
        ("/v1/agents/", r#"{"model": "nope/nope"}"#, 400),
        ("/v1/agents/", r#"{"model": "no handle"}"#, 400),
        ("/v1/agents/", "{}", 400),
        ("/v1/agents/", r#"{"model": "builtin/guide", "name": "a\u0000"}"#, 400),
        ("/v1/agents/", r#"{"model": "builtin/guide", "timezone": "Moon/Base"}"#, 400),
        (
            "/v1/agents/",
            r#"{"model": "builtin/guide", "memory_blocks": [{"label": "x", "value": "12345", "limit": 4}]}"#,
            400,
        ),
        ("/v1/agents/", r#"{"model": "builtin/guide", "memory_blocks": [{"label": "x"}, {"label": "x"}]}"#, 400),
        ("/v1/agents/", r#"{"model": "builtin/guide", "tools": ["no_such_tool"]}"#, 400),
    ];
    for (path, body, status) in cases {
        let reply = post(&client, path, body).await?;
        let start: String = body.chars().take(120).collect();
        ensure!(reply.status.as_u16() == *status, "{path} {start} gave {}: {}", reply.status, reply.text());
        ensure!(reply.json()?["detail"].as_str().is_some_and(|text| !text.is_empty()), "{}", reply.text());
    }
    for (path, status) in [
        (format!("/v1/agents/{UNKNOWN}"), 404),
        ("/v1/agents/nope".to_owned(), 422),
        ("/v1/agents/?limit=abc".to_owned(), 422),
        (format!("/v1/agents/{agent}/messages?order=up"), 422),
        (format!("/v1/agents/{agent}/core-memory/blocks/nope"), 404),
        ("/v1/nope".to_owned(), 404),
    ] {
        ensure!(client.get(&path).await?.status.as_u16() == status, "{path}");
    }
    let over = json!({"value": "x".repeat(20_001), "limit": 20_000});
    let reply = client.patch(&format!("/v1/agents/{agent}/core-memory/blocks/persona"), &over).await?;
    ensure!(reply.status == 400 && reply.text().contains("exceeds block limit"), "{}", reply.text());
    ensure!(count(&client, &agent).await? == 1, "something was kept");
    Ok(())
}

#[tokio::test]
async fn a_model_that_misbehaves_hurts_only_itself() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    // A tool that is not there, and arguments that are no JSON: the model is told, and goes on.
    for text in ["[[tool:no_such_tool {}]][[say:sorry]]", "[[tool:memory_insert {}]][[bad-arguments]][[say:sorry]]"] {
        let answer = say(&client, &agent, text).await?.ok()?;
        ensure!(words(&answer) == "sorry" && answer["messages"][1]["status"] == "error", "{answer}");
    }
    // A model that never stops is stopped after its steps.
    let insert = json!({"label": "human", "new_str": "again"});
    let body = json!({"input": format!("[[loop:memory_insert {insert}]]"), "max_steps": 7});
    let answer = client.post(&format!("/v1/agents/{agent}/messages"), &body).await?.ok()?;
    ensure!(answer["stop_reason"]["stop_reason"] == "max_steps" && answer["usage"]["step_count"] == 7, "{answer}");
    let answer = say(&client, &agent, &format!("[[loop:memory_insert {insert}]]")).await?.ok()?;
    ensure!(answer["usage"]["step_count"] == 50, "{answer}");
    // A vendor that fails: nothing of the step is kept, and the error names the remedy.
    let before = count(&client, &agent).await?;
    for (text, status, kind) in [
        ("[[error:401]]", 401, "llm_authentication"),
        ("[[error:400]]", 502, "llm_error"),
        ("[[error:429]][[retry-after:60]]", 429, "llm_rate_limit"),
        ("[[say:half an answer that is cut]][[cut]]", 502, "llm_error"),
    ] {
        let reply = say(&client, &agent, text).await?;
        ensure!(reply.status.as_u16() == status, "{text} gave {}: {}", reply.status, reply.text());
        ensure!(reply.json()?["error"]["type"] == kind, "{}", reply.text());
    }
    ensure!(count(&client, &agent).await? == before, "something was kept");
    vendor.clear();
    ensure!(words(&say(&client, &agent, "[[error-once:500]][[say:back]]").await?.ok()?) == "back");
    ensure!(vendor.requests().len() == 2, "a passing failure is tried again");
    Ok(())
}

#[tokio::test]
async fn a_full_disk_is_told_and_nothing_is_half_written() -> Result<()> {
    let (server, client, _vendor) = with_vendor().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    say(&client, &agent, "[[say:before]]").await?.ok()?;
    let (before, folder) = (count(&client, &agent).await?, tempfile::tempdir()?);
    let inject = ["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC"];
    let strace = Strace::attach(server.pid().context("it runs")?, &inject, folder.path()).await?;
    let insert = json!({"label": "human", "new_str": "lost"});
    let refused = say(&client, &agent, &format!("[[tool:memory_insert {insert}]][[say:no]]")).await?;
    ensure!(refused.status.is_server_error(), "{}: {}", refused.status, refused.text());
    ensure!(refused.json()?["detail"].as_str().is_some_and(|text| text.contains("full")), "{}", refused.text());
    ensure!(count(&client, &agent).await? == before, "something was kept");
    strace.finish(folder.path()).await?;
    let block = client.get(&format!("/v1/agents/{agent}/core-memory/blocks/human")).await?.ok()?;
    ensure!(block["value"] == "", "{block}");
    ensure!(words(&say(&client, &agent, "[[say:after]]").await?.ok()?) == "after");
    Ok(())
}
