//! `librarian agents delete`. It can't be undone, so a person is asked and a script has to say that it means it.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::agent_path;
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::{Output, clean, one_line};
use crate::cli::wire::AgentView;
use crate::config::Config;

/// What to delete.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Delete without asking
    #[arg(long)]
    yes: bool,
}

/// Deletes the agent.
pub(crate) async fn run(config: &Config, flags: &DeleteFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    connection
        .during(async |connection: &mut Connection<'_>| {
            let agent = lookup::find(connection, &flags.agent).await?;
            if !flags.yes && !is_meant(&agent, output)? {
                output.line("Nothing was deleted.");
                return Ok(ExitCode::FAILURE);
            }
            connection.ask(&Call::delete(agent_path(&agent))).await?.ok()?;
            output.line(&format!("Deleted {} ({}).", one_line(&agent.name), agent.id));
            Ok(ExitCode::SUCCESS)
        })
        .await
}

/// Asks the person at the terminal.
fn is_meant(agent: &AgentView, output: &Output) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("deleting an agent can't be undone and there is nobody to ask: add --yes if you mean it");
    }
    let question = format!("Delete {} ({}) with its memory and messages? [y/N] ", one_line(&agent.name), agent.id);
    output.rendered(&clean(&question));
    let mut reply = String::new();
    let read = tokio::task::block_in_place(|| std::io::stdin().lock().read_line(&mut reply));
    read.context("the reply can't be read")?;
    Ok(is_yes(&reply))
}

fn is_yes(reply: &str) -> bool {
    matches!(reply.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (reply, expected) in
            [("y\n", true), (" Yes \n", true), ("", false), ("\n", false), ("no\n", false), ("yep\n", false)]
        {
            assert_eq!(is_yes(reply), expected, "{reply:?}");
        }
    }
}
