//! Archival memory through Letta's door: shared by agents, told to models, refused where it makes no sense.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::Client;

use crate::house::{VENDOR_MODEL, alone, create_agent, say, with_vendor};

async fn store(client: &Client, agent: &str, text: &str, tags: &[&str]) -> Result<Value> {
    let body = json!({"text": text, "tags": tags});
    let stored = client.post(&format!("/v1/agents/{agent}/archival-memory"), &body).await?.ok()?;
    stored.as_array().and_then(|all| all.first().cloned()).context("a list of one passage")
}

async fn found(client: &Client, agent: &str, query: &str) -> Result<Vec<String>> {
    let found = client.get(&format!("/v1/agents/{agent}/archival-memory/search?query={query}")).await?.ok()?;
    let results = found["results"].as_array().context("results")?;
    Ok(results.iter().filter_map(|result| result["content"].as_str().map(str::to_owned)).collect())
}

#[tokio::test]
async fn the_next_request_tells_the_model_what_is_stored() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "keeper", VENDOR_MODEL).await?;
    say(&client, &agent, "[[say:Hello.]] hi").await?.ok()?;
    store(&client, &agent, "The red fox sleeps at noon.", &["animals"]).await?;
    let gone = store(&client, &agent, "Rust servers are small.", &["tech"]).await?;
    say(&client, &agent, "[[say:Again.]] hi").await?.ok()?;
    let passage = gone["id"].as_str().context("an id")?;
    client.delete(&format!("/v1/agents/{agent}/archival-memory/{passage}")).await?.ok()?;
    say(&client, &agent, "[[say:Bye.]] hi").await?.ok()?;
    let requests = vendor.requests();
    let system = |place: usize| requests[place].body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
    ensure!(requests.len() == 3 && !system(0).contains("archival memory (use tools"), "{}", system(0));
    ensure!(system(1).contains("\n- 2 total memories") && system(1).contains("tags: animals, tech"), "{}", system(1));
    ensure!(system(2).contains("\n- 1 total memories") && !system(2).contains("tech"), "{}", system(2));
    Ok(())
}

#[tokio::test]
async fn an_agents_first_passages_make_one_archive() -> Result<()> {
    let (_server, client) = alone().await?;
    let agent = create_agent(&client, "keeper", "builtin/guide").await?;
    let texts: Vec<String> = (0..8).map(|number| format!("Fact number {number}.")).collect();
    let stored = futures_util::future::join_all(texts.iter().map(|text| store(&client, &agent, text, &[]))).await;
    let stored: Vec<Value> = stored.into_iter().collect::<Result<_>>()?;
    ensure!(stored.iter().all(|passage| passage["archive_id"] == stored[0]["archive_id"]));
    let archives = client.get(&format!("/v1/archives/?agent_id={agent}")).await?.ok()?;
    ensure!(archives.as_array().is_some_and(|archives| archives.len() == 1), "{archives}");
    Ok(())
}

#[tokio::test]
async fn a_deleted_archive_is_found_no_more() -> Result<()> {
    let (mut server, client) = alone().await?;
    let (ada, bob) =
        (create_agent(&client, "ada", "builtin/guide").await?, create_agent(&client, "bob", "builtin/guide").await?);
    let passage = store(&client, &ada, "The red fox sleeps at noon.", &[]).await?;
    let archive = passage["archive_id"].as_str().context("an archive")?.to_owned();
    ensure!(found(&client, &bob, "fox").await?.is_empty());
    client.patch(&format!("/v1/agents/{bob}/archives/attach/{archive}"), &json!({})).await?.ok()?;
    ensure!(found(&client, &bob, "fox").await?.len() == 1);
    server.restart().await?;
    let client = server.client()?;
    ensure!(found(&client, &bob, "fox").await?.len() == 1);
    client.delete(&format!("/v1/archives/{archive}")).await?;
    for agent in [&ada, &bob] {
        ensure!(found(&client, agent, "fox").await?.is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_place() -> Result<()> {
    let (_server, client) = alone().await?;
    let agent = create_agent(&client, "keeper", "builtin/guide").await?;
    let (memory, nobody) = (format!("/v1/agents/{agent}/archival-memory"), "00000000-0000-4000-8000-00000000000f");
    for (path, body, status, told) in [
        (memory.as_str(), json!({"text": " "}), 422, "('body', 'text')"),
        (&memory, json!({"text": "x".repeat(300_000)}), 422, "('body', 'text')"),
        (&memory, json!({"text": "x", "tags": ["a\nb"]}), 422, "('body', 'tags')"),
        ("/v1/archives/", json!({"name": " "}), 400, "name"),
        ("/v1/archives/", json!({"name": "x", "embedding": "nonsense"}), 400, "nonsense"),
        (&format!("/v1/archives/archive-{nobody}/passages"), json!({"text": "x"}), 404, "not found"),
        (&format!("/v1/agents/agent-{nobody}/archival-memory"), json!({"text": "x"}), 404, "not found"),
        ("/v1/passages/search", json!({"query": "x", "limit": 1000}), 422, "('body', 'limit')"),
    ] {
        let reply = client.post(path, &body).await?;
        ensure!(reply.status == status && reply.text().contains(told), "{path} {} {}", reply.status, reply.text());
    }
    for (path, status) in [
        (format!("{memory}/search"), 422),
        (format!("{memory}/search?query=x&top_k=0"), 422),
        (format!("{memory}/search?query=x&start_datetime=soon"), 422),
        (format!("{memory}?after=passage-{nobody}"), 404),
        ("/v1/archives/shelf".to_owned(), 422),
        (format!("/v1/archives/archive-{nobody}"), 404),
        (format!("/v1/archives/archive-{nobody}/agents"), 404),
    ] {
        let reply = client.get(&path).await?;
        ensure!(reply.status == status, "{path} {}", reply.status);
    }
    Ok(())
}
