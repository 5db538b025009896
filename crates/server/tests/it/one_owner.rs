//! Who may come in, who owns the data, and what is left in the logs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use testkit::{FakeVendor, Gate, TestServer, VendorReply};

use crate::house::{VENDOR_MODEL, alone, create_agent, say, say_aside, setup, with_vendor, words};

#[tokio::test]
async fn a_second_server_says_who_owns_the_directory() -> Result<()> {
    let (server, _client) = alone().await?;
    let second = server.command(&["serve", "--port", "0", "--data-dir"]).arg(server.data_dir()).output()?;
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    let pid = server.pid().context("it runs")?.to_string();
    ensure!(!second.status.success() && said.contains(&pid) && said.contains(server.url()), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_key_is_wanted_by_every_door() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", "a-long-key-for-tests")).await?;
    let stranger = server.client()?;
    ensure!(stranger.get("/health").await?.status == 200 && stranger.get("/v1/health/").await?.status == 200);
    let chat = json!({"model": "librarian", "messages": [{"role": "user", "content": "hi"}]});
    for reply in [
        stranger.get("/v1/agents/").await?,
        stranger.get("/v1/models").await?,
        stranger.get("/v1/models/").await?,
        stranger.post("/v1/chat/completions", &chat).await?,
        stranger.get("/v1/nothing").await?,
    ] {
        ensure!(reply.status == 401, "{}", reply.text());
    }
    let known = server.client()?.with_header("authorization", "Bearer a-long-key-for-tests")?;
    ensure!(known.post("/v1/chat/completions", &chat).await?.status == 200);
    Ok(())
}

#[tokio::test]
async fn strangers_on_the_network_and_foreign_pages_stay_outside() -> Result<()> {
    let (server, client) = alone().await?;
    let open = server.command(&["serve", "--port", "0", "--host", "0.0.0.0", "--data-dir"]);
    let refused = { open }.arg(server.data_dir().join("other")).output()?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && said.contains("LIBRARIAN_API_KEY"), "{said}");
    ensure!(client.clone().with_header("host", "evil.example")?.get("/v1/agents/").await?.status == 421);
    ensure!(client.clone().with_header("origin", "http://evil.example")?.get("/v1/agents/").await?.status == 403);
    Ok(())
}

#[tokio::test]
async fn stopping_finishes_the_running_step() -> Result<()> {
    let (mut server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    let gate = Gate::new();
    vendor.push(VendorReply::say("the last words").held_by(&gate));
    let send = say_aside(&client, &agent, "one more");
    gate.reached().await;
    server.terminate()?;
    // The signal must have arrived before the answer does, and only the log tells.
    while !server.stdout().contains("Stopping") {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    gate.release();
    ensure!(words(&send.await??.ok()?) == "the last words");
    ensure!(server.exited().await?.success());
    server.restart().await?;
    let listed = server.client()?.get(&format!("/v1/agents/{agent}/messages")).await?.text();
    ensure!(listed.contains("the last words"), "{listed}");
    Ok(())
}

#[tokio::test]
async fn logs_hold_one_line_for_a_run_and_no_secrets() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let key = "sk-very-secret-operator-key";
    let server = TestServer::start(setup().vendor(&vendor).env("OPENAI_API_KEY", key)).await?;
    let client = server.client()?;
    let agent = create_agent(&client, "a", VENDOR_MODEL).await?;
    let insert = json!({"label": "human", "new_str": "confidential fact"});
    say(&client, &agent, &format!("[[tool:memory_insert {insert}]][[say:whispered words]] private question"))
        .await?
        .ok()?;
    say(&client, &agent, "[[error:400]] private failure").await?;
    let log = server.stderr();
    let of_runs = log.lines().filter(|line| line.contains("stop_reason") && line.contains(" steps=")).count();
    ensure!(of_runs == 2, "{log}");
    for secret in ["confidential", "whispered", "private", key] {
        ensure!(!log.contains(secret) && !server.stdout().contains(secret), "{secret} is in the log:\n{log}");
    }
    Ok(())
}
