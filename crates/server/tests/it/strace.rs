//! Watches and disturbs the system calls of a running server, from outside.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// A strace that is attached to a process. Dropping it lets the process go on alone.
pub(crate) struct Strace {
    child: Child,
}

impl Strace {
    /// Attaches to all threads of `pid`; returns when it watches. `folder` gets its log and its words.
    pub(crate) async fn attach(pid: u32, arguments: &[&str], folder: &Path) -> Result<Self> {
        let said = folder.join("strace.stderr");
        let mut command = Command::new("strace");
        command.args(["-f", "-p", &pid.to_string(), "-o"]).arg(log(folder)).args(arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said)?).spawn();
        let mut strace = Self { child: child.context("strace is needed: scripts/test installs it")? };
        let begin = Instant::now();
        while !std::fs::read_to_string(&said)?.contains("attached") {
            if let Some(status) = strace.child.try_wait()? {
                bail!("strace ended with {status}: {}", std::fs::read_to_string(&said)?);
            }
            if begin.elapsed() > PATIENCE {
                bail!("strace did not attach");
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(strace)
    }

    /// Detaches and gives what was logged in `folder`.
    pub(crate) async fn finish(mut self, folder: &Path) -> Result<String> {
        // SIGINT lets strace detach in order; SIGKILL might leave threads stopped.
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        let begin = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begin.elapsed() > PATIENCE {
                bail!("strace did not end");
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(String::from_utf8_lossy(&std::fs::read(log(folder))?).into_owned())
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        // One that has ended already needs nothing.
        drop(Command::new("kill").args(["-INT", &self.child.id().to_string()]).stderr(Stdio::null()).status());
        drop(self.child.wait());
    }
}

fn log(folder: &Path) -> PathBuf {
    folder.join("strace.log")
}
