//! The command line: reads what was asked for and runs it.
//!
//! Every command but `serve`, `doctor`, `restore`, `eval` and `models pull` is an HTTP client of the data directory's
//! owner; see [`connection`]. Nothing here may touch the store or a model by itself, except that `doctor` looks at both
//! and mends the store if asked to, that `restore` replaces the store, both only where nobody else owns it, and that
//! `eval` has a store of its own.

mod agents;
mod backup;
mod call;
mod chat;
mod connection;
mod context;
mod doctor;
mod eval;
mod holdings;
mod keys;
mod lookup;
mod memory;
mod models;
pub(crate) mod output;
mod reembed;
mod replies;
mod restore;
mod search;
mod table;
mod wire;

use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Parser;

use crate::cli::output::{Output, complain};
use crate::config::{Config, PlaceFlags, ServeFlags, process_environment};
use crate::{logging, serve};

/// What is logged unless the operator said otherwise: a server tells how it goes, a command only what is wrong, and a
/// chat says in its own words what went wrong with an answer.
const SERVER_LOG: &str = "info";
const COMMAND_LOG: &str = "warn";
const CHAT_LOG: &str = "error";

/// One binary that gives any AI client a mind that lasts.
#[derive(Debug, Parser)]
#[command(name = "librarian", version, about)]
struct Cli {
    #[command(flatten)]
    place: PlaceFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run the server
    Serve(ServeFlags),
    /// Talk to an agent, and see its memory change
    Chat(chat::ChatFlags),
    /// Look after agents
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    /// Make, list and revoke keys for clients
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Look into an agent's memory
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
    /// Search an agent's memory, and see why each hit ranked
    Search(search::SearchFlags),
    /// Embed an agent's memory with another model, or go on where that was interrupted
    Reembed(reembed::ReembedFlags),
    /// Measure the quality of search
    #[command(subcommand)]
    Eval(eval::EvalCommand),
    /// Copy everything that is stored into one file, while the server runs
    Backup(backup::BackupFlags),
    /// Put a backup in the place of what is stored
    Restore(restore::RestoreFlags),
    /// Show what fills an agent's context window
    Context(context::ContextFlags),
    /// List models, and fetch those that are not part of this program
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// Check the data directory, the store and the providers
    Doctor(doctor::DoctorFlags),
}

/// Runs what the command line asks for.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help that nobody reads is no failure.
            let _unread = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let output = Output::new(&process_environment);
    let ended = start(&cli, &output).and_then(|code| match output.failure() {
        Some(error) => Err(anyhow!("not everything could be written to standard output: {error}")),
        None => Ok(code),
    });
    ended.unwrap_or_else(|error| {
        complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

fn start(cli: &Cli, output: &Output) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("the program's threads can't be started")?;
    let ended = runtime.block_on(Box::pin(perform(cli, output)));
    // Whatever still waits, for a provider or for input, waits for nobody now.
    runtime.shutdown_background();
    ended
}

async fn perform(cli: &Cli, output: &Output) -> anyhow::Result<ExitCode> {
    match &cli.command {
        Command::Serve(flags) => serve::run(&config(cli, flags, SERVER_LOG)?, output).await,
        Command::Chat(flags) => chat::run(&command_config(cli, CHAT_LOG)?, flags, output).await,
        Command::Agents(command) => agents::run(&command_config(cli, COMMAND_LOG)?, command, output).await,
        Command::Keys(command) => keys::run(&command_config(cli, COMMAND_LOG)?, command, output).await,
        Command::Memory(command) => memory::run(&command_config(cli, COMMAND_LOG)?, command, output).await,
        Command::Search(flags) => search::run(&command_config(cli, COMMAND_LOG)?, flags, output).await,
        Command::Reembed(flags) => reembed::run(&command_config(cli, COMMAND_LOG)?, flags, output).await,
        Command::Eval(command) => eval::run(&command_config(cli, COMMAND_LOG)?, command, output).await,
        Command::Backup(flags) => backup::run(&command_config(cli, COMMAND_LOG)?, flags, output).await,
        Command::Restore(flags) => restore::run(&command_config(cli, COMMAND_LOG)?, flags, output).await,
        Command::Context(flags) => context::run(&command_config(cli, COMMAND_LOG)?, flags, output).await,
        Command::Models(command) => models::run(&command_config(cli, COMMAND_LOG)?, command, output).await,
        // A configuration that can't be read is something that the doctor has to tell.
        Command::Doctor(flags) => doctor::run(&cli.place, flags, output).await,
    }
}

fn command_config(cli: &Cli, log: &str) -> anyhow::Result<Config> {
    config(cli, &ServeFlags::default(), log)
}

fn config(cli: &Cli, flags: &ServeFlags, log: &str) -> anyhow::Result<Config> {
    let config = Config::load(&cli.place, flags, &process_environment)?;
    logging::start(&config, log)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_of_the_place_may_stand_anywhere() {
        for line in [
            &["librarian", "--data-dir", "/x", "agents", "list", "--json"][..],
            &["librarian", "agents", "list", "--json", "--data-dir", "/x"],
            &["librarian", "chat", "--data-dir", "/x", "diary"],
            &["librarian", "doctor", "--json", "--config", "/y", "--data-dir=/x"],
        ] {
            let cli = Cli::try_parse_from(line).unwrap();
            assert_eq!(cli.place.data_dir.as_deref(), Some(std::path::Path::new("/x")), "{line:?}");
        }
    }
}
