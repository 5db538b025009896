//! A stretch of documents with their postings, open while it grows and sealed as bytes when it is kept.
//!
//! Sealed layout, all numbers as LEB128 unless said otherwise: format, documents, threads, each thread's 16 bytes; for
//! each document its number (difference to the one before), time (zigzag difference), role, thread (0 for none, else
//! its index + 1), length; then the count of terms, each term's hash (8 bytes, ascending), the count of its postings
//! and their bytes; the postings; at the end the store's fingerprint. A posting is the difference to
//! the document before, doubled, plus 1 if a frequency above 1 follows.

use std::collections::HashMap;

use domain::Role;
use storage::{sealed, unsealed};

use crate::document::Document;
use crate::words::{Mark, Term, Words, mark};

/// The version of what is kept. Another number means that stretches are thrown away and made again.
pub(crate) const FORMAT: u64 = 1;
/// Documents in a sealed stretch.
pub(crate) const SEGMENT_DOCUMENTS: usize = 4_096;
const ROLES: [Role; 5] = [Role::System, Role::User, Role::Assistant, Role::Tool, Role::Approval];

/// What is kept of a document beside its postings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Header {
    pub(crate) number: u64,
    pub(crate) at: i64,
    pub(crate) role: Role,
    pub(crate) thread: Option<[u8; 16]>,
    /// Words.
    pub(crate) length: u32,
}

/// Why bytes are not a stretch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stretch of the search index is damaged or of another version")]
pub(crate) struct Damaged;

/// A stretch that documents are added to.
#[derive(Default)]
pub(crate) struct OpenSegment {
    headers: Vec<Header>,
    postings: HashMap<Term, Vec<(u32, u32)>>,
}

/// A stretch as it is kept.
pub(crate) struct SealedSegment {
    /// Hash, offset into `postings`, and how many; ascending by hash.
    terms: Vec<(Term, u32, u32)>,
    postings: Box<[u8]>,
}

impl OpenSegment {
    pub(crate) fn len(&self) -> usize {
        self.headers.len()
    }

    /// Adds a document; its number must be above all others.
    pub(crate) fn add(&mut self, document: &Document, words: &Words) -> Header {
        let place = u32::try_from(self.headers.len()).unwrap_or(u32::MAX);
        let mut length = 0;
        let mut count = |term: Term| {
            let list = self.postings.entry(term).or_default();
            match list.last_mut() {
                Some((last, frequency)) if *last == place => *frequency += 1,
                _ => list.push((place, 1)),
            }
        };
        words.terms(&document.text, |term| {
            length += 1;
            count(term);
        });
        if let Some(speaker) = &document.speaker {
            words.each(speaker, |_, stem| count(mark(Mark::Name, stem.as_bytes())));
        }
        document.marks.iter().copied().for_each(&mut count);
        let Document { number, at, role, thread, .. } = *document;
        let header = Header { number, at, role, thread, length };
        self.headers.push(header);
        header
    }

    /// How many documents have a term.
    pub(crate) fn count(&self, term: Term) -> usize {
        self.postings.get(&term).map_or(0, Vec::len)
    }

    /// Calls `take` with the place and frequency of each document that has a term, in order.
    pub(crate) fn each(&self, term: Term, mut take: impl FnMut(u32, u32)) {
        for (place, frequency) in self.postings.get(&term).into_iter().flatten() {
            take(*place, *frequency);
        }
    }

    /// Bytes to keep, and the stretch as it will be read from them.
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.headers.len() * 64);
        put(&mut out, FORMAT);
        put(&mut out, self.headers.len() as u64);
        self.put_headers(&mut out);
        let mut terms: Vec<_> = self.postings.iter().collect();
        terms.sort_unstable_by_key(|(term, _)| **term);
        put(&mut out, terms.len() as u64);
        let mut postings = Vec::with_capacity(self.headers.len() * 32);
        for (term, list) in terms {
            let start = postings.len();
            put_postings(&mut postings, list);
            out.extend(term.to_le_bytes());
            put(&mut out, list.len() as u64);
            put(&mut out, (postings.len() - start) as u64);
        }
        out.extend(postings);
        sealed(out)
    }

    fn put_headers(&self, out: &mut Vec<u8>) {
        let mut threads: Vec<[u8; 16]> = Vec::new();
        let mut index = HashMap::new();
        for thread in self.headers.iter().filter_map(|header| header.thread) {
            index.entry(thread).or_insert_with(|| {
                threads.push(thread);
                threads.len() as u64
            });
        }
        put(out, threads.len() as u64);
        threads.iter().for_each(|thread| out.extend(thread));
        let (mut number, mut at) = (0, 0);
        for header in &self.headers {
            put(out, header.number.wrapping_sub(number));
            put(out, zigzag(header.at.wrapping_sub(at)));
            put(out, ROLES.iter().position(|role| *role == header.role).unwrap_or_default() as u64);
            put(out, header.thread.and_then(|thread| index.get(&thread).copied()).unwrap_or_default());
            put(out, u64::from(header.length));
            (number, at) = (header.number, header.at);
        }
    }
}

impl SealedSegment {
    /// Reads bytes that [`OpenSegment::seal`] wrote.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, Vec<Header>), Damaged> {
        let mut reader = Reader { rest: unsealed(bytes).ok_or(Damaged)? };
        if reader.number()? != FORMAT {
            return Err(Damaged);
        }
        let headers = reader.headers()?;
        let count = usize::try_from(reader.number()?).map_err(|_| Damaged)?;
        // Each term takes at least ten bytes.
        let mut terms = Vec::with_capacity(count.min(reader.rest.len() / 10));
        let mut offset = 0_u32;
        for _ in 0..count {
            let term = u64::from_le_bytes(reader.bytes::<8>()?);
            let documents = u32::try_from(reader.number()?).map_err(|_| Damaged)?;
            let length = u32::try_from(reader.number()?).map_err(|_| Damaged)?;
            terms.push((term, offset, documents));
            offset = offset.checked_add(length).ok_or(Damaged)?;
        }
        if reader.rest.len() != offset as usize {
            return Err(Damaged);
        }
        Ok((Self { terms, postings: reader.rest.into() }, headers))
    }

    /// How many documents have a term.
    pub(crate) fn count(&self, term: Term) -> usize {
        self.find(term).map_or(0, |(_, count)| count as usize)
    }

    /// Calls `take` with the place and frequency of each document that has a term, in order.
    pub(crate) fn each(&self, term: Term, mut take: impl FnMut(u32, u32)) {
        let Some((offset, count)) = self.find(term) else { return };
        let mut reader = Reader { rest: self.postings.get(offset as usize..).unwrap_or_default() };
        let mut place = 0_u32;
        for _ in 0..count {
            // The hash of the whole was right, so this only ends early for bytes that nobody wrote.
            let Ok(step) = reader.number() else { return };
            let frequency = if step & 1 == 1 { reader.number().unwrap_or(1) } else { 1 };
            place = place.wrapping_add(u32::try_from(step >> 1).unwrap_or_default());
            take(place, u32::try_from(frequency).unwrap_or(u32::MAX));
        }
    }

    /// Bytes that it takes in memory.
    pub(crate) fn size(&self) -> usize {
        self.terms.len() * size_of::<(Term, u32, u32)>() + self.postings.len()
    }

    fn find(&self, term: Term) -> Option<(u32, u32)> {
        let place = self.terms.binary_search_by_key(&term, |(term, _, _)| *term).ok()?;
        let (_, offset, count) = self.terms[place];
        Some((offset, count))
    }
}

fn put_postings(out: &mut Vec<u8>, list: &[(u32, u32)]) {
    let mut before = 0;
    for (place, frequency) in list {
        let step = u64::from(place - before) << 1;
        if *frequency > 1 {
            put(out, step | 1);
            put(out, u64::from(*frequency));
        } else {
            put(out, step);
        }
        before = *place;
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for (index, byte) in self.rest.iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(Damaged)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn headers(&mut self) -> Result<Vec<Header>, Damaged> {
        let count = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        let threads = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        let mut names = Vec::with_capacity(threads.min(self.rest.len() / 16));
        for _ in 0..threads {
            names.push(self.bytes::<16>()?);
        }
        let mut headers = Vec::with_capacity(count.min(self.rest.len()));
        let (mut number, mut at) = (0_u64, 0_i64);
        for _ in 0..count {
            number = number.wrapping_add(self.number()?);
            at = at.wrapping_add(unzigzag(self.number()?));
            let role = *ROLES.get(self.number()? as usize).ok_or(Damaged)?;
            let thread = match self.number()? {
                0 => None,
                index => Some(*names.get(index as usize - 1).ok_or(Damaged)?),
            };
            let length = u32::try_from(self.number()?).map_err(|_| Damaged)?;
            headers.push(Header { number, at, role, thread, length });
        }
        Ok(headers)
    }
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
