//! What the rest of the room knows of a database engine: statements with parameters, and rows with columns.
//!
//! The SQL texts outside of this folder must be ones that every engine understands. Placeholders are `$1`, `$2`, … and
//! must first appear in that order, because SQLite numbers them by appearance.

mod columns;
mod query;
pub(crate) mod sqlite;

pub(crate) use columns::{Columns, json, json_unless_empty, micros, optional_json, stored_time, whole};
pub(crate) use query::Query;
pub(crate) use rusqlite::params;
pub(crate) use sqlite::{Db, Fault, beside, create_private, file_error};
