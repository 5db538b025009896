//! `librarian agents …`: looks after agents.

mod create;
mod default_model;
mod delete;
mod show;

use std::process::ExitCode;

use domain::ModelHandle;
use serde_json::{Value, json};

use crate::cli::call::Call;
use crate::cli::connection::{Connection, nothing_yet};
use crate::cli::lookup;
use crate::cli::output::{Output, Style, one_line};
use crate::cli::table::table;
use crate::cli::wire::{self, AgentView};
use crate::config::Config;

/// `librarian agents …`
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AgentsCommand {
    /// List all agents
    List {
        /// Print the agents as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make an agent
    Create(create::CreateFlags),
    /// Show one agent
    Show {
        /// The agent's exact name or its id
        #[arg(value_name = "AGENT")]
        agent: String,
        /// Print the agent as JSON
        #[arg(long)]
        json: bool,
    },
    /// Give an agent another model
    SetModel {
        /// The agent's exact name or its id
        #[arg(value_name = "AGENT")]
        agent: String,
        /// The model, for example openai/gpt-4o-mini or builtin/guide
        #[arg(value_name = "PROVIDER/MODEL", value_parser = model_handle)]
        model: ModelHandle,
    },
    /// Delete an agent, its memory and its messages
    Delete(delete::DeleteFlags),
}

/// Runs the command.
pub(crate) async fn run(config: &Config, command: &AgentsCommand, output: &Output) -> anyhow::Result<ExitCode> {
    match command {
        AgentsCommand::List { json } => list(config, *json, output).await,
        AgentsCommand::Create(flags) => create::run(config, flags, output).await,
        AgentsCommand::Show { agent, json } => show::run(config, agent, *json, output).await,
        AgentsCommand::SetModel { agent, model } => set_model(config, agent, model, output).await,
        AgentsCommand::Delete(flags) => delete::run(config, flags, output).await,
    }
}

/// Reads a handle from the command line.
fn model_handle(text: &str) -> Result<ModelHandle, String> {
    ModelHandle::parse(text).map_err(|error| error.to_string())
}

/// Where one agent is.
fn agent_path(agent: &AgentView) -> String {
    format!("/v1/agents/{}", agent.id)
}

async fn list(config: &Config, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let agents = match Connection::open_existing(config).await? {
        Some(connection) => connection.during(lookup::all).await?,
        None if json => Vec::new(),
        None => {
            let text = nothing_yet(config);
            output.line(&format!("No agents: {text}."));
            return Ok(ExitCode::SUCCESS);
        }
    };
    if json {
        output.json(&Value::Array(agents));
        return Ok(ExitCode::SUCCESS);
    }
    let agents: Vec<AgentView> = agents.iter().map(wire::read).collect::<anyhow::Result<_>>()?;
    if agents.is_empty() {
        output.line("No agents: make one with `librarian agents create NAME`.");
    } else {
        output.rendered(&shown_agents(&agents, output.style()));
    }
    Ok(ExitCode::SUCCESS)
}

fn shown_agents(agents: &[AgentView], style: Style) -> String {
    let row =
        |agent: &AgentView| [one_line(&agent.name), one_line(&agent.model), agent.agent_type.clone(), agent.id.clone()];
    let rows: Vec<[String; 4]> = agents.iter().map(row).collect();
    table(["NAME", "MODEL", "TYPE", "ID"], &rows, style)
}

async fn set_model(config: &Config, agent: &str, model: &ModelHandle, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let changed = connection.during(async |connection: &mut Connection<'_>| {
        let agent = lookup::find(connection, agent).await?;
        let call = Call::patch(agent_path(&agent), json!({ "model": model.as_str() }));
        wire::read::<AgentView>(&connection.ask(&call).await?.ok()?)
    });
    let changed = changed.await?;
    output.line(&format!("{} is on {} now.", one_line(&changed.name), changed.model));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let agent = |name: &str, model: &str| AgentView {
            id: "agent-1".to_owned(),
            name: name.to_owned(),
            model: model.to_owned(),
            agent_type: "letta_v1_agent".to_owned(),
            ..AgentView::default()
        };
        let agents = [agent("librarian", "builtin/guide"), agent("a\nb", "x/y")];
        expect![[r#"
            NAME       MODEL          TYPE            ID
            librarian  builtin/guide  letta_v1_agent  agent-1
            a b        x/y            letta_v1_agent  agent-1
        "#]]
        .assert_eq(&shown_agents(&agents, Style { colours: false }));
    }

    #[test]
    fn a_handle_has_a_provider() {
        assert!(model_handle("openai/gpt-4o").is_ok());
        assert!(model_handle("gpt-4o").unwrap_err().contains("provider/model"));
    }
}
