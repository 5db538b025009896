//! `librarian agents show`.

use std::process::ExitCode;

use serde_json::Value;

use super::agent_path;
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::memory::blocks_of;
use crate::cli::output::{Output, Style, one_line};
use crate::cli::wire::{self, AgentView, BlockView};
use crate::config::Config;

/// Shows one agent.
pub(crate) async fn run(config: &Config, agent: &str, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let seen = connection.during(async |connection: &mut Connection<'_>| look(connection, agent).await);
    let (agent, blocks) = seen.await?;
    if json {
        output.json(&agent);
    } else {
        output.rendered(&rendered(&wire::read(&agent)?, &blocks, output.style()));
    }
    Ok(ExitCode::SUCCESS)
}

async fn look(connection: &mut Connection<'_>, agent: &str) -> anyhow::Result<(Value, Vec<BlockView>)> {
    let agent = lookup::find(connection, agent).await?;
    let whole = Call::get(agent_path(&agent)).with("include", "agent.blocks").with("include", "agent.tools");
    let whole = connection.ask(&whole).await?.ok()?;
    let blocks = connection.ask(&blocks_of(&agent)).await?.ok()?;
    Ok((whole, wire::read(&blocks)?))
}

fn rendered(agent: &AgentView, blocks: &[BlockView], style: Style) -> String {
    let tools: Vec<&str> = agent.tools.iter().map(|tool| tool.name.as_str()).collect();
    let blocks: Vec<String> = blocks.iter().map(|block| format!("{} {}", block.label, block.fill())).collect();
    let window = agent.llm_config.context_window;
    let facts = [
        ("id", Some(agent.id.clone())),
        ("type", Some(agent.agent_type.clone())),
        ("model", Some(format!("{} (context of {window} tokens)", agent.model))),
        ("about", agent.description.clone()),
        ("memory", Some(blocks.join(", "))),
        ("tools", Some(tools.join(", "))),
        ("messages", Some(format!("{} in its context", agent.message_ids.len()))),
        ("timezone", agent.timezone.clone()),
        ("made", agent.created_at.clone()),
        ("last run", agent.last_run_completion.clone()),
    ];
    let mut text = format!("{}\n", style.bold(&one_line(&agent.name)));
    for (name, value) in facts {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("  {}  {}\n", style.dim(&format!("{name:8}")), one_line(&value)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_in_a_few_lines() {
        let agent = json!({
            "id": "agent-1", "name": "diary", "agent_type": "letta_v1_agent", "model": "builtin/guide",
            "llm_config": { "context_window": 32000 }, "description": null, "timezone": "UTC",
            "message_ids": ["message-1", "message-2"], "tools": [{ "name": "memory_insert" }, { "name": "memory_replace" }],
            "created_at": "2026-11-18T05:52:39.295430Z", "last_run_completion": null,
        });
        let blocks =
            [BlockView { label: "human".to_owned(), value: "Sam".to_owned(), limit: 20_000, ..BlockView::default() }];
        expect![[r#"
            diary
              id        agent-1
              type      letta_v1_agent
              model     builtin/guide (context of 32000 tokens)
              memory    human 3/20000
              tools     memory_insert, memory_replace
              messages  2 in its context
              timezone  UTC
              made      2026-11-18T05:52:39.295430Z
        "#]]
        .assert_eq(&rendered(&wire::read(&agent).unwrap(), &blocks, Style { colours: false }));
    }
}
