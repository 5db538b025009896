//! One statement taken apart: whom it is about, what it says of them, and which of its words is the value.
//!
//! This is no parser. It finds the join between subject and predicate by forms of "to be" and by verbs that it knows,
//! which is enough to tell "my cat is called …" from "my sister's cat is called …".

use std::ops::Range;

use super::languages::Language;
use super::splitting::{sentences, statements};
use super::topics::{Topic, lexicon};
use super::words::{Text, Word, contains};

/// One statement.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each was read on its own, and any of them may hold")]
pub(super) struct Clause {
    /// As it was written.
    pub(super) text: String,
    pub(super) read: Text,
    /// The words of the subject.
    pub(super) subject: Range<usize>,
    /// It is about the person who speaks.
    pub(super) speaker: bool,
    /// It is about a "he" or an "it" that was named before.
    pub(super) pronoun: bool,
    /// Where a form of "to be" joins subject and value.
    pub(super) copula: Option<usize>,
    /// What that "he" or "it" stands for.
    pub(super) inherited: Vec<Word>,
    /// It names somebody first and then says whose they are: "… is my sister".
    pub(super) inverted: bool,
    /// It is a line of several statements, taken as one.
    pub(super) joined: bool,
}

impl Clause {
    /// The statements of one line, in order. A "she" in a later one stands for whom an earlier one was about.
    pub(super) fn all(line: &str, usual: Language) -> Vec<Self> {
        let mut clauses: Vec<Self> = Vec::new();
        let parts = sentences(line).into_iter().flat_map(|sentence| statements(sentence, usual));
        for part in parts {
            let mut clause = Self::read(part, usual);
            if let Some(before) = clauses.last() {
                clause.inherit(before);
            }
            clauses.push(clause);
        }
        clauses
    }

    /// Takes from the statement before what a pronoun of this one stands for.
    fn inherit(&mut self, before: &Self) {
        if self.pronoun && self.is_relative() {
            self.inherited = before.last_named();
        } else if self.pronoun || self.has_object_pronoun() {
            // "… so I owe him 60 euros".
            self.inherited = before.named();
        }
    }

    /// Whom or what a following pronoun would stand for.
    pub(super) fn named(&self) -> Vec<Word> {
        let mut subject: Vec<Word> = self.entities().map(|(_, word)| word.clone()).collect();
        if !subject.is_empty() {
            // "My assistant is Cosmin, he …".
            subject.extend(self.name_value().map(|at| self.read.words[at].clone()));
            return subject;
        }
        if !self.inherited.is_empty() {
            return self.inherited.clone();
        }
        let rest =
            || self.read.content().filter(|(at, word)| !word.is_attribute() && !word.is_number() && !self.is_time(*at));
        let people: Vec<Word> = rest().filter(|(_, word)| word.is_person()).map(|(_, word)| word.clone()).collect();
        if people.is_empty() { rest().map(|(_, word)| word.clone()).collect() } else { people }
    }

    /// Whom or what "who" behind it would stand for: the noun that it ends with.
    fn last_named(&self) -> Vec<Word> {
        let from = (0..self.read.words.len()).rev().find(|at| self.read.words[*at].function).map_or(0, |at| at + 1);
        self.read.words[from..].to_vec()
    }

    /// Whether it says what the speaker does with "it" or "him", whoever that is.
    pub(super) fn has_object_pronoun(&self) -> bool {
        self.speaker && self.read.words.iter().skip(2).any(|word| contains("it him her them", &word.folded))
    }

    /// Whether it begins with "who" or "whose", which stands for what comes right before.
    fn is_relative(&self) -> bool {
        contains(RELATIVES, self.read.folded(0))
    }

    /// Reads one statement.
    pub(super) fn read(text: &str, usual: Language) -> Self {
        let read = Text::read(text, usual);
        if read.language.is_unspaced() { Self::unspaced(text, read) } else { Self::spaced(text, read) }
    }

    fn spaced(text: &str, read: Text) -> Self {
        let grammar = read.grammar();
        let copula = (0..read.words.len()).find(|at| is_copula(&read, text, *at)).or_else(|| colon(&read, text));
        let verb = (0..read.words.len()).find(|at| is_verb(&read, *at));
        let join = [copula, verb].into_iter().flatten().min();
        let speaking = read.words.iter().position(|word| is_speaker(&read, word));
        let inverse = matches!(read.language, Language::German | Language::Dutch);
        let reach = join.map_or(4, |at| if inverse { at + 2 } else { at + 1 });
        let mut clause = Self {
            text: text.to_owned(),
            subject: 0..join.unwrap_or(0),
            speaker: false,
            pronoun: false,
            inherited: Vec::new(),
            inverted: false,
            joined: false,
            copula,
            read,
        };
        // "My doctor told me to …" is about the speaker.
        let told = clause.read.words.windows(2).position(|pair| {
            contains("told tells asked advised wants allows", &pair[0].folded) && contains("me us", &pair[1].folded)
        });
        if let Some(at) = speaking.filter(|at| *at < reach).or(told.map(|at| at + 1)) {
            clause.speaker = true;
            clause.subject = at..at + 1;
            return clause;
        }
        let words = &clause.read.words;
        let first = words.first().map_or("", |word| word.folded.as_str());
        let owned = grammar.speakers_own.has(first) || grammar.articles.has(first);
        let dative =
            grammar.speakers_own.has(first) && words.get(1).is_some_and(|word| verb == Some(1) || word.function);
        let bare = clause.read.language.drops_subjects() && !owned && (join == Some(0) || join.is_none());
        let told_how = grammar.listener.has(first);
        if bare || told_how || (dative && clause.read.language != Language::English) || join == Some(0) {
            clause.speaker = true;
            clause.subject = 0..0;
            return clause;
        }
        if join.is_none_or(|at| at > 9) {
            clause.subject = if grammar.pronouns.has(first) { 0..1 } else { 0..clause.first_nouns() };
        }
        clause.settle();
        clause
    }

    fn unspaced(text: &str, read: Text) -> Self {
        let japanese = read.language == Language::Japanese;
        let join = read.words.iter().enumerate().position(|(at, word)| {
            if japanese {
                at > 0 && (word.folded.starts_with('は') || word.folded.starts_with('が'))
            } else {
                word.folded == "是" || (at > 0 && word.topics.iter().any(|topic| topic.is_attribute()))
            }
        });
        let subject = 0..join.unwrap_or(if japanese { 0 } else { 1.min(read.words.len()) });
        let mut clause = Self {
            text: text.to_owned(),
            copula: join,
            subject,
            speaker: join.is_none(),
            pronoun: false,
            inherited: Vec::new(),
            inverted: false,
            joined: false,
            read,
        };
        clause.settle();
        clause
    }

    /// Finds out what the words of the subject make of it.
    fn settle(&mut self) {
        let grammar = self.read.grammar();
        let own = self.read.words[self.subject.clone()].iter().any(|word| grammar.speakers_own.has(&word.folded));
        let entities = self.entities().count();
        let first = self.entities().next().map_or(self.subject.end, |(at, _)| at);
        let pointing = self.read.words[..first].iter().filter(|word| grammar.pronouns.has(&word.folded));
        // "Her name" and "his number" need somebody named before; "that book" does not.
        let mut pointing = pointing.filter(|word| entities == 0 || !contains(DEMONSTRATIVES, &word.folded));
        self.pronoun = !own && (pointing.next().is_some() || self.is_relative());
        self.speaker = self.speaker || (entities == 0 && !self.pronoun);
        let after = self.copula.map_or(self.read.words.len(), |at| at + 1);
        let own_at = after + usize::from(grammar.articles.has(self.read.folded(after)));
        let owner = grammar.speakers_own.has(self.read.folded(own_at));
        // "Lisbon is where I was born" is about the speaker, too.
        let cleft = self.copula.is_some_and(|at| at > 0 && grammar.question_words.has(self.read.folded(at + 1)));
        self.inverted = !own && !self.speaker && (owner || (cleft && self.read.has_any(&grammar.speaker)));
    }

    /// One past the nouns that it begins with, where no verb is known.
    fn first_nouns(&self) -> usize {
        let words = &self.read.words;
        let german = self.read.language == Language::German;
        // In German the noun is the word with the capital; before it come adjectives.
        let noun = |at: &usize| !words[*at].function && !self.is_time(*at) && (!german || words[*at].capital);
        let Some(first) = (0..words.len()).find(noun) else { return words.len() };
        let names = words[first + 1..].iter().take_while(|word| word.capital && !word.function).count();
        if names > 0 || self.read.language != Language::English {
            return first + 1 + names;
        }
        // "The feed store opens at …": the verb is the first of these nouns with the ending of one.
        let run = words[first + 1..].iter().take_while(|word| !word.function && !word.is_number());
        let verb = run.into_iter().position(|word| {
            let ending = word.folded.ends_with('s') && !word.folded.ends_with("ss") || word.folded.ends_with("ed");
            ending && !word.capital
        });
        let run = words[first + 1..].iter().take_while(|word| !word.function && !word.is_number()).count();
        let auxiliary = self.read.folded(first + 1 + run);
        let helped =
            self.read.grammar().auxiliaries.has(auxiliary) || contains("gets get got goes needs wants", auxiliary);
        first + 1 + verb.unwrap_or(if helped { run } else { 0 })
    }

    /// The nouns that the statement is about; attributes ("name", "birthday") are not among them.
    pub(super) fn entities(&self) -> impl Iterator<Item = (usize, &Word)> {
        let counts = &lexicon(self.read.language).numbers;
        let content = self.read.content().filter(|(at, word)| self.subject.contains(at) && !word.is_attribute());
        content.filter(move |(at, word)| !word.is_number() && !counts.has(&word.folded) && !self.is_time(*at))
    }

    /// Whether the word at `at` belongs to what the statement is about.
    pub(super) fn in_subject(&self, at: usize) -> bool {
        self.subject.contains(&at)
    }
}

/// "I" and "we"; in notes that others wrote, "the user" and "the human" are the same person.
fn is_speaker(read: &Text, word: &Word) -> bool {
    read.grammar().speaker.has(&word.folded)
        || (read.language == Language::English && matches!(word.folded.as_str(), "user" | "human"))
}

/// "Who" and "whose" after a comma.
pub(super) const RELATIVES: &str = "who whose which qui quien";

/// Pronouns that point at the noun behind them.
const DEMONSTRATIVES: &str = "this that these those das dies dieser diese dieses ce c ca cela esto eso isto isso questo \
    questa quello quella dit dat deze die это этот эта эти";

fn is_copula(read: &Text, text: &str, at: usize) -> bool {
    let word = &read.words[at];
    if !read.grammar().copulas.has(&word.folded) {
        return false;
    }
    let raw = &text[word.start..word.end];
    match (read.language, word.folded.as_str()) {
        // Without its accent it is "and".
        (Language::Italian | Language::Portuguese, "e") => raw.to_lowercase() != "e",
        (Language::English, "s") => is_contracted_is(read, at),
        // "At 6 am".
        (Language::English, "am") => at == 0 || read.grammar().speaker.has(read.folded(at - 1)),
        _ => true,
    }
}

/// Whether an English 's is "is" and not a genitive.
fn is_contracted_is(read: &Text, at: usize) -> bool {
    let later = read.words[at + 1..].iter().any(|word| contains("is are was were", &word.folded));
    let before = at.checked_sub(1).map_or("", |before| read.words[before].folded.as_str());
    let next = read.words.get(at + 1);
    let opens_value = next.is_some_and(|word| {
        contains("a an the not now called named from in at on my our", &word.folded) || word.capital || word.is_number()
    });
    !later && (opens_value || contains("it that he she what this", before))
}

/// A colon after a short label joins like "is".
fn colon(read: &Text, text: &str) -> Option<usize> {
    let dash = [" — ", " – ", " - "].iter().find_map(|dash| text.find(dash));
    let colon = text.find(": ").or_else(|| text.find(['：', '=']));
    let at = colon.or(dash)?;
    let next = read.words.iter().position(|word| word.start > at)?;
    (1..=4).contains(&next).then_some(next)
}

/// Whether the word at `at` states an attribute as a verb: not as a noun after "my" or "the".
fn is_verb(read: &Text, at: usize) -> bool {
    let grammar = read.grammar();
    let word = &read.words[at];
    let before = at.checked_sub(1).map_or("", |before| read.words[before].folded.as_str());
    let noun = grammar.articles.has(before)
        || contains("of von de di do da van new best favourite favorite full first last nick pet", before)
        || (before == "s" && read.language == Language::English)
        || (grammar.speakers_own.has(before) && !is_dative(read.language, before));
    word.is_attribute() && !word.is_about(Topic::Make) && !noun
}

fn is_dative(language: Language, word: &str) -> bool {
    match language {
        Language::Spanish | Language::Portuguese => matches!(word, "me" | "nos"),
        Language::Italian => matches!(word, "mi" | "ci"),
        Language::French => matches!(word, "me" | "m" | "nous"),
        Language::German => matches!(word, "mir" | "mich" | "uns"),
        _ => false,
    }
}
