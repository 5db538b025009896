//! The real server as a child process, with a data directory that goes away with it.
//!
//! The child sees none of the developer's environment, so that real keys never reach a test. What it writes is kept
//! in files and shown if the test panics.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::fake_vendor::FakeVendor;
use crate::http_client::Client;

/// How long a start or a stop may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks at the child. A process on its way up or down can only be watched.
const LOOK: Duration = Duration::from_millis(2);

/// How to start a server.
#[derive(Debug, Clone)]
pub struct ServerSetup {
    binary: PathBuf,
    arguments: Vec<OsString>,
    environment: BTreeMap<String, String>,
    listens_as_configured: bool,
}

impl ServerSetup {
    /// The server at `binary`, which a test of the server's crate knows as `env!("CARGO_BIN_EXE_librarian")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            listens_as_configured: false,
        }
    }

    /// One more environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// One more argument after `serve --data-dir …`.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Where to listen is left to the configuration file. The first address in it must answer health checks.
    pub fn listens_as_configured(self) -> Self {
        Self { listens_as_configured: true, ..self }
    }

    /// `vendor` as the server's OpenAI.
    pub fn vendor(self, vendor: &FakeVendor) -> Self {
        self.env("OPENAI_API_KEY", "test-key").env("OPENAI_BASE_URL", vendor.url())
    }
}

/// A running server. Dropping it kills the process and removes its directory.
pub struct TestServer {
    setup: ServerSetup,
    directory: TempDir,
    child: Option<Child>,
    url: String,
    starts: usize,
}

impl TestServer {
    /// Starts the server and returns when it is healthy.
    pub async fn start(setup: ServerSetup) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("librarian-test-").tempdir()?;
        let mut server = Self { setup, directory, child: None, url: String::new(), starts: 0 };
        server.launch().await?;
        Ok(server)
    }

    /// The server's address, `http://127.0.0.1:PORT`. It changes with every restart.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client of the server as it runs now.
    pub fn client(&self) -> Result<Client> {
        Client::new(&self.url)
    }

    /// The directory that survives restarts.
    pub fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Every address that the server said it listens on, in its order.
    pub fn urls(&self) -> Vec<String> {
        urls(&self.stdout())
    }

    /// The process id, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// What the server has written to its standard output since its last start.
    pub fn stdout(&self) -> String {
        self.written("stdout")
    }

    /// What the server has written to its standard error since its last start.
    pub fn stderr(&self) -> String {
        self.written("stderr")
    }

    /// Ends the process with SIGKILL, as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().context("the server could not be killed")?;
            child.wait()?;
        }
        Ok(())
    }

    /// Asks the process to end with SIGTERM, and does not wait for it.
    pub fn terminate(&self) -> Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        // The standard library can only send SIGKILL.
        let sent = Command::new("kill").args(["-TERM", &pid.to_string()]).status()?;
        if !sent.success() {
            bail!("SIGTERM could not be sent to {pid}");
        }
        Ok(())
    }

    /// Waits until the process has ended by itself.
    pub async fn exited(&mut self) -> Result<ExitStatus> {
        let begin = Instant::now();
        let child = self.child.as_mut().context("the server does not run")?;
        loop {
            if let Some(status) = child.try_wait()? {
                self.child = None;
                return Ok(status);
            }
            if begin.elapsed() > PATIENCE {
                bail!("the server did not end within {PATIENCE:?}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Ends the process with SIGTERM and waits for it.
    pub async fn stop(&mut self) -> Result<ExitStatus> {
        self.terminate()?;
        self.exited().await
    }

    /// Stops the server, if it runs, and starts it again on the same data.
    pub async fn restart(&mut self) -> Result<()> {
        if self.child.is_some() {
            self.stop().await?;
        }
        self.launch().await
    }

    /// Runs another command of the binary on the same data, in the same clean environment, and returns when it ends.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.clean_command();
        command.args(arguments);
        command
    }

    fn clean_command(&self) -> Command {
        let mut command = Command::new(&self.setup.binary);
        command.env_clear().env("HOME", self.directory.path()).current_dir(self.directory.path());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.envs(&self.setup.environment).stdin(Stdio::null());
        command
    }

    async fn launch(&mut self) -> Result<()> {
        self.starts += 1;
        let mut command = self.clean_command();
        command.args(["serve", "--data-dir"]).arg(self.data_dir()).args(&self.setup.arguments);
        if !self.setup.listens_as_configured {
            command.args(["--port", "0"]);
        }
        command.stdout(File::create(self.log_path("stdout"))?).stderr(File::create(self.log_path("stderr"))?);
        self.child = Some(command.spawn().with_context(|| format!("{} did not start", self.setup.binary.display()))?);
        match tokio::time::timeout(PATIENCE, self.become_ready()).await {
            Ok(Ok(url)) => {
                self.url = url;
                Ok(())
            }
            Ok(Err(error)) => Err(error.context(self.logs())),
            Err(_) => bail!("the server was not healthy within {PATIENCE:?}\n{}", self.logs()),
        }
    }

    /// Waits for the address on standard output, then for a healthy answer.
    async fn become_ready(&mut self) -> Result<String> {
        loop {
            if let Some(status) = self.child.as_mut().context("the server does not run")?.try_wait()? {
                self.child = None;
                bail!("the server ended at once with {status}");
            }
            if let Some(url) = first_url(&self.stdout())
                && Client::new(&url)?.get("/health").await.is_ok_and(|reply| reply.status.is_success())
            {
                return Ok(url);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.{}.log", self.starts))
    }

    fn written(&self, name: &str) -> String {
        read_lossy(&self.log_path(name))
    }

    fn logs(&self) -> String {
        format!("--- stdout of the server\n{}--- stderr of the server\n{}---", self.stdout(), self.stderr())
    }
}

impl Drop for TestServer {
    #[expect(clippy::print_stderr, reason = "a failed test has no other place to show what the server said")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
        // A process that is gone already is as good as a killed one.
        drop(self.kill());
    }
}

fn read_lossy(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The first of [`urls`].
fn first_url(text: &str) -> Option<String> {
    urls(text).into_iter().next()
}

/// Every `http://host:port` in complete lines of `text`, so that half a port is never taken for a whole one.
fn urls(text: &str) -> Vec<String> {
    let Some(end) = text.rfind('\n') else { return Vec::new() };
    let is_authority = |letter: char| letter.is_ascii_alphanumeric() || ".:[]-".contains(letter);
    let after_schemes = text[..=end].split("http://").skip(1);
    after_schemes
        .map(|rest| {
            let authority = &rest[..rest.find(|letter| !is_authority(letter)).unwrap_or(rest.len())];
            format!("http://{}", authority.trim_end_matches(['.', ':']))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_first_url_of_a_complete_line() {
        for (text, expected) in [
            ("ready\n  address  http://127.0.0.1:8283\n", Some("http://127.0.0.1:8283")),
            ("see http://127.0.0.1:8283/v1, http://other\n", Some("http://127.0.0.1:8283")),
            ("on http://127.0.0.1:8283.\n", Some("http://127.0.0.1:8283")),
            ("on http://127.0.0.1:82", None),
            ("nothing\n", None),
        ] {
            assert_eq!(first_url(text).as_deref(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_no_server_is_reported_with_its_words() {
        let error = match TestServer::start(ServerSetup::new("/bin/ls")).await {
            Ok(_) => panic!("ls does not serve"),
            Err(error) => format!("{error:#}"),
        };
        assert!(error.contains("stderr of the server") && error.contains("ended at once"), "{error}");
    }
}
