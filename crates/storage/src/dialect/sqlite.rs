//! SQLite: how it is opened, set up and asked, and what its errors mean.
//!
//! Everything that only SQLite has (pragmas, savepoints, row ids, error codes) lives here and nowhere else.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
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

/// Pages that are copied before somebody is asked whether the copy is still wanted.
const COPIED_PAGES: i32 = 256;

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

    /// Opens a file that nobody changes meanwhile, without making a file beside it. A log is not read.
    pub(crate) fn open_unchanging(path: &Path) -> Result<Self, StoreError> {
        let absolute = std::path::absolute(path).map_err(|error| file_error(&error))?;
        let encode = |byte: &u8| match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => char::from(*byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        let encoded: String = absolute.as_os_str().as_encoded_bytes().iter().map(encode).collect();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let name = format!("file://{encoded}?immutable=1");
        Ok(Self { connection: Connection::open_with_flags(name, flags).map_err(classify)? })
    }

    /// Files beside the database that may hold what it does not hold yet.
    pub(crate) fn log_files(path: &Path) -> [PathBuf; 2] {
        ["-wal", "-journal"].map(|ending| beside(path, ending))
    }

    /// All files that the engine may put beside the database.
    pub(crate) fn side_files(path: &Path) -> [PathBuf; 3] {
        ["-wal", "-journal", "-shm"].map(|ending| beside(path, ending))
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

    pub(crate) fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        self.exists("select 1 from sqlite_schema where type = 'table' and name = $1", [name])
    }

    /// Copies the database as it is now into a new private file, for as long as that is `wanted`. The copy has no log.
    pub(crate) fn copy_into(&self, target: &Path, wanted: &dyn Fn() -> bool) -> Result<(), StoreError> {
        create_private(target).map_err(|error| file_error(&error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut copy = Connection::open_with_flags(target, flags).map_err(classify)?;
        // Whoever takes the copy away makes it durable.
        copy.pragma_update(None, "synchronous", "OFF").map_err(classify)?;
        self.consistently(|db| {
            // The first read fixes the moment; a backup that is begun inside of a transaction stays at it.
            db.schema_version()?;
            copy_pages(&Backup::new(&db.connection, &mut copy).map_err(classify)?, wanted)
        })?;
        let mode = copy.query_row("pragma journal_mode = delete", [], |row| row.get::<_, String>(0));
        mode.map_err(classify).map(drop)
    }

    /// Bytes of the database, without its log.
    pub(crate) fn size(&self) -> Result<u64, StoreError> {
        let bytes = self.pragma("page_count")?.saturating_mul(self.pragma("page_size")?);
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    /// Everything that is wrong with the file and its indexes.
    pub(crate) fn faults(&self) -> Result<Vec<Fault>, StoreError> {
        let mut lines = self.all("pragma integrity_check", [], |row| row.text())?;
        lines.retain(|line| line != "ok");
        Ok(lines.into_iter().map(Fault::of_line).collect())
    }

    /// Tables with rows whose parent is missing, and the table of that parent.
    pub(crate) fn missing_parents(&self, limit: u32) -> Result<Vec<(String, String)>, StoreError> {
        let mut found = Vec::new();
        self.while_wanted("pragma foreign_key_check", [], |row| {
            let (table, _row, parent) = (row.text()?, row.get::<Option<i64>>()?, row.text()?);
            found.push((table, parent));
            Ok(found.len() < limit as usize)
        })?;
        Ok(found)
    }

    /// Builds every index anew from the rows of its table.
    pub(crate) fn rebuild_indexes(&self) -> Result<(), StoreError> {
        self.script("reindex")
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

fn copy_pages(backup: &Backup<'_, '_>, wanted: &dyn Fn() -> bool) -> Result<(), StoreError> {
    while wanted() {
        match backup.step(COPIED_PAGES).map_err(classify)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => return Err(StoreError::Busy),
        }
    }
    Err(StoreError::Closed)
}

/// Something that SQLite finds wrong with its file.
pub(crate) enum Fault {
    /// An index and its table differ.
    Index(String),
    File(String),
}

impl Fault {
    fn of_line(line: String) -> Self {
        let of_index =
            [" missing from index ", "wrong # of entries in index "].iter().any(|words| line.contains(words));
        if of_index { Self::Index(line) } else { Self::File(line) }
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

pub(crate) fn file_error(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        kind => StoreError::Database(DatabaseError::new(io::Error::new(kind, error.to_string()))),
    }
}

/// Makes file and directory so that only their owner can read them. What exists keeps its permissions.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
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

/// A file whose name begins with that of `path`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
