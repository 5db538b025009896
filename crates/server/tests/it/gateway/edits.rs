//! Regenerate and edit as Open WebUI sends them: the whole history up to that place, in the chat that a header names.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::fake_vendor::{TokenRules, VendorOptions};
use testkit::{Client, FakeVendor, HttpReply, TestServer};

use super::{CHAT, ask, ask_after, last_request, texts};
use crate::house::{VENDOR_MODEL, create_agent, setup};

const KEY: &str = "an-operators-key-for-tests";

/// A server that also lets the console's door search, and the agent's id.
async fn house(vendor: &FakeVendor) -> Result<(TestServer, Client, String)> {
    let server = TestServer::start(setup().vendor(vendor).env("LIBRARIAN_API_KEY", KEY)).await?;
    let client = operator(&server)?;
    let agent = create_agent(&client, "ada", VENDOR_MODEL).await?;
    Ok((server, client, agent))
}

fn operator(server: &TestServer) -> Result<Client> {
    server.client()?.with_header("authorization", &format!("Bearer {KEY}"))
}

/// Sends as Open WebUI does.
async fn send(client: &Client, body: &Value) -> Result<HttpReply> {
    let client = client.clone().with_header("x-openwebui-chat-id", "chat-1")?;
    client.with_header("x-openwebui-user-id", "user-1")?.post(CHAT, body).await
}

/// What a search of everything that was said finds.
async fn found(client: &Client, agent: &str, query: &str, superseded: bool) -> Result<String> {
    let body = json!({"query": query, "superseded": superseded, "limit": 50});
    Ok(client.post(&format!("/console/v1/agents/{agent}/search"), &body).await?.ok()?["results"].to_string())
}

#[tokio::test]
async fn no_turn_stands_twice_in_the_context_and_all_stay_in_recall() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (mut server, client, agent) = house(&vendor).await?;
    send(&client, &ask("one [[say:first]]")).await?.ok()?;
    let past = [("one [[say:first]]", "first")];
    for _ in 0..3 {
        send(&client, &ask_after(&past, "about the otter [[say:second]]")).await?.ok()?;
        let request = last_request(&vendor)?;
        ensure!(texts(&request, "user") == ["one [[say:first]]", "about the otter [[say:second]]"], "{request}");
        ensure!(texts(&request, "assistant") == ["first"]);
    }
    send(&client, &ask_after(&past, "about the beaver [[say:third]]")).await?.ok()?;
    // A restart changes nothing.
    server.restart().await?;
    let client = operator(&server)?;
    let past = [past[0], ("about the beaver [[say:third]]", "third")];
    for _ in 0..2 {
        send(&client, &ask_after(&past, "go on [[say:fourth]]")).await?.ok()?;
        let request = last_request(&vendor)?;
        ensure!(texts(&request, "user").len() == 3 && texts(&request, "assistant") == ["first", "third"], "{request}");
    }
    // What was taken back answers no search, and is there for whoever asks for it.
    ensure!(!found(&client, &agent, "otter", false).await?.contains("about the otter"));
    let all = found(&client, &agent, "otter", true).await?;
    ensure!(all.matches("about the otter").count() == 3, "{all}");
    ensure!(found(&client, &agent, "beaver", false).await?.contains("about the beaver"));
    // So the store is as sound as it was.
    server.stop().await?;
    let sound = crate::terminal::typed(&server, &["doctor"])?;
    ensure!(sound.status.success(), "{sound:?}");
    Ok(())
}

/// A vendor whose window is soon full, and that counts for itself.
fn narrow_vendor() -> Result<FakeVendor> {
    FakeVendor::with(VendorOptions::default().counting(TokenRules { window: 8_192, count_factor: 1.0 }))
}

/// More turns than the narrow vendor's window holds: what is said, and what is answered.
fn long_turns() -> Vec<(String, String)> {
    let words = "harbour lantern garden ".repeat(120);
    let turn = |number| (format!("turn-{number}. {words} [[say:answer-{number}]]"), format!("answer-{number}"));
    (0..24).map(turn).collect()
}

/// Says one turn after the other, each with the whole history before it.
async fn say_all(client: &Client, past: &[(&str, &str)]) -> Result<()> {
    for (number, (text, _)) in past.iter().enumerate() {
        send(client, &ask_after(&past[..number], text)).await?.ok().with_context(|| number.to_string())?;
    }
    Ok(())
}

#[tokio::test]
async fn going_back_is_whole_where_the_context_was_compacted_and_the_answer_fails() -> Result<()> {
    let vendor = narrow_vendor()?;
    let (_server, client, agent) = house(&vendor).await?;
    let said = long_turns();
    let past: Vec<(&str, &str)> = said.iter().map(|(text, answer)| (text.as_str(), answer.as_str())).collect();
    say_all(&client, &past).await?;
    let edit = format!("edited turn {}", "harbour lantern garden ".repeat(900));
    let failed = send(&client, &ask_after(&past[..21], &format!("{edit}[[error:400]]"))).await?;
    ensure!(failed.status.as_u16() >= 400, "{}", failed.text());
    // The context was made shorter before the model was asked, so what came after the edit is marked as well.
    ensure!(!found(&client, &agent, "turn-22", false).await?.contains("turn-22."));
    ensure!(found(&client, &agent, "turn-22", true).await?.contains("turn-22."));
    send(&client, &ask_after(&past[..21], &format!("{edit}[[say:edited]]"))).await?.ok()?;
    let request = last_request(&vendor)?.to_string();
    ensure!(request.matches("edited turn").count() == 1 && !request.contains("answer-22"), "{request}");
    Ok(())
}

#[tokio::test]
async fn going_back_to_before_a_compaction_works() -> Result<()> {
    let vendor = narrow_vendor()?;
    let (_server, client, agent) = house(&vendor).await?;
    let said = long_turns();
    let past: Vec<(&str, &str)> = said.iter().map(|(text, answer)| (text.as_str(), answer.as_str())).collect();
    say_all(&client, &past).await?;
    let full = texts(&last_request(&vendor)?, "user");
    ensure!(!full.iter().any(|text| text.starts_with("turn-2.")), "the early turns have left the context");
    // An edit of a message that left the context long ago.
    send(&client, &ask_after(&past[..3], "edited turn [[say:edited]]")).await?.ok()?;
    let request = last_request(&vendor)?;
    let users = texts(&request, "user");
    let begins = |prefix: &str| users.iter().filter(|text| text.starts_with(prefix)).count();
    ensure!((0..3).all(|number| begins(&format!("turn-{number}.")) == 1), "{users:?}");
    ensure!(begins("turn-") == 3 && begins("edited turn") == 1, "{users:?}");
    ensure!(!request.to_string().contains("answer-5"), "what came later is gone");
    ensure!(!found(&client, &agent, "turn-20", false).await?.contains("turn-20."));
    ensure!(found(&client, &agent, "turn-20", true).await?.contains("turn-20."));
    // And it goes on from there.
    let past = [past[0], past[1], past[2], ("edited turn [[say:edited]]", "edited")];
    send(&client, &ask_after(&past, "and on")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user").len() == 5);
    Ok(())
}

#[tokio::test]
async fn an_edit_whose_answer_fails_changes_nothing() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client, agent) = house(&vendor).await?;
    send(&client, &ask("one [[say:first]]")).await?.ok()?;
    let past = [("one [[say:first]]", "first")];
    send(&client, &ask_after(&past, "about the otter [[say:second]]")).await?.ok()?;
    let failed = send(&client, &ask_after(&past, "about the beaver [[error:400]]")).await?;
    ensure!(failed.status.as_u16() >= 400, "{}", failed.text());
    ensure!(found(&client, &agent, "otter", false).await?.contains("about the otter"));
    let past = [past[0], ("about the otter [[say:second]]", "second")];
    send(&client, &ask_after(&past, "go on")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "assistant") == ["first", "second"]);
    Ok(())
}

#[tokio::test]
async fn a_regenerated_answer_with_tool_calls_takes_its_calls_along() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let (_server, client, _) = house(&vendor).await?;
    send(&client, &ask("one [[say:first]]")).await?.ok()?;
    let search = json!({"query": "one"});
    let text = format!("look [[tool:conversation_search {search}]][[say:looked]]");
    for _ in 0..2 {
        send(&client, &ask_after(&[("one [[say:first]]", "first")], &text)).await?.ok()?;
        // The search of the answer before is gone with it.
        ensure!(texts(&last_request(&vendor)?, "tool").len() == 1);
    }
    Ok(())
}
