//! A fresh house: one command, a first conversation through each door, and a memory that survives a restart.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, TestServer};

use crate::house::{VENDOR_MODEL, alone, create_agent, say, setup, with_vendor, words};

/// What the first agent says through OpenAI's door.
async fn ask(client: &Client, text: &str) -> Result<String> {
    let body = json!({"model": "librarian", "messages": [{"role": "user", "content": text}]});
    let answer = client.post("/v1/chat/completions", &body).await?.ok()?;
    answer["choices"][0]["message"]["content"].as_str().map(str::to_owned).context("an answer has content")
}

async fn ask_streaming(client: &Client, text: &str) -> Result<String> {
    let body = json!({"model": "librarian", "stream": true, "messages": [{"role": "user", "content": text}]});
    let events = client.post_sse("/v1/chat/completions", &body).await?.rest().await?;
    ensure!(events.last().is_some_and(|last| last.data == "[DONE]"));
    let chunks: Vec<Value> = events[..events.len() - 1].iter().map(testkit::SseEvent::json).collect::<Result<_>>()?;
    Ok(chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect())
}

#[tokio::test]
async fn what_was_told_survives_a_restart_with_no_key_and_no_network() -> Result<()> {
    let (mut server, client) = alone().await?;
    ask(&client, "remember that my cat is called Miso").await?;
    ask_streaming(&client, "my boat is called Bounty").await?;
    server.restart().await?;
    let client = server.client()?;
    let (cat, boat) =
        (ask_streaming(&client, "what is my cat called?").await?, ask(&client, "how is my boat called?").await?);
    ensure!(cat.contains("Miso") && boat.contains("Bounty"), "{cat} {boat}");
    Ok(())
}

/// All that the server says at its start. It answers before it has said it.
async fn first_words(server: &TestServer) -> String {
    let mut printed = server.stdout();
    let deadline = Instant::now() + Duration::from_secs(10);
    while !printed.contains("\"Hello!\"") && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
        printed = server.stdout();
    }
    printed
}

#[tokio::test]
async fn a_provider_that_is_silent_is_named_where_it_leaves_the_agent_to_the_guide() -> Result<()> {
    let nobody = setup().env("OPENAI_API_KEY", "sk-x").env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let printed = first_words(&TestServer::start(nobody).await?).await;
    let warning = printed.lines().find(|line| line.trim_start().starts_with("warning")).context(printed.clone())?;
    ensure!(warning.contains("the provider openai") && warning.contains("set-model librarian"), "{warning}");
    let alone = first_words(&alone().await?.0).await;
    ensure!(!alone.contains("warning"), "{alone}");
    Ok(())
}

#[tokio::test]
async fn the_printed_curl_line_works() -> Result<()> {
    let (server, client) = alone().await?;
    let printed = first_words(&server).await;
    let line = printed.lines().find(|line| line.trim_start().starts_with("curl ")).context(printed.clone())?;
    ensure!(line.contains(&format!("{}/v1/chat/completions", server.url())), "{line}");
    let body = line.split_once(" -d '").and_then(|(_, body)| body.strip_suffix('\'')).context("a body")?;
    let answer = client.post("/v1/chat/completions", &serde_json::from_str(body)?).await?.ok()?;
    ensure!(answer["choices"][0]["message"]["content"].as_str().is_some_and(|text| !text.is_empty()));
    ensure!(printed.contains(&server.data_dir().display().to_string()), "{printed}");
    Ok(())
}

#[tokio::test]
async fn a_memory_edit_is_the_same_everywhere() -> Result<()> {
    let (server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "witness", VENDOR_MODEL).await?;
    let insert = json!({"label": "human", "new_str": "Likes oolong tea."});
    say(&client, &agent, &format!("[[tool:memory_insert {insert}]][[say:Noted.]]")).await?.ok()?;
    // On the command line.
    let shown = server.command(&["memory", "show", "witness", "--data-dir"]).arg(server.data_dir()).output()?;
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    ensure!(shown.status.success() && text.contains("Likes oolong tea."), "{text}{shown:?}");
    // In the messages, as a call and its return.
    let listed = client.get(&format!("/v1/agents/{agent}/messages?order=asc")).await?.ok()?;
    let find = |kind: &str| listed.as_array().and_then(|all| all.iter().find(|one| one["message_type"] == kind));
    let call = find("tool_call_message").context("a call")?;
    let returned = find("tool_return_message").context("a return")?;
    ensure!(call["tool_call"]["arguments"].as_str().is_some_and(|text| text.contains("oolong")));
    ensure!(call["tool_call"]["tool_call_id"] == returned["tool_call_id"] && returned["status"] == "success");
    // In the system message that the model saw with the next request, and not before.
    let systems: Vec<String> = vendor
        .requests()
        .iter()
        .map(|request| request.body["messages"][0]["content"].as_str().unwrap_or_default().to_owned())
        .collect();
    ensure!(systems.len() == 2 && !systems[0].contains("oolong") && systems[1].contains("\nLikes oolong tea.\n"));
    Ok(())
}

#[tokio::test]
async fn both_doors_speak_to_the_same_mind() -> Result<()> {
    let (_server, client) = alone().await?;
    let agents = client.get("/v1/agents/?name=librarian").await?.ok()?;
    let id = agents[0]["id"].as_str().context("the first agent")?.to_owned();
    ask(&client, "remember that my sister lives in Oslo").await?;
    let answer = say(&client, &id, "where does my sister live?").await?.ok()?;
    ensure!(words(&answer).contains("Oslo"), "{answer}");
    let models = client.get("/v1/models").await?.ok()?;
    ensure!(models["data"][0]["id"] == "librarian", "{models}");
    ensure!(client.get("/v1/models/librarian").await?.ok()?["id"] == "librarian");
    let unknown = client.get("/v1/models/nobody").await?;
    ensure!(unknown.status == 404 && unknown.json()?["error"]["code"] == "model_not_found", "{}", unknown.text());
    Ok(())
}

#[tokio::test]
async fn every_kind_of_agent_is_made_as_its_kind_asks() -> Result<()> {
    let (_server, client) = alone().await?;
    for (kind, tools, rules, messages) in [
        ("letta_v1_agent", true, false, 1),
        ("memgpt_v2_agent", true, true, 4),
        ("memgpt_agent", true, true, 4),
        ("split_thread_agent", true, true, 4),
        ("sleeptime_agent", true, true, 2),
        ("react_agent", false, false, 2),
        ("workflow_agent", false, false, 2),
    ] {
        let agent = client.post("/v1/agents/", &json!({"agent_type": kind, "model": "builtin/guide"})).await?.ok()?;
        let count = |name: &str| agent[name].as_array().map_or(0, Vec::len);
        let found = (count("tools") > 0, count("tool_rules") > 0, count("message_ids"));
        ensure!(found == (tools, rules, messages), "{kind} {found:?}");
        ensure!(agent["message_buffer_autoclear"] == (kind == "workflow_agent"), "{kind}");
    }
    for refused in [json!({"agent_type": "voice_convo_agent"}), json!({"enable_sleeptime": true})] {
        let mut body = refused.clone();
        body["model"] = json!("builtin/guide");
        let answer = client.post("/v1/agents/", &body).await?;
        ensure!(answer.status == 400 && answer.text().contains("group"), "{}", answer.text());
    }
    ensure!(client.get("/v1/agents/?limit=100").await?.ok()?.as_array().map(Vec::len) == Some(8));
    Ok(())
}
