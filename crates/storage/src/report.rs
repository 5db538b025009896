//! How the store is: what `doctor` shows.

use crate::dialect::Db;
use crate::error::StoreError;
use crate::soundness::{self, Problem};
use crate::store::Store;

/// The state of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreReport {
    /// What is wrong; empty for a sound database.
    pub problems: Vec<Problem>,
    pub schema_version: u32,
    /// Bytes of the database, without its log.
    pub bytes: u64,
    pub agents: u64,
    pub conversations: u64,
    pub messages: u64,
    pub blocks: u64,
    pub tools: u64,
    pub runs: u64,
}

impl Store {
    /// Checks the whole database, which takes a while if it is large.
    pub async fn check(&self) -> Result<StoreReport, StoreError> {
        self.read(|db| db.consistently(report)).await
    }
}

/// Looks at everything in a database of the present schema.
pub(crate) fn report(db: &Db) -> Result<StoreReport, StoreError> {
    Ok(StoreReport {
        problems: soundness::problems(db)?,
        schema_version: db.schema_version()?,
        bytes: db.size()?,
        agents: count(db, "select count(*) from agent")?,
        conversations: count(db, "select count(*) from conversation")?,
        messages: count(db, "select count(*) from message")?,
        blocks: count(db, "select count(*) from block")?,
        tools: count(db, "select count(*) from tool")?,
        runs: count(db, "select count(*) from run")?,
    })
}

fn count(db: &Db, sql: &str) -> Result<u64, StoreError> {
    Ok(db.first(sql, [], |row| row.whole())?.unwrap_or_default())
}
