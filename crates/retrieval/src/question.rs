//! What a query asks for: its words with their weight, the times that it names, and whom it asks about.
//!
//! Words that every talk is full of are left out, names of speakers are asked for as speakers, and rare words count more.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::embed::Builtin;
use crate::embed::builtin::{DIMENSIONS, normalise};
use crate::index::ScopeIndex;
use crate::word_meaning::meaning;
use crate::words::{Mark, Term, Words, mark, term};

/// Content words of a query that count; a query longer than that is told by its first ones.
const MAX_WORDS: usize = 200;

static STOP_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("stop_words.txt").split_whitespace().collect());
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// What somebody asks for who means the assistant's own words.
const SAID: [&str; 26] = [
    "advice",
    "advise",
    "advised",
    "answer",
    "describe",
    "described",
    "explain",
    "explained",
    "gave",
    "list",
    "listed",
    "mention",
    "mentioned",
    "propose",
    "proposed",
    "recommend",
    "recommendation",
    "recommendations",
    "recommended",
    "said",
    "say",
    "suggest",
    "suggested",
    "suggestion",
    "tell",
    "told",
];

/// Whether a word says nothing about what is asked.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

/// A query as it was written.
pub(crate) struct Question<'a> {
    text: &'a str,
    /// Each word in lower case and its stem, none twice.
    words: Vec<(String, String)>,
    builtin: &'a Builtin,
}

/// A word that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) word: String,
    pub(crate) term: Term,
    /// How rare it is.
    pub(crate) weight: f32,
}

/// A query after a look at what is there.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Asked {
    pub(crate) wanted: Vec<Wanted>,
    /// Speakers that it names, as marks, and how much being said by them counts.
    pub(crate) speakers: Vec<(Term, f32)>,
    pub(crate) dates: Dates,
    /// Whether it asks for what the assistant itself said.
    pub(crate) means_assistant: bool,
}

/// Times that a query names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Dates {
    pub(crate) months: Vec<i8>,
    pub(crate) years: Vec<i16>,
    pub(crate) days: Vec<i8>,
}

impl<'a> Question<'a> {
    pub(crate) fn new(text: &'a str, builtin: &'a Builtin) -> Self {
        let mut words: Vec<(String, String)> = Vec::new();
        let mut seen = HashSet::new();
        Words::new().each(text, |word, stem| {
            if seen.insert(word.to_owned()) {
                words.push((word.to_owned(), stem.to_owned()));
            }
        });
        Self { text, words, builtin }
    }

    /// What is asked, given what the indexes hold.
    pub(crate) fn asked(&self, indexes: &[&ScopeIndex]) -> Asked {
        let documents: usize = indexes.iter().map(|index| index.len()).sum();
        let rarity = |term: Term| rarity(documents, indexes.iter().map(|index| index.count(term)).sum());
        let spoken_by = |stem: &str| mark(Mark::Name, stem.as_bytes());
        // A name that is also a word of every sentence can't be told from it.
        let is_name = |(word, stem): &(String, String)| {
            !is_stop_word(word) && indexes.iter().any(|index| index.count(spoken_by(stem)) > 0)
        };
        let (names, others): (Vec<_>, Vec<_>) = self.words.iter().partition(|word| is_name(word));
        let content: Vec<_> = others.iter().copied().filter(|(word, _)| !is_stop_word(word)).collect();
        let content = if !content.is_empty() {
            content
        } else if !others.is_empty() {
            others
        } else {
            self.words.iter().collect()
        };
        let mut wanted: Vec<Wanted> = Vec::new();
        for (word, stem) in content {
            let term = term(stem);
            if wanted.len() < MAX_WORDS && wanted.iter().all(|other| other.term != term) {
                wanted.push(Wanted { word: word.clone(), term, weight: rarity(term) });
            }
        }
        let mut speakers: Vec<(Term, f32)> = Vec::new();
        for speaker in names.iter().map(|(_, stem)| spoken_by(stem)) {
            if speakers.iter().all(|(other, _)| *other != speaker) {
                speakers.push((speaker, rarity(speaker)));
            }
        }
        Asked { wanted, speakers, dates: self.dates(), means_assistant: self.means_assistant() }
    }

    /// The vector of the question for the built-in model: its whole meaning and that of its rare words, in equal parts.
    pub(crate) fn builtin_vector(&self, asked: &Asked) -> Vec<f32> {
        let mut whole = Vec::new();
        self.builtin.embed_now(self.text, &mut whole);
        let mut rare = vec![0.0; DIMENSIONS];
        for wanted in &asked.wanted {
            let meaning = meaning(self.builtin, &wanted.word);
            rare.iter_mut().zip(meaning).for_each(|(sum, number)| *sum += wanted.weight * number);
        }
        normalise(&mut rare);
        whole.iter_mut().zip(rare).for_each(|(whole, rare)| *whole += rare);
        normalise(&mut whole);
        whole
    }

    fn dates(&self) -> Dates {
        let mut dates = Dates::default();
        for (word, _) in &self.words {
            let month = (1..).zip(MONTHS).find_map(|(number, name)| (name == word).then_some(number));
            // A verb more often than a month, unless it is written as a name inside of a sentence.
            let is_verb = word == "may" && !self.text.get(1..).is_some_and(|rest| rest.contains(" May"));
            if month.is_some() {
                dates.months.extend(month.filter(|_| !is_verb));
                continue;
            }
            let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            match (digits.parse::<i16>(), word.len() - digits.len()) {
                (Ok(year @ 1900..2100), 0) => dates.years.push(year),
                (Ok(day @ 1..=31), 0 | 2) => dates.days.push(i8::try_from(day).unwrap_or_default()),
                _ => {}
            }
        }
        dates
    }

    fn means_assistant(&self) -> bool {
        let has = |wanted: &[&str]| self.words.iter().any(|(word, _)| wanted.contains(&word.as_str()));
        has(&["you", "your", "youve"]) && has(&SAID)
    }
}

/// How much a word says that so many of all documents have.
pub(crate) fn rarity(documents: usize, having: usize) -> f32 {
    let (all, having) = (documents as f32, having as f32);
    (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln()
}

impl Dates {
    pub(crate) fn is_empty(&self) -> bool {
        self.months.is_empty() && self.years.is_empty()
    }

    /// How well a day fits: 0 not at all, 1 if it is of a month that was named, more if the very day was.
    pub(crate) fn fit(&self, (year, month, day): (i16, i8, i8)) -> f32 {
        let year_fits = self.years.contains(&year);
        if self.months.is_empty() {
            return if year_fits { 0.3 } else { 0.0 };
        }
        if !self.months.contains(&month) || !(self.years.is_empty() || year_fits) {
            return 0.0;
        }
        if self.days.contains(&day) { 1.5 } else { 1.0 }
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
