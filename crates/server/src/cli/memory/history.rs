//! `librarian memory history`: who changed a block, when, and by how much.

use std::collections::HashSet;
use std::process::ExitCode;

use serde_json::Value;

use super::block_path;
use super::history_text::rendered;
use super::views::{BlockEntryView, HistoryView};
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::Output;
use crate::cli::wire::{self, AgentView};
use crate::config::Config;

/// Changes of each block where all blocks are shown.
const FEW: u32 = 10;
/// Changes where one block is.
const MANY: u32 = 50;

/// Whose history.
#[derive(Debug, clap::Args)]
pub(crate) struct HistoryFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The block; all blocks of the agent if it is left out
    #[arg(value_name = "LABEL")]
    label: Option<String>,
    /// Show at most so many changes of a block, newest first [default: 50 for one block, 10 each for all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Show only changes before this version
    #[arg(long, value_name = "VERSION", requires = "label")]
    before: Option<u64>,
    /// Print the history as JSON
    #[arg(long)]
    json: bool,
}

/// Shows a history.
pub(super) async fn run(config: &Config, flags: &HistoryFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let (agent, answers) =
        connection.during(async |connection: &mut Connection<'_>| ask(connection, flags).await).await?;
    if flags.json {
        // Whoever named one block gets that one.
        match (flags.label.is_some(), answers.first()) {
            (true, Some(one)) => output.json(one),
            _ => output.json(&Value::Array(answers)),
        }
        return Ok(ExitCode::SUCCESS);
    }
    if answers.is_empty() {
        output.line("This agent has no memory blocks.");
    }
    let mut texts = Vec::with_capacity(answers.len());
    for answer in &answers {
        texts.push(rendered(&wire::read::<HistoryView>(answer)?, &agent, output.style()));
    }
    output.rendered(&texts.join("\n"));
    Ok(ExitCode::SUCCESS)
}

async fn ask(connection: &mut Connection<'_>, flags: &HistoryFlags) -> anyhow::Result<(AgentView, Vec<Value>)> {
    let agent = lookup::find(connection, &flags.agent).await?;
    let labels = match &flags.label {
        Some(label) => vec![label.clone()],
        None => {
            let call = Call::get(format!("/console/v1/agents/{}/blocks", agent.id));
            let blocks: Vec<BlockEntryView> = wire::read(&connection.ask(&call).await?.ok()?)?;
            let mut labels: Vec<String> = blocks.into_iter().map(|block| block.label).collect();
            // A label leads to one block: the one that the agent has, or else the one that it had last.
            let mut seen = HashSet::new();
            labels.retain(|label| seen.insert(label.clone()));
            labels
        }
    };
    let limit = flags.limit.unwrap_or(if flags.label.is_some() { MANY } else { FEW });
    let mut answers = Vec::with_capacity(labels.len());
    for label in labels {
        let mut call = Call::get(block_path(&agent, &label, "history")).with("limit", limit.to_string());
        if let Some(before) = flags.before {
            call = call.with("before", before.to_string());
        }
        answers.push(connection.ask(&call).await?.ok()?);
    }
    Ok((agent, answers))
}
