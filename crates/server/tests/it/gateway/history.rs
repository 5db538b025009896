//! Histories that clients bring: going on, regenerating, editing, and chats from elsewhere.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{ask, ask_after, chat, house, last_request, texts};

#[tokio::test]
async fn a_whole_history_adds_only_what_is_new() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("one [[say:first]]")).await?.ok()?;
    chat(&client, "s", &ask_after(&[("one [[say:first]]", "first")], "two [[say:second]]")).await?.ok()?;
    let past = [("one [[say:first]]", "first"), ("two [[say:second]]", "second")];
    chat(&client, "s", &ask_after(&past, "three")).await?.ok()?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == ["one [[say:first]]", "two [[say:second]]", "three"]);
    ensure!(texts(&request, "assistant") == ["first", "second"]);
    Ok(())
}

#[tokio::test]
async fn regenerating_and_editing_take_the_context_back() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("one [[say:first]]")).await?.ok()?;
    let past = [("one [[say:first]]", "first")];
    let search = json!({"query": "otter"});
    chat(&client, "s", &ask_after(&past, "two about an otter [[say:draft]]")).await?.ok()?;
    // The same message again: another answer to it.
    chat(&client, "s", &ask_after(&past, "two about an otter [[say:draft]]")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user") == ["one [[say:first]]", "two about an otter [[say:draft]]"]);
    // Another message in its place.
    let edited = format!("two about a beaver [[tool:conversation_search {search}]][[say:better]]");
    chat(&client, "s", &ask_after(&past, &edited)).await?.ok()?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == ["one [[say:first]]".to_owned(), edited.clone()]);
    // What was superseded answers no search of the agent.
    ensure!(!texts(&request, "tool").join(" ").contains("two about an otter"), "{request}");
    // All of it is still there for whoever asks for all.
    let agent = client.get("/v1/agents/?name=ada").await?.ok()?[0]["id"].clone();
    ensure!(agent.is_string());
    Ok(())
}

#[tokio::test]
async fn the_same_words_again_are_a_new_message() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("yes [[say:ok]]")).await?.ok()?;
    chat(&client, "s", &ask_after(&[("yes [[say:ok]]", "ok")], "yes [[say:ok]]")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user").len() == 2);
    // A client that only sends its newest message never goes back.
    chat(&client, "s", &ask("yes [[say:ok]]")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user").len() == 3);
    Ok(())
}

#[tokio::test]
async fn a_chat_from_elsewhere_is_taken_over_once() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let past = [("My cat is Tom.", "Nice."), ("He is grey.", "I see.")];
    chat(&client, "s", &ask_after(&past, "Who is he? [[say:Tom]]")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user") == ["My cat is Tom.", "He is grey.", "Who is he? [[say:Tom]]"]);
    let all = [past[0], past[1], ("Who is he? [[say:Tom]]", "Tom")];
    chat(&client, "s", &ask_after(&all, "Thanks.")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user").len() == 4);
    ensure!(texts(&last_request(&vendor)?, "assistant") == ["Nice.", "I see.", "Tom"]);
    Ok(())
}

#[tokio::test]
async fn examples_are_context_and_no_memory() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let examples = [("Example: rename platypus", "renamed"), ("Example two", "done"), ("Example three", "ok")];
    let search = json!({"query": "platypus"});
    // No name of a chat: what stands before the first question are examples.
    let body = ask_after(&examples, &format!("Look [[tool:conversation_search {search}]][[say:none]]"));
    client.post(super::CHAT, &body).await?.ok()?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user").len() == 4);
    ensure!(texts(&request, "tool").join(" ").contains("No results"), "{:?}", texts(&request, "tool"));
    Ok(())
}

#[tokio::test]
async fn going_back_can_be_turned_off() -> Result<()> {
    let (_server, client, vendor) = house("[gateway]\nfollow_edits = false\n").await?;
    chat(&client, "s", &ask("one [[say:first]]")).await?.ok()?;
    let past = [("one [[say:first]]", "first")];
    for text in ["two [[say:a]]", "two [[say:a]]"] {
        chat(&client, "s", &ask_after(&past, text)).await?.ok()?;
    }
    ensure!(texts(&last_request(&vendor)?, "user").len() == 3);
    Ok(())
}
