//! `librarian memory diff`: what changed between two versions of a block.

use std::process::ExitCode;

use super::block_path;
use super::diff_text::rendered;
use super::views::DiffView;
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::Output;
use crate::cli::wire;
use crate::config::Config;

/// Which versions to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The block
    #[arg(value_name = "LABEL")]
    label: String,
    /// The older version; the one before TO if it is left out, and 0 for nothing at all
    #[arg(value_name = "FROM")]
    from: Option<u64>,
    /// The newer version; the present one if it is left out
    #[arg(value_name = "TO")]
    to: Option<u64>,
    /// Print the difference as JSON
    #[arg(long)]
    json: bool,
}

/// Shows a difference.
pub(super) async fn run(config: &Config, flags: &DiffFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let answer = connection
        .during(async |connection: &mut Connection<'_>| {
            let agent = lookup::find(connection, &flags.agent).await?;
            let mut call = Call::get(block_path(&agent, &flags.label, "diff"));
            for (name, version) in [("from", flags.from), ("to", flags.to)] {
                if let Some(version) = version {
                    call = call.with(name, version.to_string());
                }
            }
            connection.ask(&call).await?.ok()
        })
        .await?;
    if flags.json {
        output.json(&answer);
    } else {
        output.rendered(&rendered(&wire::read::<DiffView>(&answer)?, output.style()));
    }
    Ok(ExitCode::SUCCESS)
}
