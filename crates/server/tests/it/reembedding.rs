//! Embedding an agent's memory with another model: killed in the middle, and with the model out of reach.

use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use testkit::fake_vendor::VendorOptions;
use testkit::{Client, FakeVendor, TestServer};

use crate::house::{VENDOR_MODEL, say, setup, with_vendor};
use crate::terminal::{answer, complaint};

const SMALL: &str = "openai/text-embedding-3-small";
const LARGE: &str = "openai/text-embedding-3-large";
const PASSAGES: usize = 700;
/// Rows that are embedded and kept at once.
const BATCH: usize = 64;
const KILLS: usize = 6;
/// Longer than any wait of a healthy server.
const PATIENCE: Duration = Duration::from_secs(30);

async fn create(client: &Client, embedding: &str) -> Result<String> {
    let body = json!({"name": "keeper", "model": VENDOR_MODEL, "embedding": embedding});
    client.post("/v1/agents/", &body).await?.ok()?["id"].as_str().map(str::to_owned).context("an agent has an id")
}

async fn archive(client: &Client, agent: &str, texts: &[String]) -> Result<()> {
    let path = format!("/v1/agents/{agent}/archival-memory");
    // The first makes the archive that all others go to.
    for (first, texts) in [(true, &texts[..1]), (false, &texts[1..])] {
        for texts in texts.chunks(if first { 1 } else { 50 }) {
            let bodies: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            let sent = futures_util::future::join_all(bodies.iter().map(|body| client.post(&path, body))).await;
            sent.into_iter().try_for_each(|reply| reply?.ok().map(drop))?;
        }
    }
    Ok(())
}

/// Vectors that are kept of each model.
fn kept(server: &TestServer) -> Result<Vec<(String, usize)>> {
    let file = server.data_dir().join("librarian.db");
    let raw = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut rows = raw.prepare("select embedding, sum(documents) from search_vectors group by embedding order by 1")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn kept_of(server: &TestServer, model: &str) -> Result<usize> {
    Ok(kept(server)?.into_iter().find(|(name, _)| name == model).map_or(0, |(_, count)| count))
}

/// Texts that the vendor was asked for, as often as it was asked.
fn asked(vendor: &FakeVendor, model: &str) -> usize {
    let requests = vendor.embedding_requests();
    let of_model = requests.iter().filter(|request| {
        request.body["model"].as_str().is_some_and(|name| model.strip_prefix("openai/") == Some(name))
    });
    of_model.map(|request| request.body["input"].as_array().map_or(1, Vec::len)).sum()
}

/// Returns once `done` says so.
async fn until(what: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let waiting = async {
        while !done()? {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, waiting).await.with_context(|| what.to_owned())?
}

/// A command that ends with the test at the latest.
struct Aside(Child);

impl Aside {
    fn reembed(server: &TestServer, agent: &str, model: &str) -> Result<Self> {
        let mut command = server.command(&["reembed", agent, "--model", model, "--data-dir"]);
        Ok(Self(command.arg(server.data_dir()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }

    fn kill(&mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // One that is gone already is as good as a killed one.
        drop(self.kill());
    }
}

#[tokio::test]
async fn a_killed_reembedding_goes_on_where_it_ended() -> Result<()> {
    let vendor = FakeVendor::with(VendorOptions::default())?;
    let mut server = TestServer::start(setup().vendor(&vendor)).await?;
    let client = server.client()?;
    let agent = create(&client, SMALL).await?;
    let mut texts: Vec<String> =
        (1..PASSAGES).map(|number| format!("[[delay:30]] Crate {number} holds {} lamps.", number * 7)).collect();
    texts.push("[[delay:30]] The ferry to Visby leaves at dawn.".to_owned());
    archive(&client, &agent, &texts).await?;
    said_once(&client, &agent).await?;
    answer(&server, &["reembed", &agent])?;
    let total = kept_of(&server, SMALL)?;
    ensure!(total >= PASSAGES, "{total} of {PASSAGES}");

    let (mut random, mut before) = (StdRng::seed_from_u64(11), 0);
    for round in 0..KILLS {
        // Every other time the command works alone, with no server.
        if round % 2 == 1 {
            server.kill()?;
        }
        let goal = asked(&vendor, LARGE) + 1 + random.random_range(0..2 * BATCH);
        let mut command = Aside::reembed(&server, &agent, LARGE)?;
        until("the vendor is asked", || Ok(asked(&vendor, LARGE) >= goal)).await?;
        tokio::time::sleep(Duration::from_micros(random.random_range(0..40_000))).await;
        server.kill()?;
        command.kill()?;
        let now = kept_of(&server, LARGE)?;
        ensure!(now >= before && now < total, "round {round}: {before}, then {now} of {total}");
        before = now;
        server.restart().await?;
    }
    ensure!(before > 0, "something was kept before the last kill");
    let told = answer(&server, &["reembed", &agent, "--model", LARGE])?;
    ensure!(told.contains(&format!("are embedded with {LARGE}.")), "{told}");
    ensure!(kept(&server)? == [(LARGE.to_owned(), total)], "{:?}", kept(&server)?);
    // Each kill may cost the batch that was on its way, and each start a text to learn how long vectors are.
    let most = total + (KILLS + 1) * (BATCH + 3);
    ensure!(asked(&vendor, LARGE) <= most, "{} texts for {total} rows", asked(&vendor, LARGE));

    let found: Value =
        serde_json::from_str(&answer(&server, &["search", &agent, "dawn ferry", "--archive", "--json"])?)?;
    ensure!(found["search_mode"] == "hybrid", "{found}");
    ensure!(found["results"][0]["text"].as_str().is_some_and(|text| text.contains("Visby")), "{found}");
    ensure!(found["results"][0]["relevance"]["vector_rank"] == 1, "{found}");
    let examined = answer(&server, &["doctor"])?;
    ensure!(examined.contains("Nothing is wrong."), "{examined}");
    Ok(())
}

async fn said_once(client: &Client, agent: &str) -> Result<()> {
    say(client, agent, "[[say:Noted.]] The spare key hangs in the shed.").await?.ok()?;
    Ok(())
}

#[tokio::test]
async fn a_memory_without_anything_to_find_is_complete() -> Result<()> {
    let (server, client, _vendor) = with_vendor().await?;
    // Its messages are a system message and events of the runtime, which nobody searches for.
    let agent = create(&client, "builtin/embedding").await?;
    let mut command = Aside::reembed(&server, &agent, SMALL)?;
    until("the command ends", || Ok(command.0.try_wait()?.is_some())).await?;
    ensure!(command.0.wait()?.success());
    Ok(())
}

#[tokio::test]
async fn without_its_embedding_model_memory_answers_by_words() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let port: u16 = vendor.origin().rsplit_once(':').context("a port")?.1.parse()?;
    let mut server = TestServer::start(setup().vendor(&vendor)).await?;
    let client = server.client()?;
    let body = json!({"name": "keeper", "model": "builtin/guide", "embedding": SMALL});
    let agent = client.post("/v1/agents/", &body).await?.ok()?["id"].as_str().context("an id")?.to_owned();
    archive(&client, &agent, &["The ferry to Visby leaves at dawn.".to_owned()]).await?;
    say(&client, &agent, "The spare key hangs in the shed.").await?.ok()?;
    answer(&server, &["reembed", &agent])?;
    drop(vendor);

    // Once with a server that knew the model, and once with one that never met it.
    for round in 0..2 {
        let client = server.client()?;
        archive(&client, &agent, &[format!("Lantern number {round} is blue.")]).await?;
        say(&client, &agent, &format!("The boat of day {round} is green.")).await?.ok()?;
        for (query, place, expected) in
            [("key shed", "", "spare key"), ("ferry", "--archive", "Visby"), ("blue lantern", "--archive", "Lantern")]
        {
            let mut words = vec!["search", &agent, query, "--json"];
            words.extend((!place.is_empty()).then_some(place));
            let found: Value = serde_json::from_str(&answer(&server, &words)?)?;
            ensure!(found["search_mode"] == "fts", "{found}");
            ensure!(found["results"][0]["text"].as_str().is_some_and(|text| text.contains(expected)), "{found}");
        }
        let refused = complaint(&server, &["reembed", &agent])?;
        ensure!(refused.contains(SMALL) || refused.contains("embedding"), "{refused}");
        server.restart().await?;
    }
    let before = kept_of(&server, SMALL)?;
    let vendor = FakeVendor::with(VendorOptions { port, ..VendorOptions::default() })?;
    answer(&server, &["reembed", &agent])?;
    ensure!(kept_of(&server, SMALL)? > before, "what came meanwhile has vectors too");
    ensure!(asked(&vendor, SMALL) > 0);
    let found: Value =
        serde_json::from_str(&answer(&server, &["search", &agent, "blue lantern", "--archive", "--json"])?)?;
    ensure!(found["search_mode"] == "hybrid", "{found}");
    ensure!(found["results"][0]["relevance"]["vector_rank"].is_u64(), "{found}");
    Ok(())
}
