//! Answers as streams: what comes, in which order, and how each of them ends.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Gate, VendorReply};

use super::talk::{BOTH, EACH_WAY, ask_of, error, message, stream, talkative_agent, told, two_agents};
use super::{CHAT, chat, house};

#[tokio::test]
async fn a_stream_begins_with_the_role_and_ends_with_done() -> Result<()> {
    let (_server, client, _vendor) = two_agents().await?;
    for name in BOTH {
        let streamed = stream(&client, name, &ask_of(name, "Hi. [[say:Grüße, Welt! \\o/]]", json!({}))).await?;
        let first = &streamed.chunks[0];
        ensure!(first["choices"][0]["delta"] == json!({"role": "assistant", "content": ""}), "{first}");
        ensure!(streamed.chunks.iter().filter(|it| !it["choices"][0]["delta"]["role"].is_null()).count() == 1);
        for chunk in &streamed.chunks {
            ensure!(chunk["object"] == "chat.completion.chunk" && chunk["model"] == name, "{chunk}");
            ensure!(chunk["id"] == first["id"] && chunk["created"] == first["created"], "{chunk}");
            ensure!(chunk["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")));
            ensure!(chunk.get("usage").is_none() && chunk["choices"][0]["index"] == 0, "{chunk}");
        }
        ensure!(streamed.content() == "Grüße, Welt! \\o/" && streamed.finish()? == "stop" && streamed.is_done);
        ensure!(streamed.chunks.len() > 4, "it came in pieces");
    }
    Ok(())
}

#[tokio::test]
async fn words_are_passed_on_while_the_model_still_writes() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let gate = Gate::new();
        vendor.push(VendorReply::say("The first half is out before the second half is written.").held_halfway(&gate));
        let mut reader = client.post_sse(CHAT, &ask_of(name, "Hi.", json!({"stream": true}))).await?;
        gate.reached().await;
        let mut early = String::new();
        while !early.starts_with("The first") {
            let event = reader.next().await?.context("the stream goes on")?.json()?;
            early.push_str(event["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        }
        gate.release();
        ensure!(reader.rest().await?.last().is_some_and(|event| event.data == "[DONE]"));
    }
    Ok(())
}

#[tokio::test]
async fn several_messages_of_one_run_are_joined_by_an_empty_line() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    talkative_agent(&client, "tim").await?;
    let push = || {
        let first = json!({"message": "Let me look.", "request_heartbeat": true});
        vendor.push(VendorReply::call("send_message", first));
        vendor.push(VendorReply::call("memory_insert", json!({"label": "human", "new_str": "x"})));
        vendor.push(VendorReply::say("Found it."));
    };
    push();
    let streamed = stream(&client, "streamed", &ask_of("tim", "Look.", json!({}))).await?;
    ensure!(streamed.content() == "Let me look.\n\nFound it.", "{:?}", streamed.content());
    ensure!(streamed.calls()?.is_empty() && streamed.finish()? == "stop");
    push();
    let (said, _) = message(&chat(&client, "whole", &ask_of("tim", "Look.", json!({}))).await?)?;
    ensure!(said["content"] == "Let me look.\n\nFound it.", "{said}");
    // A plain agent's words before a tool of its own are said too.
    let insert = json!({"label": "human", "new_str": "x"});
    vendor.push(VendorReply::call("memory_insert", insert).and_say("One moment."));
    vendor.push(VendorReply::say("Found it."));
    let streamed = stream(&client, "plain", &ask_of("ada", "Look.", json!({}))).await?;
    ensure!(streamed.content() == "One moment.\n\nFound it.", "{:?}", streamed.content());
    Ok(())
}

#[tokio::test]
async fn private_thoughts_and_own_tools_are_never_heard() -> Result<()> {
    let (_server, client, _vendor) = two_agents().await?;
    let (own, arguments) = ("memory_insert", json!({"label": "human", "new_str": "hidden-note"}));
    for name in BOTH {
        let text = format!("Hi. [[think:hidden-thought]][[tool:{own} {arguments}]][[say:Hello.]]");
        let streamed = stream(&client, "streamed", &ask_of(name, &text, json!({}))).await?;
        let all = format!("{streamed:?}");
        ensure!(!all.contains("hidden") && !all.contains(own) && streamed.content() == "Hello.", "{all}");
        let whole = chat(&client, "whole", &ask_of(name, &text, json!({}))).await?;
        ensure!(message(&whole)?.0["content"] == "Hello." && !whole.text().contains("hidden"), "{}", whole.text());
    }
    Ok(())
}

#[tokio::test]
async fn usage_comes_last_where_it_is_asked_for() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        vendor.push(VendorReply::say("Hello there.").total_tokens(777));
        let more = json!({"stream_options": {"include_usage": true}});
        let streamed = stream(&client, name, &ask_of(name, "Hi.", more)).await?;
        let (last, others) = streamed.chunks.split_last().context("chunks")?;
        ensure!(others.iter().all(|chunk| chunk.get("usage") == Some(&Value::Null)), "{others:?}");
        ensure!(last["choices"] == json!([]) && last["usage"]["total_tokens"] == 777, "{last}");
        let usage = &last["usage"];
        ensure!(usage["prompt_tokens"].as_u64() > Some(0) && usage["completion_tokens"].as_u64() > Some(0), "{usage}");
        ensure!(streamed.is_done && streamed.finish()? == "stop");
    }
    // A client's call has its usage too.
    vendor.push(VendorReply::call("get_weather", json!({"city": "Oslo"})));
    let more = json!({"stream_options": {"include_usage": true}, "tools": [super::talk::tool("get_weather")]});
    let streamed = stream(&client, "tool", &ask_of("ada", "Hi.", more)).await?;
    ensure!(streamed.chunks.last().is_some_and(|last| last["usage"]["total_tokens"].as_u64() > Some(0)));
    Ok(())
}

#[tokio::test]
async fn a_stream_has_the_headers_that_proxies_need() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    let reader = client.post_sse(CHAT, &ask_of("ada", "Hi.", json!({"stream": true}))).await?;
    let header = |name: &str| reader.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ensure!(header("content-type").starts_with("text/event-stream"));
    ensure!(header("cache-control") == "no-cache" && header("x-accel-buffering") == "no");
    Ok(())
}

#[tokio::test]
async fn what_fails_before_the_first_word_has_a_status() -> Result<()> {
    let (_server, client, _vendor) = two_agents().await?;
    for (name, is_streamed) in EACH_WAY {
        for (directive, status, code) in [
            ("[[error:401]]", 502, None),
            ("[[error:429]][[retry-after:60]]", 429, Some("rate_limit_exceeded")),
            ("[[error:400 context_length_exceeded]]", 400, Some("context_length_exceeded")),
            ("[[error:400 content_policy_violation]]", 400, Some("content_policy_violation")),
        ] {
            let body = ask_of(name, &format!("Hi. {directive}"), json!({"stream": is_streamed}));
            let reply = chat(&client, &format!("{name}{directive}{is_streamed}"), &body).await?;
            let (got, error) = error(&reply)?;
            ensure!(got == status && error["code"].as_str() == code, "{got} {error} for {directive}");
            ensure!(!error["message"].as_str().unwrap_or_default().is_empty());
            ensure!(status != 429 || reply.header("retry-after") == Some("60"), "{:?}", reply.headers);
            // What will fail again is not to be repeated by SDKs.
            ensure!(status == 429 || reply.header("x-should-retry") == Some("false"), "{:?}", reply.headers);
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_breaks_after_the_first_word_is_an_error_event() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        vendor.push(VendorReply::say("These words come and then the vendor is gone.").cut());
        let streamed = stream(&client, name, &ask_of(name, "Hi.", json!({}))).await?;
        let (last, said) = streamed.chunks.split_last().context("chunks")?;
        ensure!(!streamed.is_done && last["error"]["type"] == "api_error", "{last}");
        ensure!(
            said.iter().all(|chunk| chunk.get("error").is_none() && chunk["choices"][0]["finish_reason"].is_null())
        );
        ensure!(streamed.content().starts_with("These"), "{:?}", streamed.content());
        // The broken answer is no part of the session.
        let (again, _) = message(&chat(&client, name, &ask_of(name, "Hi. [[say:Now.]]", json!({}))).await?)?;
        ensure!(again["content"] == "Now.");
        ensure!(!super::last_request(&vendor)?.to_string().contains("These words"));
    }
    Ok(())
}

/// One table, for streams and whole answers alike.
#[tokio::test]
async fn each_stop_reason_has_its_finish_reason() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let say = || VendorReply::say("Some words.");
    let memory = json!({"label": "human", "new_str": "x"});
    for (name, is_streamed) in EACH_WAY {
        for (why, reply, finish) in [
            ("end of turn", say(), "stop"),
            ("max tokens", VendorReply::say("Some").verbatim().finished_as("length"), "length"),
            ("filter", VendorReply::say("").verbatim().finished_as("content_filter"), "content_filter"),
            ("filter later", say().finished_as("content_filter"), "content_filter"),
            ("words without a tool", say().verbatim(), "stop"),
            ("max steps", VendorReply::call("memory_insert", memory.clone()), "length"),
        ] {
            let session = format!("{name}{is_streamed}{why}");
            match why {
                "max steps" => (0..50).for_each(|_| vendor.push(reply.clone())),
                _ => vendor.push(reply),
            }
            let body = ask_of(name, "Hi.", json!({}));
            let (_, _, found) = told(&client, &session, &body, is_streamed).await?;
            ensure!(found == finish, "{found} for {why} of {name}");
            ensure!(vendor.remaining() == 0, "{why}");
        }
    }
    Ok(())
}
