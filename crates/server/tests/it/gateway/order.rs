//! Requests of one session wait for each other; sessions of one agent don't.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, Gate, HttpReply, VendorReply};
use tokio::task::JoinHandle;

use super::{ask, ask_under, chat, content, house, last_request, texts};
use crate::house::{VENDOR_MODEL, create_agent};

/// Sends without waiting for the answer.
#[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
fn aside(client: &Client, session: &str, body: Value) -> JoinHandle<Result<HttpReply>> {
    let (client, session) = (client.clone(), session.to_owned());
    tokio::spawn(async move { chat(&client, &session, &body).await })
}

/// Holds back the answer to whoever says `word`.
fn hold(vendor: &FakeVendor, word: &'static str) -> Gate {
    let gate = Gate::new();
    let held = gate.clone();
    vendor.answer_with(move |body| {
        let newest = texts(body, "user").pop().unwrap_or_default();
        (newest == word).then(|| VendorReply::say("at last").held_by(&held))
    });
    gate
}

#[tokio::test]
async fn requests_of_one_session_wait_in_order_and_others_do_not() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let gate = hold(&vendor, "first");
    let first = aside(&client, "one", ask("first"));
    gate.reached().await;
    // The second waits behind the first; another session of the same agent does not.
    let second = aside(&client, "one", ask("second"));
    for number in 0..3 {
        chat(&client, "two", &ask(&format!("elsewhere {number}"))).await?.ok()?;
    }
    ensure!(!first.is_finished() && !second.is_finished());
    ensure!(vendor.requests().iter().all(|request| !request.body.to_string().contains("second")));
    gate.release();
    ensure!(content(&first.await??)? == "at last");
    second.await??.ok()?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == ["first", "second"] && texts(&request, "assistant") == ["at last"], "{request}");
    Ok(())
}

#[tokio::test]
async fn a_changed_prompt_waits_for_the_request_before_it() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let gate = hold(&vendor, "first");
    let first = aside(&client, "one", ask_under("PROMPT-OLD", "first"));
    gate.reached().await;
    let second = aside(&client, "one", ask_under("PROMPT-NEW", "second"));
    chat(&client, "two", &ask("elsewhere")).await?.ok()?;
    gate.release();
    first.await??.ok()?;
    second.await??.ok()?;
    for request in vendor.requests() {
        let all = request.body.to_string();
        match texts(&request.body, "user").pop().as_deref() {
            Some("first") => ensure!(all.contains("PROMPT-OLD") && !all.contains("PROMPT-NEW")),
            Some("second") => ensure!(all.contains("PROMPT-NEW") && !all.contains("PROMPT-OLD")),
            _ => ensure!(!all.contains("PROMPT-")),
        }
    }
    Ok(())
}

#[tokio::test]
async fn one_name_means_another_session_with_each_agent() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    create_agent(&client, "bob", VENDOR_MODEL).await?;
    chat(&client, "s", &ask_under("PROMPT-ADA", "said to ada")).await?.ok()?;
    let to_bob = json!({"model": "bob", "messages": [{"role": "user", "content": "said to bob"}]});
    chat(&client, "s", &to_bob).await?.ok()?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == ["said to bob"] && !request.to_string().contains("PROMPT-ADA"), "{request}");
    Ok(())
}

#[tokio::test]
async fn what_bounds_memory_forgets_nothing_that_was_said() -> Result<()> {
    let config = "[gateway]\nsession_capacity = 2\ndebug_sessions = true\n";
    let (_server, client, vendor) = house(config).await?;
    for number in 0..6 {
        chat(&client, &format!("s{number}"), &ask_under(&format!("PROMPT-{number}."), "hi")).await?.ok()?;
    }
    let seen = client.get("/debug/sessions").await?.ok()?;
    ensure!(seen["in_memory"] == 2 && seen["sessions"].as_array().is_some_and(|all| all.len() == 6), "{seen}");
    for number in 0..6 {
        chat(&client, &format!("s{number}"), &ask("again")).await?.ok()?;
        let request = last_request(&vendor)?;
        ensure!(texts(&request, "user") == ["hi", "again"]);
        ensure!(texts(&request, "system")[0].contains(&format!("PROMPT-{number}.")));
    }
    Ok(())
}

#[tokio::test]
async fn many_first_requests_at_once_make_one_session() -> Result<()> {
    let (_server, client, vendor) = house("[gateway]\ndebug_sessions = true\n").await?;
    let sent: Vec<_> =
        (0..40).map(|number| aside(&client, "new", ask_under("PROMPT", &format!("n{number}")))).collect();
    for answer in sent {
        answer.await??.ok()?;
    }
    let seen = client.get("/debug/sessions").await?.ok()?;
    ensure!(seen["sessions"].as_array().context("a list")?.len() == 1, "{seen}");
    let mut said = texts(&last_request(&vendor)?, "user");
    said.sort();
    said.dedup();
    ensure!(said.len() == 40);
    Ok(())
}
