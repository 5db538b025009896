//! From text to the terms that full text knows: words in lower case, stemmed, as hashes.
//!
//! Terms are kept in the index as 64-bit hashes of their stems, so what is written here is a file format: a change
//! needs a new [`crate::segment::FORMAT`].

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Characters of a word that count; nobody searches for more, and stemmers are slow on them.
const MAX_WORD_CHARS: usize = 64;

/// A term of the index.
pub(crate) type Term = u64;

/// Splits texts and stems their words.
pub(crate) struct Words {
    stemmer: Stemmer,
}

impl Words {
    pub(crate) fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English) }
    }

    /// Calls `take` with each word in lower case and its stem, in order.
    pub(crate) fn each(&self, text: &str, mut take: impl FnMut(&str, &str)) {
        let lower = text.to_lowercase();
        for run in lower.split(|c: char| !(c.is_alphanumeric() || is_apostrophe(c))) {
            let word = bare(run);
            if word.is_empty() {
                continue;
            }
            if word.chars().any(is_spaceless) {
                each_pair(&word, &mut take);
            } else {
                take(&word, &self.stem(&word));
            }
        }
    }

    /// The terms of a text, in order, repetitions included.
    pub(crate) fn terms(&self, text: &str, mut take: impl FnMut(Term)) {
        self.each(text, |_, stem| take(term(stem)));
    }

    fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        // Stems of other scripts, of numbers and of codes are the words themselves.
        if word.len() < 3 || word.bytes().any(|byte| !byte.is_ascii_lowercase()) {
            return Cow::Borrowed(word);
        }
        self.stemmer.stem(word)
    }
}

/// The hash of a stem (FNV-1a).
pub(crate) fn term(stem: &str) -> Term {
    hash(stem.as_bytes())
}

/// A term that no text holds: marks documents by what they belong to.
pub(crate) fn mark(kind: Mark, value: &[u8]) -> Term {
    let mut bytes = Vec::with_capacity(value.len() + 2);
    bytes.extend([0, kind as u8]);
    bytes.extend(value);
    hash(&bytes)
}

/// What a document can be marked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Conversation = 1,
    Identity = 2,
    Tag = 3,
    /// A word of the speaker's name.
    Name = 4,
}

fn hash(bytes: &[u8]) -> u64 {
    storage::fingerprint(bytes)
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// The word without apostrophes, and without the possessive.
fn bare(run: &str) -> Cow<'_, str> {
    let run = run.trim_matches(is_apostrophe);
    let run = run.strip_suffix("'s").or_else(|| run.strip_suffix("’s")).unwrap_or(run);
    let run = run.char_indices().nth(MAX_WORD_CHARS).map_or(run, |(end, _)| &run[..end]);
    if run.contains(is_apostrophe) { Cow::Owned(run.replace(is_apostrophe, "")) } else { Cow::Borrowed(run) }
}

/// Whether the script of a character puts no spaces between words.
fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}')
}

/// Where words can't be told apart, each pair of neighbours stands for one.
fn each_pair(run: &str, take: &mut impl FnMut(&str, &str)) {
    let ends: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if ends.len() == 2 {
        take(run, run);
    }
    for pair in ends.windows(3) {
        let pair = &run[pair[0]..pair[2]];
        take(pair, pair);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let mut found = Vec::new();
        Words::new().each(text, |_, stem| found.push(stem.to_owned()));
        expected.assert_eq(&found.join(" "));
    }

    #[test]
    fn words_become_stems() {
        check("The dogs' owner isn't running; Miso’s 3 cats were!", expect!["the dog owner isnt run miso 3 cat were"]);
        check("E-mail a.b@example.org in 2024-05-07", expect!["e mail a b exampl org in 2024 05 07"]);
        check("Ünlü naïve КОШКИ", expect!["ünlü naïve кошки"]);
        check(" ... '' ", expect![""]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("我的猫叫味噌。猫", expect!["我的 的猫 猫叫 叫味 味噌 猫"]);
    }

    #[test]
    fn a_word_has_an_end() {
        let mut length = 0;
        Words::new().each(&"x".repeat(10_000), |word, _| length = word.len());
        assert_eq!(length, MAX_WORD_CHARS);
    }

    #[test]
    fn hashes_are_those_of_the_file_format() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_ne!(mark(Mark::Tag, b"a"), mark(Mark::Identity, b"a"));
    }
}
