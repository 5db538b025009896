//! What a client is told is on the disk: SIGKILL can't show that, so the server's system calls are watched.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::house::{VENDOR_MODEL, create_agent, say, with_vendor, words};
use crate::strace::Strace;

const MESSAGES: usize = 12;
const CLIENTS: usize = 8;

/// One system call, in the order in which strace saw it.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// Bytes were handed to the log of the database; the marks that stand in them.
    Logged(Vec<String>),
    SyncBegan(u32),
    SyncEnded(u32),
    /// An answer left for a client; the marks that stand in it.
    Answered(Vec<String>),
}

#[tokio::test]
async fn every_answer_comes_after_its_group_was_synced() -> Result<()> {
    let (server, client, _vendor) = with_vendor().await?;
    let mut agents = Vec::new();
    for number in 0..CLIENTS {
        agents.push(create_agent(&client, &format!("a{number}"), VENDOR_MODEL).await?);
    }
    let folder = tempfile::tempdir()?;
    let arguments = ["-y", "-s", "200000", "-e", "trace=pwrite64,fdatasync,fsync,write,writev,sendto,sendmsg"];
    let strace = Strace::attach(server.pid().context("it runs")?, &arguments, folder.path()).await?;
    // One after the other: each message has its own groups. Then many at once: groups are shared.
    for number in 0..MESSAGES {
        send(&client, &agents[0], &format!("alone{number}z")).await?;
    }
    let rounds = agents.iter().enumerate().map(|(number, agent)| send_many(&client, agent, number));
    futures_util::future::try_join_all(rounds).await?;
    let log = strace.finish(folder.path()).await?;
    let judged = judge(&parse(&log))?;
    ensure!(judged == MESSAGES + 4 * CLIENTS, "{judged} answers were found in the log");
    Ok(())
}

async fn send_many(client: &testkit::Client, agent: &str, number: usize) -> Result<()> {
    for round in 0..4 {
        send(client, agent, &format!("many{number}x{round}z")).await?;
    }
    Ok(())
}

async fn send(client: &testkit::Client, agent: &str, mark: &str) -> Result<()> {
    let insert = json!({"label": "human", "new_str": "seen"});
    let text = format!("[[tool:memory_insert {insert}]][[say:heard-{mark}]] mark-{mark}");
    let answer = say(client, agent, &text).await?.ok()?;
    ensure!(words(&answer) == format!("heard-{mark}"), "{answer}");
    Ok(())
}

/// Each answer must have been written to the log, and the log synced after that, before the answer left. Gives how many
/// answers there were.
fn judge(seen: &[Seen]) -> Result<usize> {
    // For each mark: the place of its first write. A later group may write the same page again.
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    let mut began: BTreeMap<u32, usize> = BTreeMap::new();
    // The newest place in the log of calls up to which everything is known to be on the disk.
    let mut durable = 0;
    let mut judged = 0;
    for (place, one) in seen.iter().enumerate() {
        match one {
            Seen::Logged(marks) => {
                for mark in marks {
                    written.entry(mark).or_insert(place);
                }
            }
            Seen::SyncBegan(thread) => {
                began.insert(*thread, place);
            }
            Seen::SyncEnded(thread) => durable = durable.max(began.remove(thread).unwrap_or_default()),
            Seen::Answered(marks) => {
                for mark in marks {
                    let at = written.get(mark.as_str()).with_context(|| format!("{mark} was answered, not written"))?;
                    ensure!(*at < durable, "{mark} was answered before its write at {at} was synced ({durable})");
                    judged += 1;
                }
            }
        }
    }
    Ok(judged)
}

fn parse(log: &str) -> Vec<Seen> {
    log.lines().flat_map(parse_line).collect()
}

/// `PID call(FD<path>, …) = n`, or its two halves `PID call(… <unfinished ...>` and `PID <... call resumed>…`.
fn parse_line(line: &str) -> Vec<Seen> {
    let Some((thread, call)) = line.split_once(' ') else { return Vec::new() };
    let Ok(thread) = thread.parse() else { return Vec::new() };
    let call = call.trim_start();
    if call.starts_with("<... fdatasync resumed>") || call.starts_with("<... fsync resumed>") {
        return vec![Seen::SyncEnded(thread)];
    }
    let Some((name, rest)) = call.split_once('(') else { return Vec::new() };
    let is_log = rest.split_once('>').is_some_and(|(file, _)| file.ends_with(".db-wal"));
    match name {
        "pwrite64" if is_log => vec![Seen::Logged(marks(rest, "heard-"))],
        "fdatasync" | "fsync" if is_log && call.ends_with("<unfinished ...>") => vec![Seen::SyncBegan(thread)],
        "fdatasync" | "fsync" if is_log => vec![Seen::SyncBegan(thread), Seen::SyncEnded(thread)],
        "write" | "writev" | "sendto" | "sendmsg" if rest.contains("HTTP/1.1 200 OK") => {
            vec![Seen::Answered(marks(rest, "heard-"))]
        }
        _ => Vec::new(),
    }
}

/// The marks behind `word` in a text.
fn marks(text: &str, word: &str) -> Vec<String> {
    let found = text.match_indices(word).filter_map(|(at, _)| text[at + word.len()..].split_inclusive('z').next());
    let mut marks: Vec<String> =
        found.filter(|mark| mark.ends_with('z') && mark.len() < 20).map(str::to_owned).collect();
    marks.sort();
    marks.dedup();
    marks
}

#[test]
fn the_judge_can_say_no() {
    let logged = || Seen::Logged(vec!["a1z".into()]);
    let answered = || Seen::Answered(vec!["a1z".into()]);
    let synced = |thread| [Seen::SyncBegan(thread), Seen::SyncEnded(thread)];
    let [began, ended] = synced(7);
    assert_eq!(judge(&[logged(), began, ended, answered()]).unwrap(), 1);
    let [began, ended] = synced(7);
    assert!(judge(&[began, ended, logged(), answered()]).is_err(), "synced before it was written");
    let [began, ended] = synced(7);
    assert!(judge(&[logged(), began, answered(), ended]).is_err(), "answered before the sync was over");
    let [began, ended] = synced(7);
    assert!(judge(&[began, logged(), ended, answered()]).is_err(), "written while the sync was under way");
    assert!(judge(&[answered()]).is_err(), "never written");
}
