//! `librarian restore FILE`: puts a backup in the place of what is stored.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use domain::Timestamp;

use crate::cli::holdings::Holdings;
use crate::cli::output::Output;
use crate::config::Config;
use crate::data_dir::{self, Ownership};

/// Where from.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreFlags {
    /// A file that `librarian backup` made
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Do it also where something is stored already; that is kept under another name
    #[arg(long)]
    force: bool,
}

/// Restores a backup into a data directory that no process owns.
pub(crate) async fn run(config: &Config, flags: &RestoreFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let shown = flags.file.display();
    let found = std::fs::metadata(&flags.file).with_context(|| format!("can't read {shown}"))?;
    ensure!(found.is_file(), "{shown} is not a file");
    let directory = match data_dir::claim(&config.data_dir)? {
        Ownership::Ours(directory) => directory,
        Ownership::Theirs(owner) => bail!(
            "{} is in use by process {}, which listens on http://{}: stop it first, or choose another directory with \
             --data-dir",
            config.data_dir.display(),
            owner.pid,
            owner.address
        ),
    };
    let store = directory.store_path();
    check_free(&flags.file, &store, flags.force)?;
    let restored = storage::restore(&flags.file, &store, Timestamp::now());
    let restored = restored.await.with_context(|| format!("{shown} was not restored; nothing has changed"))?;
    output.line(&format!("Restored into {}: {}.", directory.path().display(), Holdings::from(&restored.report)));
    if let Some(kept) = &restored.kept {
        output.line(&format!("What was stored before is kept as {}.", kept.display()));
    }
    if let Some(problem) = restored.report.problems.first() {
        output.line(&format!("Something needs repair ({problem}): run `librarian doctor --repair`."));
    }
    Ok(ExitCode::SUCCESS)
}

fn check_free(file: &Path, store: &Path, force: bool) -> anyhow::Result<()> {
    let there = store.try_exists().with_context(|| format!("can't look at {}", store.display()))?;
    if !there {
        return Ok(());
    }
    let same = std::fs::canonicalize(file).ok() == std::fs::canonicalize(store).ok();
    ensure!(!same, "{} is the store itself, not a backup of it", file.display());
    ensure!(
        force,
        "something is stored in {} already: with --force the backup takes its place, and what is there now is kept \
         under another name",
        store.display()
    );
    Ok(())
}
