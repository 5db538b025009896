//! Backups under load, restores that are refused or killed, and a doctor that repairs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use domain::{Actor, Timestamp};
use serde_json::Value;
use storage::{AgentFilter, Store, StoreConfig};
use testkit::TestServer;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;

use crate::crash::check::check;
use crate::crash::clients::{Clients, Sent};
use crate::house::{alone, create_agent, setup, with_vendor};
use crate::terminal::{answer, complained, complaint, said, typed, typed_at};

const DATABASE: &str = "librarian.db";
const PATIENCE: Duration = Duration::from_secs(20);

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path is text")
}

/// Everything that lies in a directory.
fn names(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Runs a command while this test's clients go on.
async fn typed_aside(server: &TestServer, words: &[&str]) -> Result<Output> {
    let mut command = server.command(words);
    command.arg("--data-dir").arg(server.data_dir());
    Ok(spawn_blocking(move || command.output()).await??)
}

/// Only what was acknowledged in `before` counts as acknowledged.
fn known_before(before: &[Sent], all: Vec<Sent>) -> Vec<Sent> {
    let acknowledged = |mark: &str| before.iter().any(|sent| sent.mark == mark && sent.acknowledged);
    all.into_iter().map(|sent| Sent { acknowledged: acknowledged(&sent.mark), ..sent }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_has_every_message_that_was_acknowledged_before() -> Result<()> {
    let (mut server, client, vendor) = with_vendor().await?;
    let folder = tempfile::tempdir()?;
    let clients = Clients::start(&client, 1).await?;
    let mut taken = Vec::new();
    for (number, answered) in [10, 40, 80].into_iter().enumerate() {
        clients.answered(answered).await;
        let (before, seen) = (clients.so_far(), vendor.requests());
        let file = folder.path().join(format!("{number}.db"));
        let told = said(&typed_aside(&server, &["backup", text(&file)?]).await?)?;
        ensure!(told.starts_with(&format!("Backed up to {}: ", file.display())), "{told}");
        taken.push((file, before, seen));
    }
    let during = clients.so_far().iter().filter(|sent| sent.acknowledged).count();
    clients.answered(during + 10).await;
    server.kill()?;
    let all = clients.finish().await;
    let mut second = TestServer::start(setup().vendor(&vendor)).await?;
    for (file, before, seen) in taken {
        ensure!(std::fs::metadata(&file)?.permissions().mode() & 0o777 == 0o600);
        // Into a directory that is not there yet, as on a new machine.
        let fresh = folder.path().join("fresh").join(file.file_stem().context("a stem")?);
        said(&typed_at(&second, &fresh, &["restore", text(&file)?])?)?;
        let examined = said(&typed_at(&second, &fresh, &["doctor"])?)?;
        ensure!(examined.contains("Nothing is wrong.") && examined.contains("sound: 5 agents"), "{examined}");
        // And into one that has a store; a server that starts there closes the runs that were under way.
        second.stop().await?;
        let told = answer(&second, &["restore", "--force", text(&file)?])?;
        ensure!(told.contains("What was stored before is kept as "), "{told}");
        second.restart().await?;
        second.kill()?;
        let sent = known_before(&before, all.clone());
        ensure!(sent.iter().filter(|one| one.acknowledged).count() >= 10);
        check(&second.data_dir(), &sent, &seen).await.with_context(|| format!("{}", file.display()))?;
        second.restart().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_backup_replaces_nothing_unless_it_is_told_to() -> Result<()> {
    let (mut server, _client) = alone().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("my backup.db");
    std::fs::write(&file, "precious")?;
    let told = complaint(&server, &["backup", text(&file)?])?;
    ensure!(told.contains("is there already") && std::fs::read_to_string(&file)? == "precious", "{told}");
    let told = complaint(&server, &["backup", text(folder.path())?])?;
    ensure!(told.contains("is a directory"), "{told}");
    let told = complaint(&server, &["backup", text(&folder.path().join("no/such/place"))?])?;
    ensure!(told.contains("can't write beside"), "{told}");
    answer(&server, &["backup", "--force", text(&file)?])?;
    ensure!(std::fs::read(&file)?.starts_with(b"SQLite format 3"));
    // Where no server runs, the command does it all by itself.
    server.stop().await?;
    answer(&server, &["backup", "--force", text(&file)?])?;
    ensure!(names(folder.path())? == ["my backup.db"], "{:?}", names(folder.path())?);
    ensure!(names(&server.data_dir())?.iter().all(|name| !name.contains("backup")));
    let nowhere = typed_at(&server, &folder.path().join("none"), &["backup", "x.db"])?;
    ensure!(complained(&nowhere)?.contains("there is nothing in"));
    Ok(())
}

#[tokio::test]
async fn a_restore_is_refused_where_it_would_harm() -> Result<()> {
    let (mut server, client) = alone().await?;
    create_agent(&client, "diary", "builtin/guide").await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("backup.db");
    answer(&server, &["backup", text(&file)?])?;
    let pid = server.pid().context("it runs")?.to_string();
    for words in [&["restore", text(&file)?][..], &["restore", "--force", text(&file)?]] {
        let told = complaint(&server, words)?;
        ensure!(told.contains(&format!("in use by process {pid}")) && told.contains("stop it first"), "{told}");
    }
    server.stop().await?;
    let store = server.data_dir().join(DATABASE);
    let before = std::fs::read(&store)?;
    let told = complaint(&server, &["restore", text(&file)?])?;
    ensure!(told.contains("something is stored in") && told.contains("--force"), "{told}");
    let told = complaint(&server, &["restore", "--force", text(&store)?])?;
    ensure!(told.contains("is the store itself"), "{told}");
    let (damaged, bytes) = (folder.path().join("damaged.db"), std::fs::read(&file)?);
    std::fs::write(&damaged, &bytes[..bytes.len() / 3])?;
    let told = complaint(&server, &["restore", "--force", text(&damaged)?])?;
    ensure!(told.contains("was not restored; nothing has changed: the database is damaged"), "{told}");
    std::fs::write(&damaged, "a shopping list")?;
    ensure!(complaint(&server, &["restore", "--force", text(&damaged)?])?.contains("not a database"));
    ensure!(complaint(&server, &["restore", "nowhere.db"])?.contains("can't read nowhere.db"));
    ensure!(std::fs::read(&store)? == before && names(&server.data_dir())? == [DATABASE, "owner.lock"]);
    Ok(())
}

/// Names of the agents of a store, after it was opened as a server would.
async fn agents(path: &Path) -> Result<Vec<String>> {
    let store = Store::open(&StoreConfig::at(path), Timestamp::now())?;
    let problems = store.check().await?.problems;
    ensure!(problems.is_empty(), "{problems:?}");
    let found = store.agents(Actor::default_user().organization, &AgentFilter::default()).await?;
    let mut names: Vec<String> = found.iter().map(|agent| agent.name.clone()).collect();
    store.close().await;
    names.sort();
    Ok(names)
}

/// `librarian restore` that is killed at the `count`th call of that name; whether it came to its end before.
fn killed_restore(data_dir: &Path, file: &Path, call: &str, count: u32) -> Result<bool> {
    let log = data_dir.with_extension("strace");
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(log).args(["-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:signal=KILL:when={count}"), env!("CARGO_BIN_EXE_librarian")]);
    command.args(["restore", "--force"]).arg(file).arg("--data-dir").arg(data_dir);
    Ok(command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).output()?.status.success())
}

#[tokio::test]
async fn a_restore_that_is_killed_leaves_the_old_store_or_the_new_one() -> Result<()> {
    let (mut server, client) = alone().await?;
    create_agent(&client, "new", "builtin/guide").await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("backup.db");
    answer(&server, &["backup", text(&file)?])?;
    create_agent(&client, "old", "builtin/guide").await?;
    // The old store was in use when its server died, so that part of it is in its log.
    server.kill()?;
    let calls = [("pwrite64", 24), ("fsync", 8), ("fdatasync", 8), ("unlink", 20), ("linkat", 2), ("rename", 4)];
    let moments = calls.into_iter().flat_map(|(call, most)| (1..=most).map(move |count| (call, count)));
    let (mut stayed, mut changed) = (0, 0);
    for (call, count) in moments {
        let data_dir = folder.path().join(format!("{call}-{count}"));
        std::fs::create_dir(&data_dir)?;
        for name in [DATABASE, "librarian.db-wal"] {
            std::fs::copy(server.data_dir().join(name), data_dir.join(name))?;
        }
        let ended = killed_restore(&data_dir, &file, call, count)?;
        let left = judge(&data_dir).await.with_context(|| format!("killed at {call} {count}"))?;
        ensure!(!ended || left == Left::New, "{call} {count}: a restore that went well changed nothing");
        *(if left == Left::New { &mut changed } else { &mut stayed }) += 1;
    }
    ensure!(stayed >= 20 && changed >= 5, "{stayed} stayed, {changed} changed");
    Ok(())
}

/// Which store a restore left.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Old,
    New,
}

/// The store must be the old one or the new one, whole; the old one must be somewhere.
async fn judge(data_dir: &Path) -> Result<Left> {
    let (old, new) = (["librarian", "new", "old"], ["librarian", "new"]);
    let found = agents(&data_dir.join(DATABASE)).await?;
    let names = names(data_dir)?;
    ensure!(!names.iter().any(|name| name.contains(".restore")), "leftovers: {names:?}");
    if found == old {
        return Ok(Left::Old);
    }
    ensure!(found == new, "{found:?}");
    let kept = kept(data_dir)?;
    ensure!(agents(kept.first().context("what was there is gone")?).await? == old);
    Ok(Left::New)
}

/// Old stores that are kept in a directory.
fn kept(directory: &Path) -> Result<Vec<PathBuf>> {
    let kept = names(directory)?.into_iter().filter(|name| name.contains(".before-restore-") && name.ends_with('Z'));
    Ok(kept.map(|name| directory.join(name)).collect())
}

#[tokio::test]
async fn a_backup_that_is_given_up_leaves_nothing_and_makes_room() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", "a-long-key-for-tests")).await?;
    let client = server.client()?.with_header("authorization", "Bearer a-long-key-for-tests")?;
    let taken = client.get("/console/v1/backup").await?;
    ensure!(taken.status == 200 && taken.body.starts_with(b"SQLite format 3"));
    ensure!(taken.header("content-length") == Some(taken.body.len().to_string().as_str()));
    ensure!(server.client()?.get("/console/v1/backup").await?.status == 401);
    let address = server.url().strip_prefix("http://").context("an address")?;
    let asked = format!(
        "GET /console/v1/backup HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer a-long-key-for-tests\r\n\r\n"
    );
    for _ in 0..5 {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(asked.as_bytes()).await?;
        drop(stream);
    }
    // The server may still be noticing that nobody waits.
    let begin = Instant::now();
    loop {
        let again = client.get("/console/v1/backup").await?;
        ensure!(again.status == 200 || again.status == 409, "{}", again.text());
        let left = names(&server.data_dir())?.into_iter().find(|name| name.contains("backup"));
        if again.status == 200 && left.is_none() {
            return Ok(());
        }
        ensure!(begin.elapsed() < PATIENCE, "{} {left:?}", again.status);
    }
}

#[tokio::test]
async fn one_backup_may_follow_another_at_once() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", "a-long-key-for-tests")).await?;
    let client = server.client()?.with_header("authorization", "Bearer a-long-key-for-tests")?;
    for _ in 0..30 {
        ensure!(client.get("/console/v1/backup").await?.status == 200);
    }
    Ok(())
}

fn findings(output: &Output) -> Result<Vec<(String, String)>> {
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let all = told["findings"].as_array().context("findings")?.iter();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(all.map(|one| (word(&one["subject"]), word(&one["text"]))).collect())
}

#[tokio::test]
async fn the_doctor_repairs_what_follows_from_the_rows() -> Result<()> {
    let (mut server, _client) = alone().await?;
    let refused = typed(&server, &["doctor", "--repair", "--json"])?;
    ensure!(!refused.status.success(), "{refused:?}");
    ensure!(
        findings(&refused)?.iter().any(|(subject, text)| subject == "repair" && text.contains("nothing was repaired"))
    );
    // A server that runs is asked to look.
    let seen = answer(&server, &["doctor"])?;
    ensure!(seen.contains("sound: 1 agent") && seen.contains("Nothing is wrong."), "{seen}");
    server.stop().await?;
    let raw = rusqlite::Connection::open(server.data_dir().join(DATABASE))?;
    raw.execute_batch("update conversation set message_count = 99")?;
    drop(raw);
    let ill = typed(&server, &["doctor"])?;
    let told = String::from_utf8_lossy(&ill.stdout).into_owned();
    ensure!(!ill.status.success() && told.contains("counts 99 messages and has 1"), "{told}");
    ensure!(told.contains("then run `librarian doctor --repair`"), "{told}");
    let mended = answer(&server, &["doctor", "--repair"])?;
    for expected in [
        "was wrong: conversation",
        "built all indexes of the database anew",
        "counted the messages of 1 conversation",
        "sound: 1 agent",
        "Nothing is wrong.",
    ] {
        ensure!(mended.contains(expected), "{expected}: {mended}");
    }
    ensure!(answer(&server, &["doctor"])?.contains("Nothing is wrong."));
    Ok(())
}
