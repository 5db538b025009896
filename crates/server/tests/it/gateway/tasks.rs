//! Requests about a chat that are no part of it: titles, tags and the like.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{ask, ask_after, chat, content, house, last_request, texts};

const TITLE: &str = "### Task:\nName this chat. [[say:A boat]]\n### Output:\nJSON\n### Chat History:\n<chat_history>\n\
                     USER: hi\n</chat_history>";

#[tokio::test]
async fn a_task_touches_neither_the_session_nor_the_memory() -> Result<()> {
    let (_server, client, vendor) = house("[gateway]\ndebug_sessions = true\n").await?;
    let insert = json!({"label": "human", "new_str": "Owns a heron."});
    chat(&client, "s", &ask(&format!("one [[tool:memory_insert {insert}]][[say:first]]"))).await?.ok()?;
    let one = texts(&last_request(&vendor)?, "user").remove(0);
    let before = client.get("/debug/sessions").await?.ok()?["sessions"].clone();
    ensure!(content(&chat(&client, "s", &ask(TITLE)).await?)? == "A boat");
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == [TITLE] && texts(&request, "system").is_empty(), "{request}");
    ensure!(request.get("tools").is_none_or(Value::is_null) && !request.to_string().contains("heron"), "{request}");
    ensure!(client.get("/debug/sessions").await?.ok()?["sessions"] == before);
    chat(&client, "s", &ask_after(&[(&one, "first")], "two")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user") == [one, "two".to_owned()]);
    Ok(())
}

#[tokio::test]
async fn what_says_that_nothing_is_to_be_kept_is_answered_from_memory_and_not_kept() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let insert = json!({"label": "human", "new_str": "Owns a heron."});
    chat(&client, "s", &ask(&format!("[[tool:memory_insert {insert}]][[say:first]]"))).await?.ok()?;
    for extra in
        [json!({"store": false}), json!({"metadata": {"ephemeral": true}}), json!({"metadata": {"ephemeral": "true"}})]
    {
        let mut body = ask("a secret [[say:aside]]");
        body.as_object_mut().context("an object")?.extend(extra.as_object().context("an object")?.clone());
        ensure!(content(&chat(&client, "s", &body).await?)? == "aside");
        ensure!(texts(&last_request(&vendor)?, "system")[0].contains("Owns a heron."));
    }
    chat(&client, "s", &ask("two")).await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("a secret"));
    Ok(())
}

#[tokio::test]
async fn a_task_waits_for_nobody() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let gate = testkit::Gate::new();
    let held = gate.clone();
    vendor.answer_with(move |body| {
        let newest = texts(body, "user").pop().unwrap_or_default();
        (newest == "slow").then(|| testkit::VendorReply::say("at last").held_by(&held))
    });
    let mut at_once = tokio::task::JoinSet::new();
    let other = client.clone();
    at_once.spawn(async move { chat(&other, "s", &ask("slow")).await?.ok() });
    gate.reached().await;
    ensure!(content(&chat(&client, "s", &ask(TITLE)).await?)? == "A boat");
    gate.release();
    at_once.join_next().await.context("it was asked")???;
    Ok(())
}
