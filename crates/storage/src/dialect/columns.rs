//! How the store's nouns become column values and how they are read back.
//!
//! A value that can't be read back is damage, not a bug of the caller: it becomes [`StoreError::Corrupt`].

use std::sync::Arc;

use domain::{
    AgentId, ApiKeyId, ArchiveId, BlockId, ConversationId, Digest, IdentityId, MessageId, OrganizationId, PassageId,
    RunId, StepId, Timestamp, ToolId, Usage, UserId,
};
use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sqlite::classify;
use crate::error::StoreError;

/// Microseconds, as times are stored.
pub(crate) fn micros(time: Timestamp) -> i64 {
    time.as_microsecond()
}

/// What a time will be once it was stored and read back.
pub(crate) fn stored_time(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// A count as SQL has it. SQL integers are signed; counts never come near the difference.
pub(crate) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A JSON column.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Invalid(format!("a value can't be kept as JSON: {error}")))
}

/// A JSON column that may be null.
pub(crate) fn optional_json<T: Serialize>(value: Option<&T>) -> Result<Option<String>, StoreError> {
    value.map(json).transpose()
}

/// A JSON column that is null for the empty list.
pub(crate) fn json_unless_empty<T: Serialize>(list: &[T]) -> Result<Option<String>, StoreError> {
    if list.is_empty() { Ok(None) } else { json(list).map(Some) }
}

/// An id that is stored as its 16 bytes.
pub(crate) trait StoredId: Sized {
    fn from_stored(bytes: [u8; 16]) -> Self;
}

macro_rules! stored_ids {
    ($($id:ident)*) => {$(
        impl StoredId for $id {
            fn from_stored(bytes: [u8; 16]) -> Self {
                Self::from_bytes(bytes)
            }
        }
    )*};
}

stored_ids! {
    AgentId ApiKeyId ArchiveId BlockId ConversationId IdentityId MessageId OrganizationId PassageId RunId StepId ToolId UserId
}

/// Reads the columns of one row from left to right.
pub(crate) struct Columns<'row> {
    row: &'row Row<'row>,
    next: usize,
}

impl<'row> Columns<'row> {
    pub(crate) fn of(row: &'row Row<'row>) -> Self {
        Self { row, next: 0 }
    }

    pub(crate) fn get<T: FromSql>(&mut self) -> Result<T, StoreError> {
        let index = self.step();
        self.row.get(index).map_err(classify)
    }

    pub(crate) fn id<T: StoredId>(&mut self) -> Result<T, StoreError> {
        self.get::<[u8; 16]>().map(T::from_stored)
    }

    pub(crate) fn optional_id<T: StoredId>(&mut self) -> Result<Option<T>, StoreError> {
        Ok(self.get::<Option<[u8; 16]>>()?.map(T::from_stored))
    }

    pub(crate) fn digest(&mut self) -> Result<Digest, StoreError> {
        self.get().map(Digest)
    }

    pub(crate) fn optional_digest(&mut self) -> Result<Option<Digest>, StoreError> {
        Ok(self.get::<Option<[u8; 32]>>()?.map(Digest))
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        self.get()
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, StoreError> {
        let stored = self.get::<i64>()?;
        read_time(stored)
    }

    pub(crate) fn optional_time(&mut self) -> Result<Option<Timestamp>, StoreError> {
        self.get::<Option<i64>>()?.map(read_time).transpose()
    }

    /// A count or a number that is never negative.
    pub(crate) fn whole(&mut self) -> Result<u64, StoreError> {
        let stored = self.get::<i64>()?;
        u64::try_from(stored).map_err(|_| StoreError::Corrupt(format!("{stored} where a count should be")))
    }

    pub(crate) fn optional_whole(&mut self) -> Result<Option<u64>, StoreError> {
        let Some(stored) = self.get::<Option<i64>>()? else { return Ok(None) };
        u64::try_from(stored).map(Some).map_err(|_| StoreError::Corrupt(format!("{stored} where a count should be")))
    }

    pub(crate) fn whole32(&mut self) -> Result<u32, StoreError> {
        let stored = self.get::<i64>()?;
        u32::try_from(stored).map_err(|_| StoreError::Corrupt(format!("{stored} where a small number should be")))
    }

    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        self.optional_json()?.ok_or_else(|| StoreError::Corrupt("null where JSON should be".to_owned()))
    }

    pub(crate) fn optional_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>, StoreError> {
        let index = self.step();
        let text = match self.row.get_ref(index).map_err(classify)? {
            ValueRef::Null => return Ok(None),
            other => other.as_str().map_err(|error| StoreError::Corrupt(error.to_string()))?,
        };
        let parsed = serde_json::from_str(text);
        parsed.map(Some).map_err(|error| StoreError::Corrupt(format!("unreadable JSON: {error}")))
    }

    /// A list that is null where it is empty.
    pub(crate) fn list<T: DeserializeOwned>(&mut self) -> Result<Arc<[T]>, StoreError> {
        Ok(self.optional_json::<Vec<T>>()?.map_or_else(|| Arc::from([]), Arc::from))
    }

    /// A word out of a closed set.
    pub(crate) fn word<T>(&mut self, parse: fn(&str) -> Option<T>) -> Result<T, StoreError> {
        self.optional_word(parse)?.ok_or_else(|| StoreError::Corrupt("null where a word should be".to_owned()))
    }

    pub(crate) fn optional_word<T>(&mut self, parse: fn(&str) -> Option<T>) -> Result<Option<T>, StoreError> {
        let Some(word) = self.get::<Option<String>>()? else { return Ok(None) };
        parse(&word).map(Some).ok_or_else(|| StoreError::Corrupt(format!("unknown word `{word}`")))
    }

    /// Six columns in the order of [`Usage`]'s fields.
    pub(crate) fn usage(&mut self) -> Result<Usage, StoreError> {
        Ok(Usage {
            prompt_tokens: self.whole()?,
            completion_tokens: self.whole()?,
            total_tokens: self.whole()?,
            cached_input_tokens: self.whole()?,
            cache_write_tokens: self.whole()?,
            reasoning_tokens: self.whole()?,
        })
    }

    fn step(&mut self) -> usize {
        let index = self.next;
        self.next += 1;
        index
    }
}

fn read_time(stored: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(stored).map_err(|error| StoreError::Corrupt(format!("unreadable time: {error}")))
}
