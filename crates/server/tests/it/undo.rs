//! A bad edit by an agent is seen, taken back and made again, as a session at the terminal; and what the model sees.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use expect_test::expect;
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, TestServer};

use crate::house::{VENDOR_MODEL, create_agent, say, setup, with_vendor};
use crate::terminal::{answer, complaint};

/// The system message of the newest request that the model got.
fn system(vendor: &FakeVendor) -> Result<String> {
    let requests = vendor.requests();
    let last = requests.last().context("the model was asked")?;
    last.body["messages"][0]["content"].as_str().map(str::to_owned).context("a system message")
}

/// Lets the agent write over what it knew.
async fn spoil(client: &Client, agent: &str) -> Result<()> {
    let change = json!({"label": "human", "old_str": "Ada likes tea.", "new_str": "Ada hates everything."});
    say(client, agent, &format!("[[tool:memory_replace {change}]][[say:Noted.]] mood")).await?.ok()?;
    Ok(())
}

/// The text without what is another each time: times and ids of runs.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let shown: Vec<String> = words.iter().map(|word| steady_word(word)).collect();
        writeln!(steady, "{}", shown.join(" ").trim_end()).unwrap();
    }
    steady
}

fn steady_word(word: &str) -> String {
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "-:".contains(c));
    match word.split_once("run-") {
        Some((before, rest)) => format!("{before}RUN{}", &rest[36..]),
        None if word.len() == 10 && digits(word) => "DATE".to_owned(),
        None if word.len() == 8 && digits(word) => "TIME".to_owned(),
        None => word.to_owned(),
    }
}

#[tokio::test]
async fn a_bad_edit_is_undone_at_the_terminal_and_the_model_sees_it() -> Result<()> {
    let (server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "diary", VENDOR_MODEL).await?;
    let path = format!("/v1/agents/{agent}/core-memory/blocks/human");
    client.patch(&path, &json!({"value": "Name: Ada\nAda likes tea."})).await?.ok()?;
    spoil(&client, &agent).await?;
    let mut session = String::new();
    for line in [
        "memory history diary human",
        "memory diff diary human",
        "memory undo diary human",
        "memory history diary human",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        write!(session, "$ librarian {line}\n{}", steady(&answer(&server, &words)?))?;
    }
    expect![[r#"
        $ librarian memory history diary human
        human
        * v3  DATE TIME UTC  tool, RUN  +16 −9
          v2  DATE TIME UTC  api                                             +24 −0
          v1  DATE TIME UTC  api                                             +0 −0  made
        $ librarian memory diff diary human
        v2 → v3
         Name: Ada
        -Ada likes tea.
        +Ada hates everything.
        $ librarian memory undo diary human
        Undid v3 (tool, RUN): `human` is again what it was at v2.
        This is v4; agents see it with their next step.
        v3 → v4
         Name: Ada
        -Ada hates everything.
        +Ada likes tea.
        $ librarian memory history diary human
        human
        * v4  DATE TIME UTC  undo to v2                                      +9 −16
          v3  DATE TIME UTC  tool, RUN  +16 −9
          v2  DATE TIME UTC  api                                             +24 −0
          v1  DATE TIME UTC  api                                             +0 −0  made
    "#]]
    .assert_eq(&session);
    say(&client, &agent, "[[say:Yes.]] are you sure?").await?.ok()?;
    let shown = system(&vendor)?;
    ensure!(shown.contains("\nName: Ada\nAda likes tea.\n") && !shown.contains("hates"), "{shown}");
    // And forward again, from a process of its own: no server runs.
    let mut server = server;
    server.stop().await?;
    let again = steady(&answer(&server, &["memory", "redo", "diary", "human"])?);
    ensure!(again.contains("Made v3 (tool, RUN) again: `human` is what it was at v3."), "{again}");
    server.restart().await?;
    say(&server.client()?, &agent, "[[say:Yes.]] and now?").await?.ok()?;
    ensure!(system(&vendor)?.contains("Ada hates everything."));
    Ok(())
}

#[tokio::test]
async fn a_block_that_an_agent_threw_away_is_given_back() -> Result<()> {
    let (server, client, vendor) = with_vendor().await?;
    let blocks = json!([{"label": "human", "value": "Ada likes tea."}, {"label": "persona", "value": "b"}]);
    let body = json!({"name": "diary", "model": VENDOR_MODEL, "memory_blocks": blocks, "tools": ["memory"]});
    let agent = client.post("/v1/agents/", &body).await?.ok()?["id"].as_str().context("an id")?.to_owned();
    let delete = json!({"command": "delete", "path": "/memories/human"});
    say(&client, &agent, &format!("[[tool:memory {delete}]][[say:Gone.]] tidy up")).await?.ok()?;
    ensure!(!system(&vendor)?.contains("Ada likes tea."));
    let history = steady(&answer(&server, &["memory", "history", "diary"])?);
    ensure!(history.contains("human\n  the agent does not have it since DATE TIME UTC (tool, RUN)"), "{history}");
    let told = steady(&answer(&server, &["memory", "undo", "diary", "human"])?);
    ensure!(told.contains("Gave `human` back to the agent, which was parted from it (tool, RUN)."), "{told}");
    say(&client, &agent, "[[say:Yes.]] and now?").await?.ok()?;
    ensure!(system(&vendor)?.contains("Ada likes tea."));
    ensure!(complaint(&server, &["memory", "undo", "diary", "human"])?.contains("no change that could be undone"));
    Ok(())
}

/// Labels, versions and editors of one block's history, oldest first.
fn editors(server: &TestServer, label: &str) -> Result<Vec<String>> {
    let history: Value = serde_json::from_str(&answer(server, &["memory", "history", "diary", label, "--json"])?)?;
    let changes = history["changes"].as_array().context("changes")?.iter().rev();
    let shown = changes.map(|one| format!("{} {}", one["label"].as_str().unwrap(), one["editor"].as_str().unwrap()));
    Ok(shown.collect())
}

#[tokio::test]
async fn a_rename_is_undone_unless_its_label_is_taken() -> Result<()> {
    let (server, client, _vendor) = with_vendor().await?;
    let blocks = json!([{"label": "human", "value": "a"}, {"label": "persona", "value": "b"}]);
    let body = json!({"name": "diary", "model": VENDOR_MODEL, "memory_blocks": blocks, "tools": ["memory"]});
    let agent = client.post("/v1/agents/", &body).await?.ok()?["id"].as_str().context("an id")?.to_owned();
    let rename = |from: &str, to: &str| {
        let call = json!({"command": "rename", "old_path": format!("/memories/{from}"), "new_path": format!("/memories/{to}")});
        format!("[[tool:memory {call}]][[say:Done.]] rename")
    };
    say(&client, &agent, &rename("human", "person")).await?.ok()?;
    say(&client, &agent, &rename("persona", "human")).await?.ok()?;
    let refused = complaint(&server, &["memory", "undo", "diary", "person"])?;
    ensure!(refused.contains("version 1 had the label `human`, which another block has now"), "{refused}");
    answer(&server, &["memory", "undo", "diary", "human"])?;
    let undone = answer(&server, &["memory", "undo", "diary", "person"])?;
    ensure!(undone.contains("label `person` → `human`"), "{undone}");
    ensure!(editors(&server, "human")? == ["human api", "person tool", "human undo"]);
    ensure!(editors(&server, "persona")? == ["persona api", "human tool", "persona undo"]);
    Ok(())
}

#[tokio::test]
async fn what_can_not_be_undone_is_told_why() -> Result<()> {
    let (server, client, _vendor) = with_vendor().await?;
    let agent = create_agent(&client, "diary", VENDOR_MODEL).await?;
    for (words, expected) in [
        (&["memory", "undo", "diary", "human"][..], "block `human` has no change that could be undone"),
        (&["memory", "redo", "diary", "human"], "block `human` has no undone change that could be made again"),
        (&["memory", "undo", "diary", "humans"], "there is no block `humans`; there is human, persona"),
        (&["memory", "history", "diary", "a/b"], "there is no block `a/b`; there is human, persona"),
        (&["memory", "history", "nobody"], "there is no agent `nobody`"),
        (&["memory", "diff", "diary", "human", "1", "7"], "block `human` has versions 1 to 1, not 7"),
    ] {
        let told = complaint(&server, words)?;
        ensure!(told.contains(expected), "{words:?}: {told}");
    }
    let path = format!("/v1/agents/{agent}/core-memory/blocks/human");
    client.patch(&path, &json!({"value": "one"})).await?.ok()?;
    let told = complaint(&server, &["memory", "undo", "diary", "human", "--version", "1"])?;
    ensure!(told.contains("is at version 2 by now, not 1: look at its history again"), "{told}");
    answer(&server, &["memory", "undo", "diary", "human", "--version", "2"])?;
    let all: Value = serde_json::from_str(&answer(&server, &["memory", "history", "diary", "--json"])?)?;
    ensure!(all[0]["changes"].as_array().map(Vec::len) == Some(3) && all[1]["label"] == "persona", "{all}");
    Ok(())
}

#[tokio::test]
async fn an_undo_changes_a_shared_block_for_all() -> Result<()> {
    let (server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "diary", VENDOR_MODEL).await?;
    let blocks = client.get(&format!("/v1/agents/{agent}/core-memory/blocks")).await?.ok()?;
    let body = json!({"name": "friend", "model": VENDOR_MODEL, "block_ids": [blocks[0]["id"]]});
    let friend = client.post("/v1/agents/", &body).await?.ok()?;
    let friend = friend["id"].as_str().context("an id")?;
    client.patch(&format!("/v1/agents/{agent}/core-memory/blocks/human"), &json!({"value": "gossip"})).await?.ok()?;
    say(&client, friend, "[[say:Yes.]] heard?").await?.ok()?;
    ensure!(system(&vendor)?.contains("gossip"));
    let told = answer(&server, &["memory", "undo", "diary", "human"])?;
    ensure!(told.contains("shared by 2 agents: diary, friend. It changed for all of them."), "{told}");
    say(&client, friend, "[[say:Yes.]] still?").await?.ok()?;
    ensure!(!system(&vendor)?.contains("gossip"));
    Ok(())
}

#[tokio::test]
async fn edits_and_undos_at_once_lose_nothing() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", "a-long-key-for-tests")).await?;
    let client = server.client()?.with_header("authorization", "Bearer a-long-key-for-tests")?;
    let agent = create_agent(&client, "diary", "builtin/guide").await?;
    let (block, console) =
        (format!("/v1/agents/{agent}/core-memory/blocks/human"), format!("/console/v1/agents/{agent}/blocks/human"));
    let undo = format!("{console}/undo");
    let edit = async |who: usize| -> Result<usize> {
        let mut changes = 0;
        for round in 0..12 {
            let reply = match who % 3 {
                0 => client.post(&undo, &json!({})).await?,
                _ => client.patch(&block, &json!({"value": format!("{who} wrote {round}")})).await?,
            };
            ensure!(reply.status == 200 || reply.status == 409, "{}", reply.text());
            changes += usize::from(reply.status == 200);
        }
        Ok(changes)
    };
    let changes: usize = futures_util::future::try_join_all((0..6).map(edit)).await?.iter().sum();
    let history = client.get(&format!("{console}/history?limit=1000")).await?.ok()?;
    let versions: Vec<u64> =
        history["changes"].as_array().context("changes")?.iter().filter_map(|one| one["version"].as_u64()).collect();
    ensure!(versions == (1..=changes as u64 + 1).rev().collect::<Vec<_>>(), "{changes} changes, {versions:?}");
    // Now nobody disturbs: every change that still stands can be undone, down to the first text.
    while client.post(&undo, &json!({})).await?.status == 200 {}
    ensure!(client.get(&block).await?.ok()?["value"] == "", "not the first text");
    ensure!(client.get("/console/v1/store").await?.ok()?["problems"] == json!([]));
    Ok(())
}

#[tokio::test]
async fn the_console_is_closed_to_all_but_its_keys() -> Result<()> {
    let open = TestServer::start(setup()).await?;
    let id = |agents: Value| agents[0]["id"].as_str().map(str::to_owned).context("the first agent");
    let agent = id(open.client()?.get("/v1/agents/").await?.ok()?)?;
    let path = format!("/console/v1/agents/{agent}/blocks/human/history");
    let refused = open.client()?.get(&path).await?;
    ensure!(refused.status == 401 && refused.json()?["error"]["code"] == "unauthorized", "{}", refused.text());
    let locked = TestServer::start(setup().env("LIBRARIAN_API_KEY", "a-long-key-for-tests")).await?;
    ensure!(locked.client()?.get("/console/v1/x").await?.status == 401);
    let admin = locked.client()?.with_header("authorization", "Bearer a-long-key-for-tests")?;
    let agent = id(admin.get("/v1/agents/").await?.ok()?)?;
    let blocks = format!("/console/v1/agents/{agent}/blocks");
    ensure!(admin.get(&format!("{blocks}/human/history")).await?.ok()?["version"] == 1);
    for (reply, status, code) in [
        (admin.get("/console/v1/x").await?, 404, "not_found"),
        (admin.get(&format!("{blocks}/human/undo")).await?, 405, "method_not_allowed"),
        (admin.get(&format!("{blocks}/human/history?limit=0")).await?, 400, "invalid_request"),
        (admin.get(&format!("{blocks}/human/history?limit=x")).await?, 400, "invalid_request"),
        (admin.get("/console/v1/agents/x/blocks/human/history").await?, 400, "invalid_request"),
        (admin.post(&format!("{blocks}/human/undo"), &json!({"verison": 1})).await?, 400, "invalid_request"),
        (admin.post(&format!("{blocks}/human/undo"), &json!({})).await?, 409, "nothing_to_undo"),
    ] {
        ensure!(reply.status == status && reply.json()?["error"]["code"] == code, "{} {}", reply.status, reply.text());
    }
    Ok(())
}
