//! Of a client's whole history, only what is new goes on: results of its tools, and what the user says now.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::Client;

use super::{CHAT, ask, ask_after, chat, content, house, last_request, texts};

/// A client's tool.
fn tools() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!([{"type": "function", "function": {"name": "get_weather", "description": "Weather.", "parameters": parameters}}])
}

/// Asks for the weather, and gives the messages with the answer's call.
async fn call(client: &Client, text: &str) -> Result<(Vec<Value>, Value)> {
    let mut messages = vec![json!({"role": "user", "content": text})];
    let body = json!({"model": "ada", "messages": messages, "tools": tools()});
    let answer = chat(client, "s", &body).await?.ok()?["choices"][0].clone();
    ensure!(answer["finish_reason"] == "tool_calls", "{answer}");
    messages.push(answer["message"].clone());
    Ok((messages, answer["message"]["tool_calls"][0]["id"].clone()))
}

const WEATHER: &str = "Weather? [[tool:get_weather {\"city\": \"Oslo\"}]][[say:4 degrees]]";

#[tokio::test]
async fn a_result_goes_on_and_the_question_is_not_asked_twice() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let (mut messages, id) = call(&client, WEATHER).await?;
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": "4 degrees"}));
    let reply = chat(&client, "s", &json!({"model": "ada", "messages": messages, "tools": tools()})).await?;
    ensure!(content(&reply)? == "4 degrees");
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == [WEATHER] && texts(&request, "tool") == ["4 degrees"], "{request}");
    Ok(())
}

#[tokio::test]
async fn a_result_and_a_new_message_come_together() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let (mut messages, id) = call(&client, WEATHER).await?;
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": "4 degrees"}));
    messages.push(json!({"role": "user", "content": "And is that cold?"}));
    chat(&client, "s", &json!({"model": "ada", "messages": messages, "tools": tools()})).await?.ok()?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == [WEATHER, "And is that cold?"], "{request}");
    ensure!(texts(&request, "tool") == ["4 degrees"]);
    Ok(())
}

#[tokio::test]
async fn results_outside_of_the_messages_count_too() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let (messages, id) = call(&client, WEATHER).await?;
    let results = json!([{"tool_call_id": id, "result": {"degrees": 4}}]);
    let body = json!({"model": "ada", "messages": messages, "tools": tools(), "tool_results": results});
    ensure!(content(&chat(&client, "s", &body).await?)? == "4 degrees");
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user") == [WEATHER] && texts(&request, "tool") == ["{\"degrees\":4}"], "{request}");
    Ok(())
}

#[tokio::test]
async fn what_a_user_said_in_several_messages_goes_on_whole() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let both =
        json!([{"role": "user", "content": "First this."}, {"role": "user", "content": "Then that. [[say:ok]]"}]);
    chat(&client, "s", &json!({"model": "ada", "messages": both})).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user").len() == 2);
    // Words that were said before are said again where they stand behind the last answer.
    let mut body = json!({"model": "ada", "messages": both});
    let messages = body["messages"].as_array_mut().context("messages")?;
    for (role, text) in [("assistant", "ok"), ("user", "First this."), ("user", "Anew. [[say:ok]]")] {
        messages.push(json!({"role": role, "content": text}));
    }
    chat(&client, "s", &body).await?.ok()?;
    let said = texts(&last_request(&vendor)?, "user");
    ensure!(said == ["First this.", "Then that. [[say:ok]]", "First this.", "Anew. [[say:ok]]"], "{said:?}");
    Ok(())
}

#[tokio::test]
async fn a_guided_regenerate_adds_the_guidance_only() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("one [[say:first]]")).await?.ok()?;
    chat(&client, "s", &ask_after(&[("one [[say:first]]", "first")], "two [[say:second]]")).await?.ok()?;
    let mut body = ask_after(&[("one [[say:first]]", "first")], "two [[say:second]]");
    body["messages"].as_array_mut().context("messages")?.push(json!({"role": "user", "content": "Shorter."}));
    chat(&client, "s", &body).await?.ok()?;
    let said = texts(&last_request(&vendor)?, "user");
    ensure!(said == ["one [[say:first]]", "two [[say:second]]", "Shorter."], "{said:?}");
    Ok(())
}

/// aider sends its examples with every request, and so does its next start in the same folder.
#[tokio::test]
async fn examples_come_once_and_a_new_chat_with_them_sets_nothing_aside() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let examples = [("Example: be brief", "Fine."), ("The example ends.", "Fine.")];
    let send = async |past: &[(&str, &str)], text: &str| client.post(CHAT, &ask_after(past, text)).await?.ok();
    send(&examples, "My boat is called Bounty. [[say:ok]]").await?;
    let mut past = examples.to_vec();
    past.push(("My boat is called Bounty. [[say:ok]]", "ok"));
    send(&past, "Where is it? [[say:here]]").await?;
    let said = texts(&last_request(&vendor)?, "user");
    ensure!(said.len() == 4 && said.iter().filter(|text| text.starts_with("Example")).count() == 1, "{said:?}");
    // A new start.
    let search = json!({"query": "boat called"});
    send(&examples, &format!("What is it called? [[tool:conversation_search {search}]][[say:ok]]")).await?;
    let request = last_request(&vendor)?;
    let said = texts(&request, "user");
    ensure!(said.len() == 5 && said[2].starts_with("My boat"), "{said:?}");
    let told = texts(&request, "tool").join(" ");
    ensure!(told.contains("Bounty") && !told.contains("Example"), "{told}");
    Ok(())
}

#[tokio::test]
async fn a_message_whose_request_failed_comes_along_with_the_next() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("yes [[say:ok]]")).await?.ok()?;
    chat(&client, "s", &ask_after(&[("yes [[say:ok]]", "ok")], "more [[say:ok]]")).await?.ok()?;
    let past = [("yes [[say:ok]]", "ok"), ("more [[say:ok]]", "ok")];
    let mut body = ask_after(&past, "yes [[say:ok]]");
    body["messages"].as_array_mut().context("messages")?.push(json!({"role": "user", "content": "still there?"}));
    chat(&client, "s", &body).await?.ok()?;
    let said = texts(&last_request(&vendor)?, "user");
    ensure!(said == ["yes [[say:ok]]", "more [[say:ok]]", "yes [[say:ok]]", "still there?"], "{said:?}");
    Ok(())
}

#[tokio::test]
async fn a_request_that_ends_with_an_answer_has_nothing_new() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("one [[say:first]]")).await?.ok()?;
    let asked = vendor.requests().len();
    let body = json!({"model": "ada", "messages": [
        {"role": "user", "content": "one [[say:first]]"}, {"role": "assistant", "content": "fir"}]});
    let reply = chat(&client, "s", &body).await?;
    ensure!(content(&reply)?.is_empty() && reply.ok()?["choices"][0]["finish_reason"] == "stop");
    ensure!(vendor.requests().len() == asked);
    Ok(())
}
