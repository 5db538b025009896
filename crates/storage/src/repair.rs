//! Makes right what can be made anew from the rows. Nothing here may guess or lose a row.

use domain::Timestamp;

use crate::dialect::{Db, micros, params, whole};
use crate::error::StoreError;
use crate::search_soundness::{count_archives, drop_bad_stretches, tell_standings};
use crate::soundness::{strange_blocks, wrong_counts, wrong_labels, wrong_requests};
use crate::store::Store;
use crate::writer::Work;

impl Store {
    /// Builds all indexes anew and corrects what is derived from rows, in one transaction. Gives what was done, in
    /// words. What it can't repair is left as it is: check again afterwards.
    pub async fn repair(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        self.write(|reply| Work::Repair { at: now, reply }).await
    }
}

/// Everything that is wrong, not only as much of it as is told.
const ALL: u32 = u32::MAX;

type Mend = fn(&Db, Timestamp) -> Result<Option<String>, StoreError>;

/// Indexes come first: the others read through them.
const MENDS: [Mend; 8] = [indexes, message_counts, labels, histories, requests, set_aside, search_index, archives];

/// Does what [`Store::repair`] promises, inside the writer's transaction.
pub(crate) fn repair(db: &Db, at: Timestamp) -> Result<Vec<String>, StoreError> {
    let mut done = Vec::new();
    for mend in MENDS {
        done.extend(mend(db, at)?);
    }
    Ok(done)
}

fn indexes(db: &Db, _at: Timestamp) -> Result<Option<String>, StoreError> {
    db.rebuild_indexes()?;
    Ok(Some("built all indexes of the database anew".to_owned()))
}

fn message_counts(db: &Db, _at: Timestamp) -> Result<Option<String>, StoreError> {
    const SQL: &str = "update conversation set message_count = (select count(*) from message m \
                       where m.conversation_id = conversation.id and m.standing <> 'example') where id = $1";
    let wrong = wrong_counts(db, ALL)?;
    for (id, ..) in &wrong {
        db.execute(SQL, params![id.as_bytes()])?;
    }
    Ok(told(wrong.len(), "counted the messages", "conversation"))
}

fn labels(db: &Db, _at: Timestamp) -> Result<Option<String>, StoreError> {
    const SQL: [&str; 3] = [
        "update agent_block set label = $1 where block_id = $2",
        "update person_block set label = $1 where block_id = $2",
        "update conversation_block set label = $1 where block_id = $2",
    ];
    let mut corrected = 0;
    for (id, label) in wrong_labels(db, ALL)? {
        let mut everywhere = true;
        for sql in SQL {
            match db.execute(sql, params![label, id.as_bytes()]) {
                Ok(_) => {}
                // There is another block of that label; which of the two should have it is not for us to say.
                Err(StoreError::Conflict { .. }) => everywhere = false,
                Err(error) => return Err(error),
            }
        }
        corrected += usize::from(everywhere);
    }
    Ok(told(corrected, "corrected the label", "block"))
}

/// What a message is counts.
fn requests(db: &Db, _at: Timestamp) -> Result<Option<String>, StoreError> {
    const SQL: &str = "update session_request set superseded = not superseded where ordinal = $1";
    let wrong = wrong_requests(db, ALL)?;
    for ordinal in &wrong {
        db.execute(SQL, params![whole(*ordinal)])?;
    }
    Ok(told(wrong.len(), "corrected what is superseded", "request"))
}

fn set_aside(db: &Db, _at: Timestamp) -> Result<Option<String>, StoreError> {
    Ok(told(tell_standings(db)?, "told search the standing", "message"))
}

/// What a block is counts; where it came from is not known, so it is written down as brought from outside.
fn histories(db: &Db, at: Timestamp) -> Result<Option<String>, StoreError> {
    const RAISE: &str = "update block set version = 1 + (select max(newest) from (select b.version as newest \
                         from block b where b.id = $1 union all select h.version from block_history h \
                         where h.block_id = $1) as versions) where id = $1";
    const REMEMBER: &str = "insert into block_history (block_id, version, organization_id, label, value, description, \
                            char_limit, editor, run_id, restored_version, user_id, at) \
                            select id, version, organization_id, label, value, description, char_limit, 'import', \
                            null, null, created_by, $1 from block where id = $2";
    let strange = strange_blocks(db, ALL)?;
    for id in &strange {
        db.execute(RAISE, params![id.as_bytes()])?;
        db.execute(REMEMBER, params![micros(at), id.as_bytes()])?;
    }
    Ok(told(strange.len(), "wrote down the present text", "block"))
}

/// What is thrown away here is made again from the rows when a scope is next indexed.
fn search_index(db: &Db, _at: Timestamp) -> Result<Option<String>, StoreError> {
    Ok(told(drop_bad_stretches(db)?, "threw away, to be made again from the rows, the index", "stretch"))
}

fn archives(db: &Db, _at: Timestamp) -> Result<Option<String>, StoreError> {
    Ok(told(count_archives(db)?, "counted passages and tags", "archive"))
}

fn told(count: usize, what: &str, noun: &str) -> Option<String> {
    let plural = match (count, noun) {
        (1, _) => "",
        (_, "stretch") => "es",
        _ => "s",
    };
    (count > 0).then(|| format!("{what} of {count} {noun}{plural}"))
}
