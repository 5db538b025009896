//! What can be wrong with a database, area by area.
//!
//! Each area has one function here that looks and, where what is wrong can be made anew from the rows, one in `repair`
//! that does so. An area that is added later, such as an index for searching, goes into [`LOOKS`] and into its list.

use std::fmt;

use domain::{BlockId, ConversationId};

use crate::context::ContextList;
use crate::dialect::{Db, Fault, params, whole};
use crate::error::StoreError;
use crate::search_soundness::{bad_stretches, wrong_archives, wrongly_searched};

/// Problems of one area that are told; a thousand alike say no more than these.
const MAX_PROBLEMS: u32 = 100;

/// Where something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// The file itself.
    File,
    /// An index of the database, which can be built again from the rows.
    Index,
    /// What search keeps of the rows.
    Search,
    /// A row that points to one that is not there.
    Reference,
    /// A number or a copy that is kept to save counting or looking up.
    Derived,
    /// A block whose history does not end with what the block is.
    History,
    /// A context list with messages that are not there.
    Context,
}

impl Area {
    /// One word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Index => "index",
            Self::Search => "search",
            Self::Reference => "reference",
            Self::Derived => "derived",
            Self::History => "history",
            Self::Context => "context",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub area: Area,
    pub text: String,
}

impl Problem {
    fn new(area: Area, text: impl Into<String>) -> Self {
        Self { area, text: text.into() }
    }

    /// Whether [`crate::Store::repair`] can make it right without guessing.
    pub fn can_be_repaired(&self) -> bool {
        match self.area {
            Area::Index | Area::Search | Area::Derived | Area::History => true,
            Area::File | Area::Reference | Area::Context => false,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

type Look = fn(&Db) -> Result<Vec<Problem>, StoreError>;

/// The file and its indexes come first: where those are wrong, what the others see may be wrong too.
const LOOKS: [Look; 10] =
    [file, references, message_counts, labels, histories, contexts, requests, set_aside, search_index, archives];

/// Everything that is wrong.
pub(crate) fn problems(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let mut found = Vec::new();
    for look in LOOKS {
        found.extend(look(db)?);
    }
    Ok(found)
}

fn file(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let faults = db.faults()?.into_iter();
    Ok(faults
        .map(|fault| match fault {
            Fault::Index(text) => Problem::new(Area::Index, text),
            Fault::File(text) => Problem::new(Area::File, text),
        })
        .collect())
}

fn references(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let missing = db.missing_parents(MAX_PROBLEMS)?.into_iter();
    Ok(missing
        .map(|(table, parent)| {
            Problem::new(Area::Reference, format!("a row of `{table}` points to a missing row of `{parent}`"))
        })
        .collect())
}

/// Conversations that count other messages than they have: kept count and true count.
pub(crate) fn wrong_counts(db: &Db, limit: u32) -> Result<Vec<(ConversationId, u64, u64)>, StoreError> {
    const SQL: &str = "select id, kept, found from (select c.id as id, c.message_count as kept, \
                       (select count(*) from message m where m.conversation_id = c.id and m.standing <> 'example') \
                       as found from conversation c) as counts where kept <> found limit $1";
    db.all(SQL, params![limit], |row| Ok((row.id()?, row.whole()?, row.whole()?)))
}

fn message_counts(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let wrong = wrong_counts(db, MAX_PROBLEMS)?.into_iter();
    Ok(wrong
        .map(|(id, kept, found)| {
            Problem::new(Area::Derived, format!("conversation `{id}` counts {kept} messages and has {found}"))
        })
        .collect())
}

fn search_index(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let bad = bad_stretches(db, MAX_PROBLEMS)?.into_iter();
    let text = |what| format!("a stretch of the search index ({what}) is damaged or overlaps another");
    Ok(bad.map(|stretch| Problem::new(Area::Search, text(stretch.what()))).collect())
}

fn archives(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let wrong = wrong_archives(db)?.into_iter().take(MAX_PROBLEMS as usize);
    let text = |id| format!("archive `{id}` counts other passages or tags than it has");
    Ok(wrong.map(|(id, _)| Problem::new(Area::Derived, text(id))).collect())
}

/// Requests that are superseded and their message is not, or the other way round, by their ordinals.
pub(crate) fn wrong_requests(db: &Db, limit: u32) -> Result<Vec<u64>, StoreError> {
    const SQL: &str = "select r.ordinal from session_request r join message m on m.id = r.message_id \
                       where r.superseded <> (m.standing = 'superseded') limit $1";
    db.all(SQL, params![limit], |row| row.whole())
}

fn requests(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let wrong = wrong_requests(db, MAX_PROBLEMS)?.into_iter();
    let text = |ordinal| format!("request {ordinal} of a session says of its message what the message does not");
    Ok(wrong.map(|ordinal| Problem::new(Area::Derived, text(ordinal))).collect())
}

fn set_aside(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let wrong = wrongly_searched(db, MAX_PROBLEMS)?;
    let text = |number| format!("message number {number} is searched as if it had another standing");
    Ok(wrong.all().map(|number| Problem::new(Area::Search, text(number))).collect())
}

/// Blocks whose label is not the one under which agents, people or conversations have them.
pub(crate) fn wrong_labels(db: &Db, limit: u32) -> Result<Vec<(BlockId, String)>, StoreError> {
    const SQL: &str = "select distinct b.id, b.label from (select block_id, label from agent_block \
                       union all select block_id, label from person_block \
                       union all select block_id, label from conversation_block) as had \
                       join block b on b.id = had.block_id where had.label <> b.label limit $1";
    db.all(SQL, params![limit], |row| Ok((row.id()?, row.text()?)))
}

fn labels(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let wrong = wrong_labels(db, MAX_PROBLEMS)?.into_iter();
    Ok(wrong
        .map(|(id, label)| {
            Problem::new(Area::Derived, format!("block `{id}` is `{label}` and is had under another label"))
        })
        .collect())
}

/// Blocks that are not what their history says of their version.
pub(crate) fn strange_blocks(db: &Db, limit: u32) -> Result<Vec<BlockId>, StoreError> {
    const SQL: &str = "select b.id from block b where not exists (select 1 from block_history h \
                       where h.block_id = b.id and h.version = b.version and h.value = b.value \
                       and h.label = b.label and h.char_limit = b.char_limit \
                       and h.description is not distinct from b.description) \
                       or exists (select 1 from block_history h where h.block_id = b.id and h.version > b.version) \
                       limit $1";
    db.all(SQL, params![limit], |row| row.id())
}

fn histories(db: &Db) -> Result<Vec<Problem>, StoreError> {
    let wrong = strange_blocks(db, MAX_PROBLEMS)?.into_iter();
    Ok(wrong
        .map(|id| Problem::new(Area::History, format!("block `{id}` is another than its history ends with")))
        .collect())
}

fn contexts(db: &Db) -> Result<Vec<Problem>, StoreError> {
    const SQL: &str = "select id, context from conversation";
    const END: &str = "select 1 from message where conversation_id = $1 and sequence_id = $2";
    let mut found = Vec::new();
    db.while_wanted(SQL, [], |row| {
        let (id, text): (ConversationId, String) = (row.id()?, row.text()?);
        let sound = match ContextList::parse(&text) {
            Ok(list) => {
                let mut ends = list.stretches().iter().flat_map(|(first, last)| [*first, *last]);
                ends.try_fold(true, |sound, end| Ok(sound && db.exists(END, params![id.as_bytes(), whole(end)])?))?
            }
            Err(_) => false,
        };
        if !sound {
            let text = format!("the context list of conversation `{id}` names messages that are not there");
            found.push(Problem::new(Area::Context, text));
        }
        Ok(found.len() < MAX_PROBLEMS as usize)
    })?;
    Ok(found)
}
