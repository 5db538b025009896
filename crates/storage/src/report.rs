//! How the store is: what `doctor` shows.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::dialect::Db;
use crate::error::StoreError;
use crate::soundness::{self, Problem};
use crate::store::{Store, start};

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
    /// Checks the whole database as it is now, which takes a while if it is large. It has a connection of its own, so
    /// that nobody waits for it; one check at a time.
    pub async fn check(&self) -> Result<StoreReport, StoreError> {
        self.ensure_open()?;
        let room = self.side_work();
        let place = Arc::clone(&room.checks).try_acquire_owned().map_err(|_| room.taken("checked"))?;
        let (reply, answer) = oneshot::channel();
        let path = room.path.clone();
        // Nobody waits for its end when the store closes: it only reads, and it can't be interrupted.
        start("store-check", move || {
            let checked = Db::open_reader(&path).and_then(|db| db.consistently(report));
            drop(place);
            reply.send(checked).unwrap_or_default();
        })?;
        answer.await.unwrap_or(Err(StoreError::Closed))
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
