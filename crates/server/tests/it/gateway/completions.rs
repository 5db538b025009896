//! `POST /v1/completions` with an agent behind it: the older dialect's shapes, in the sessions of its chats.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{ask, chat, house, last_request, texts};

const TEXT: &str = "/v1/completions";

#[tokio::test]
async fn a_prompt_is_answered_as_a_text_completion() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let body = json!({"model": "ada", "prompt": "[[say:It was a dark night.]]", "max_tokens": 16, "user": "mira"});
    let answer = client.post(TEXT, &body).await?.ok()?;
    ensure!(answer["object"] == "text_completion" && answer["model"] == "ada", "{answer}");
    ensure!(answer["id"].as_str().is_some_and(|id| id.starts_with("cmpl-")), "{answer}");
    let choice = &answer["choices"][0];
    ensure!(choice["text"] == "It was a dark night." && choice["finish_reason"] == "stop", "{answer}");
    ensure!(choice["index"] == 0 && choice.get("logprobs") == Some(&Value::Null), "{answer}");
    ensure!(answer["usage"]["total_tokens"].as_u64() > Some(0), "{answer}");
    let sent = last_request(&vendor)?;
    ensure!(sent["max_tokens"] == 16 || sent["max_completion_tokens"] == 16, "{sent}");
    Ok(())
}

#[tokio::test]
async fn a_prompt_is_streamed_after_its_echo() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    let prompt = "Once. [[say:It was a dark night.]]";
    let body = json!({
        "model": "ada", "prompt": [prompt], "echo": true, "stream": true, "stream_options": {"include_usage": true},
    });
    let events = client.post_sse(TEXT, &body).await?.rest().await?;
    ensure!(events.last().is_some_and(|event| event.data == "[DONE]"), "{events:?}");
    let chunks: Vec<Value> = events[..events.len() - 1].iter().map(|event| event.json()).collect::<Result<_>>()?;
    ensure!(chunks.iter().all(|chunk| chunk["object"] == "text_completion" && chunk["id"] == chunks[0]["id"]));
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
    ensure!(text == format!("{prompt}It was a dark night."), "{text}");
    let usage = chunks.last().context("chunks")?;
    ensure!(usage["choices"] == json!([]) && usage["usage"]["total_tokens"].as_u64() > Some(0), "{usage}");
    let finish = &chunks[chunks.len() - 2];
    ensure!(finish["choices"][0]["finish_reason"] == "stop" && finish["usage"].is_null(), "{finish}");
    Ok(())
}

#[tokio::test]
async fn prompts_and_chats_of_one_session_are_one_conversation() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "s", &ask("my cat is Mia")).await?.ok()?;
    let session = client.clone().with_header("x-session-id", "s")?;
    // The ids of "Hello world".
    session.post(TEXT, &json!({"model": "ada", "prompt": [9906, 1917]})).await?.ok()?;
    let said = texts(&last_request(&vendor)?, "user").join("\n");
    ensure!(said.contains("my cat is Mia") && said.contains("Hello world"), "{said}");
    Ok(())
}

#[tokio::test]
async fn what_an_agent_can_not_do_is_refused_by_name() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    for (field, value) in [
        ("prompt", json!(["a", "b"])),
        ("prompt", json!([[1, 999_999]])),
        ("prompt", json!("")),
        ("n", json!(2)),
        ("best_of", json!(4)),
        ("logprobs", json!(1)),
        ("suffix", json!("the end")),
        ("temperature", json!(9)),
    ] {
        let mut body = json!({"model": "ada", "prompt": "hello"});
        body[field] = value;
        let refused = client.post(TEXT, &body).await?;
        ensure!(refused.status == 400 && refused.json()?["error"]["param"] == field, "{field}: {}", refused.text());
    }
    ensure!(vendor.requests().is_empty(), "nobody asked the vendor");
    Ok(())
}
