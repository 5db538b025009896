//! Puts a backup in the place of a store that nobody uses.
//!
//! The backup is first copied beside the store, looked through and brought up to date there. Only then does it take the
//! store's place, by one rename: whenever the process is killed, the store is either the old one or the new one. The
//! old one is kept under another name.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use domain::Timestamp;

use crate::backup::remove;
use crate::dialect::{Db, beside, create_private, file_error};
use crate::error::StoreError;
use crate::migrate;
use crate::report::{StoreReport, report};
use crate::store::{Store, StoreConfig};

/// Tables that every version of the store has.
const TABLES: [&str; 8] = ["organization", "user_account", "agent", "conversation", "message", "block", "tool", "run"];
/// Names that are tried for the old store.
const MAX_NAMES: u32 = 1_000;

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What the store holds now.
    pub report: StoreReport,
    /// Where the store is that was there before, if one was.
    pub kept: Option<PathBuf>,
}

/// Looks through a backup of the present schema and changes nothing.
pub fn examine(backup: &Path) -> Result<StoreReport, StoreError> {
    let db = Db::open_unchanging(backup)?;
    check_ours(&db, backup)?;
    report(&db)
}

/// Refuses what is another program's, or a newer program's.
fn check_ours(db: &Db, file: &Path) -> Result<(), StoreError> {
    for table in TABLES {
        if !db.has_table(table)? {
            let text = format!("{} is not a store of Librarian: it has no table `{table}`", file.display());
            return Err(StoreError::Invalid(text));
        }
    }
    migrate::check_known(db.schema_version()?)
}

/// Puts a copy of `backup` in the place of the store at `path`, which nobody may be using.
pub async fn restore(backup: &Path, path: &Path, now: Timestamp) -> Result<Restored, StoreError> {
    let prepared = beside(path, ".restore");
    let outcome = match prepare(backup, &prepared, now).await {
        Ok(report) => install(&prepared, path, now).map(|kept| Restored { report, kept }),
        Err(error) => Err(error),
    };
    remove_prepared(&prepared)?;
    outcome
}

/// Removes what a killed process left of a restore.
pub(crate) fn remove_leftovers(path: &Path) -> Result<(), StoreError> {
    remove_prepared(&beside(path, ".restore"))
}

fn remove_prepared(prepared: &Path) -> Result<(), StoreError> {
    remove(prepared)?;
    Db::side_files(prepared).iter().try_for_each(|file| remove(file))
}

/// A copy of the backup that is known to open and to be sound.
async fn prepare(backup: &Path, prepared: &Path, now: Timestamp) -> Result<StoreReport, StoreError> {
    if Db::log_files(backup).iter().any(|log| holds_something(log)) {
        return Err(StoreError::Invalid(format!(
            "{} has a log beside it, so it is a store in use and not a backup: make one with `librarian backup`",
            backup.display()
        )));
    }
    copy(backup, prepared).map_err(|error| file_error(&error))?;
    Db::open_unchanging(prepared).and_then(|db| check_ours(&db, backup))?;
    let store = Store::open(&StoreConfig::at(prepared), now)?;
    let checked = store.check().await;
    store.close().await;
    let report = sound(checked?)?;
    if Db::log_files(prepared).iter().any(|log| holds_something(log)) {
        return Err(StoreError::Busy);
    }
    File::open(prepared).and_then(|file| file.sync_all()).map_err(|error| file_error(&error))?;
    Ok(report)
}

/// Refuses what no repair can make right.
fn sound(report: StoreReport) -> Result<StoreReport, StoreError> {
    match report.problems.iter().find(|problem| !problem.can_be_repaired()) {
        Some(problem) => Err(StoreError::Corrupt(problem.text.clone())),
        None => Ok(report),
    }
}

fn holds_something(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|file| file.len() > 0)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    if !source.metadata()?.is_file() {
        return Err(io::Error::other(format!("{} is not a file", from.display())));
    }
    match std::fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_private(to)?;
    let mut target = File::options().write(true).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}

/// Lets `prepared` take the place of the store, and gives where the old one is.
fn install(prepared: &Path, path: &Path, now: Timestamp) -> Result<Option<PathBuf>, StoreError> {
    let failed = |error: io::Error| file_error(&error);
    let name = |number: u32| {
        let again = if number == 0 { String::new() } else { format!("-{number}") };
        beside(path, &format!(".before-restore-{}{again}", now.strftime("%Y%m%dT%H%M%SZ")))
    };
    let kept = (0..MAX_NAMES).map(name).find(|kept| !kept.exists());
    let kept = kept.ok_or_else(|| StoreError::invalid("too many old stores are kept: move some of them away"))?;
    let is_there = path.try_exists().map_err(failed)?;
    if is_there {
        put_log_away(path)?;
    }
    // What is left belongs to a file that is gone or no database at all, and must not meet the new store.
    for (log, aside) in Db::log_files(path).iter().zip(Db::log_files(&kept)) {
        move_if_there(log, &aside).map_err(failed)?;
    }
    if is_there {
        // Some file systems know no second names.
        std::fs::hard_link(path, &kept).or_else(|_| copy(path, &kept)).map_err(failed)?;
        sync_directory(path).map_err(failed)?;
    }
    std::fs::rename(prepared, path).and_then(|()| sync_directory(path)).map_err(failed)?;
    Ok(is_there.then_some(kept))
}

/// Brings the old store into its one file. What is no database has no log to bring in.
fn put_log_away(path: &Path) -> Result<(), StoreError> {
    match Db::open_checkpointer(path).and_then(|db| db.checkpoint()) {
        Ok(()) if Db::log_files(path).iter().any(|log| holds_something(log)) => Err(StoreError::Busy),
        Ok(()) | Err(StoreError::Corrupt(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn move_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
