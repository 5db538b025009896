//! What comes in by one API key never reaches another: not in blocks, not in what is said, and in no search.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use testkit::{Client, TestServer};

use super::{CHAT, house, last_request, texts};
use crate::terminal::answer;

/// An API key that opens all agents.
fn new_key(server: &TestServer, name: &str) -> Result<String> {
    let told = answer(server, &["keys", "create", name])?;
    let key = told.split_whitespace().find(|word| word.starts_with("lib-")).context("a key is shown")?;
    Ok(key.to_owned())
}

/// Lets whoever holds a key tell a secret, which goes into a block, and look for everybody's in both memories.
async fn tell_and_look_everywhere(client: &Client, name: &str, round: usize) -> Result<()> {
    let secret = format!("{name}-secret-{round}");
    let append = json!({"label": "human", "new_str": &secret});
    let query = json!({"query": "secret"});
    for text in [
        format!("{name} says {secret}. [[tool:memory_insert {append}]][[say:noted {secret}]]"),
        format!("{name} looks. [[tool:conversation_search {query}]][[say:looked]]"),
        format!("{name} digs. [[tool:archival_memory_search {query}]][[say:dug]]"),
    ] {
        let messages = json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}]);
        client.post(CHAT, &json!({"model": "ada", "messages": messages})).await?.ok()?;
    }
    Ok(())
}

#[tokio::test]
async fn two_keys_under_one_prompt_never_hear_of_each_other() -> Result<()> {
    const ROUNDS: usize = 100;
    // A conversation lets so many wait in its line, and no more.
    const AT_ONCE: usize = 20;
    let (server, operator, vendor) = house("").await?;
    let agent = operator.get("/v1/agents/?name=ada").await?.ok()?[0]["id"].as_str().context("an id")?.to_owned();
    let passage = json!({"text": "The secret of the house is an open door."});
    operator.post(&format!("/v1/agents/{agent}/archival-memory"), &passage).await?.ok()?;
    let mut clients = Vec::new();
    for name in ["first", "second"] {
        let bearer = format!("Bearer {}", new_key(&server, name)?);
        clients.push((name, server.client()?.with_header("authorization", &bearer)?));
    }
    for round in 0..ROUNDS {
        for (name, client) in &clients {
            tell_and_look_everywhere(client, name, round).await?;
        }
    }
    let mut at_once = tokio::task::JoinSet::new();
    let rounds = (ROUNDS..ROUNDS + AT_ONCE).flat_map(|round| clients.clone().into_iter().map(move |who| (round, who)));
    for (round, (name, client)) in rounds {
        at_once.spawn(async move { tell_and_look_everywhere(&client, name, round).await });
    }
    while let Some(told) = at_once.join_next().await {
        told??;
    }
    let (mut remembered, mut found, mut dug) = (0, 0, 0);
    for request in vendor.requests() {
        let newest = texts(&request.body, "user").pop().unwrap_or_default();
        let (own, other) = if newest.starts_with("first") { ("first", "second") } else { ("second", "first") };
        ensure!(newest.starts_with(own), "whose is {newest}?");
        let all = request.body.to_string();
        ensure!(!all.contains(&format!("{other}-secret")), "{newest} reached the model with a word of {other}: {all}");
        let results = texts(&request.body, "tool").join("\n");
        remembered += usize::from(texts(&request.body, "system").join("\n").contains(&format!("{own}-secret")));
        found += usize::from(results.contains(&format!("{own}-secret")));
        dug += usize::from(results.contains("an open door"));
    }
    // Both were shown their own: in their block, in what they said, and what the house shares.
    ensure!(remembered > 2 * ROUNDS && found > 2 * ROUNDS && dug > 2 * ROUNDS, "{remembered} {found} {dug}");
    // And what the operator is told is nobody's secret.
    let body = json!({"model": "ada", "messages": [{"role": "user", "content": "[[tool:conversation_search {\"query\": \"secret\"}]]"}]});
    operator.post(CHAT, &body).await?.ok()?;
    let seen = last_request(&vendor)?.to_string();
    ensure!(!seen.contains("first-secret") && !seen.contains("second-secret"), "{seen}");
    Ok(())
}
