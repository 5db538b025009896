//! `librarian agents create`.

use std::process::ExitCode;

use anyhow::bail;
use clap::builder::PossibleValuesParser;
use domain::{AgentType, ModelHandle};
use prompt::block_descriptions::UNKNOWN_HUMAN;
use serde_json::{Value, json};

use super::{default_model, model_handle};
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::output::{Output, one_line};
use crate::cli::wire::{self, AgentView};
use crate::config::Config;
use crate::first_agent;

/// What a new agent may be given.
#[derive(Debug, clap::Args)]
pub(crate) struct CreateFlags {
    /// The agent's name
    #[arg(value_name = "NAME")]
    name: String,
    /// The model, for example openai/gpt-4o-mini [default: LIBRARIAN_MODEL, else the first provider's, else builtin/guide]
    #[arg(long, value_name = "PROVIDER/MODEL", value_parser = model_handle)]
    model: Option<ModelHandle>,
    /// The kind of agent
    #[arg(long = "type", value_name = "AGENT_TYPE", default_value = AgentType::LettaV1.as_str(), value_parser = kinds())]
    kind: String,
    /// What the agent knows about itself
    #[arg(long, value_name = "TEXT")]
    persona: Option<String>,
    /// What the agent knows about you
    #[arg(long, value_name = "TEXT")]
    human: Option<String>,
    /// The time zone of the times that the agent sees, for example Europe/Lisbon [default: UTC]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(AgentType::ALL.map(AgentType::as_str))
}

/// Makes the agent.
pub(crate) async fn run(config: &Config, flags: &CreateFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::open(config).await?;
    let made = connection.during(async |connection: &mut Connection<'_>| {
        let namesakes = Call::get("/v1/agents/").with("name", flags.name.as_str());
        let namesakes: Vec<AgentView> = wire::read(&connection.ask(&namesakes).await?.ok()?)?;
        if namesakes.iter().any(|agent| agent.name == flags.name) {
            bail!("there is an agent named `{}` already: choose another name", flags.name);
        }
        let model = match &flags.model {
            Some(model) => model.to_string(),
            None => default_model::choose(config, connection).await?,
        };
        wire::read::<AgentView>(&connection.ask(&Call::post("/v1/agents/", body(flags, &model))).await?.ok()?)
    });
    let made = made.await?;
    output.line(&format!("Made {} on {} ({}).", one_line(&made.name), made.model, made.id));
    Ok(ExitCode::SUCCESS)
}

fn body(flags: &CreateFlags, model: &str) -> Value {
    let persona = flags.persona.clone().unwrap_or_else(|| first_agent::persona(&flags.name));
    let human = flags.human.as_deref().unwrap_or(UNKNOWN_HUMAN);
    let mut body = json!({
        "name": flags.name,
        "model": model,
        "agent_type": flags.kind,
        "memory_blocks": [{ "label": "persona", "value": persona }, { "label": "human", "value": human }],
    });
    if let Some(zone) = &flags.timezone {
        body["timezone"] = json!(zone);
    }
    body
}
