//! A question, taken apart: the words that an answer has to match, and what its question word asks for.
//!
//! Whether a statement answers it is judged in `evidence`.

use super::languages::Language;
use super::topics::Topic;
use super::words::{Text, Word, contains};

/// What a question word asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Place,
    Time,
    Person,
    Count,
    Reason,
}

/// What a word does in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Has to be found.
    Needed,
    /// Names the kind of the answer ("which car do I drive").
    Kind,
    /// Stands where a verb stands.
    Verb,
}

/// A word that an answer should match.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) word: Word,
    pub(super) part: Part,
    /// Where it stands among the words of the question.
    pub(super) at: usize,
    /// It adds little to the nouns beside it.
    pub(super) light: bool,
    /// It only says that a place is wanted: "which town".
    pub(super) place: bool,
    /// It stands beside an "or", so that another word may do instead.
    pub(super) optional: bool,
}

impl Term {
    fn needed(word: Word) -> Self {
        Self { word, at: usize::MAX, part: Part::Needed, light: false, place: false, optional: false }
    }
}

/// A question, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) read: Text,
    pub(super) terms: Vec<Term>,
    pub(super) wanted: Vec<Wanted>,
    /// "I" is its subject.
    pub(super) speaker: bool,
    /// It has a "my".
    pub(super) own: bool,
    /// It is about the one who is asked.
    pub(super) about_listener: bool,
}

const WHICH: &str = "what which welche welcher welches welchen welchem quel quelle quels quelles que cual qual quale \
    quali che welke welk quais cuales каком каких какого какому каким какими какой какая какое какие какую jaki jaka jakie vilken vilket vilka";
impl Question {
    /// Reads a question.
    pub(super) fn read(text: &str, usual: Language) -> Self {
        let read = Text::read(text, usual);
        let grammar = read.grammar();
        let unspaced = read.language.is_unspaced();
        let wanted = wanted_of(&read, text);
        let has =
            |words: &super::languages::WordSet| if unspaced { words.stands_in(text) } else { read.has_any(words) };
        let (speaker, own, listener) = (has(&grammar.speaker), has(&grammar.speakers_own), has(&grammar.listener));
        let mut question =
            Self { about_listener: listener && !speaker && !own, terms: Vec::new(), read, wanted, speaker, own };
        question.find_terms();
        question
    }

    fn find_terms(&mut self) {
        let grammar = self.read.grammar();
        let single = self.read.content().count() == 1;
        let things = self.read.content().filter(|(_, word)| !word.is_attribute()).count();
        for (at, word) in self.read.content() {
            let part = part_of(&self.read, at);
            let asked = asked_kind(&self.read, at) && !single;
            let place = asked && grammar.place_kinds.has(&word.folded) && (part == Part::Kind || things > 1);
            if asked && grammar.time_kinds.has(&word.folded) {
                self.wanted.push(Wanted::Time);
            } else {
                let optional = is_beside_or(&self.read, at);
                let before = at.checked_sub(1).map_or("", |before| self.read.folded(before));
                let noun = grammar.articles.has(before) || grammar.speakers_own.has(before);
                let light = grammar.light.has(&word.folded) && !noun;
                self.terms.push(Term { word: word.clone(), at, part, light, optional, place });
            }
        }
        if asks_what_somebody_does(&self.read) && !self.terms.iter().any(|term| term.word.is_about(Topic::Job)) {
            let word = Word::of_topic(Topic::Job);
            self.terms.push(Term::needed(word));
        }
        let measured = |term: &Term| term.word.is_about(Topic::Age) || term.word.is_about(Topic::Height);
        if self.terms.iter().any(measured) {
            self.wanted.retain(|wanted| !matches!(wanted, Wanted::Count | Wanted::Time));
        }
    }

    /// Whether it says nothing that could be looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Adds what a "he" or "its" of the question stands for.
    pub(super) fn resolve(&mut self, before: &[Word]) {
        if self.dangles() {
            self.terms.extend(before.iter().cloned().map(Term::needed));
        }
    }

    /// Whether a "he" or "its" of it has nothing to stand for.
    pub(super) fn dangles(&self) -> bool {
        let pronouns = self.read.has_any(&self.read.grammar().pronouns);
        let named = self.terms.iter().any(|term| !term.word.is_attribute());
        !named && !self.speaker && !self.own && !self.read.language.is_unspaced() && pronouns
    }

    /// The nouns that it names.
    pub(super) fn named(&self) -> Vec<Word> {
        let words = self.terms.iter().map(|term| &term.word);
        words.filter(|word| !word.is_attribute()).cloned().collect()
    }

    /// Whether a word of a statement is one that it asks about.
    pub(super) fn asks_about(&self, word: &Word) -> bool {
        self.terms.iter().any(|term| term.word.covers(word))
    }

    /// Whether it asks for nothing but attributes: "how old am I".
    pub(super) fn asks_own_attribute(&self) -> bool {
        self.terms.iter().all(|term| term.word.is_attribute())
    }
}

/// Whether an "or" stands at most one word away.
fn is_beside_or(read: &Text, at: usize) -> bool {
    // At the start of a French question it is "where".
    (at.saturating_sub(2)..=at + 2).any(|near| near > 0 && read.grammar().alternatives.has(read.folded(near)))
}

/// Whether the noun at `at` stands right after "which", perhaps with adjectives between.
fn asked_kind(read: &Text, at: usize) -> bool {
    let mut before = at;
    let skipped = |word: &Word| !word.function || word.inside || contains("kind sort type of", &word.folded);
    while before > 0 && skipped(&read.words[before - 1]) {
        before -= 1;
    }
    before > 0 && contains(WHICH, read.folded(before - 1))
}

/// What the content word at `at` does in the question.
fn part_of(read: &Text, at: usize) -> Part {
    let grammar = read.grammar();
    let words = &read.words;
    let mut after = at + 1;
    while words.get(after).is_some_and(|word| !word.function) {
        after += 1;
    }
    let copular = grammar.copulas.has(read.folded(after)) && !grammar.speaker.has(read.folded(after + 1));
    if asked_kind(read, at) && !copular {
        return Part::Kind;
    }
    let opens = |word: &str| grammar.speakers_own.has(word) || grammar.articles.has(word) || grammar.speaker.has(word);
    let inverted = at > 0 && grammar.question_words.has(read.folded(at - 1)) && opens(read.folded(at + 1));
    let supported = words[..at].iter().any(|word| contains("do does did", &word.folded));
    let last = words[at + 1..].iter().all(|word| word.function);
    let follows = at > 0 && (grammar.speaker.has(read.folded(at - 1)) || grammar.pronouns.has(read.folded(at - 1)));
    let behind = at > 0 && (follows || !opens(read.folded(at - 1)));
    let verb = inverted || (read.language == Language::English && supported && (last || follows) && behind);
    if verb && !words[at].is_person() { Part::Verb } else { Part::Needed }
}

fn wanted_of(read: &Text, text: &str) -> Vec<Wanted> {
    let grammar = read.grammar();
    let lists = [
        (Wanted::Place, &grammar.asks_place),
        (Wanted::Time, &grammar.asks_time),
        (Wanted::Person, &grammar.asks_person),
        (Wanted::Count, &grammar.asks_count),
        (Wanted::Reason, &grammar.asks_reason),
    ];
    let joined = format!(" {} ", read.all_folded().collect::<Vec<&str>>().join(" "));
    let stands = |phrase: &str| match read.language.is_unspaced() {
        true => text.contains(phrase),
        false => joined.contains(&format!(" {phrase} ")),
    };
    let asked = lists.into_iter().filter(|(_, phrases)| phrases.iter().any(stands));
    let mut wanted: Vec<Wanted> = asked.map(|(wanted, _)| wanted).collect();
    // Without its accent it is "or"; people leave it out only at the start.
    if read.language == Language::French && (text.contains('ù') || joined.starts_with(" ou ")) {
        wanted.push(Wanted::Place);
    }
    wanted
}

/// "What does my sister do" asks for a job, although neither word says so.
fn asks_what_somebody_does(read: &Text) -> bool {
    let folded: Vec<&str> = read.all_folded().collect();
    let asks = read.has_word("what was que fait faz fa wat");
    match read.language {
        Language::English => {
            let does = folded.iter().any(|word| contains("do does", word));
            asks && folded.last() == Some(&"do") && does && folded.len() > 3
        }
        Language::German => folded.starts_with(&["was", "macht"]),
        Language::French => folded.windows(2).any(|pair| pair == ["dans", "vie"] || pair == ["la", "vie"]),
        _ => false,
    }
}
