//! Commands of the real binary, as somebody types them, and what they answer.

use std::path::Path;
use std::process::Output;

use anyhow::{Result, ensure};
use testkit::TestServer;

/// Runs a command on the data of `server`, whether that runs or not.
pub(crate) fn typed(server: &TestServer, words: &[&str]) -> Result<Output> {
    typed_at(server, &server.data_dir(), words)
}

/// Runs a command on another directory.
pub(crate) fn typed_at(server: &TestServer, data_dir: &Path, words: &[&str]) -> Result<Output> {
    Ok(server.command(words).arg("--data-dir").arg(data_dir).output()?)
}

/// What a command that went well has said.
pub(crate) fn answer(server: &TestServer, words: &[&str]) -> Result<String> {
    said(&typed(server, words)?)
}

/// What a command that was refused has complained about.
pub(crate) fn complaint(server: &TestServer, words: &[&str]) -> Result<String> {
    complained(&typed(server, words)?)
}

/// The words of a command that must have gone well.
pub(crate) fn said(output: &Output) -> Result<String> {
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The words of a command that must have failed.
pub(crate) fn complained(output: &Output) -> Result<String> {
    ensure!(!output.status.success(), "{output:?}");
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}
