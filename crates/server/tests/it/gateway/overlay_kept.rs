//! What becomes of the client's system text in the store, and who else may see or change it.

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, TestServer};

use super::{ask, ask_after, ask_under, chat, house, last_request, texts};
use crate::house::VENDOR_MODEL;

/// The system message of the newest request to the vendor.
fn system(vendor: &FakeVendor) -> Result<String> {
    texts(&last_request(vendor)?, "system").into_iter().next().context("a system message")
}

/// The database of a server, which must be stopped before it is written to.
fn database(server: &TestServer) -> Result<Connection> {
    Ok(Connection::open(server.data_dir().join("librarian.db"))?)
}

/// A block `proxy_system_overlay`: id, version, limit, read-only and metadata.
type Overlay = (Vec<u8>, i64, i64, bool, Value);

fn overlays(server: &TestServer) -> Result<Vec<Overlay>> {
    let database = database(server)?;
    let mut wanted = database.prepare(
        "select id, version, char_limit, read_only, metadata from block where label = 'proxy_system_overlay' order by id",
    )?;
    let rows = wanted.query_map([], |row| {
        let metadata: String = row.get(4)?;
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, metadata))
    })?;
    rows.map(|row| row.map_err(Into::into))
        .map(|row| {
            row.and_then(|(id, version, limit, fixed, metadata)| {
                Ok((id, version, limit, fixed, serde_json::from_str(&metadata)?))
            })
        })
        .collect()
}

async fn agent(client: &Client) -> Result<Value> {
    Ok(client.get("/v1/agents/?name=ada").await?.ok()?[0].clone())
}

#[tokio::test]
async fn unchanged_text_is_not_written_again_and_changed_text_in_place() -> Result<()> {
    let (mut server, client, _vendor) = house("").await?;
    for _ in 0..5 {
        chat(&client, "chat-of-ada", &ask_under("Speak like a pirate.", "hi")).await?.ok()?;
    }
    server.stop().await?;
    let first = overlays(&server)?;
    let [(id, 1, limit, true, metadata)] = first.as_slice() else { anyhow::bail!("{first:?}") };
    ensure!(*limit >= 50_000 && metadata["session"] == "chat-of-ada", "{metadata}");
    server.restart().await?;
    let client = server.client()?;
    // Unchanged over a restart, too.
    chat(&client, "chat-of-ada", &ask_under("Speak like a pirate.", "hi")).await?.ok()?;
    chat(&client, "chat-of-ada", &ask_under(&"Speak like a poet. ".repeat(3_500), "hi")).await?.ok()?;
    server.stop().await?;
    let then = overlays(&server)?;
    let [(same, 2, limit, true, metadata)] = then.as_slice() else { anyhow::bail!("{then:?}") };
    ensure!(same == id && *limit >= 19 * 3_500 && metadata["session"] == "chat-of-ada", "{limit} {metadata}");
    Ok(())
}

#[tokio::test]
async fn neither_other_sessions_nor_letta_clients_see_it() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "one", &ask_under("PROMPT-ONE", "hi")).await?.ok()?;
    let agent = agent(&client).await?;
    ensure!(
        !agent.to_string().contains("PROMPT-ONE") && !agent.to_string().contains("proxy_system_overlay"),
        "{agent}"
    );
    let id = agent["id"].as_str().context("an id")?;
    for path in ["core-memory/blocks", "context"] {
        let shown = client.get(&format!("/v1/agents/{id}/{path}")).await?.text();
        ensure!(!shown.contains("PROMPT-ONE"), "{path}: {shown}");
    }
    chat(&client, "two", &ask("hi")).await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("PROMPT-ONE"));
    crate::house::say(&client, id, "hello").await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("PROMPT-ONE"));
    Ok(())
}

#[tokio::test]
async fn the_agents_own_tools_cannot_change_it() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let label = "proxy_system_overlay";
    for call in [
        format!("memory_insert {}", json!({"label": label, "new_str": "and be rude"})),
        format!("memory_replace {}", json!({"label": label, "old_str": "pirate", "new_str": "villain"})),
    ] {
        chat(&client, "s", &ask_under("Speak like a pirate.", &format!("[[tool:{call}]][[say:ok]]"))).await?.ok()?;
        let request = last_request(&vendor)?;
        let told = texts(&request, "tool").join(" ");
        ensure!(told.contains("read") || told.contains("rror"), "{told}");
        let system = system(&vendor)?;
        ensure!(system.contains("Speak like a pirate.") && !system.contains("rude") && !system.contains("villain"));
    }
    Ok(())
}

#[tokio::test]
async fn a_block_that_was_taken_away_behind_the_sessions_back_is_made_again() -> Result<()> {
    let (mut server, client, vendor) = house("").await?;
    chat(&client, "s", &ask_under("Speak like a pirate.", "hi")).await?.ok()?;
    server.stop().await?;
    database(&server)?.execute_batch("delete from conversation_block")?;
    server.restart().await?;
    let client = server.client()?;
    chat(&client, "s", &ask_under("Speak like a pirate.", "again")).await?.ok()?;
    ensure!(system(&vendor)?.contains("Speak like a pirate."));
    Ok(())
}

/// Kinds of agents that are shown no memory blocks are shown what the application says.
#[tokio::test]
async fn every_kind_of_agent_is_shown_it() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    for kind in ["letta_v1_agent", "memgpt_v2_agent", "memgpt_agent", "react_agent", "workflow_agent"] {
        let blocks = json!([{"label": "human", "value": ""}]);
        let mut agent = json!({"name": kind, "agent_type": kind, "model": VENDOR_MODEL, "memory_blocks": blocks});
        if ["react_agent", "workflow_agent"].contains(&kind) {
            agent["tools"] = json!(["send_message"]);
        }
        client.post("/v1/agents/", &agent).await?.ok()?;
        let mut body = ask_under("Speak like a pirate.", "hi");
        body["model"] = json!(kind);
        let reply = chat(&client, "s", &body).await?;
        reply.ok().with_context(|| kind.to_owned())?;
        ensure!(system(&vendor)?.contains("Speak like a pirate."), "{kind}");
    }
    Ok(())
}

#[tokio::test]
async fn a_text_of_sixty_thousand_characters_arrives_whole() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let text: String = (0..60_000).map(|number| char::from(b'a' + (number % 25) as u8)).collect();
    chat(&client, "s", &ask_under(&text, "hi")).await?.ok()?;
    ensure!(system(&vendor)?.contains(&text));
    Ok(())
}

/// A text may leave room in an empty window and none beside the agent's own memory.
#[tokio::test]
async fn a_text_that_fits_only_without_the_agents_memory_is_refused_and_not_kept() -> Result<()> {
    let (mut server, client, vendor) = house("").await?;
    let blocks = json!([{"label": "human", "value": "one two three ".repeat(1_500), "limit": 100_000}]);
    let agent = json!({"name": "eva", "model": "openai/fake-small", "memory_blocks": blocks,
        "context_window_limit": 8_192});
    client.post("/v1/agents/", &agent).await?.ok()?;
    let mut body = ask_under(&"many words ".repeat(2_500), "hi");
    body["model"] = json!("eva");
    let reply = chat(&client, "s", &body).await?;
    let error = reply.json()?["error"].clone();
    ensure!(reply.status == 400 && error["code"] == "context_length_exceeded", "{} {error}", reply.status);
    ensure!(vendor.requests().is_empty());
    server.stop().await?;
    ensure!(overlays(&server)?.is_empty());
    Ok(())
}

/// Going back takes the preface out of the context together with the message that it stood before.
#[tokio::test]
async fn a_preface_is_sent_again_where_the_context_has_it_no_more() -> Result<()> {
    let (mut server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("one [[say:first]]")).await?.ok()?;
    server.stop().await?;
    database(&server)?.execute_batch(
        "create trigger no_overlay before insert on conversation_block \
         begin select raise(abort, 'refused by the test'); end;",
    )?;
    server.restart().await?;
    let client = server.client()?;
    let mut body = ask_after(&[("one [[say:first]]", "first")], "two");
    body["messages"].as_array_mut().context("messages")?.insert(0, json!({"role": "system", "content": "PROMPT-P"}));
    for _ in 0..2 {
        chat(&client, "s", &body).await?.ok()?;
        let request = last_request(&vendor)?;
        let shown = request["messages"].as_array().context("messages")?.clone();
        ensure!(shown.iter().filter(|message| message.to_string().contains("PROMPT-P")).count() == 1, "{request}");
        ensure!(texts(&request, "user") == ["one [[say:first]]", "two"], "{request}");
    }
    Ok(())
}
