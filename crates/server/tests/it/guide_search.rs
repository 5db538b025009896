//! The built-in guide finds by its search tools what has left its context, with no key and no network.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::Client;

use crate::house::{alone, say, words};

/// The tools that an answer shows to have been called.
fn called(answer: &Value) -> Vec<String> {
    let messages = answer["messages"].as_array().into_iter().flatten();
    let calls = messages.filter(|message| message["message_type"] == "tool_call_message");
    calls.filter_map(|message| message["tool_call"]["name"].as_str()).map(str::to_owned).collect()
}

/// An agent that starts every run with an empty context and has no block to write to.
async fn forgetful(client: &Client, kind: &str) -> Result<String> {
    let body = json!({
        "agent_type": kind,
        "model": "builtin/guide",
        "message_buffer_autoclear": true,
        "memory_blocks": [{"label": "human", "value": "", "read_only": true}],
    });
    let agent = client.post("/v1/agents/", &body).await?.ok()?;
    agent["id"].as_str().map(str::to_owned).context("an agent has an id")
}

#[tokio::test]
async fn what_left_the_context_is_found_again() -> Result<()> {
    let (_server, client) = alone().await?;
    for kind in ["letta_v1_agent", "memgpt_agent", "memgpt_v2_agent"] {
        let agent = forgetful(&client, kind).await?;
        for text in [
            "My sister Ewa lives in Malmö.",
            "My dentist is called Dr. Osei.",
            "I ride a green Vespa.",
            "Actually my dentist is called Dr. Asante.",
        ] {
            say(&client, &agent, text).await?.ok()?;
        }
        let answer = say(&client, &agent, "What's the name of my dentist?").await?.ok()?;
        let told = words(&answer);
        ensure!(told.contains("you said: “") && told.contains("Asante") && !told.contains("Osei"), "{kind}: {told}");
        ensure!(called(&answer).iter().any(|name| name == "conversation_search"), "{kind}: {answer}");
        let answer = say(&client, &agent, "Where does Ewa live?").await?.ok()?;
        ensure!(words(&answer).contains("Malmö"), "{kind}: {answer}");
        let answer = say(&client, &agent, "What is the name of my dog?").await?.ok()?;
        ensure!(words(&answer).starts_with("I don't know"), "{kind}: {answer}");
        ensure!(called(&answer).iter().filter(|name| name.ends_with("_search")).count() == 2, "{kind}: {answer}");
    }
    Ok(())
}

#[tokio::test]
async fn what_no_block_can_take_goes_to_the_archive() -> Result<()> {
    let (_server, client) = alone().await?;
    let body = json!({
        "model": "builtin/guide",
        "memory_blocks": [{"label": "human", "value": "", "limit": 40}],
    });
    let agent = client.post("/v1/agents/", &body).await?.ok()?;
    let agent = agent["id"].as_str().context("an agent has an id")?;
    let short = say(&client, agent, "My cat is called Miso.").await?.ok()?;
    ensure!(words(&short).starts_with("Noted"), "{short}");
    let long = say(&client, agent, "Archive this: The alarm code of the cabin is 5510.").await?.ok()?;
    ensure!(called(&long) == ["archival_memory_insert"], "{long}");
    let full = say(&client, agent, "My neighbour Ingrid keeps the spare key of the cabin.").await?.ok()?;
    ensure!(words(&full).contains("archive"), "{full}");
    let answer = say(&client, agent, "Who keeps the spare key of the cabin?").await?.ok()?;
    ensure!(words(&answer).contains("Ingrid"), "{answer}");
    Ok(())
}
