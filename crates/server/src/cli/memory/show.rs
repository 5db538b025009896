//! `librarian memory show`: what an agent remembers at all times.

use std::process::ExitCode;

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::{Output, Style, clean};
use crate::cli::wire::{self, AgentView, BlockView};
use crate::config::Config;

/// The longest page that may be asked for; no agent has as many blocks.
const MAX_BLOCKS: usize = 1000;

/// What to show.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Print the blocks as JSON
    #[arg(long)]
    json: bool,
}

/// Shows an agent's blocks.
pub(super) async fn run(config: &Config, flags: &ShowFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let answer = connection
        .during(async |connection: &mut Connection<'_>| {
            let agent = lookup::find(connection, &flags.agent).await?;
            connection.ask(&blocks_of(&agent)).await?.ok()
        })
        .await?;
    if flags.json {
        output.json(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let blocks: Vec<BlockView> = wire::read(&answer)?;
    if blocks.is_empty() {
        output.line("This agent has no memory blocks.");
    }
    let texts: Vec<String> = blocks.iter().map(|block| rendered(block, output.style())).collect();
    output.rendered(&texts.join("\n"));
    Ok(ExitCode::SUCCESS)
}

/// Asks for all blocks that an agent sees.
pub(crate) fn blocks_of(agent: &AgentView) -> Call {
    Call::get(format!("/v1/agents/{}/core-memory/blocks", agent.id)).with("limit", MAX_BLOCKS.to_string())
}

fn rendered(block: &BlockView, style: Style) -> String {
    let read_only = if block.read_only { ", read-only" } else { "" };
    let facts = format!("  {} characters{read_only}", block.fill());
    let mut text = format!("{}{}\n", style.bold(&block.label), style.dim(&facts));
    if let Some(description) = block.description.as_deref().filter(|text| !text.is_empty()) {
        text.push_str(&format!("  {}\n", style.dim(description)));
    }
    if block.value.is_empty() {
        text.push_str(&format!("  {}\n", style.dim("(empty)")));
    }
    for line in block.value.lines() {
        text.push_str(&format!("  {}\n", clean(line)));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_block_shows_its_size_and_text() {
        let block = BlockView {
            label: "human".to_owned(),
            value: "Likes tea.\nLives in Ōsaka.\x1b[2J".to_owned(),
            limit: 100,
            description: Some("About the person.".to_owned()),
            read_only: true,
        };
        expect![[r#"
            human  30/100 characters, read-only
              About the person.
              Likes tea.
              Lives in Ōsaka.[2J
        "#]]
        .assert_eq(&rendered(&block, Style { colours: false }));
        let empty = BlockView { label: "notes".to_owned(), limit: 5, ..BlockView::default() };
        expect![[r#"
            notes  0/5 characters
              (empty)
        "#]]
        .assert_eq(&rendered(&empty, Style { colours: false }));
    }
}
