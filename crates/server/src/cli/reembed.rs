//! `librarian reembed AGENT`: embeds an agent's memory with another model, or goes on where it was interrupted.
//!
//! The owner of the store does the work in small commits; this command asks it to go on until all is done.

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::Output;
use crate::cli::wire;
use crate::config::Config;

/// `librarian reembed …`
#[derive(Debug, clap::Args)]
pub(crate) struct ReembedFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The embedding model to use from now on, for example builtin/minilm; left out: the agent's own
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// Print the state as JSON when it is done
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
struct State {
    model: Option<String>,
    done: u64,
    total: u64,
    complete: bool,
}

/// Runs the command.
pub(crate) async fn run(config: &Config, flags: &ReembedFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("embedding [{bar:40}] {pos}/{len} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let answer: Value = connection
        .during(async |connection: &mut Connection<'_>| {
            let agent = lookup::find(connection, &flags.agent).await?;
            let path = format!("/console/v1/agents/{}/embedding", agent.id);
            let mut body = flags.model.as_ref().map_or_else(|| json!({}), |model| json!({ "model": model }));
            loop {
                let answer = connection.ask(&Call::post(path.as_str(), body)).await?.ok()?;
                let state: State = wire::read(&answer)?;
                bar.set_length(state.total);
                bar.set_position(state.done);
                if state.complete {
                    return Ok(answer);
                }
                body = json!({});
            }
        })
        .await?;
    bar.finish_and_clear();
    if flags.json {
        output.json(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let state: State = wire::read(&answer)?;
    let model = state.model.unwrap_or_default();
    output.line(&format!("{} rows are embedded with {model}.", state.total));
    Ok(ExitCode::SUCCESS)
}
