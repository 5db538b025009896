//! Whether what is kept of the search index and of archives fits the rows, and how it is made to.
//!
//! A stretch carries a fingerprint of itself, so damage is seen without knowing what is inside. A stretch that is thrown
//! away is made again from the rows by whoever indexes.

use std::collections::BTreeMap;

use domain::ArchiveId;

use crate::dialect::{Db, params, whole};
use crate::error::StoreError;
use crate::search_index::unsealed;

/// A stretch of the index that can't be used, with all that follows it in its scope.
pub(crate) struct BadStretch {
    table: &'static str,
    scope: Vec<u8>,
    /// The model, for vectors.
    embedding: String,
    first: u64,
}

impl BadStretch {
    pub(crate) fn what(&self) -> &'static str {
        if self.table == "search_segment" { "words" } else { "vectors" }
    }
}

/// Stretches that are damaged, or that overlap the one before.
pub(crate) fn bad_stretches(db: &Db, limit: u32) -> Result<Vec<BadStretch>, StoreError> {
    const SEGMENTS: &str = "select scope_id, '', first_number, last_number, content from search_segment \
                            order by scope_id, first_number";
    const VECTORS: &str = "select scope_id, embedding, first_number, last_number, content from search_vectors \
                           order by scope_id, embedding, first_number";
    let mut bad = Vec::new();
    for (table, sql) in [("search_segment", SEGMENTS), ("search_vectors", VECTORS)] {
        let mut before: Option<(Vec<u8>, String, u64)> = None;
        db.while_wanted(sql, [], |row| {
            let (scope, embedding): (Vec<u8>, String) = (row.get()?, row.text()?);
            let (first, last, content) = (row.whole()?, row.whole()?, row.get::<Vec<u8>>()?);
            let overlaps = before
                .as_ref()
                .is_some_and(|(of, model, reached)| (of, model) == (&scope, &embedding) && *reached >= first);
            if overlaps || first > last || unsealed(&content).is_none() {
                bad.push(BadStretch { table, scope: scope.clone(), embedding: embedding.clone(), first });
            }
            before = Some((scope, embedding, last));
            Ok(bad.len() < limit as usize)
        })?;
    }
    Ok(bad)
}

/// Messages that search takes for something else than they are, by their numbers.
pub(crate) struct WronglySearched {
    /// Superseded, and found all the same.
    found: Vec<u64>,
    /// Kept, and never found.
    hidden: Vec<u64>,
}

impl WronglySearched {
    pub(crate) fn all(&self) -> impl Iterator<Item = u64> {
        self.found.iter().chain(&self.hidden).copied()
    }
}

/// Compares what search was told of messages with what they are.
pub(crate) fn wrongly_searched(db: &Db, limit: u32) -> Result<WronglySearched, StoreError> {
    const FOUND: &str = "select sequence_id from (select agent_id, sequence_id from message \
                         where standing = 'superseded' except select scope_id, number from search_gone) as missing \
                         limit $1";
    const HIDDEN: &str = "select m.sequence_id from search_gone g join message m on m.sequence_id = g.number \
                          and m.agent_id = g.scope_id where m.standing <> 'superseded' limit $1";
    let numbers = |sql| db.all(sql, params![limit], |row| row.whole());
    Ok(WronglySearched { found: numbers(FOUND)?, hidden: numbers(HIDDEN)? })
}

/// Tells search what the messages are, and gives of how many it was told something else.
pub(crate) fn tell_standings(db: &Db) -> Result<usize, StoreError> {
    const FORGET: &str = "insert into search_gone (scope_id, organization_id, number) \
                          select agent_id, organization_id, sequence_id from message where sequence_id = $1";
    const FIND: &str = "delete from search_gone where number = $1 and scope_id in (select agent_id from message \
                        where sequence_id = $1)";
    let wrong = wrongly_searched(db, u32::MAX)?;
    for (numbers, sql) in [(&wrong.found, FORGET), (&wrong.hidden, FIND)] {
        numbers.iter().try_for_each(|number| db.execute(sql, params![whole(*number)]).map(drop))?;
    }
    Ok(wrong.all().count())
}

/// Throws away damaged stretches and what follows them, and all postings, which cost nothing to make again. Vectors
/// that are sound stay: they may have cost money. Gives how many stretches went.
pub(crate) fn drop_bad_stretches(db: &Db) -> Result<usize, StoreError> {
    const VECTORS: &str = "delete from search_vectors where scope_id = $1 and embedding = $2 and first_number >= $3";
    let mut dropped = 0;
    for stretch in bad_stretches(db, u32::MAX)? {
        if stretch.table == "search_vectors" {
            dropped += db.execute(VECTORS, params![stretch.scope, stretch.embedding, whole(stretch.first)])?;
        }
    }
    Ok(dropped + db.execute("delete from search_segment", [])?)
}

/// Archives whose count or tags are not those of their passages.
pub(crate) fn wrong_archives(db: &Db) -> Result<Vec<(ArchiveId, Counts)>, StoreError> {
    let mut found: BTreeMap<[u8; 16], Counts> = BTreeMap::new();
    db.while_wanted("select id from archive", [], |row| {
        found.insert(row.get()?, Counts::default());
        Ok(true)
    })?;
    db.while_wanted("select archive_id, tags from passage", [], |row| {
        let archive: [u8; 16] = row.get()?;
        let tags: Vec<String> = row.json()?;
        let counts = found.entry(archive).or_default();
        counts.passages += 1;
        tags.into_iter().for_each(|tag| *counts.tags.entry(tag).or_default() += 1);
        Ok(true)
    })?;
    let mut kept: BTreeMap<[u8; 16], Counts> = BTreeMap::new();
    db.while_wanted("select id, passage_count from archive", [], |row| {
        let archive: [u8; 16] = row.get()?;
        kept.entry(archive).or_default().passages = row.whole()?;
        Ok(true)
    })?;
    db.while_wanted("select archive_id, tag, passage_count from archive_tag", [], |row| {
        let archive: [u8; 16] = row.get()?;
        kept.entry(archive).or_default().tags.insert(row.text()?, row.whole()?);
        Ok(true)
    })?;
    let wrong = found.into_iter().filter(|(id, counts)| kept.get(id) != Some(counts));
    Ok(wrong.map(|(id, counts)| (ArchiveId::from_bytes(id), counts)).collect())
}

/// Passages of an archive, in all and by tag.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    passages: u64,
    tags: BTreeMap<String, u64>,
}

/// Writes down what archives really hold. Gives how many were corrected.
pub(crate) fn count_archives(db: &Db) -> Result<usize, StoreError> {
    let wrong = wrong_archives(db)?;
    for (archive, counts) in &wrong {
        let id = archive.as_bytes();
        db.execute("update archive set passage_count = $1 where id = $2", params![whole(counts.passages), id])?;
        db.execute("delete from archive_tag where archive_id = $1", params![id])?;
        for (tag, passages) in &counts.tags {
            const SQL: &str = "insert into archive_tag (archive_id, tag, passage_count) values ($1, $2, $3)";
            db.execute(SQL, params![id, tag, whole(*passages)])?;
        }
    }
    Ok(wrong.len())
}
