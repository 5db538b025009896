//! `librarian memory undo` and `redo`: one change back, or forward again.

use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};

use super::block_path;
use super::diff_text::rendered;
use super::views::{DiffView, UndoView, shared};
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::Output;
use crate::cli::wire::{self, AgentView};
use crate::config::Config;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Undo,
    Redo,
}

impl Verb {
    fn path(self) -> &'static str {
        match self {
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }
}

/// Which block.
#[derive(Debug, clap::Args)]
pub(crate) struct UndoFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The block
    #[arg(value_name = "LABEL")]
    label: String,
    /// Do it only if the block is at this version, as `memory history` shows it
    #[arg(long, value_name = "VERSION")]
    version: Option<u64>,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Takes a change back, or makes it again, and shows what that did.
pub(super) async fn run(config: &Config, flags: &UndoFlags, verb: Verb, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let (report, diff) = connection
        .during(async |connection: &mut Connection<'_>| {
            let agent = lookup::find(connection, &flags.agent).await?;
            let body = flags.version.map_or(json!({}), |version| json!({ "version": version }));
            let call = Call::post(block_path(&agent, &flags.label, verb.path()), body);
            let report = connection.ask(&call).await?.ok()?;
            // It is done; if what it did can't be shown any more, that is no failure.
            let diff = effect(connection, &agent, &report).await.ok();
            Ok((report, diff))
        })
        .await?;
    if flags.json {
        output.json(&report);
        return Ok(ExitCode::SUCCESS);
    }
    told(&report, verb)?.iter().for_each(|line| output.line(line));
    output.rendered(&diff.map(|diff| rendered(&diff, output.style())).unwrap_or_default());
    Ok(ExitCode::SUCCESS)
}

/// What the newest version changed.
async fn effect(connection: &mut Connection<'_>, agent: &AgentView, report: &Value) -> anyhow::Result<DiffView> {
    let UndoView { label, version, restored_version, .. } = wire::read(report)?;
    restored_version.context("no text was changed")?;
    // An undone rename gave the block its old label back, so the label is the answer's and not the caller's.
    let call = Call::get(block_path(agent, &label, "diff")).with("to", version.to_string());
    wire::read(&connection.ask(&call).await?.ok()?)
}

/// What was done, in words.
fn told(report: &Value, verb: Verb) -> anyhow::Result<Vec<String>> {
    let UndoView { label, version, restored_version, change, shared_by } = wire::read(report)?;
    let (over, who) = (change.version, change.editor.who());
    let mut lines = vec![match (verb, restored_version) {
        (Verb::Undo, Some(to)) => format!("Undid v{over} ({who}): `{label}` is again what it was at v{to}."),
        (Verb::Redo, Some(to)) => format!("Made v{over} ({who}) again: `{label}` is what it was at v{to}."),
        (_, None) => format!("Gave `{label}` back to the agent, which was parted from it ({who})."),
    }];
    lines.push(format!("This is v{version}; agents see it with their next step."));
    if let Some(agents) = shared(&shared_by) {
        lines.push(format!("The block is shared by {agents}. It changed for all of them."));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_block_is_said_to_be_shared() {
        let change = json!({"version": 3, "editor": "tool", "run_id": "run-7"});
        let mut report = json!({"label": "human", "version": 4, "restored_version": 2, "change": change});
        assert_eq!(
            told(&report, Verb::Undo).unwrap(),
            [
                "Undid v3 (tool, run-7): `human` is again what it was at v2.",
                "This is v4; agents see it with their next step."
            ]
        );
        report["shared_by"] = json!([{"name": "ada"}, {"name": "bob"}]);
        assert_eq!(
            told(&report, Verb::Redo).unwrap()[2],
            "The block is shared by 2 agents: ada, bob. It changed for all of them."
        );
    }
}
