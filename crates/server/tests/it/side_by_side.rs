//! Many requests at once: order within a conversation, freedom between conversations, and clients that leave.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, Gate, VendorReply};

use crate::house::{VENDOR_MODEL, create_agent, say, say_aside, with_vendor, words};

async fn stored(client: &Client, agent: &str) -> Result<Vec<String>> {
    let listed = client.get(&format!("/v1/agents/{agent}/messages?order=asc&limit=1000")).await?.ok()?;
    let content = |message: &Value| message["content"].as_str().map(str::to_owned);
    Ok(listed.as_array().context("a list")?.iter().skip(1).filter_map(content).collect())
}

#[tokio::test]
async fn two_sends_to_one_conversation_are_answered_one_after_the_other() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    let gate = Gate::new();
    vendor.push(VendorReply::say("first answer").held_by(&gate));
    let first = say_aside(&client, &agent, "first question");
    gate.reached().await;
    let second = say_aside(&client, &agent, "[[say:second answer]]");
    // The second can't reach the model before the first is done; nothing to wait for but time.
    tokio::time::sleep(Duration::from_millis(100)).await;
    ensure!(vendor.requests().len() == 1, "the second did not wait");
    gate.release();
    let (first, second) = (first.await??.ok()?, second.await??.ok()?);
    ensure!(words(&first) == "first answer" && words(&second) == "second answer");
    let history = vendor.requests()[1].body["messages"].to_string();
    ensure!(history.contains("first question") && history.contains("first answer"), "{history}");
    let expected = ["first question", "first answer", "[[say:second answer]]", "second answer"];
    ensure!(stored(&client, &agent).await? == expected);
    Ok(())
}

#[tokio::test]
async fn conversations_do_not_wait_for_each_other() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let (slow, quick) =
        (create_agent(&client, "slow", VENDOR_MODEL).await?, create_agent(&client, "quick", VENDOR_MODEL).await?);
    let gate = Gate::new();
    vendor.push(VendorReply::say("at last").held_by(&gate));
    let waiting = say_aside(&client, &slow, "take your time");
    gate.reached().await;
    ensure!(words(&say(&client, &quick, "[[say:at once]]").await?.ok()?) == "at once");
    gate.release();
    ensure!(words(&waiting.await??.ok()?) == "at last");
    Ok(())
}

#[tokio::test]
async fn a_full_line_says_when_to_come_back() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    let gate = Gate::new();
    vendor.push(VendorReply::say("done").held_by(&gate));
    let sends: Vec<_> = (0..80).map(|number| say_aside(&client, &agent, &format!("[[say:answer {number}]]"))).collect();
    gate.reached().await;
    // A refusal comes at once; the others wait for the gate.
    while sends.iter().filter(|send| send.is_finished()).count() < 80 - 64 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    gate.release();
    let (mut answered, mut refused) = (0, 0);
    for send in sends {
        let reply = send.await??;
        match reply.status.as_u16() {
            200 => answered += 1,
            429 => {
                refused += 1;
                ensure!(reply.header("retry-after") == Some("1") && reply.text().contains("this conversation"));
            }
            _ => anyhow::bail!("{}: {}", reply.status, reply.text()),
        }
    }
    ensure!((answered, refused) == (64, 16), "{answered} {refused}");
    ensure!(stored(&client, &agent).await?.len() == 2 * 64);
    Ok(())
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_run_and_leaves_no_trace() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    say(&client, &agent, "[[say:before]]").await?.ok()?;
    let before = stored(&client, &agent).await?;
    let chat = json!({"model": agent, "stream": true, "messages": [{"role": "user", "content": "[[stall]]"}]});
    let letta = json!({"messages": [{"role": "user", "content": "[[stall]]"}], "stream_tokens": true});
    for (path, body) in
        [("/v1/chat/completions".to_owned(), chat), (format!("/v1/agents/{agent}/messages/stream"), letta)]
    {
        let stalled = vendor.tally().stalled;
        let mut stream = client.post_sse(&path, &body).await?;
        stream.next().await?;
        vendor.until(|tally| tally.stalled > stalled).await?;
        drop(stream);
        vendor.until(|tally| tally.hung_up > stalled).await?;
    }
    ensure!(stored(&client, &agent).await? == before, "something half-written was kept");
    ensure!(words(&say(&client, &agent, "[[say:after]]").await?.ok()?) == "after");
    Ok(())
}
