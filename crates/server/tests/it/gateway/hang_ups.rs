//! Clients that hang up at any moment leave nothing behind: no run, no place in a line, no upstream connection, no
//! memory.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use testkit::{Client, FakeVendor, Gate, HttpReply, TestServer, VendorReply};
use tokio::task::JoinSet;

use super::talk::{agent_of_kind, aside, ask_of, tool, two_agents};
use super::{CHAT, chat, content, last_request};
use crate::house::VENDOR_MODEL;

const AGENTS: [&str; 4] = ["ada", "sam", "eve", "tom"];
const SESSIONS: usize = 20;
const AT_ONCE: u64 = 100;
const EACH: u64 = 10;
/// Memory that a wave of a thousand may add, in KiB: what they said is stored, and the newest of it is cached.
const GROWTH: u64 = 24 * 1024;

/// What a client asks, and how.
fn any_request(random: &mut StdRng) -> (String, serde_json::Value, bool) {
    let session = random.random_range(0..SESSIONS);
    let note = json!({"label": "human", "new_str": "n"});
    let text = match random.random_range(0..8) {
        0 => "Hi. [[stall]]".to_owned(),
        1 => format!("Hi. [[delay:{}]][[say:late]]", random.random_range(0..40)),
        2 => format!("Hi. [[delay:5]][[tool:memory_insert {note}]][[tool:memory_insert {note}]][[say:noted]]"),
        3 => "Hi. [[tool:get_weather {\"city\":\"Oslo\"}]]".to_owned(),
        4 => format!("Hi. [[tool:memory_insert {note}]][[tool:get_weather {{\"city\":\"Oslo\"}}]]"),
        _ => "Hi. [[say:Some words that are cut into pieces on their way to the client.]]".to_owned(),
    };
    let may_go_on = !text.contains("stall") && random.random_bool(0.2);
    let more = json!({"stream": random.random_bool(0.5), "tools": [tool("get_weather")]});
    (format!("s{session}"), ask_of(AGENTS[session % AGENTS.len()], &text, more), may_go_on)
}

/// One client after the other, each for as long as chance will have it.
async fn come_and_go(client: Client, seed: u64) -> Result<usize> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut answered = 0;
    for number in 0..EACH {
        let (session, body, may_go_on) = any_request(&mut random);
        let mut client = client.clone().with_header("x-session-id", &session)?;
        if may_go_on {
            client = client.with_header("idempotency-key", &format!("{seed}-{number}"))?;
        }
        let patience = Duration::from_micros(random.random_range(0..800_000));
        let reply: Result<Result<HttpReply>, _> = tokio::time::timeout(patience, client.post(CHAT, &body)).await;
        if let Ok(reply) = reply {
            let reply = reply?;
            ensure!(reply.status == 200, "{}: {}", reply.status, reply.text());
            answered += 1;
        }
    }
    Ok(answered)
}

/// A thousand clients; how many of them stayed to the end.
async fn wave(client: &Client, number: u64) -> Result<usize> {
    let mut clients = JoinSet::new();
    for one in 0..AT_ONCE {
        clients.spawn(come_and_go(client.clone(), number * AT_ONCE + one));
    }
    let mut answered = 0;
    while let Some(stayed) = clients.join_next().await {
        answered += stayed??;
    }
    Ok(answered)
}

/// Every session of every agent answers at once, and nothing is open at the vendor.
async fn is_free(client: &Client, vendor: &FakeVendor) -> Result<()> {
    for session in 0..SESSIONS {
        let body = ask_of(AGENTS[session % AGENTS.len()], "Are you free? [[say:Yes.]]", json!({}));
        ensure!(content(&chat(client, &format!("s{session}"), &body).await?)? == "Yes.");
    }
    vendor.until(|tally| tally.answered + tally.hung_up == tally.requests).await?;
    Ok(())
}

/// Memory in KiB and open files of the server.
fn holds(server: &TestServer) -> Result<(u64, usize)> {
    let pid = server.pid().context("it runs")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("a process has memory")?;
    let memory = line.split_whitespace().nth(1).context("a number")?.parse()?;
    Ok((memory, std::fs::read_dir(format!("/proc/{pid}/fd"))?.count()))
}

#[tokio::test]
async fn a_thousand_clients_that_hang_up_leave_nothing_behind() -> Result<()> {
    let (mut server, client, vendor) = two_agents().await?;
    agent_of_kind(&client, "eve", "letta_v1_agent", VENDOR_MODEL).await?;
    agent_of_kind(&client, "tom", "memgpt_v2_agent", VENDOR_MODEL).await?;
    let mut held = Vec::new();
    for number in 0..3 {
        let answered = wave(&client, number).await?;
        ensure!((20..980).contains(&answered), "{answered} of 1,000 stayed: that is no mixture");
        is_free(&client, &vendor).await?;
        vendor.clear();
        held.push(holds(&server)?);
    }
    ensure!(vendor.tally().hung_up > 100, "{:?}", vendor.tally());
    // The first wave fills caches and pools.
    let ((first, files), (last, files_now)) = (held[0], held[2]);
    ensure!(last < first + 2 * GROWTH, "memory in KiB and open files after each wave: {held:?}");
    ensure!(files_now < files + 32, "memory in KiB and open files after each wave: {held:?}");
    // A kill, so that nobody can tidy up.
    server.kill()?;
    let database = rusqlite::Connection::open(server.data_dir().join("librarian.db"))?;
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0));
    ensure!(count("select count(*) from run")? > 1_000);
    ensure!(count("select count(*) from run where status in ('created', 'running')")? == 0);
    Ok(())
}

/// The one who waits, the one who runs, and the one after them.
#[tokio::test]
async fn whoever_leaves_the_line_blocks_nobody_and_leaves_no_words() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for (name, is_streamed) in [("sam", false), ("sam", true), ("ada", false), ("ada", true)] {
        let session = format!("{name}{is_streamed}");
        let gate = Gate::new();
        vendor.push(VendorReply::say("held").held_halfway(&gate));
        let client = client.clone().with_header("x-session-id", &session)?;
        let send = |text: &str| aside(&client, &ask_of(name, text, json!({"stream": is_streamed})));
        let hung_up = vendor.tally().hung_up;
        let mut runs = send("I run.");
        gate.reached().await;
        let mut waits = send("I wait.");
        let third = send("I am the third. [[say:At last.]]");
        waits.shutdown().await;
        runs.shutdown().await;
        vendor.until(|tally| tally.hung_up == hung_up + 1).await?;
        for reply in third.join_all().await {
            let reply = reply?;
            ensure!(reply.status == 200 && reply.text().contains("\"finish_reason\":\"stop\""), "{}", reply.text());
        }
        let seen = last_request(&vendor)?.to_string();
        ensure!(!seen.contains("I run.") && !seen.contains("held"), "{seen}");
        gate.release();
    }
    Ok(())
}
