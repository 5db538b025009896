//! Brings a database file up to what this program expects.
//!
//! Migrations are numbered files that are run in order, each once, all in one transaction. A file that was released is
//! never edited; a change is a new file. Nothing here may lose a row.

use crate::dialect::Db;
use crate::error::StoreError;

/// Every migration; the first has number 1.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_memories.sql"),
    include_str!("../migrations/0003_undo.sql"),
    include_str!("../migrations/0004_upkeep.sql"),
    include_str!("../migrations/0005_sessions.sql"),
    include_str!("../migrations/0006_api_keys.sql"),
    include_str!("../migrations/0007_chats.sql"),
];

/// Runs what is missing, and refuses a file that a newer program has written.
pub(crate) fn migrate(db: &Db) -> Result<(), StoreError> {
    if db.schema_version()? as usize == MIGRATIONS.len() {
        return Ok(());
    }
    db.begin()?;
    let result = run_missing(db).and_then(|()| db.commit());
    if result.is_err() {
        db.roll_back()?;
    }
    result
}

fn run_missing(db: &Db) -> Result<(), StoreError> {
    // Read again under the lock: another process may have been here in the meantime.
    let found = db.schema_version()?;
    check_known(found)?;
    let missing = MIGRATIONS.get(found as usize..).unwrap_or_default();
    for (number, sql) in (found + 1..).zip(missing) {
        db.script(sql)?;
        db.set_schema_version(number)?;
    }
    Ok(())
}

/// Refuses a schema of a newer program.
pub(crate) fn check_known(found: u32) -> Result<(), StoreError> {
    let known = MIGRATIONS.len();
    if found as usize <= known {
        return Ok(());
    }
    Err(StoreError::Invalid(format!(
        "the database has schema version {found} and this program knows versions up to {known}: use a newer program"
    )))
}
