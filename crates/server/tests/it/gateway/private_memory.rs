//! What people tell an agent under one prompt, whatever names them and whatever the agent does with it.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor};

use super::{CHAT, house, last_request, texts};
use crate::house::VENDOR_MODEL;

/// How a client names a person.
#[derive(Clone, Copy)]
enum By {
    User,
    SafetyIdentifier,
    OpenWebUi,
}

/// A request of `person` to `agent`, under the prompt that everybody has.
async fn say(client: &Client, (agent, by, person): (&str, By, &str), text: &str) -> Result<()> {
    let mut client = client.clone();
    let mut body = json!({"model": agent, "messages": [
        {"role": "system", "content": "Be kind to everybody."}, {"role": "user", "content": text}]});
    match by {
        By::User => body["user"] = json!(person),
        By::SafetyIdentifier => body["safety_identifier"] = json!(person),
        By::OpenWebUi => client = client.with_header("x-openwebui-user-id", person)?,
    }
    client.post(CHAT, &body).await?.ok()?;
    Ok(())
}

/// No request holds words of two of these people.
fn check_apart(vendor: &FakeVendor, people: &[&str]) -> Result<()> {
    let mut seen = vec![0; people.len()];
    for request in vendor.requests() {
        let all = request.body.to_string();
        let told: Vec<usize> =
            (0..people.len()).filter(|who| all.contains(&format!("{}-told", people[*who]))).collect();
        ensure!(told.len() < 2, "a request holds words of several people: {all}");
        told.into_iter().for_each(|who| seen[who] += 1);
    }
    ensure!(seen.iter().all(|count| *count > 0), "{seen:?}");
    Ok(())
}

#[tokio::test]
async fn a_hundred_interleaved_requests_of_two_people_hold_nothing_of_each_other() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let all = [By::User, By::SafetyIdentifier, By::OpenWebUi];
    let text = |person: &str, number: usize| match number % 3 {
        0 => format!("I say {person}-told-{number}."),
        1 => {
            let insert = json!({"label": "human", "new_str": format!("{person}-told-{number}")});
            format!("Keep it. [[tool:memory_insert {insert}]][[say:kept]]")
        }
        _ => format!(
            "Look. [[tool:conversation_search {}]][[say:looked]]",
            json!({"query": "what was told", "limit": 50})
        ),
    };
    for number in 0..100 {
        for person in ["alice", "bob"] {
            say(&client, ("ada", all[number % 3], person), &text(person, number)).await?;
        }
    }
    let mut at_once = tokio::task::JoinSet::new();
    for (number, person) in (100..130).flat_map(|number| ["alice", "bob"].map(|person| (number, person))) {
        let (client, text) = (client.clone(), text(person, number));
        at_once.spawn(async move { say(&client, ("ada", By::User, person), &text).await });
    }
    while let Some(said) = at_once.join_next().await {
        said??;
    }
    check_apart(&vendor, &["alice", "bob"])?;
    // Their searches and blocks do hold what they said themselves, whichever field named them.
    let last = vendor.requests();
    let of_alice = last.iter().rev().find(|request| request.body.to_string().contains("alice-told"));
    let system = texts(&of_alice.context("alice spoke")?.body, "system").join(" ");
    ensure!((1..100).step_by(3).all(|number| system.contains(&format!("alice-told-{number}"))), "{system}");
    let found = last.iter().flat_map(|request| texts(&request.body, "tool")).any(|text| text.contains("alice-told-0"));
    ensure!(found, "alice's own search finds what she said");
    Ok(())
}

#[tokio::test]
async fn an_agent_of_the_first_generation_keeps_people_apart_too() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let blocks = json!([{"label": "human", "value": "Nobody yet."}, {"label": "persona", "value": "Kind."}]);
    let agent = json!({"name": "eva", "agent_type": "memgpt_agent", "model": VENDOR_MODEL, "memory_blocks": blocks});
    client.post("/v1/agents/", &agent).await?.ok()?;
    for person in ["alice", "bob"] {
        let append = json!({"label": "human", "content": format!("{person}-told-this")});
        say(&client, ("eva", By::User, person), &format!("[[tool:core_memory_append {append}]][[say:ok]]")).await?;
        let (old, new) = (format!("{person}-told-this"), format!("{person}-told-that"));
        let replace = json!({"label": "human", "old_content": old, "new_content": new});
        say(&client, ("eva", By::User, person), &format!("[[tool:core_memory_replace {replace}]][[say:ok]]")).await?;
        let search = json!({"query": "told"});
        say(&client, ("eva", By::User, person), &format!("[[tool:conversation_search {search}]][[say:ok]]")).await?;
    }
    check_apart(&vendor, &["alice", "bob"])?;
    let system = texts(&last_request(&vendor)?, "system").join(" ");
    ensure!(system.contains("bob-told-that") && !system.contains("bob-told-this"), "{system}");
    // The agent's own block is nobody's, and stays what it was.
    let agents = client.get("/v1/agents/?name=eva").await?.ok()?;
    let own = agents[0]["memory"]["blocks"].as_array().context("blocks")?.clone();
    let human: Vec<&Value> = own.iter().filter(|block| block["label"] == "human").collect();
    ensure!(human.len() == 1 && human[0]["value"] == "Nobody yet.", "{own:?}");
    Ok(())
}

/// What an agent knows of its owner stands behind each person's own block, and does not come out when that goes.
#[tokio::test]
async fn a_person_without_a_block_is_not_shown_the_owners() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let blocks = json!([{"label": "human", "value": "owner-told-this"}, {"label": "persona", "value": "Kind."}]);
    let agent = json!({"name": "eva", "model": VENDOR_MODEL, "memory_blocks": blocks, "tools": ["memory"]});
    client.post("/v1/agents/", &agent).await?.ok()?;
    let delete = json!({"command": "delete", "path": "/memories/human"});
    let rename = json!({"command": "rename", "old_path": "/memories/human", "new_path": "/memories/me"});
    for (person, command) in [("alice", delete), ("bob", rename)] {
        for text in [format!("Forget. [[tool:memory {command}]][[say:gone]]"), "And now?".to_owned()] {
            say(&client, ("eva", By::User, person), &text).await?;
        }
        ensure!(texts(&last_request(&vendor)?, "system").join(" ").contains("Kind."));
        let done = vendor.requests().iter().flat_map(|request| texts(&request.body, "tool")).collect::<Vec<_>>();
        ensure!(done.iter().any(|text| text.contains("uccess") || text.contains("OK")), "{done:?}");
    }
    let told = |word: &str| vendor.requests().iter().any(|request| request.body.to_string().contains(word));
    ensure!(!told("owner-told-this"), "a person was shown the owner's block");
    // A block that is made anew is the person's own again.
    let create = json!({"command": "create", "path": "/memories/human", "file_text": "alice-told-this"});
    for (person, text) in
        [("alice", format!("Keep. [[tool:memory {create}]][[say:kept]]")), ("alice", "So?".to_owned())]
    {
        say(&client, ("eva", By::User, person), &text).await?;
    }
    ensure!(texts(&last_request(&vendor)?, "system").join(" ").contains("alice-told-this"));
    say(&client, ("eva", By::User, "bob"), "And I?").await?;
    ensure!(!last_request(&vendor)?.to_string().contains("alice-told-this"));
    ensure!(!told("owner-told-this"));
    Ok(())
}

/// Archives and the agent's other blocks belong to the agent: whatever it writes there, everybody who talks to it may
/// be told. That is the line that docs/gateway.md draws, and this test holds it.
#[tokio::test]
async fn archives_and_the_agents_other_blocks_are_shared() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let insert = json!({"content": "The library opens at nine."});
    say(&client, ("ada", By::User, "alice"), &format!("[[tool:archival_memory_insert {insert}]][[say:ok]]")).await?;
    let persona = json!({"label": "persona", "new_str": "Likes tea."});
    say(&client, ("ada", By::User, "alice"), &format!("[[tool:memory_insert {persona}]][[say:ok]]")).await?;
    let search = json!({"query": "library"});
    say(&client, ("ada", By::User, "bob"), &format!("[[tool:archival_memory_search {search}]][[say:ok]]")).await?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "tool").join(" ").contains("opens at nine"), "{request}");
    ensure!(texts(&request, "system").join(" ").contains("Likes tea."), "{request}");
    Ok(())
}

#[tokio::test]
async fn letta_clients_see_the_agents_own_memory_and_not_that_of_people() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let insert = json!({"label": "human", "new_str": "alice-told-this"});
    say(&client, ("ada", By::User, "alice"), &format!("[[tool:memory_insert {insert}]][[say:ok]]")).await?;
    let agent = client.get("/v1/agents/?name=ada").await?.ok()?[0].clone();
    ensure!(!agent["memory"].to_string().contains("alice-told-this"), "{agent}");
    let id = agent["id"].as_str().context("an id")?;
    crate::house::say(&client, id, "hello").await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("alice-told-this"));
    Ok(())
}

#[tokio::test]
async fn a_request_of_which_nothing_is_kept_shows_a_stranger_nothing() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let insert = json!({"label": "human", "new_str": "alice-told-this"});
    say(&client, ("ada", By::User, "alice"), &format!("[[tool:memory_insert {insert}]][[say:ok]]")).await?;
    for (person, sees) in [("bob", false), ("alice", true)] {
        let body = json!({"model": "ada", "user": person, "store": false, "messages": [
            {"role": "system", "content": "Be kind to everybody."}, {"role": "user", "content": "hello"}]});
        client.post(CHAT, &body).await?.ok()?;
        let shown = last_request(&vendor)?.to_string().contains("alice-told-this");
        ensure!(shown == sees, "{person}");
    }
    Ok(())
}
