//! What one person tells the agent must not reach another.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::Client;

use super::{CHAT, house, last_request, texts};

/// What `person` says, under one prompt that everybody has.
fn says(person: &str, text: &str) -> Value {
    json!({
        "model": "ada", "user": person,
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}],
    })
}

/// Lets a person tell a secret, which the agent writes into its memory, and search for everybody's.
async fn tell_and_search(client: &Client, person: &str, secret: &str) -> Result<()> {
    let append = json!({"label": "human", "new_str": format!("{person} says {secret}")});
    let tell = format!("My secret is {secret}. [[tool:memory_insert {append}]][[say:noted]]");
    client.post(CHAT, &says(person, &tell)).await?.ok()?;
    let search = json!({"query": "secret"});
    let look = format!("Look. [[tool:conversation_search {search}]][[say:looked]]");
    client.post(CHAT, &says(person, &look)).await?.ok()?;
    Ok(())
}

#[tokio::test]
async fn people_with_one_prompt_never_see_each_other() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    for round in 0..5 {
        for person in ["alice", "bob"] {
            tell_and_search(&client, person, &format!("{person}-secret-{round}")).await?;
        }
    }
    let mut at_once = tokio::task::JoinSet::new();
    for person in ["alice", "bob"] {
        let client = client.clone();
        at_once.spawn(async move { tell_and_search(&client, person, &format!("{person}-secret-last")).await });
    }
    while let Some(told) = at_once.join_next().await {
        told??;
    }
    let (mut alice, mut bob) = (0, 0);
    for request in vendor.requests() {
        let all = request.body.to_string();
        let (of_alice, of_bob) = (all.contains("alice-secret"), all.contains("bob-secret"));
        ensure!(!(of_alice && of_bob), "one request holds both secrets: {all}");
        alice += usize::from(of_alice);
        bob += usize::from(of_bob);
    }
    ensure!(alice > 10 && bob > 10, "{alice} {bob}");
    // Their searches did find what they said themselves.
    let found = vendor.requests().iter().filter(|request| request.body.to_string().contains("Showing")).count();
    ensure!(found >= 10, "{found}");
    Ok(())
}

#[tokio::test]
async fn whoever_names_nobody_is_the_owner_and_finds_nothing_of_others() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    tell_and_search(&client, "alice", "alice-secret").await?;
    let search = json!({"query": "secret"});
    let body = json!({"model": "ada", "messages": [
        {"role": "user", "content": format!("Look. [[tool:conversation_search {search}]][[say:ok]]")}]});
    client.post(CHAT, &body).await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("alice-secret"));
    Ok(())
}

#[tokio::test]
async fn one_chat_name_of_two_people_is_two_chats() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let client = client.with_header("x-session-id", "same")?;
    client.post(CHAT, &says("alice", "alice-secret")).await?.ok()?;
    client.post(CHAT, &says("bob", "hello")).await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("alice-secret"));
    Ok(())
}

#[tokio::test]
async fn shared_memory_is_shared() -> Result<()> {
    let config = "[[alias]]\nname = \"family\"\nagent = \"ada\"\nmemory = \"shared\"\n";
    let (_server, client, vendor) = house(config).await?;
    let ask = |person: &str, text: String| {
        let mut body = says(person, &text);
        body["model"] = json!("family");
        body
    };
    let append = json!({"label": "human", "new_str": "alice-secret"});
    client.post(CHAT, &ask("alice", format!("The otter. [[tool:memory_insert {append}]][[say:ok]]"))).await?.ok()?;
    client.post(CHAT, &ask("bob", "hello".to_owned())).await?.ok()?;
    ensure!(last_request(&vendor)?["messages"][0].to_string().contains("alice-secret"));
    // What was said is found too.
    let search = json!({"query": "otter"});
    client.post(CHAT, &ask("bob", format!("Look. [[tool:conversation_search {search}]][[say:ok]]"))).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "tool").join(" ").contains("The otter."));
    // The same names without the alias are another, private chat.
    client.post(CHAT, &says("bob", "hello")).await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("alice-secret"));
    Ok(())
}

#[tokio::test]
async fn two_keys_never_see_each_other() -> Result<()> {
    let (server, _, vendor) = house("").await?;
    let key = |name: &str| -> Result<String> {
        let made = std::process::Command::new(env!("CARGO_BIN_EXE_librarian"))
            .args(["keys", "create", name, "--data-dir"])
            .arg(server.data_dir())
            .env_clear()
            .output()?;
        let text = String::from_utf8(made.stdout)?;
        let found = text.split_whitespace().find(|word| word.starts_with("lib-")).context("a key is shown")?;
        Ok(found.to_owned())
    };
    let keys = [("first", key("first")?), ("second", key("second")?)];
    // Nobody is named, then the same name through both keys.
    let rounds = (0..5).flat_map(|round| [None, Some("carol")].map(|person| (round, person)));
    for (round, person) in rounds {
        for (name, key) in &keys {
            let client = server.client()?.with_header("authorization", &format!("Bearer {key}"))?;
            let secret = format!("{name}-secret-{round}");
            let append = json!({"label": "human", "new_str": &secret});
            let search = json!({"query": "secret"});
            let tell = format!("I say {secret}. [[tool:memory_insert {append}]][[say:ok]]");
            let look = format!("Look. [[tool:conversation_search {search}]][[say:ok]]");
            let [tell, look] = [tell, look].map(|text| says(person.unwrap_or_default(), &text));
            client.post(CHAT, &tell).await?.ok()?;
            client.post(CHAT, &look).await?.ok()?;
        }
    }
    for request in vendor.requests() {
        let all = request.body.to_string();
        ensure!(!(all.contains("first-secret") && all.contains("second-secret")), "{all}");
    }
    Ok(())
}
