//! Whole answers, errors and parameters, as OpenAI's SDKs check them.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::talk::{BOTH, agent, ask_of, error, message, two_agents, with};
use super::{CHAT, chat, last_request};

#[tokio::test]
async fn a_whole_answer_has_every_field() -> Result<()> {
    let (_server, client, _vendor) = two_agents().await?;
    for name in BOTH {
        let answer = chat(&client, name, &ask_of(name, "Hi. [[say:Hello.]]", json!({}))).await?.ok()?;
        ensure!(answer["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")));
        ensure!(answer["object"] == "chat.completion" && answer["model"] == name);
        ensure!(answer["created"].as_i64() > Some(1_700_000_000));
        let choices = answer["choices"].as_array().cloned().unwrap_or_default();
        ensure!(choices.len() == 1 && choices[0]["logprobs"].is_null() && choices[0]["finish_reason"] == "stop");
        let message = json!({"role": "assistant", "content": "Hello.", "refusal": null, "annotations": []});
        ensure!(choices[0]["message"] == message, "{answer}");
        let usage = &answer["usage"];
        let number = |field: &str| usage[field].as_u64().unwrap_or_default();
        ensure!(number("prompt_tokens") > 0 && number("completion_tokens") > 0, "{usage}");
        ensure!(number("total_tokens") == number("prompt_tokens") + number("completion_tokens"), "{usage}");
        ensure!(usage["prompt_tokens_details"]["cached_tokens"] == 0);
        ensure!(usage["completion_tokens_details"]["reasoning_tokens"] == 0);
    }
    Ok(())
}

#[tokio::test]
async fn parameters_hold_for_one_run_and_are_never_the_agents() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let wanted = json!({
        "temperature": 0.25, "top_p": 0.5, "max_completion_tokens": 321, "seed": 7, "presence_penalty": 0.5,
        "frequency_penalty": -0.5, "logit_bias": {"50256": -100}, "verbosity": "low",
    });
    for name in BOTH {
        let before = agent(&client, name).await?;
        chat(&client, name, &ask_of(name, "Hi.", wanted.clone())).await?.ok()?;
        let request = last_request(&vendor)?;
        for (field, value) in wanted.as_object().into_iter().flatten() {
            ensure!(request[field] == *value, "{field}: {} is not {value}", request[field]);
        }
        chat(&client, name, &ask_of(name, "Hi.", json!({"max_tokens": 99}))).await?.ok()?;
        let request = last_request(&vendor)?;
        ensure!(
            request["max_completion_tokens"] == 99 && request.get("temperature") != Some(&json!(0.25)),
            "{request}"
        );
        ensure!(request.get("seed").is_none() && request.get("top_p").is_none(), "{request}");
        let mut after = agent(&client, name).await?;
        // Its last run is all that changed.
        for field in ["last_run_completion", "last_run_duration_ms", "last_stop_reason", "updated_at", "message_ids"] {
            after[field] = before[field].clone();
        }
        ensure!(after == before, "{after}\n{before}");
    }
    chat(&client, "stop", &ask_of("ada", "Hi.", json!({"stop": ["END", "STOP"]}))).await?.ok()?;
    ensure!(last_request(&vendor)?["stop"] == json!(["END", "STOP"]));
    Ok(())
}

#[tokio::test]
async fn what_an_agent_can_not_do_is_refused_by_name() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for (more, param, code) in [
        (json!({"n": 2}), "n", "unsupported_value"),
        (json!({"n": 0}), "n", "unsupported_value"),
        (json!({"logprobs": true}), "logprobs", "unsupported_parameter"),
        (json!({"top_logprobs": 3}), "top_logprobs", "unsupported_parameter"),
        (json!({"audio": {"voice": "x"}}), "audio", "unsupported_parameter"),
        (json!({"modalities": ["text", "audio"]}), "modalities", "unsupported_parameter"),
        (json!({"web_search_options": {}}), "web_search_options", "unsupported_parameter"),
        (json!({"temperature": 3}), "temperature", "invalid_value"),
        (json!({"temperature": "hot"}), "temperature", "invalid_type"),
        (json!({"top_p": -1}), "top_p", "invalid_value"),
        (json!({"max_tokens": 0}), "max_tokens", "invalid_value"),
        (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop", "invalid_value"),
        (json!({"stop": "END"}), "stop", "unsupported_parameter"),
        (json!({"seed": "x"}), "seed", "invalid_type"),
        (json!({"reasoning_effort": "huge"}), "reasoning_effort", "invalid_value"),
        (json!({"stream": "yes"}), "stream", "invalid_type"),
        (json!({"messages": []}), "messages", "invalid_value"),
        (json!({"messages": [{"role": "robot", "content": "x"}]}), "messages", "invalid_value"),
        (json!({"user": "x".repeat(600)}), "user", "string_above_max_length"),
        (json!({"metadata": {"session_id": "x".repeat(600)}}), "metadata", "invalid_value"),
        (json!({"metadata": {"session_id": 7}}), "metadata", "invalid_value"),
        (json!({"response_format": {"type": "xml"}}), "response_format", "invalid_value"),
        (json!({"response_format": {"type": "json_schema"}}), "response_format", "invalid_value"),
    ] {
        let reply = chat(&client, "s", &with(ask_of("sam", "Hi.", json!({})), more.clone())).await?;
        let (status, error) = error(&reply)?;
        ensure!(status == 400 && error["param"] == param && error["code"] == code, "{error} for {more}");
        ensure!(error["type"] == "invalid_request_error" && reply.header("x-should-retry") == Some("false"));
        ensure!(error["message"].as_str().unwrap_or_default().contains(param), "{error}");
    }
    ensure!(vendor.requests().is_empty());
    // Wishes that change nothing are taken.
    let harmless = json!({"n": 1, "logprobs": false, "modalities": ["text"], "service_tier": "auto", "unknown": 1});
    message(&chat(&client, "s", &ask_of("sam", "Hi.", harmless)).await?)?;
    Ok(())
}

#[tokio::test]
async fn bodies_that_are_none_get_errors_in_openais_shape() -> Result<()> {
    let (_server, client, _vendor) = two_agents().await?;
    for body in ["", "{", "[]", "null", "\"x\"", "{\"model\": 3}", "{\"model\": \"ada\"}"] {
        let reply = client.send_bytes(http::Method::POST, CHAT, Some(body.into())).await?;
        let (status, error) = error(&reply)?;
        ensure!(status == 400 && error["type"] == "invalid_request_error", "{error} for {body}");
    }
    let (status, error) = error(&client.post(CHAT, &ask_of("nobody", "Hi.", json!({}))).await?)?;
    ensure!(status == 404 && error["code"] == "model_not_found" && error["param"] == "model", "{error}");
    let named = error["message"].as_str().unwrap_or_default();
    ensure!(named.contains("sam") && named.contains("ada"), "{named}");
    Ok(())
}

/// Neither a user's nor a tool's message to forward: an empty answer, and no model is asked.
#[tokio::test]
async fn nothing_new_is_answered_with_nothing() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let messages = json!([{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]);
    for name in BOTH {
        let body = json!({"model": name, "messages": messages});
        let (said, finish) = message(&chat(&client, name, &body).await?)?;
        ensure!(said["content"] == "" && finish == "stop", "{said}");
        let streamed = super::talk::stream(&client, name, &body).await?;
        ensure!(streamed.chunks.len() == 2 && streamed.finish()? == "stop" && streamed.is_done, "{streamed:?}");
        let only_system: Value = json!({"model": name, "messages": [{"role": "system", "content": "Be brief."}]});
        ensure!(message(&chat(&client, name, &only_system).await?)?.0["content"] == "");
    }
    ensure!(vendor.requests().is_empty());
    Ok(())
}
