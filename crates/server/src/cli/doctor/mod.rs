//! `librarian doctor`: looks at everything that can be wrong with an installation, and says what to do about it.
//!
//! It changes nothing but what opening the store changes, unless it is asked to repair. A store that a running process
//! owns is not opened a second time; that process checks it instead, and nothing of it is repaired.

mod agent_models;
mod finding;
mod place;
mod provider_checks;
mod store_checks;

use std::process::ExitCode;

use self::finding::{Finding, rendered, to_json};
use self::store_checks::{StoreSight, Treatment};
use crate::cli::output::Output;
use crate::config::{self, Config, PlaceFlags, ServeFlags, process_environment};
use crate::{data_dir, logging};

/// The doctor tells faults in its own words.
const LOG: &str = "off";

/// How to tell.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorFlags {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Build the store's indexes anew, and correct what follows from its rows
    #[arg(long)]
    repair: bool,
}

/// Looks at everything. The exit code is 1 if something is wrong.
pub(crate) async fn run(place: &PlaceFlags, flags: &DoctorFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let treatment = if flags.repair { Treatment::Repair } else { Treatment::Look };
    let findings = examine(place, treatment).await?;
    if flags.json {
        output.json(&to_json(&findings));
    } else {
        output.rendered(&rendered(&findings, output.style()));
    }
    Ok(if findings.iter().any(Finding::is_problem) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn examine(place: &PlaceFlags, treatment: Treatment) -> anyhow::Result<Vec<Finding>> {
    let data_dir = config::data_dir(place, &process_environment)?;
    let config = Config::load(place, &ServeFlags::default(), &process_environment);
    let mut findings = vec![place::configuration(config.as_ref())];
    findings.extend(place::data_directory(&data_dir));
    let Ok(config) = config else {
        findings.push(Finding::note("store", "not checked, because the configuration can't be used"));
        return Ok(findings);
    };
    logging::start(&config, LOG)?;
    findings.extend(place::secrecy(&config));
    findings.extend(place::exposure(&config));
    if data_dir::store_file(&data_dir).try_exists().is_ok() {
        findings.extend(place::system_prompts(&config));
    }
    let StoreSight { findings: seen, agents, offered } = store_checks::look(&config, treatment).await;
    findings.extend(seen);
    let (seen, models) = provider_checks::look(&config, &offered).await;
    findings.extend(seen);
    if let Some(models) = models {
        findings.extend(agent_models::look(&agents, &offered, &models).await);
    }
    Ok(findings)
}
