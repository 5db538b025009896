//! One scope's index in memory: postings, who stands beside whom, and vectors.
//!
//! Neighbours are documents that follow each other in one thread without a long pause: what was said in one sitting. How
//! much of a neighbour belongs to a document fades with each step and with the words between them, so that short turns
//! are understood by what surrounds them and long ones stand for themselves.
//!
//! Documents are places 0, 1, 2, … in the order of their row numbers. Vectors cover the documents from place 0 on; what
//! they don't cover yet is found by its words alone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::Role;

use crate::document::Document;
use crate::segment::{Damaged, Header, OpenSegment, SEGMENT_DOCUMENTS, SealedSegment};
use crate::vectors::VectorTable;
use crate::words::{Term, Words};

/// A pause of so many microseconds ends a sitting.
const PAUSE: i64 = 60 * 60 * 1_000_000;
/// What is left of a document's influence one step further.
const STEP: f32 = 0.7;
/// Words over which influence falls to a third.
const FADE: f32 = 300.0;
/// Steps that influence reaches.
pub(crate) const REACH: usize = 4;
/// Stretches that an estimate asks.
const MAX_ASKED: usize = 6;
/// Whose a document is that belongs to nobody.
pub(crate) const NO_PERSON: u32 = 0;
/// No neighbour on that side.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A scope's index.
pub(crate) struct ScopeIndex {
    words: Words,
    parts: Vec<Part>,
    numbers: Vec<u64>,
    times: Vec<i64>,
    roles: Vec<Role>,
    lengths: Vec<u32>,
    before: Vec<u32>,
    after: Vec<u32>,
    /// How much of the document before belongs to this one, from 0 to 1.
    links: Vec<f32>,
    /// Words of a document with its share of its neighbours' words.
    reaches: Vec<f32>,
    /// The sitting that a document belongs to: the place of its first document.
    sittings: Vec<u32>,
    /// The last place of each thread.
    threads: HashMap<[u8; 16], u32>,
    /// Whose each document is, by the numbers of `people`.
    whose: Vec<u32>,
    /// The people that are known, by the marks of their documents.
    people: HashMap<Term, u32>,
    gone: Vec<u32>,
    total_length: u64,
    total_reach: f64,
    /// The last row that was looked at, searchable or not.
    pub(crate) last_row: u64,
    /// The last deletion that was looked at.
    pub(crate) last_gone: u64,
    /// Whether the people of kept stretches are known. Nobody may search before.
    pub(crate) people_known: bool,
    pub(crate) vectors: Vectors,
}

/// The vectors of the documents from place 0 on.
#[derive(Default)]
pub(crate) struct Vectors {
    /// The model that made them; none where there are none.
    pub(crate) embedding: Option<String>,
    pub(crate) table: VectorTable,
    /// The last row that kept stretches reach.
    pub(crate) kept_to: u64,
}

struct Part {
    start: u32,
    postings: Postings,
}

enum Postings {
    Open(OpenSegment),
    Sealed(SealedSegment),
}

impl Default for ScopeIndex {
    fn default() -> Self {
        Self {
            words: Words::new(),
            parts: Vec::new(),
            numbers: Vec::new(),
            times: Vec::new(),
            roles: Vec::new(),
            lengths: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            links: Vec::new(),
            reaches: Vec::new(),
            sittings: Vec::new(),
            threads: HashMap::new(),
            whose: Vec::new(),
            people: HashMap::new(),
            gone: Vec::new(),
            total_length: 0,
            total_reach: 0.0,
            last_row: 0,
            last_gone: 0,
            people_known: false,
            vectors: Vectors::default(),
        }
    }
}

impl ScopeIndex {
    /// Documents, those that are gone included.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn number(&self, place: usize) -> u64 {
        self.numbers[place]
    }

    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    pub(crate) fn time(&self, place: usize) -> i64 {
        self.times[place]
    }

    pub(crate) fn role(&self, place: usize) -> Role {
        self.roles[place]
    }

    /// Words of a document.
    pub(crate) fn length(&self, place: usize) -> u32 {
        self.lengths[place]
    }

    /// Words of all documents.
    pub(crate) fn total_length(&self) -> u64 {
        self.total_length
    }

    /// The sum of all documents' words with their share of their neighbours'.
    pub(crate) fn total_reach(&self) -> f64 {
        self.total_reach
    }

    /// Words of a document with its share of its neighbours' words.
    pub(crate) fn reach(&self, place: usize) -> f32 {
        self.reaches[place]
    }

    /// The documents right before each, [`NOBODY`] where there is none.
    pub(crate) fn before(&self) -> &[u32] {
        &self.before
    }

    /// How much of the document before belongs to each.
    pub(crate) fn links(&self) -> &[f32] {
        &self.links
    }

    /// The place of the first document of the sitting.
    pub(crate) fn sitting(&self, place: usize) -> u32 {
        self.sittings[place]
    }

    /// Calls `take` with each document around one and how much the two belong together, itself not included.
    pub(crate) fn around(&self, place: usize, mut take: impl FnMut(usize, f32)) {
        let (mut at, mut share) = (place, 1.0);
        for _ in 0..REACH {
            share *= self.links[at];
            at = self.before[at] as usize;
            if at >= self.before.len() {
                break;
            }
            take(at, share);
        }
        (at, share) = (place, 1.0);
        for _ in 0..REACH {
            at = self.after[at] as usize;
            if at >= self.after.len() {
                break;
            }
            share *= self.links[at];
            take(at, share);
        }
    }

    /// Whose each document is, by the numbers that [`Self::person`] gives; [`NO_PERSON`] where it is nobody's.
    pub(crate) fn whose(&self) -> &[u32] {
        &self.whose
    }

    /// Whether any document is somebody's.
    pub(crate) fn has_people(&self) -> bool {
        !self.people.is_empty()
    }

    /// The number of a person, by the mark of their documents.
    pub(crate) fn person(&self, mark: Term) -> Option<u32> {
        self.people.get(&mark).copied()
    }

    /// Learns of a person whose documents kept stretches may hold.
    pub(crate) fn add_person(&mut self, mark: Term) {
        let person = self.number_of(mark);
        let mut whose = std::mem::take(&mut self.whose);
        self.each(mark, |place, _| whose[place] = person);
        self.whose = whose;
    }

    /// Places of documents whose rows were deleted or superseded.
    pub(crate) fn gone(&self) -> &[u32] {
        &self.gone
    }

    /// Bytes that it takes in memory, roughly.
    pub(crate) fn size(&self) -> usize {
        let postings = self.parts.iter().map(|part| match &part.postings {
            // A posting of an open stretch takes eight bytes and its share of a table.
            Postings::Open(open) => open.len() * 600,
            Postings::Sealed(sealed) => sealed.size(),
        });
        postings.sum::<usize>() + self.len() * 52 + self.vectors.table.size()
    }

    /// Adds a kept stretch.
    pub(crate) fn add_sealed(&mut self, content: &[u8]) -> Result<(), Damaged> {
        let (sealed, headers) = SealedSegment::read(content)?;
        let mut last = self.last_row;
        for header in &headers {
            if header.number <= last {
                return Err(Damaged);
            }
            last = header.number;
        }
        self.parts.push(Part { start: self.next_place(), postings: Postings::Sealed(sealed) });
        headers.iter().for_each(|header| self.add_header(header));
        self.last_row = last;
        Ok(())
    }

    /// Adds the document of a row that comes after all others.
    pub(crate) fn add(&mut self, document: &Document) {
        let start = self.next_place();
        if !matches!(self.parts.last(), Some(Part { postings: Postings::Open(_), .. })) {
            self.parts.push(Part { start, postings: Postings::Open(OpenSegment::default()) });
        }
        let Some(Part { postings: Postings::Open(open), .. }) = self.parts.last_mut() else { return };
        let header = open.add(document, &self.words);
        let full = open.len() >= SEGMENT_DOCUMENTS;
        self.add_header(&header);
        if let Some(mark) = document.person {
            self.whose[start as usize] = self.number_of(mark);
        }
        if document.superseded {
            self.gone.push(start);
        }
        self.last_row = self.last_row.max(document.number);
        if full {
            self.seal_last();
        }
    }

    /// Remembers that a row was deleted or superseded.
    pub(crate) fn forget(&mut self, number: u64) {
        if let Ok(place) = self.numbers.binary_search(&number) {
            self.gone.push(u32::try_from(place).unwrap_or(NOBODY));
        }
    }

    /// How many documents have a term.
    pub(crate) fn count(&self, term: Term) -> usize {
        self.parts.iter().map(|part| part.postings.count(term)).sum()
    }

    /// How many documents have a term, roughly: in a large scope only some stretches are asked.
    pub(crate) fn estimate(&self, term: Term) -> usize {
        let step = self.parts.len().div_ceil(MAX_ASKED).max(1);
        let asked = self.parts.iter().step_by(step).map(|part| part.postings.count(term));
        asked.sum::<usize>() * self.parts.len() / self.parts.len().div_ceil(step).max(1)
    }

    /// Calls `take` with the place and frequency of each document that has a term, in order.
    pub(crate) fn each(&self, term: Term, mut take: impl FnMut(usize, u32)) {
        for part in &self.parts {
            let start = part.start;
            match &part.postings {
                Postings::Open(open) => open.each(term, |place, frequency| take((start + place) as usize, frequency)),
                Postings::Sealed(sealed) => {
                    sealed.each(term, |place, frequency| take((start + place) as usize, frequency));
                }
            }
        }
    }

    fn number_of(&mut self, mark: Term) -> u32 {
        let next = u32::try_from(self.people.len() + 1).unwrap_or(NOBODY);
        *self.people.entry(mark).or_insert(next)
    }

    fn next_place(&self) -> u32 {
        u32::try_from(self.len()).unwrap_or(NOBODY)
    }

    fn add_header(&mut self, header: &Header) {
        let place = self.next_place();
        let before = match header.thread.map(|thread| self.threads.entry(thread)) {
            None => NOBODY,
            Some(Entry::Occupied(mut last)) => last.insert(place),
            Some(Entry::Vacant(new)) => {
                new.insert(place);
                NOBODY
            }
        };
        let pause =
            self.times.get(before as usize).map_or(i64::MAX, |last| header.at.saturating_sub(*last).saturating_abs());
        let before = if pause <= PAUSE { before } else { NOBODY };
        let (link, sitting) = match self.lengths.get(before as usize) {
            Some(length) => {
                let words = (*length as f32 + header.length as f32) / 2.0;
                self.after[before as usize] = place;
                (STEP * (-words / FADE).exp(), self.sittings[before as usize])
            }
            None => (0.0, place),
        };
        self.numbers.push(header.number);
        self.times.push(header.at);
        self.roles.push(header.role);
        self.lengths.push(header.length);
        self.before.push(before);
        self.after.push(NOBODY);
        self.links.push(link);
        self.sittings.push(sitting);
        self.whose.push(NO_PERSON);
        self.total_length += u64::from(header.length);
        self.share_words(place as usize, header.length as f32);
    }

    /// Counts the words of a new document for those before it, and theirs for it.
    fn share_words(&mut self, place: usize, length: f32) {
        let mut shared = Vec::with_capacity(REACH);
        self.around(place, |other, share| shared.push((other, share)));
        let mut reach = length;
        for (other, share) in shared {
            reach += share * self.lengths[other] as f32;
            self.reaches[other] += share * length;
            self.total_reach += f64::from(share * length);
        }
        self.reaches.push(reach);
        self.total_reach += f64::from(reach);
    }

    /// Makes the open stretch as small as a kept one.
    fn seal_last(&mut self) {
        let Some(part) = self.parts.last_mut() else { return };
        let Postings::Open(open) = &part.postings else { return };
        // What was just sealed can be read; if not, the open stretch goes on.
        if let Ok((sealed, _)) = SealedSegment::read(&open.seal()) {
            part.postings = Postings::Sealed(sealed);
        }
    }
}

impl Postings {
    fn count(&self, term: Term) -> usize {
        match self {
            Self::Open(open) => open.count(term),
            Self::Sealed(sealed) => sealed.count(term),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::term;

    fn document(number: u64, thread: u8, text: &str) -> Document {
        Document {
            number,
            at: 0,
            role: Role::User,
            thread: (thread > 0).then_some([thread; 16]),
            marks: Vec::new(),
            person: None,
            superseded: false,
            speaker: None,
            text: text.to_owned(),
        }
    }

    fn places(index: &ScopeIndex, word: &str) -> Vec<usize> {
        let mut found = Vec::new();
        index.each(term(word), |place, _| found.push(place));
        found
    }

    #[test]
    fn neighbours_are_those_of_the_same_thread() {
        let mut index = ScopeIndex::default();
        for (number, thread) in [(1, 1), (2, 2), (5, 1), (6, 0), (9, 2), (11, 0), (12, 1)] {
            index.add(&document(number, thread, "x"));
        }
        let n = NOBODY;
        assert_eq!(index.before, [n, n, 0, n, 1, n, 2]);
        assert_eq!(index.after, [2, 4, 6, n, n, n, n]);
        assert_eq!(index.sittings, [0, 1, 0, 3, 1, 5, 0]);
    }

    #[test]
    fn a_long_pause_ends_a_sitting() {
        let mut index = ScopeIndex::default();
        for (number, minutes) in [(1, 0), (2, 50), (3, 111), (4, 112), (5, 30)] {
            index.add(&Document { at: minutes * 60_000_000, ..document(number, 1, "x") });
        }
        assert_eq!(index.sittings, [0, 0, 2, 2, 4]);
    }

    #[test]
    fn what_belongs_together_fades_by_steps_and_by_words() {
        let mut index = ScopeIndex::default();
        let long = "word ".repeat(300);
        for (number, text) in ["a", "b", long.as_str(), "c", "d", "e", "f"].iter().enumerate() {
            index.add(&document(number as u64 + 1, 1, text));
        }
        let mut around = Vec::new();
        index.around(1, |place, share| around.push((place, (share * 100.0).round())));
        assert_eq!(around, [(0, 70.0), (2, 42.0), (3, 18.0), (4, 13.0), (5, 9.0)]);
        let expected: f32 = 1.0 + 0.697 + 0.424 * 300.0 + 0.18 + 0.125 + 0.087;
        assert!((index.reach(1) - expected).abs() < 1.0, "{}", index.reach(1));
        let sum: f32 = (0..index.len()).map(|place| index.reach(place)).sum();
        assert!((f64::from(sum) - index.total_reach()).abs() < 0.01);
    }

    #[test]
    fn kept_and_new_stretches_are_one_index() {
        let words = Words::new();
        let mut open = OpenSegment::default();
        open.add(&document(3, 1, "dog"), &words);
        open.add(&document(4, 1, "cat"), &words);
        let mut index = ScopeIndex::default();
        index.add_sealed(&open.seal()).unwrap();
        index.add(&document(9, 1, "dog"));
        assert_eq!(places(&index, "dog"), [0, 2]);
        assert_eq!((index.count(term("dog")), index.last_row, index.len()), (2, 9, 3));
        assert_eq!((index.before[1], index.after[1]), (0, 2));
        // A stretch that would repeat rows is not taken.
        assert_eq!(index.add_sealed(&open.seal()), Err(Damaged));
        assert_eq!(index.len(), 3);
        index.forget(4);
        index.forget(5);
        assert_eq!(index.gone(), [1]);
    }

    #[test]
    fn a_long_open_stretch_is_made_small() {
        let mut index = ScopeIndex::default();
        for number in 1..=(SEGMENT_DOCUMENTS as u64 * 2 + 3) {
            index.add(&document(number, 1, if number.is_multiple_of(1_000) { "rare" } else { "common" }));
        }
        assert_eq!(index.parts.len(), 3);
        assert_eq!(places(&index, "rare"), [999, 1999, 2999, 3999, 4999, 5999, 6999, 7999]);
    }
}
