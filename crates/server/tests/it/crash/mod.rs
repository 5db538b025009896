//! Promise 2 of the design: after `kill -9` at any instant no acknowledged write is lost, no tool call is without its
//! return, no run is left running, and a step is there whole or not at all.
//!
//! The real server is killed again and again while clients talk to it through both doors. After each kill it is
//! started once more, and what is stored is compared with what the clients were told and what the vendor saw.

pub(crate) mod check;
pub(crate) mod clients;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use testkit::{FakeVendor, Gate, TestServer, VendorReply};

use self::clients::Clients;
use crate::house;
use crate::strace::Strace;

/// Kills at a random moment.
const RANDOM_KILLS: u64 = 40;
/// Writes and syncs of the log after which the server dies, counted from when clients start to talk.
const WRITE_KILLS: [u32; 10] = [1, 2, 3, 4, 6, 9, 13, 18, 26, 40];
const SYNC_KILLS: [u32; 4] = [1, 2, 5, 9];
const STREAM_KILLS: usize = 6;

/// One house that is killed many times.
struct Victim {
    server: TestServer,
    vendor: FakeVendor,
    round: u32,
    /// Messages that were answered, and those whose clients saw the server die.
    answered: usize,
    broken: usize,
}

impl Victim {
    async fn new() -> Result<Self> {
        let (server, _, vendor) = house::with_vendor().await?;
        Ok(Self { server, vendor, round: 0, answered: 0, broken: 0 })
    }

    /// New agents and clients that begin to talk to them.
    async fn begin(&mut self) -> Result<Clients> {
        self.round += 1;
        self.vendor.clear();
        Clients::start(&self.server.client()?, self.round).await
    }

    /// Compares what is left with what was told, and starts the server for the next round.
    async fn judge(&mut self, clients: Clients) -> Result<()> {
        let sent = clients.finish().await;
        let answered = sent.iter().filter(|one| one.acknowledged).count();
        self.answered += answered;
        self.broken += sent.len() - answered;
        // The first start mends what the crash left; the second kill shows that mending is itself safe.
        self.server.restart().await?;
        self.server.kill()?;
        check::check(&self.server.data_dir(), &sent, &self.vendor.requests())
            .await
            .with_context(|| format!("round {}", self.round))?;
        self.server.restart().await
    }

    /// Whether there was enough to lose.
    fn was_busy(&self) -> Result<()> {
        let (answered, broken, rounds) = (self.answered, self.broken, self.round as usize);
        ensure!(answered >= rounds && broken >= rounds, "{answered} answered, {broken} broken in {rounds} rounds");
        Ok(())
    }

    /// Kills by a system call of the writer: `inject` is strace's word for which one.
    async fn kill_in_commit(&mut self, call: &str, count: u32) -> Result<()> {
        let clients = self.begin().await?;
        let pid = self.server.pid().context("the server runs")?;
        let folder = tempfile::tempdir()?;
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={count}"));
        let _strace = Strace::attach(pid, &["-e", &trace, "-e", &inject], folder.path()).await?;
        self.server.exited().await?;
        self.judge(clients).await
    }
}

#[tokio::test]
async fn nothing_is_lost_by_a_kill_at_a_random_moment() -> Result<()> {
    let mut victim = Victim::new().await?;
    for seed in 0..RANDOM_KILLS {
        let mut random = StdRng::seed_from_u64(seed);
        let clients = victim.begin().await?;
        tokio::time::sleep(Duration::from_micros(random.random_range(0..250_000))).await;
        victim.server.kill()?;
        victim.judge(clients).await?;
    }
    victim.was_busy()
}

#[tokio::test]
async fn nothing_is_lost_by_a_kill_in_the_middle_of_an_answer() -> Result<()> {
    let mut victim = Victim::new().await?;
    for number in 0..STREAM_KILLS {
        let gate = Gate::new();
        // Some answers pass first, so that the held one meets agents with a history.
        let clients = victim.begin().await?;
        clients.answered(number * 3).await;
        victim.vendor.push(VendorReply::say("words that nobody will ever hear to their end").held_halfway(&gate));
        gate.reached().await;
        victim.server.kill()?;
        gate.release();
        victim.judge(clients).await?;
    }
    victim.was_busy()
}

#[tokio::test]
async fn nothing_is_lost_by_a_kill_between_tool_and_commit_or_inside_a_commit() -> Result<()> {
    let mut victim = Victim::new().await?;
    // The first write of a group comes after the tools ran and before anything of it is on the disk.
    for count in WRITE_KILLS {
        victim.kill_in_commit("pwrite64", count).await?;
    }
    for count in SYNC_KILLS {
        victim.kill_in_commit("fdatasync", count).await?;
    }
    victim.was_busy()
}
