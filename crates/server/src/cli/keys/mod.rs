//! `librarian keys …`: keys for clients, each of which can be taken back without touching the others.

mod create;
mod list;
mod revoke;
mod view;

use std::process::ExitCode;

use crate::cli::output::Output;
use crate::config::Config;

/// Where the console keeps them.
const KEYS: &str = "/console/v1/keys";

/// `librarian keys …`
#[derive(Debug, clap::Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key for a client, and show it this once
    Create(create::CreateFlags),
    /// List keys, without the keys themselves
    List(list::ListFlags),
    /// Take a key back for good
    Revoke(revoke::RevokeFlags),
}

/// Runs the command.
pub(crate) async fn run(config: &Config, command: &KeysCommand, output: &Output) -> anyhow::Result<ExitCode> {
    match command {
        KeysCommand::Create(flags) => create::run(config, flags, output).await,
        KeysCommand::List(flags) => list::run(config, flags, output).await,
        KeysCommand::Revoke(flags) => revoke::run(config, flags, output).await,
    }
}
