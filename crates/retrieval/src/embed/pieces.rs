//! The tokenizer of the built-in embedder: byte-pair merging over a vocabulary of 32,000 pieces.
//!
//! It gives the same tokens as the model's own tokenizer, but for one thing: a text that spells a control token such as
//! `<s>` is text. Which pieces merge first follows from their order in the vocabulary, so the vocabulary is all it has.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

/// Pieces in the vocabulary.
pub(super) const TOKENS: usize = 32_000;
/// Bytes that no piece spells are tokens from here on.
const FIRST_BYTE: u32 = 3;
/// The mark of a length whose piece comes out whole.
const WHOLE: u8 = 0x80;
/// Twice the pieces and more, so that a search ends soon.
const SLOTS: usize = 1 << 16;
const EMPTY: u32 = u32::MAX;
const ID_MASK: u32 = 0x7FFF;
const WHOLE_BIT: u32 = (WHOLE as u32) << 8;
/// Ranks of pieces made of spaces only: they merge after all others.
const SPACES_RANK: u32 = 0x8000;
const NO_PAIR: u32 = u32::MAX;

static VOCABULARY: &[u8] = include_bytes!("../../assets/wordllama.pieces");

/// The vocabulary with an index by text.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Where each piece's text starts; one more at the end.
    starts: Box<[u32]>,
    /// Open addressing: 16 bits of the hash, the mark of a whole piece, 15 bits of token.
    slots: Box<[u32]>,
    longest: usize,
}

impl Pieces {
    /// The one index of this process, made when it is first asked for.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Pieces> = OnceLock::new();
        SHARED.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut pieces = Self { starts: vec![0; TOKENS].into(), slots: vec![EMPTY; SLOTS].into(), longest: 0 };
        let mut at = 0;
        for token in 0..TOKENS {
            let Some(&mark) = VOCABULARY.get(at) else { break };
            let end = at + 1 + usize::from(mark & !WHOLE);
            pieces.starts[token] = at as u32;
            pieces.longest = pieces.longest.max(end - at - 1);
            if end > at + 1 {
                pieces.insert(token, u32::from(mark & WHOLE) << 8);
            }
            at = end;
        }
        pieces
    }

    fn insert(&mut self, token: usize, whole: u32) {
        let hash = hash(self.text(token));
        let mut slot = first_slot(hash);
        while self.slots[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        self.slots[slot] = tag(hash) | whole | token as u32;
    }

    fn text(&self, token: usize) -> &'static [u8] {
        let at = self.starts[token] as usize;
        let length = VOCABULARY.get(at).map_or(0, |mark| usize::from(mark & !WHOLE));
        VOCABULARY.get(at + 1..at + 1 + length).unwrap_or_default()
    }

    /// The token of a text with its mark, if the text is a piece.
    fn find(&self, text: &[u8]) -> Option<u32> {
        if text.len() > self.longest {
            return None;
        }
        let hash = hash(text);
        let mut slot = first_slot(hash);
        loop {
            let found = self.slots[slot];
            if found == EMPTY {
                return None;
            }
            if found & !(ID_MASK | WHOLE_BIT) == tag(hash) && self.text((found & ID_MASK) as usize) == text {
                return Some(found & (ID_MASK | WHOLE_BIT));
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// The tokens of a text.
    pub(super) fn tokens(&'static self, text: &str) -> Tokens {
        let mut spelled = String::with_capacity(text.len() + 1);
        if !text.is_empty() {
            spelled.push(' ');
            spelled.push_str(text);
        }
        // The vocabulary's own sign for a space is one.
        if text.contains('\u{2581}') {
            spelled = spelled.replace('\u{2581}', " ");
        }
        Tokens { pieces: self, text: spelled, at: 0, merging: Merging::default() }
    }
}

/// The tokens of one text, in order.
#[derive(Debug)]
pub struct Tokens {
    pieces: &'static Pieces,
    text: String,
    /// Where the next word starts.
    at: usize,
    /// The word that is being read out.
    merging: Merging,
}

impl Iterator for Tokens {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(token) = self.merging.next_token(self.text.as_bytes()) {
                return Some(token);
            }
            let rest = &self.text.as_bytes()[self.at..];
            if rest.is_empty() {
                return None;
            }
            let start = self.at;
            self.at += word_length(rest);
            match self.pieces.find(&self.text.as_bytes()[start..self.at]) {
                Some(found) if found & WHOLE_BIT != 0 => return Some(found & ID_MASK),
                _ => self.merging.start(self.pieces, &self.text, start..self.at),
            }
        }
    }
}

/// Bytes of the first word: no piece has a space after something else, so words can be merged one by one.
fn word_length(text: &[u8]) -> usize {
    let spaces = text.iter().take_while(|byte| **byte == b' ').count();
    spaces + text[spaces..].iter().take_while(|byte| **byte != b' ').count()
}

/// A stretch of a word that is one piece, or one character that no piece spells.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    start: u32,
    end: u32,
    /// Neighbours by position; a symbol that was merged away has no pair.
    previous: u32,
    next: u32,
    /// What it is, or none for a character to be spelled in bytes.
    token: Option<u16>,
    /// The rank of the piece that it makes with the next one.
    pair: u32,
}

/// One word between its characters and its tokens. Kept from word to word for its memory only.
#[derive(Debug, Default)]
struct Merging {
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
    /// The symbol to be read out next, and how many of its bytes were.
    reading: usize,
    spelled: u32,
}

const NOWHERE: u32 = u32::MAX;

impl Merging {
    fn start(&mut self, pieces: &Pieces, text: &str, word: std::ops::Range<usize>) {
        self.symbols.clear();
        self.queue.clear();
        (self.reading, self.spelled) = (0, 0);
        let first = word.start;
        for (at, character) in text[word].char_indices() {
            let (start, index) = (first + at, self.symbols.len() as u32);
            let end = start + character.len_utf8();
            self.symbols.push(Symbol {
                start: start as u32,
                end: end as u32,
                previous: index.checked_sub(1).unwrap_or(NOWHERE),
                next: index + 1,
                token: pieces.find(&text.as_bytes()[start..end]).map(|found| (found & ID_MASK) as u16),
                pair: NO_PAIR,
            });
        }
        if let Some(last) = self.symbols.last_mut() {
            last.next = NOWHERE;
        }
        for index in 0..self.symbols.len() as u32 {
            self.pair_up(pieces, text.as_bytes(), index);
        }
        while let Some(Reverse((rank, index))) = self.queue.pop() {
            // Pairs that changed since then were queued again with their new rank.
            if self.symbols[index as usize].pair == rank {
                self.merge(pieces, text.as_bytes(), index);
            }
        }
    }

    /// Finds out what a symbol makes with the one after it.
    fn pair_up(&mut self, pieces: &Pieces, text: &[u8], index: u32) {
        let symbol = self.symbols[index as usize];
        let mut pair = NO_PAIR;
        if symbol.next != NOWHERE {
            let span = &text[symbol.start as usize..self.symbols[symbol.next as usize].end as usize];
            if let Some(found) = pieces.find(span) {
                let is_spaces = span.iter().all(|byte| *byte == b' ');
                pair = (found & ID_MASK) + u32::from(is_spaces) * SPACES_RANK;
                self.queue.push(Reverse((pair, index)));
            }
        }
        self.symbols[index as usize].pair = pair;
    }

    fn merge(&mut self, pieces: &Pieces, text: &[u8], index: u32) {
        let Symbol { next, pair, previous, .. } = self.symbols[index as usize];
        let swallowed = self.symbols[next as usize];
        self.symbols[next as usize].pair = NO_PAIR;
        let symbol = &mut self.symbols[index as usize];
        symbol.token = Some((pair & ID_MASK) as u16);
        symbol.end = swallowed.end;
        symbol.next = swallowed.next;
        if swallowed.next != NOWHERE {
            self.symbols[swallowed.next as usize].previous = index;
        }
        self.pair_up(pieces, text, index);
        if previous != NOWHERE {
            self.pair_up(pieces, text, previous);
        }
    }

    fn next_token(&mut self, text: &[u8]) -> Option<u32> {
        let symbol = *self.symbols.get(self.reading)?;
        let byte = text[(symbol.start + self.spelled) as usize];
        self.spelled += 1;
        if symbol.token.is_some() || symbol.start + self.spelled == symbol.end {
            self.spelled = 0;
            self.reading = symbol.next as usize;
        }
        Some(symbol.token.map_or(FIRST_BYTE + u32::from(byte), u32::from))
    }
}

/// A quick hash of a short text (multiply and rotate, eight bytes at a time).
fn hash(text: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = text.len() as u64;
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
    let word = chunks.remainder().iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    hash = (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    hash ^ hash >> 32
}

fn first_slot(hash: u64) -> usize {
    hash as usize % SLOTS
}

/// The part of a hash that a slot keeps.
fn tag(hash: u64) -> u32 {
    (hash >> 16) as u32 & 0xFFFF_0000
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
