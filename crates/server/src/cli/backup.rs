//! `librarian backup FILE`: everything that is stored, in one file, while the server runs.
//!
//! The owner of the store makes the copy and sends it; it never writes where a client says. Here it is written aside,
//! compared with what was sent, looked through, and only then given its name.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use reqwest::Response;
use sha2::{Digest, Sha256};
use storage::StoreReport;

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::holdings::Holdings;
use crate::cli::output::{Output, warn};
use crate::cli::replies::CUT_OFF;
use crate::config::{CONFIG_FILE, Config};
use crate::system_prompts;

/// The header with the hash of the whole file.
const SHA256: &str = "x-librarian-sha256";

/// Where to.
#[derive(Debug, clap::Args)]
pub(crate) struct BackupFlags {
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace the file if it is there already
    #[arg(long)]
    force: bool,
}

/// Makes a backup.
pub(crate) async fn run(config: &Config, flags: &BackupFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let file = std::path::absolute(&flags.file).context("that can't be the name of a file")?;
    check_free(&file, flags.force)?;
    let connection = Connection::demand(config).await?;
    let work = async {
        let aside = connection.during(async |connection: &mut Connection<'_>| fetch(connection, &file).await).await?;
        let path = aside.path.clone();
        // A large store takes long to look through, and whoever gives up must not have to wait for that.
        let report =
            tokio::task::spawn_blocking(move || look_through(&path)).await.context("the check broke off")??;
        anyhow::Ok((aside, report))
    };
    // Whoever gives up leaves no half file behind.
    let (aside, report) = tokio::select! {
        worked = work => worked?,
        _ = tokio::signal::ctrl_c() => bail!("interrupted: nothing was backed up"),
    };
    check_free(&file, flags.force)?;
    aside.take_place(&file)?;
    output.line(&format!("Backed up to {}: {}.", file.display(), Holdings::from(&report)));
    output.line(&format!(
        "It holds every agent with its memory. Not in it: {CONFIG_FILE}, keys themselves, and your own texts in {}.",
        system_prompts::FOLDER
    ));
    Ok(ExitCode::SUCCESS)
}

/// Refuses to write over what is there.
fn check_free(file: &Path, force: bool) -> anyhow::Result<()> {
    let shown = file.display();
    match std::fs::symlink_metadata(file) {
        Ok(found) if found.is_dir() => bail!("{shown} is a directory: name a file in it"),
        Ok(_) if !force => bail!("{shown} is there already: choose another name, or replace it with --force"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("can't look at {shown}")),
    }
}

/// Asks for a backup and writes it aside as it comes.
async fn fetch(connection: &mut Connection<'_>, file: &Path) -> anyhow::Result<Aside> {
    let mut aside = Aside::create(file)?;
    let response = connection.open_answer(&Call::get("/console/v1/backup")).await?;
    receive(response, &mut aside).await?;
    Ok(aside)
}

async fn receive(mut response: Response, aside: &mut Aside) -> anyhow::Result<()> {
    let expected = response.headers().get(SHA256).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let expected = expected.context("the answer is no backup: is the server of another version?")?;
    let mut hash = Sha256::new();
    while let Some(piece) = response.chunk().await.map_err(reqwest::Error::without_url).context(CUT_OFF)? {
        hash.update(&piece);
        aside.file.write_all(&piece).with_context(|| format!("can't write {}", aside.path.display()))?;
    }
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(found == expected, "what arrived is not what was sent: try again");
    aside.file.sync_all().with_context(|| format!("can't write {}", aside.path.display()))
}

/// Whether it is a store that could be restored.
fn look_through(copy: &Path) -> anyhow::Result<StoreReport> {
    let report = storage::examine(copy).context("the copy can't be read")?;
    if let Some(problem) = report.problems.iter().find(|problem| !problem.can_be_repaired()) {
        bail!("the store itself is damaged, so that a copy of it is no backup ({problem}): run `librarian doctor`");
    }
    if let Some(problem) = report.problems.first() {
        warn(&format!("the store needs repair ({problem}): see `librarian doctor`"));
    }
    Ok(report)
}

/// A private file without its final name. It goes away unless it is given one.
struct Aside {
    path: PathBuf,
    file: File,
}

impl Aside {
    /// In the directory of `target`, so that it can take its place at once.
    fn create(target: &Path) -> anyhow::Result<Self> {
        let name = target.file_name().context("that is no name of a file")?.to_string_lossy();
        let path = target.with_file_name(format!(".{name}.{:08x}.part", rand::random::<u32>()));
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = opened.with_context(|| format!("can't write beside {}", target.display()))?;
        Ok(Self { path, file })
    }

    fn take_place(self, target: &Path) -> anyhow::Result<()> {
        let renamed = std::fs::rename(&self.path, target);
        renamed.with_context(|| format!("can't give the backup the name {}", target.display()))?;
        // The name is durable only once its directory is.
        let directory = target.parent().context("a file lies in a directory")?;
        File::open(directory).and_then(|directory| directory.sync_all()).context("can't make the backup durable")
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // It may have its final name by now.
        let _gone = std::fs::remove_file(&self.path);
    }
}
