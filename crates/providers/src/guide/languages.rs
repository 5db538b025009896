//! The languages that the guide knows, and the grammar of each as data: the words that carry no topic and the words
//! that open a request, a question or a correction.
//!
//! The lists stand in `languages/*.toml`, written folded, the way `words::fold` leaves a text. Nothing here decides.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

/// The languages whose grammar the guide knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Japanese,
    Chinese,
    Russian,
    /// Any other: a few small words of many languages are known, the rest is compared as it stands.
    Other,
}

/// All languages, each with the files of its grammar and of its words.
pub(super) const LANGUAGES: [(Language, &str, &str); 11] = [
    (Language::English, include_str!("languages/en.toml"), include_str!("languages/en_words.toml")),
    (Language::German, include_str!("languages/de.toml"), include_str!("languages/de_words.toml")),
    (Language::French, include_str!("languages/fr.toml"), include_str!("languages/fr_words.toml")),
    (Language::Spanish, include_str!("languages/es.toml"), include_str!("languages/es_words.toml")),
    (Language::Italian, include_str!("languages/it.toml"), include_str!("languages/it_words.toml")),
    (Language::Portuguese, include_str!("languages/pt.toml"), include_str!("languages/pt_words.toml")),
    (Language::Dutch, include_str!("languages/nl.toml"), include_str!("languages/nl_words.toml")),
    (Language::Japanese, include_str!("languages/ja.toml"), include_str!("languages/ja_words.toml")),
    (Language::Chinese, include_str!("languages/zh.toml"), include_str!("languages/zh_words.toml")),
    (Language::Russian, include_str!("languages/ru.toml"), include_str!("languages/ru_words.toml")),
    (Language::Other, include_str!("languages/xx.toml"), include_str!("languages/xx_words.toml")),
];

impl Language {
    /// Whether words are not separated by spaces.
    pub(super) fn is_unspaced(self) -> bool {
        matches!(self, Self::Japanese | Self::Chinese)
    }

    /// Whether a sentence may leave out its subject because the verb shows it.
    pub(super) fn drops_subjects(self) -> bool {
        matches!(self, Self::Spanish | Self::Italian | Self::Portuguese | Self::Japanese | Self::Chinese)
    }

    /// Whether nouns are written together into one word.
    pub(super) fn compounds(self) -> bool {
        matches!(self, Self::German | Self::Dutch | Self::Other | Self::English)
    }

    /// The grammar of this language.
    pub(super) fn grammar(self) -> &'static Grammar {
        &GRAMMARS[self as usize]
    }
}

#[expect(clippy::expect_used, reason = "the files are compiled in, and a test reads them")]
static GRAMMARS: LazyLock<Vec<Grammar>> = LazyLock::new(|| {
    let read = |file: &str| toml::from_str(file).expect("the grammar is well-formed");
    LANGUAGES.iter().map(|(_, grammar, _)| read(grammar)).collect()
});

/// The words of one language that shape sentences.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
pub(super) struct Grammar {
    /// Words without a topic of their own, pronouns and forms of "to be" included.
    pub(super) function_words: WordSet,
    /// "I" and "we" as subjects.
    pub(super) speaker: WordSet,
    /// "my" and "our", and the "me" of datives.
    pub(super) speakers_own: WordSet,
    pub(super) listener: WordSet,
    /// "he", "her", "it", "this" and the like, which need something said before.
    pub(super) pronouns: WordSet,
    pub(super) articles: WordSet,
    /// Forms of "to be" that join a subject to its value.
    pub(super) copulas: WordSet,
    /// Verbs that come before the subject only in questions.
    pub(super) auxiliaries: WordSet,
    pub(super) question_words: WordSet,
    /// Words before a place.
    pub(super) locatives: WordSet,
    pub(super) negations: WordSet,
    /// Nouns that, right after "which", only say that a place is wanted, or a time.
    pub(super) place_kinds: WordSet,
    pub(super) time_kinds: WordSet,
    /// "or".
    pub(super) alternatives: WordSet,
    /// Verbs and adverbs of questions that add little to the nouns beside them: "which editor do I use".
    pub(super) light: WordSet,
    /// Words between two statements of one sentence.
    pub(super) joints: WordSet,
    /// First words of sentences that ask for an action.
    pub(super) command_verbs: WordSet,
    /// Openings that may be cut off before anything else is read.
    pub(super) openers: Phrases,
    /// Question words by what they ask for.
    pub(super) asks_place: Phrases,
    pub(super) asks_time: Phrases,
    pub(super) asks_person: Phrases,
    pub(super) asks_count: Phrases,
    pub(super) asks_reason: Phrases,
    /// "remember that", "please note".
    pub(super) requests: Phrases,
    /// "do you remember", "tell me": what follows is asked.
    pub(super) inquiries: Phrases,
    /// "actually", "no": what follows corrects; cut off.
    pub(super) corrections: Phrases,
    /// The same inside or after a sentence; kept.
    pub(super) changes: Phrases,
    pub(super) forgets: Phrases,
    /// "archive this": the whole message that follows is for the archive.
    pub(super) archives: Phrases,
    /// Openings of talk about the talk itself.
    pub(super) talk: Phrases,
}

/// Single words. One that ends in `*` stands for all words that begin like it.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct WordSet {
    words: HashSet<String>,
    beginnings: Vec<String>,
}

impl From<String> for WordSet {
    fn from(list: String) -> Self {
        let (beginnings, words): (Vec<&str>, Vec<&str>) = list.split_whitespace().partition(|word| word.ends_with('*'));
        Self {
            words: words.into_iter().map(str::to_owned).collect(),
            beginnings: beginnings.into_iter().map(|word| word.trim_end_matches('*').to_owned()).collect(),
        }
    }
}

impl WordSet {
    /// Whether `word` is one of them.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains(word) || self.beginnings.iter().any(|beginning| word.starts_with(beginning.as_str()))
    }

    /// Whether any of them stands in a text without spaces.
    pub(super) fn stands_in(&self, text: &str) -> bool {
        self.words.iter().any(|word| text.contains(word.as_str()))
    }

    /// The words that are written out.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }
}

/// Phrases of one or more words.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct Phrases(Vec<String>);

impl From<String> for Phrases {
    fn from(list: String) -> Self {
        let phrases = list.split('|').map(|phrase| phrase.split_whitespace().collect::<Vec<&str>>().join(" "));
        Self(phrases.filter(|phrase| !phrase.is_empty()).collect())
    }
}

impl Phrases {
    /// The phrases as they are written.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// How many words the longest of them has that `words` begins with.
    pub(super) fn opening<'a>(&self, words: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
        let fits = |phrase: &&str| {
            let mut words = words.clone();
            phrase.split(' ').all(|part| words.next() == Some(part))
        };
        self.iter().filter(fits).map(|phrase| phrase.split(' ').count()).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_has_its_place() {
        for (at, (language, grammar, _)) in LANGUAGES.iter().enumerate() {
            assert_eq!(*language as usize, at);
            let read = toml::from_str::<Grammar>(grammar).expect("the grammar is well-formed");
            assert!(read.speaker.iter().count() > 0 && read.requests.iter().count() > 0, "{language:?}");
        }
    }
}
