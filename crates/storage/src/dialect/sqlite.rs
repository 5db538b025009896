//! SQLite: how it is opened, set up and asked, and what its errors mean.
//!
//! Everything that only SQLite has (pragmas, savepoints, row ids, error codes) lives here and nowhere else.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::ffi;
use rusqlite::{Connection, ErrorCode, OpenFlags, Params};

use super::Columns;
use crate::error::{DatabaseError, StoreError};

/// How long to wait for another process to let go of the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// The store has about sixty different statements.
const CACHED_STATEMENTS: usize = 128;
/// Pages of write-ahead log after which a commit puts the log away itself. The thread for that usually was there before,
/// but it can't empty a log that is being written all the time; 64 MiB is little to recover from.
const CHECKPOINT_PAGES: i64 = 16_000;
/// Whenever a tree is rebalanced, SQLite looks through its whole cache when the transaction ends, so more is not better.
const WRITER_CACHE_KIB: i64 = 6_000;
const READER_CACHE_KIB: i64 = 4_000;

/// One connection. It is used by one thread at a time.
pub(crate) struct Db {
    connection: Connection,
}

impl Db {
    /// Opens the only connection that writes, making file and directory where there are none.
    pub(crate) fn open_writer(path: &Path, max_bytes: Option<u64>) -> Result<Self, StoreError> {
        create_private(path).map_err(|error| file_error(&error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Self::open(path, flags)?;
        let mode: String =
            db.connection.query_row("pragma journal_mode = wal", [], |row| row.get(0)).map_err(classify)?;
        if !mode.eq_ignore_ascii_case("wal") {
            return Err(StoreError::Invalid(format!("the file system can't hold a write-ahead log (mode `{mode}`)")));
        }
        // Plans do not depend on what is bound, so that no statement is prepared again because of it.
        db.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(classify)?;
        db.set("synchronous", "FULL")?;
        db.set("fullfsync", true)?;
        db.set("foreign_keys", true)?;
        db.set("wal_autocheckpoint", CHECKPOINT_PAGES)?;
        db.set("cache_size", -WRITER_CACHE_KIB)?;
        if let Some(bytes) = max_bytes {
            let page_size: i64 = db.pragma("page_size")?;
            let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page_size.max(1);
            db.set("max_page_count", pages.max(1))?;
        }
        Ok(db)
    }

    /// Opens a connection that only moves the log into the database.
    pub(crate) fn open_checkpointer(path: &Path) -> Result<Self, StoreError> {
        let db = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        db.set("synchronous", "FULL")?;
        db.set("cache_size", -READER_CACHE_KIB)?;
        Ok(db)
    }

    /// Opens a connection that can't write.
    pub(crate) fn open_reader(path: &Path) -> Result<Self, StoreError> {
        let db = Self::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        db.set("cache_size", -READER_CACHE_KIB)?;
        Ok(db)
    }

    fn open(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, flags).map_err(classify)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(classify)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        Ok(Self { connection })
    }

    fn set(&self, pragma: &str, value: impl rusqlite::ToSql) -> Result<(), StoreError> {
        // Some pragmas answer with their new value and some do not; both are fine.
        self.connection.pragma_update_and_check(None, pragma, value, |_| Ok(())).or_else(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => Ok(()),
            other => Err(classify(other)),
        })
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        self.connection.pragma_query_value(None, name, |row| row.get(0)).map_err(classify)
    }

    /// Number of the newest migration that was run on the file.
    pub(crate) fn schema_version(&self) -> Result<u32, StoreError> {
        u32::try_from(self.pragma("user_version")?).map_err(|error| StoreError::Corrupt(error.to_string()))
    }

    pub(crate) fn set_schema_version(&self, version: u32) -> Result<(), StoreError> {
        self.set("user_version", version)
    }

    /// Bytes of the database, without its log.
    pub(crate) fn size(&self) -> Result<u64, StoreError> {
        let bytes = self.pragma("page_count")?.saturating_mul(self.pragma("page_size")?);
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    /// Everything that is wrong with the file or with references between rows.
    pub(crate) fn problems(&self) -> Result<Vec<String>, StoreError> {
        let mut problems = self.all("pragma integrity_check", [], |row| row.text())?;
        problems.retain(|line| line != "ok");
        problems.extend(self.all("pragma foreign_key_check", [], |row| {
            let (table, _row, parent) = (row.text()?, row.get::<Option<i64>>()?, row.text()?);
            Ok(format!("a row of `{table}` points to a missing row of `{parent}`"))
        })?);
        Ok(problems)
    }

    /// Runs one statement and says how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map_err(classify)
    }

    /// Runs a file of statements.
    pub(crate) fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(classify)
    }

    /// The first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(classify)?;
        let mut rows = statement.query(params).map_err(classify)?;
        let row = rows.next().map_err(classify)?;
        row.map(|row| read(&mut Columns::of(row))).transpose()
    }

    /// All rows.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(classify)?;
        let mut rows = statement.query(params).map_err(classify)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(classify)? {
            found.push(read(&mut Columns::of(row))?);
        }
        Ok(found)
    }

    /// Hands rows to `take` until it wants no more.
    pub(crate) fn while_wanted(
        &self,
        sql: &str,
        params: impl Params,
        mut take: impl FnMut(&mut Columns<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(classify)?;
        let mut rows = statement.query(params).map_err(classify)?;
        while let Some(row) = rows.next().map_err(classify)? {
            if !take(&mut Columns::of(row))? {
                break;
            }
        }
        Ok(())
    }

    /// Whether there is such a row.
    pub(crate) fn exists(&self, sql: &str, params: impl Params) -> Result<bool, StoreError> {
        Ok(self.first(sql, params, |_| Ok(()))?.is_some())
    }

    /// Takes the write lock at once, so that a group never fails half-way because another process took it.
    pub(crate) fn begin(&self) -> Result<(), StoreError> {
        self.execute("begin immediate", []).map(drop)
    }

    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        self.execute("commit", []).map(drop)
    }

    /// Ends a transaction without keeping it. Some errors end it by themselves; then there is nothing left to do.
    pub(crate) fn roll_back(&self) -> Result<(), StoreError> {
        if self.in_transaction() { self.execute("rollback", []).map(drop) } else { Ok(()) }
    }

    pub(crate) fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Does `work` as a part of the open transaction that is kept or undone on its own.
    pub(crate) fn savepoint<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.execute("savepoint one_commit", [])?;
        let result = work();
        if result.is_err() && self.in_transaction() {
            self.execute("rollback to one_commit", [])?;
        }
        if self.in_transaction() {
            self.execute("release one_commit", [])?;
        }
        result
    }

    /// Does `work` on one unchanging view of the database.
    pub(crate) fn consistently<T>(&self, work: impl FnOnce(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.execute("begin deferred", [])?;
        let result = work(self);
        self.roll_back()?;
        result
    }

    /// Moves what it can of the log into the database file, without making anybody wait.
    pub(crate) fn checkpoint_quietly(&self) -> Result<(), StoreError> {
        self.first("pragma wal_checkpoint(passive)", [], |_| Ok(())).map(drop)
    }

    /// Moves the whole log into the database file.
    pub(crate) fn checkpoint(&self) -> Result<(), StoreError> {
        self.first("pragma wal_checkpoint(truncate)", [], |_| Ok(())).map(drop)
    }
}

/// What an error of the engine means to a caller.
pub(crate) fn classify(error: rusqlite::Error) -> StoreError {
    match &error {
        rusqlite::Error::SqliteFailure(cause, message) => match cause.code {
            ErrorCode::DiskFull => StoreError::Full,
            // The shared-memory file beside the log could not grow.
            ErrorCode::SystemIoFailure if cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE => StoreError::Full,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                StoreError::Corrupt(message.clone().unwrap_or_else(|| cause.to_string()))
            }
            ErrorCode::TooBig => StoreError::invalid("a value is too large for the database"),
            ErrorCode::ConstraintViolation => constraint(cause.extended_code, message.as_deref()),
            _ => StoreError::Database(DatabaseError::new(error)),
        },
        rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..) => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Database(DatabaseError::new(error)),
    }
}

fn constraint(code: i32, message: Option<&str>) -> StoreError {
    let message = message.unwrap_or("a constraint");
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => {
            // SQLite's text ends in the columns: "UNIQUE constraint failed: tool.organization_id, tool.name".
            let columns = message.rsplit(": ").next().unwrap_or(message);
            StoreError::conflict("row", columns, "exists already")
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => StoreError::invalid("a row that this one belongs to does not exist"),
        _ => StoreError::Invalid(format!("the database refused a value: {message}")),
    }
}

fn file_error(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        kind => StoreError::Database(DatabaseError::new(io::Error::new(kind, error.to_string()))),
    }
}

/// Makes file and directory so that only their owner can read them. What exists keeps its permissions.
fn create_private(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    if let Some(directory) = directory {
        create_private_directory(directory)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(file) => file.sync_all()?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    // The name of a new file is durable only once its directory is.
    #[cfg(unix)]
    std::fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(())
}

fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
