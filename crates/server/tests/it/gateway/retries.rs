//! Requests that are sent again: one turn, and the same answer.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, Gate, TestServer, VendorReply};

use super::talk::{
    BOTH, aside, ask_of, error, message, pairs, result, stream, talkative_agent, tool, two_agents, with,
};
use super::{CHAT, chat, content, last_request, texts};

/// A client in `session` that names its request.
fn keyed(client: &Client, session: &str, key: &str) -> Result<Client> {
    client.clone().with_header("x-session-id", session)?.with_header("idempotency-key", key)
}

/// An SDK that sends a request for the second time.
fn again(client: &Client, session: &str) -> Result<Client> {
    client.clone().with_header("x-session-id", session)?.with_header("x-stainless-retry-count", "1")
}

/// How often the model has this text before it in the next request of the session.
async fn times_seen(client: &Client, vendor: &FakeVendor, name: &str, session: &str, text: &str) -> Result<usize> {
    chat(client, session, &ask_of(name, "And then?", json!({}))).await?.ok()?;
    Ok(texts(&last_request(vendor)?, "user").iter().filter(|said| said.contains(text)).count())
}

#[tokio::test]
async fn one_key_is_one_turn_at_the_same_time_later_and_after_a_restart() -> Result<()> {
    let (mut server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let (before, key) = (vendor.requests().len(), format!("key-{name}"));
        let gate = Gate::new();
        vendor.push(VendorReply::say("The only answer.").held_by(&gate));
        let body = ask_of(name, "Count me once.", json!({}));
        let client = keyed(&server.client()?, name, &key)?;
        let at_once = [aside(&client, &body), aside(&client, &body), aside(&client, &body)];
        gate.reached().await;
        gate.release();
        let mut answers = Vec::new();
        for sent in at_once {
            answers.extend(sent.join_all().await.into_iter().map(|reply| reply?.ok()).collect::<Result<Vec<_>>>()?);
        }
        server.restart().await?;
        answers.push(keyed(&server.client()?, name, &key)?.post(CHAT, &body).await?.ok()?);
        for answer in &mut answers {
            answer["created"] = json!(0);
        }
        ensure!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        ensure!(answers[0]["choices"][0]["message"]["content"] == "The only answer.");
        ensure!(vendor.requests().len() == before + 1);
        ensure!(times_seen(&server.client()?, &vendor, name, name, "Count me once.").await? == 1);
    }
    drop(client);
    Ok(())
}

#[tokio::test]
async fn a_stream_is_told_again_in_the_same_words() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    talkative_agent(&client, "tim").await?;
    for name in ["tim", "ada"] {
        let client = client.clone().with_header("idempotency-key", name)?;
        let first = json!({"message": "One.", "request_heartbeat": true});
        match name {
            "tim" => vendor.push(VendorReply::call("send_message", first)),
            _ => vendor
                .push(VendorReply::call("memory_insert", json!({"label": "human", "new_str": "x"})).and_say("One.")),
        }
        vendor.push(VendorReply::say("Two."));
        let body = ask_of(name, "Say two things.", json!({"stream_options": {"include_usage": true}}));
        let told = stream(&client, name, &body).await?;
        let retold = stream(&client, name, &body).await?;
        ensure!(told.content() == "One.\n\nTwo." && retold.content() == told.content(), "{retold:?}");
        ensure!(retold.is_done && retold.finish()? == "stop" && retold.chunks[0]["id"] == told.chunks[0]["id"]);
        ensure!(retold.chunks.last().map(|it| &it["usage"]) == told.chunks.last().map(|it| &it["usage"]));
        ensure!(vendor.remaining() == 0);
    }
    Ok(())
}

/// Also where the request with the other body is of another session, and while the first still runs.
#[tokio::test]
async fn one_key_for_two_requests_is_refused() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let gate = Gate::new();
    vendor.push(VendorReply::say("First.").held_by(&gate));
    let first = ask_of("ada", "First.", json!({}));
    let running = aside(&keyed(&client, "s", "k")?, &first);
    gate.reached().await;
    let others =
        [("s", ask_of("ada", "Second.", json!({}))), ("t", first.clone()), ("u", ask_of("sam", "x", json!({})))];
    let refused = async |when: &str| -> Result<()> {
        for (session, body) in &others {
            let (status, error) = error(&keyed(&client, session, "k")?.post(CHAT, body).await?)?;
            ensure!(status == 422 && error["code"] == "idempotency_key_reused", "{when} {session}: {error}");
        }
        Ok(())
    };
    refused("running").await?;
    gate.release();
    for reply in running.join_all().await {
        ensure!(content(&reply?)? == "First.");
    }
    refused("done").await?;
    ensure!(vendor.requests().len() == 1);
    // The name under another header is the same name.
    let client = client.clone().with_header("x-session-id", "s")?.with_header("x-idempotency-key", "k")?;
    ensure!(content(&client.post(CHAT, &first).await?)? == "First.");
    Ok(())
}

/// A client with a key may leave: the run goes on, and whoever asks again gets it.
#[tokio::test]
async fn a_client_that_hangs_up_finds_its_answer_when_it_asks_again() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        for is_streamed in [false, true] {
            let key = format!("{name}{is_streamed}");
            let gate = Gate::new();
            vendor.push(VendorReply::call("memory_insert", json!({"label": "human", "new_str": "noted"})));
            vendor.push(VendorReply::say("I went on alone.").held_halfway(&gate));
            let body = ask_of(name, "Go on without me.", json!({"stream": is_streamed}));
            let mut leaving = aside(&keyed(&client, &key, &key)?, &body);
            gate.reached().await;
            let hung_up = vendor.tally().hung_up;
            leaving.shutdown().await;
            let mut asking = aside(&keyed(&client, &key, &key)?, &body);
            gate.release();
            let reply = asking.join_next().await.context("one asks")???;
            ensure!(
                reply.status == 200 && reply.text().contains("went") && reply.text().contains("alone"),
                "{}",
                reply.text()
            );
            ensure!(vendor.tally().hung_up == hung_up && vendor.remaining() == 0);
            ensure!(times_seen(&client, &vendor, name, &key, "Go on without me.").await? == 1);
        }
    }
    Ok(())
}

#[tokio::test]
async fn results_of_tools_are_brought_once() -> Result<()> {
    let (mut server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let client = if name == BOTH[0] { client.clone() } else { server.client()? };
        vendor.push(VendorReply::call("get_weather", json!({"city": "Oslo"})));
        let asked = ask_of(name, "Weather?", json!({"tools": [tool("get_weather")]}));
        let call = keyed(&client, name, &format!("{name}1"))?.post(CHAT, &asked).await?;
        let called = message(&call)?.0;
        // The call itself is told again with its id.
        let told = keyed(&client, name, &format!("{name}1"))?.post(CHAT, &asked).await?;
        ensure!(message(&told)?.0 == called && message(&told)?.1 == "tool_calls");
        let id = called["tool_calls"][0]["id"].as_str().context("an id")?;
        let body = json!({"model": name, "messages": [asked["messages"][0], called, result(id, "cold")]});
        vendor.push(VendorReply::say("It is cold."));
        let before = vendor.requests().len();
        let first = keyed(&client, name, &format!("{name}2"))?.post(CHAT, &body).await?;
        server.restart().await?;
        for retry in [keyed(&server.client()?, name, &format!("{name}2"))?, again(&server.client()?, name)?] {
            ensure!(content(&retry.post(CHAT, &body).await?)? == content(&first)? && content(&first)? == "It is cold.");
        }
        ensure!(vendor.requests().len() == before + 1);
        // An SDK that repeats the question by itself gets the call again, though it was answered since.
        ensure!(message(&again(&server.client()?, name)?.post(CHAT, &asked).await?)?.0 == called);
    }
    Ok(())
}

#[tokio::test]
async fn a_request_that_brings_nothing_new_stays_so() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let messages = json!([{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]);
    let body = json!({"model": "ada", "messages": messages});
    for _ in 0..3 {
        let (said, finish) = message(&keyed(&client, "s", "nothing")?.post(CHAT, &body).await?)?;
        ensure!(said["content"] == "" && finish == "stop");
    }
    ensure!(vendor.requests().is_empty());
    Ok(())
}

#[tokio::test]
async fn what_an_sdk_repeats_by_itself_is_not_done_twice() -> Result<()> {
    let (mut server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let client = if name == BOTH[0] { client.clone() } else { server.client()? };
        let body = ask_of(name, "Remember this. [[say:I will.]]", json!({}));
        chat(&client, name, &body).await?.ok()?;
        let before = vendor.requests().len();
        ensure!(content(&again(&client, name)?.post(CHAT, &body).await?)? == "I will.");
        server.restart().await?;
        let client = server.client()?;
        ensure!(content(&again(&client, name)?.post(CHAT, &body).await?)? == "I will.");
        ensure!(vendor.requests().len() == before, "a repetition reached the model");
        // In another session, with other words, or without the header it is a new request.
        ensure!(content(&again(&client, "other")?.post(CHAT, &body).await?)? == "I will.");
        ensure!(vendor.requests().len() == before + 1);
        chat(&client, name, &body).await?.ok()?;
        ensure!(times_seen(&client, &vendor, name, name, "Remember this.").await? == 2);
        // One that names its requests has another name for another one.
        let named = keyed(&client, name, &format!("new-{name}"))?.with_header("x-stainless-retry-count", "1")?;
        let before = vendor.requests().len();
        named.post(CHAT, &body).await?.ok()?;
        ensure!(vendor.requests().len() == before + 1);
    }
    Ok(())
}

/// Whoever repeats a request, by a key or as SDKs do.
fn repeating(server: &TestServer, session: &str, is_keyed: bool) -> Result<Client> {
    let client = server.client()?;
    if is_keyed { keyed(&client, session, session) } else { again(&client, session) }
}

/// Kills the server while the model is asked for the second step.
async fn cut(server: &mut TestServer, vendor: &FakeVendor, client: &Client, body: &Value) -> Result<()> {
    let gate = Gate::new();
    vendor.push(VendorReply::say("never heard").held_by(&gate));
    let mut sent = aside(client, body);
    gate.reached().await;
    server.kill()?;
    ensure!(sent.join_next().await.context("one asks")??.is_err());
    gate.release();
    server.restart().await
}

async fn fail(vendor: &FakeVendor, client: &Client, body: &Value) -> Result<()> {
    vendor.push(VendorReply::error(401));
    let reply = client.post(CHAT, body).await?;
    ensure!(error(&reply)?.0 == 502 && reply.header("x-should-retry") == Some("false"));
    Ok(())
}

/// A run that failed after its first step is done again in its own place.
#[tokio::test]
async fn a_run_that_failed_or_was_cut_is_done_again_without_duplicates() -> Result<()> {
    let (mut server, client, vendor) = two_agents().await?;
    drop(client);
    for name in BOTH {
        for (is_keyed, is_killed) in [(true, false), (false, false), (true, true), (false, true)] {
            let session = format!("{name}{is_keyed}{is_killed}");
            let body = ask_of(name, "Do it well.", json!({}));
            let client = repeating(&server, &session, is_keyed)?;
            vendor.push(VendorReply::call("memory_insert", json!({"label": "human", "new_str": "a note"})));
            match is_killed {
                true => cut(&mut server, &vendor, &client, &body).await?,
                false => fail(&vendor, &client, &body).await?,
            }
            let client = repeating(&server, &session, is_keyed)?;
            let both = [VendorReply::say("Done well."), VendorReply::say("Done well.")];
            both.into_iter().for_each(|reply| vendor.push(reply));
            let first = content(&client.post(CHAT, &body).await?)?;
            ensure!(first == "Done well." && content(&client.post(CHAT, &body).await?)? == first);
            // The second repetition found the answer of the first.
            ensure!(vendor.remaining() == 1, "{session}");
            let seen = times_seen(&server.client()?, &vendor, name, &session, "Do it well.").await?;
            ensure!(seen == 1 && vendor.remaining() == 0, "{session}: {seen}");
            ensure!(!pairs(&last_request(&vendor)?)?.iter().any(|(called, _)| called == "memory_insert"));
        }
    }
    Ok(())
}

/// Going back to what was cut would hide what the session has said since.
#[tokio::test]
async fn a_late_repetition_of_a_cut_run_hides_nothing() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    vendor.push(VendorReply::call("memory_insert", json!({"label": "human", "new_str": "x"})));
    vendor.push(VendorReply::error(401));
    let body = ask_of("ada", "First.", json!({}));
    ensure!(keyed(&client, "s", "k")?.post(CHAT, &body).await?.status == 502);
    chat(&client, "s", &ask_of("ada", "Second. [[say:Second answer.]]", json!({}))).await?.ok()?;
    for _ in 0..2 {
        ensure!(keyed(&client, "s", "k")?.post(CHAT, &body).await?.status == 200);
    }
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "assistant").contains(&"Second answer.".to_owned()), "{request}");
    ensure!(texts(&request, "user").iter().filter(|text| *text == "First.").count() == 2, "{request}");
    Ok(())
}

/// Words where a tool should have been called end a run as a failure, and are an answer all the same.
#[tokio::test]
async fn an_answer_without_a_tool_is_given_again_too() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    vendor.push(VendorReply::say("Plain words.").verbatim());
    let body: Value = with(ask_of("sam", "Hi.", json!({})), json!({}));
    for _ in 0..2 {
        ensure!(content(&keyed(&client, "s", "k")?.post(CHAT, &body).await?)? == "Plain words.");
    }
    ensure!(vendor.requests().len() == 1);
    Ok(())
}

#[tokio::test]
async fn a_run_that_failed_before_its_first_step_is_simply_new() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        for client in [keyed(&client, name, name)?, again(&client, &format!("{name}2"))?] {
            let body = ask_of(name, "Try this.", json!({}));
            vendor.push(VendorReply::error(401));
            ensure!(client.post(CHAT, &body).await?.status == 502);
            // The key of a request of which nothing is left is free for another one.
            let other = ask_of(name, "Try that.", json!({}));
            ensure!(client.post(CHAT, &other).await?.status == 200);
            vendor.clear();
            ensure!(client.post(CHAT, &other).await?.status == 200 && vendor.requests().is_empty());
        }
    }
    Ok(())
}
