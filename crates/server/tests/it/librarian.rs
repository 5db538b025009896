//! The first agent: who it is, where its thoughts go, and that none of them leaves through OpenAI's door.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::fake_vendor::{VendorModel, VendorOptions};
use testkit::{Client, FakeVendor, TestServer};

use crate::house::{VENDOR_MODEL, alone, setup};

/// Words that stand for a thought; no client may ever see them.
const THOUGHT: &str = "a technical matter, so Worker";

/// A house whose first agent answers with `model` of the fake vendor.
async fn on(model: &str) -> Result<(TestServer, Client, FakeVendor)> {
    let mut options = VendorOptions::default();
    options.models.push(VendorModel { id: "gpt-5-mini".to_owned(), context_length: 400_000 });
    let vendor = FakeVendor::with(options)?;
    let server = TestServer::start(setup().vendor(&vendor).env("LIBRARIAN_MODEL", model)).await?;
    let client = server.client()?;
    Ok((server, client, vendor))
}

async fn first_agent(client: &Client) -> Result<Value> {
    let agents = client.get("/v1/agents/?name=librarian").await?.ok()?;
    agents.get(0).cloned().context("there is a first agent")
}

/// The blocks of an agent by label: value and whether the agent may change it.
fn blocks(agent: &Value) -> Vec<(String, String, bool)> {
    let text = |block: &Value, field: &str| block[field].as_str().unwrap_or_default().to_owned();
    let blocks = agent["memory"]["blocks"].as_array().or(agent["blocks"].as_array()).cloned().unwrap_or_default();
    blocks.iter().map(|block| (text(block, "label"), text(block, "value"), block["read_only"] == true)).collect()
}

/// All that a client gets to see of an answer, whole and streamed.
async fn both_ways(client: &Client, text: &str) -> Result<[String; 2]> {
    let mut body = json!({"model": "librarian", "messages": [{"role": "user", "content": text}]});
    let whole = client.post("/v1/chat/completions", &body).await?.ok()?.to_string();
    body["stream"] = json!(true);
    let events = client.post_sse("/v1/chat/completions", &body).await?.rest().await?;
    ensure!(events.last().is_some_and(|last| last.data == "[DONE]"));
    let streamed = events.iter().map(|event| event.data.as_str()).collect::<Vec<_>>().join("\n");
    Ok([whole, streamed])
}

/// What the first agent thought, as its owner sees it through Letta's door.
async fn thoughts(client: &Client) -> Result<Vec<String>> {
    let id = first_agent(client).await?["id"].as_str().context("an id")?.to_owned();
    let listed = client.get(&format!("/v1/agents/{id}/messages?limit=100")).await?.ok()?;
    let all = listed.as_array().cloned().unwrap_or_default();
    Ok(all.iter().filter_map(|message| message["reasoning"].as_str()).map(str::to_owned).collect())
}

/// What the last request to the vendor offers a tool with.
fn offers_thinking(vendor: &FakeVendor) -> Result<bool> {
    let requests = vendor.requests();
    let body = &requests.last().context("the vendor was asked")?.body;
    let tools = body["tools"].as_array().context("tools are offered")?;
    let thinks = |tool: &Value| tool["function"]["parameters"]["properties"].get("thinking").is_some();
    ensure!(tools.iter().all(thinks) || !tools.iter().any(thinks), "all tools are alike");
    Ok(tools.iter().any(thinks))
}

#[tokio::test]
async fn it_begins_with_an_identity_rules_and_nothing_about_people() -> Result<()> {
    let (_server, client) = alone().await?;
    let agent = first_agent(&client).await?;
    let blocks = blocks(&agent);
    let labels: Vec<_> = blocks.iter().map(|(label, _, read_only)| (label.as_str(), *read_only)).collect();
    ensure!(labels == [("persona", false), ("rules", true), ("human", false)], "{labels:?}");
    ensure!(blocks[0].1.contains("Librarian") && blocks[1].1.contains("never"), "{blocks:?}");
    let system = agent["system"].as_str().context("a base prompt")?;
    ensure!(system.contains("archival_memory_search") && system.contains("answer_mode"), "{system}");
    ensure!(agent["llm_config"]["put_inner_thoughts_in_kwargs"] == false, "the guide has no thoughts to tell");
    Ok(())
}

#[tokio::test]
async fn reasoning_of_the_model_never_reaches_a_client() -> Result<()> {
    let (_server, client, vendor) = on("openai/gpt-5-mini").await?;
    let insert = json!({"label": "human", "new_str": "Owns a lathe."});
    let asked = format!("[[think:{THOUGHT}]][[tool:memory_insert {insert}]][[say:It is done.]]");
    for seen in both_ways(&client, &asked).await? {
        ensure!(seen.contains("done") && !seen.contains("Worker") && !seen.contains("reasoning_content"), "{seen}");
        ensure!(!seen.contains("memory_insert") && !seen.contains("lathe"), "{seen}");
    }
    ensure!(!offers_thinking(&vendor)?, "a model that reasons needs no argument for it");
    ensure!(thoughts(&client).await?.iter().any(|thought| thought == THOUGHT), "the owner can read it");
    Ok(())
}

#[tokio::test]
async fn a_model_without_reasoning_thinks_in_its_calls_and_in_private() -> Result<()> {
    let (_server, client, vendor) = on(VENDOR_MODEL).await?;
    let insert = json!({"thinking": THOUGHT, "label": "human", "new_str": "Owns a kiln."});
    for seen in both_ways(&client, &format!("[[tool:memory_insert {insert}]][[say:It is done.]]")).await? {
        ensure!(seen.contains("done") && !seen.contains("Worker") && !seen.contains("thinking"), "{seen}");
    }
    ensure!(offers_thinking(&vendor)?);
    ensure!(thoughts(&client).await?.iter().any(|thought| thought == THOUGHT), "the owner can read it");
    let agent = first_agent(&client).await?;
    let human = blocks(&agent).into_iter().find(|(label, ..)| label == "human").context("a block")?;
    ensure!(human.1.contains("Owns a kiln.") && !human.1.contains("Worker"), "{human:?}");
    Ok(())
}

#[tokio::test]
async fn thoughts_follow_the_model() -> Result<()> {
    let (_server, client, vendor) = on("builtin/guide").await?;
    let id = first_agent(&client).await?["id"].as_str().context("an id")?.to_owned();
    for (model, thinks) in [(VENDOR_MODEL, true), ("openai/gpt-5-mini", false), (VENDOR_MODEL, true)] {
        let changed = client.patch(&format!("/v1/agents/{id}"), &json!({"model": model})).await?.ok()?;
        ensure!(changed["llm_config"]["put_inner_thoughts_in_kwargs"] == thinks, "{model}: {changed}");
        both_ways(&client, "Good morning.").await?;
        ensure!(offers_thinking(&vendor)? == thinks, "{model}");
    }
    // Another agent of that kind is as its maker's client expects it.
    let body = json!({"model": VENDOR_MODEL, "llm_config": {"put_inner_thoughts_in_kwargs": true}});
    let other = client.post("/v1/agents/", &body).await?.ok()?;
    ensure!(other["llm_config"]["put_inner_thoughts_in_kwargs"] == false, "{other}");
    Ok(())
}

#[tokio::test]
async fn its_rules_are_not_taken_for_what_people_told() -> Result<()> {
    let (_server, client) = alone().await?;
    for asked in ["Who obeys orders that stand inside documents?", "What do I never write down as a fact?"] {
        let [whole, streamed] = both_ways(&client, asked).await?;
        ensure!(whole.contains("I don't know") && !streamed.contains("I never"), "{asked}: {whole} {streamed}");
    }
    both_ways(&client, "My kiln is called Etna.").await?;
    let blocks = blocks(&first_agent(&client).await?);
    let holding: Vec<_> =
        blocks.iter().filter(|(_, value, _)| value.contains("Etna")).map(|(label, ..)| label).collect();
    ensure!(holding == ["human"], "{blocks:?}");
    Ok(())
}

#[tokio::test]
async fn a_house_that_has_an_agent_keeps_it_as_it_is() -> Result<()> {
    let (mut server, client) = alone().await?;
    let id = first_agent(&client).await?["id"].as_str().context("an id")?.to_owned();
    let older = json!({"system": "Be brief.", "description": "As an earlier version made it."});
    client.patch(&format!("/v1/agents/{id}"), &older).await?.ok()?;
    client.patch(&format!("/v1/agents/{id}/core-memory/blocks/persona"), &json!({"value": "I am Ada."})).await?.ok()?;
    let before = first_agent(&client).await?;
    server.restart().await?;
    let after = first_agent(&server.client()?).await?;
    ensure!(before == after, "{before}\n{after}");
    Ok(())
}
