//! Images that users show: to models that see, as they were sent, and to nobody else.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, TestServer, VendorOptions, VendorReply};

use super::{chat, content, house, last_request, texts};
use crate::house::{VENDOR_MODEL, setup};

const ADDRESS: &str = "https://example.com/cat.png";
/// One pixel.
const PIXEL: &str = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";
const BLIND: &str = "openai/gpt-3.5-turbo";

fn image(url: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": url}})
}

/// What a user says with images, with a history before it.
fn show(agent: &str, past: &[Value], text: &str, images: &[Value]) -> Value {
    let mut messages = past.to_vec();
    messages.push(said(text, images));
    json!({"model": agent, "messages": messages})
}

fn said(text: &str, images: &[Value]) -> Value {
    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let parts: Vec<Value> = text.into_iter().chain(images.iter().cloned()).collect();
    json!({"role": "user", "content": parts})
}

fn answered(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// The contents of the user messages in the vendor's last request.
fn shown(vendor: &FakeVendor) -> Result<Vec<Value>> {
    let request = last_request(vendor)?;
    let messages = request["messages"].as_array().context("messages")?.clone();
    // An agent of the old kind begins with a login that nobody said.
    let is_login = |content: &Value| content.as_str().is_some_and(|text| text.contains("\"type\": \"login\""));
    let users =
        messages.into_iter().filter(|message| message["role"] == "user").map(|message| message["content"].clone());
    Ok(users.filter(|content| !is_login(content)).collect())
}

async fn create(client: &Client, name: &str, kind: &str, model: &str) -> Result<()> {
    let agent = json!({"name": name, "agent_type": kind, "model": model, "memory_blocks": []});
    client.post("/v1/agents/", &agent).await?.ok()?;
    Ok(())
}

/// A server whose vendor has a model that does not see, and the agents `blind` on it and `guide` on the built-in one.
async fn blind_house() -> Result<(TestServer, Client, FakeVendor)> {
    let mut options = VendorOptions::default();
    options.models[2].id = "gpt-3.5-turbo".to_owned();
    let vendor = FakeVendor::with(options)?;
    let server = TestServer::start(setup().vendor(&vendor)).await?;
    let client = server.client()?;
    create(&client, "blind", "letta_v1_agent", BLIND).await?;
    create(&client, "guide", "memgpt_v2_agent", "builtin/guide").await?;
    Ok((server, client, vendor))
}

/// Rows of the store's messages.
async fn stored(server: &mut TestServer) -> Result<i64> {
    server.stop().await?;
    let database = rusqlite::Connection::open(server.data_dir().join("librarian.db"))?;
    let count = database.query_row("select count(*) from message", [], |row| row.get(0))?;
    drop(database);
    server.restart().await?;
    Ok(count)
}

#[tokio::test]
async fn they_reach_the_vendor_as_sent_and_stay_over_a_restart() -> Result<()> {
    let (mut server, client, vendor) = house("").await?;
    create(&client, "v2", "memgpt_v2_agent", VENDOR_MODEL).await?;
    create(&client, "v3", "letta_v1_agent", VENDOR_MODEL).await?;
    let close = json!({"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}});
    let first = said("What is it? [[say:a cat]]", &[image(ADDRESS), close.clone()]);
    for agent in ["v2", "v3"] {
        let body = json!({"model": agent, "messages": [first]});
        ensure!(content(&chat(&client, agent, &body).await?)? == "a cat");
        ensure!(shown(&vendor)? == [first["content"].clone()], "{agent}: {:?}", shown(&vendor)?);
        // An image needs no words.
        chat(&client, agent, &show(agent, &[], "", &[image(ADDRESS)])).await?.ok()?;
        ensure!(shown(&vendor)?.last() == Some(&json!([image(ADDRESS)])), "{:?}", shown(&vendor)?);
    }
    server.stop().await?;
    server.restart().await?;
    let client = server.client()?;
    for agent in ["v2", "v3"] {
        chat(&client, agent, &show(agent, &[], "And now? [[say:still]]", &[])).await?.ok()?;
        let shown = shown(&vendor)?;
        ensure!(shown[0] == first["content"] && shown[1] == json!([image(ADDRESS)]), "{agent}: {shown:?}");
        ensure!(shown[2] == "And now? [[say:still]]", "what has no image is a plain text: {shown:?}");
    }
    Ok(())
}

#[tokio::test]
async fn another_image_with_the_same_words_is_another_message() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let words = "What is it? [[say:a cat]]";
    let begin = [json!({"role": "user", "content": "hi [[say:hello]]"}), answered("hello")];
    chat(&client, "s", &json!({"model": "ada", "messages": [begin[0]]})).await?.ok()?;
    chat(&client, "s", &show("ada", &begin, words, &[image(ADDRESS)])).await?.ok()?;
    ensure!(shown(&vendor)?.len() == 2);
    // A follow-up brings the image again, and it is the same message.
    let past = [begin[0].clone(), begin[1].clone(), said(words, &[image(ADDRESS)]), answered("a cat")];
    chat(&client, "s", &show("ada", &past, "more [[say:more]]", &[])).await?.ok()?;
    ensure!(shown(&vendor)?.len() == 3, "{:?}", shown(&vendor)?);
    // Another image in its place is an edit: the context goes back to before the first.
    chat(&client, "s", &show("ada", &begin, words, &[image(PIXEL)])).await?.ok()?;
    let shown = shown(&vendor)?;
    ensure!(shown.len() == 2 && shown[1][1] == image(PIXEL), "{shown:?}");
    Ok(())
}

/// Users' messages before the newest one are taken where the session has not heard them yet.
#[tokio::test]
async fn what_was_heard_is_told_by_its_image() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let (one, other) = (said("This.", &[image(ADDRESS)]), said("This.", &[image(PIXEL)]));
    chat(&client, "s", &json!({"model": "ada", "messages": [one]})).await?.ok()?;
    chat(&client, "s", &show("ada", std::slice::from_ref(&other), "Which? [[say:both]]", &[])).await?.ok()?;
    ensure!(shown(&vendor)?.len() == 3, "the other image was not heard: {:?}", shown(&vendor)?);
    chat(&client, "s", &show("ada", &[one, other], "Again. [[say:both]]", &[])).await?.ok()?;
    ensure!(shown(&vendor)?.len() == 4, "both were heard before: {:?}", shown(&vendor)?);
    Ok(())
}

#[tokio::test]
async fn a_model_that_does_not_see_refuses_them_and_nothing_is_kept() -> Result<()> {
    let (mut server, _, vendor) = blind_house().await?;
    let before = stored(&mut server).await?;
    let client = server.client()?;
    for (agent, model) in [("blind", BLIND), ("guide", "builtin/guide")] {
        for (stream, ephemeral) in [(false, false), (true, false), (false, true)] {
            let mut body = show(agent, &[], "See", &[image(ADDRESS)]);
            body["stream"] = stream.into();
            body["store"] = (!ephemeral).into();
            body["messages"].as_array_mut().context("messages")?.insert(0, json!({"role": "system", "content": "S"}));
            let reply = chat(&client, agent, &body).await?;
            let error = reply.json()?["error"].clone();
            ensure!(reply.status == 400 && error["code"] == "unsupported_value", "{error}");
            ensure!(error["message"].as_str().is_some_and(|text| text.contains(model)), "{error}");
        }
        let agent = &client.get(&format!("/v1/agents/?name={agent}")).await?.ok()?[0]["id"];
        let path = format!("/v1/agents/{}/messages", agent.as_str().context("an id")?);
        let source = json!({"type": "url", "url": ADDRESS});
        let body = json!({"input": [{"type": "image", "source": source}]});
        let reply = client.post(&path, &body).await?;
        ensure!((400..500).contains(&reply.status.as_u16()) && reply.text().contains(model), "{}", reply.text());
    }
    ensure!(vendor.requests().is_empty());
    ensure!(stored(&mut server).await? == before);
    Ok(())
}

#[tokio::test]
async fn earlier_images_are_marks_for_a_model_that_does_not_see() -> Result<()> {
    let (_server, client, vendor) = blind_house().await?;
    let past = [said("My cat", &[image(ADDRESS)]), answered("Nice.")];
    chat(&client, "s", &show("blind", &past, "Thanks. [[say:ok]]", &[])).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user") == ["My cat\n[image]", "Thanks. [[say:ok]]"]);
    Ok(())
}

/// A vendor that can no longer fetch an image refuses every request that holds its address.
#[tokio::test]
async fn an_image_that_is_gone_does_not_end_the_conversation() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &show("ada", &[], "See [[say:seen]]", &[image(ADDRESS)])).await?.ok()?;
    vendor.answer_with(|request| request.to_string().contains(ADDRESS).then(|| VendorReply::error(400)));
    let reply = chat(&client, "s", &show("ada", &[], "And now? [[say:still here]]", &[])).await?;
    ensure!(content(&reply)? == "still here");
    ensure!(texts(&last_request(&vendor)?, "user")[0] == "See [[say:seen]]\n[image]");
    // One that is refused when it is new is the client's to know about, and is not kept.
    let reply = chat(&client, "t", &show("ada", &[], "See", &[image(ADDRESS)])).await?;
    ensure!(reply.status == 502, "{}", reply.text());
    let reply = chat(&client, "t", &show("ada", &[], "No image [[say:fine]]", &[])).await?;
    ensure!(content(&reply)? == "fine" && texts(&last_request(&vendor)?, "user") == ["No image [[say:fine]]"]);
    Ok(())
}

#[tokio::test]
async fn what_is_too_much_or_no_image_is_refused() -> Result<()> {
    let (mut server, client, vendor) = house("").await?;
    let before = stored(&mut server).await?;
    drop(client);
    let client = server.client()?;
    let large = format!("data:image/png;base64,{}", "A".repeat(6 * 1024 * 1024 + 4));
    for (images, code) in [
        (vec![image(&large)], "image_too_large"),
        (vec![image(ADDRESS); 21], "array_above_max_length"),
        (vec![image("file:///etc/passwd")], "invalid_image_url"),
        (vec![json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}})], "unsupported_value"),
        (vec![json!({"type": "file", "file": {"file_id": "f"}})], "unsupported_value"),
    ] {
        let reply = chat(&client, "s", &show("ada", &[], "See", &images)).await?;
        ensure!(reply.status == 400 && reply.json()?["error"]["code"] == code, "{code}: {}", reply.text());
    }
    ensure!(vendor.requests().is_empty() && stored(&mut server).await? == before);
    Ok(())
}

#[tokio::test]
async fn letta_clients_send_and_see_them() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let agent = client.get("/v1/agents/?name=ada").await?.ok()?[0]["id"].clone();
    let path = format!("/v1/agents/{}/messages", agent.as_str().context("an id")?);
    let (_, data) = PIXEL.split_once(',').context("data")?;
    let source = json!({"type": "base64", "media_type": "image/gif", "data": data, "detail": null});
    let parts = json!([{"type": "text", "text": "See [[say:seen]]"}, {"type": "image", "source": source}]);
    client.post(&path, &json!({"messages": [{"role": "user", "content": parts}]})).await?.ok()?;
    ensure!(shown(&vendor)?.last().context("shown")?[1] == image(PIXEL));
    let listed = client.get(&format!("{path}?order=asc")).await?.ok()?;
    let all = listed.as_array().context("a list")?;
    let said = all.iter().rfind(|message| message["message_type"] == "user_message").context("what was said")?;
    ensure!(said["content"][1] == parts[1], "{said}");
    Ok(())
}
