//! The client's system text: a block of its session, written only where it changed.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{ask, ask_under, chat, content, house, last_request, texts};

/// The overlay's text as the vendor was shown it.
fn overlay(request: &Value) -> Option<String> {
    let system = texts(request, "system").into_iter().next()?;
    let (_, after) = system.split_once("<proxy_system_overlay>")?;
    Some(after.split_once("</proxy_system_overlay>")?.0.to_owned())
}

#[tokio::test]
async fn it_is_shown_stays_and_changes_in_place() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask_under("Speak like\r\na pirate\u{0}.", "hi")).await?.ok()?;
    ensure!(overlay(&last_request(&vendor)?).context("shown")?.contains("Speak like\na pirate."));
    chat(&client, "s", &ask("no system text now")).await?.ok()?;
    let second = last_request(&vendor)?;
    ensure!(overlay(&second).context("kept")?.contains("pirate"));
    // System texts are never shown as a part of the chat.
    ensure!(texts(&second, "user") == ["hi", "no system text now"]);
    chat(&client, "s", &ask_under("Speak like a poet.", "and now?")).await?.ok()?;
    let shown = overlay(&last_request(&vendor)?).context("changed")?;
    ensure!(shown.contains("poet") && !shown.contains("pirate"));
    Ok(())
}

#[tokio::test]
async fn a_long_text_gets_room_and_a_longer_one_more() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    for length in [60_000, 120_000] {
        let text = "word ".repeat(length / 5);
        chat(&client, "s", &ask_under(&text, "hi")).await?.ok()?;
        ensure!(overlay(&last_request(&vendor)?).context("shown")?.contains(text.trim()));
    }
    Ok(())
}

#[tokio::test]
async fn a_text_that_leaves_no_room_is_refused_and_nothing_is_kept() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask_under("short", "hi")).await?.ok()?;
    let reply = chat(&client, "s", &ask_under(&"many words ".repeat(200_000), "hi")).await?;
    let error = reply.json()?["error"].clone();
    ensure!(reply.status == 400 && error["code"] == "context_length_exceeded", "{error}");
    chat(&client, "s", &ask("go on")).await?.ok()?;
    ensure!(overlay(&last_request(&vendor)?).context("the old one")?.contains("short"));
    Ok(())
}

#[tokio::test]
async fn several_system_messages_are_one_text_wherever_they_stand() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let body = json!({"model": "ada", "messages": [
        {"role": "system", "content": "first"}, {"role": "user", "content": "hi"},
        {"role": "developer", "content": [{"type": "text", "text": "second"}]}]});
    chat(&client, "s", &body).await?.ok()?;
    ensure!(overlay(&last_request(&vendor)?).context("shown")?.contains("first\n\nsecond"));
    Ok(())
}

/// What can't be stored is sent once, and the client notices nothing.
#[tokio::test]
async fn a_store_that_refuses_the_block_makes_it_a_preface() -> Result<()> {
    let (mut server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("before")).await?.ok()?;
    server.stop().await?;
    let database = rusqlite::Connection::open(server.data_dir().join("librarian.db"))?;
    database.execute_batch(
        "create trigger no_overlay before insert on block when new.label = 'proxy_system_overlay' \
         begin select raise(abort, 'refused by the test'); end;",
    )?;
    drop(database);
    server.restart().await?;
    let client = server.client()?;
    ensure!(!content(&chat(&client, "s", &ask_under("Speak like a pirate.", "hi")).await?)?.is_empty());
    let prefaced = |request: &Value| {
        let all = request["messages"].as_array().cloned().unwrap_or_default();
        all.iter().skip(1).filter(|message| message.to_string().contains("Speak like a pirate.")).count()
    };
    ensure!(prefaced(&last_request(&vendor)?) == 1 && overlay(&last_request(&vendor)?).is_none());
    chat(&client, "s", &ask_under("Speak like a pirate.", "again")).await?.ok()?;
    ensure!(prefaced(&last_request(&vendor)?) == 1, "the preface was sent again");
    ensure!(server.stderr().contains("could not be stored"));
    Ok(())
}
