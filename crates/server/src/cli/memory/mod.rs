//! `librarian memory …`: what an agent remembers at all times, how it came to that, and the way back.

mod diff;
mod diff_text;
mod history;
mod history_text;
mod show;
mod undo;
mod views;

use std::process::ExitCode;

use crate::cli::call::segment;
use crate::cli::output::Output;
use crate::cli::wire::AgentView;
use crate::config::Config;

pub(crate) use self::show::blocks_of;

/// `librarian memory …`
#[derive(Debug, clap::Subcommand)]
pub(crate) enum MemoryCommand {
    /// Show an agent's memory blocks
    Show(show::ShowFlags),
    /// Show who changed a block and when
    History(history::HistoryFlags),
    /// Show what changed between two versions of a block
    Diff(diff::DiffFlags),
    /// Take the newest change of a block back
    Undo(undo::UndoFlags),
    /// Make the change again that was taken back last
    Redo(undo::UndoFlags),
}

/// Runs the command.
pub(crate) async fn run(config: &Config, command: &MemoryCommand, output: &Output) -> anyhow::Result<ExitCode> {
    match command {
        MemoryCommand::Show(flags) => show::run(config, flags, output).await,
        MemoryCommand::History(flags) => history::run(config, flags, output).await,
        MemoryCommand::Diff(flags) => diff::run(config, flags, output).await,
        MemoryCommand::Undo(flags) => undo::run(config, flags, undo::Verb::Undo, output).await,
        MemoryCommand::Redo(flags) => undo::run(config, flags, undo::Verb::Redo, output).await,
    }
}

/// The console's path of one block.
fn block_path(agent: &AgentView, label: &str, verb: &str) -> String {
    format!("/console/v1/agents/{}/blocks/{}/{verb}", agent.id, segment(label))
}
