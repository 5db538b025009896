//! What words mean to the guide: which of them ask for or state the same attribute, name the same person or thing, or
//! belong to a kind.
//!
//! The words stand in `languages/*_words.toml`, one file per language; the same key in two files means the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use super::languages::{LANGUAGES, Language, WordSet};
use super::stems::stem;

/// What a word is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Topic {
    Name,
    Surname,
    Age,
    Residence,
    Origin,
    Job,
    Birth,
    Height,
    Weight,
    Like,
    Dislike,
    Make,
    /// Somebody or some animal that has attributes of its own.
    Person(u16),
    /// Anything else that has several words.
    Thing(u16),
    Kind(u16),
}

impl Topic {
    /// Whether the word says what is asked about something, and is not itself the something.
    pub(super) fn is_attribute(self) -> bool {
        !matches!(self, Self::Person(_) | Self::Thing(_) | Self::Kind(_))
    }

    fn attribute(key: &str) -> Option<Self> {
        Some(match key {
            "name" => Self::Name,
            "surname" => Self::Surname,
            "age" => Self::Age,
            "residence" => Self::Residence,
            "origin" => Self::Origin,
            "job" => Self::Job,
            "birth" => Self::Birth,
            "height" => Self::Height,
            "weight" => Self::Weight,
            "like" => Self::Like,
            "dislike" => Self::Dislike,
            "make" => Self::Make,
            _ => return None,
        })
    }
}

/// The words of one language, by key.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    /// Words that tell a time.
    times: String,
    /// Words that count.
    numbers: String,
    /// Words that ask for an attribute or state it.
    attributes: BTreeMap<String, String>,
    /// People and animals: what is said of one is not said of another.
    people: BTreeMap<String, String>,
    /// Other words that say the same.
    things: BTreeMap<String, String>,
    /// Names of kinds.
    kinds: BTreeMap<String, String>,
    /// What belongs to each kind: a question may name the kind and the fact the member.
    members: BTreeMap<String, String>,
}

/// What is known of one word.
#[derive(Debug, Default, Clone)]
pub(super) struct Entry {
    pub(super) topics: Vec<Topic>,
    /// The kinds that it belongs to.
    pub(super) kinds: Vec<Topic>,
}

/// The words of one language.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    pub(super) times: WordSet,
    pub(super) numbers: WordSet,
    pub(super) words: HashMap<String, Entry>,
    pub(super) stems: HashMap<String, Entry>,
    /// Phrases by their first word.
    pub(super) phrases: HashMap<String, Vec<(Vec<String>, Entry)>>,
}

/// The lexicon of `language`.
pub(super) fn lexicon(language: Language) -> &'static Lexicon {
    &LEXICONS[language as usize]
}

#[expect(clippy::expect_used, reason = "the files are compiled in, and a test reads them")]
static LEXICONS: LazyLock<Vec<Lexicon>> = LazyLock::new(|| {
    let read = |file: &str| toml::from_str::<File>(file).expect("the words are well-formed");
    let files: Vec<(Language, File)> = LANGUAGES.iter().map(|(language, _, words)| (*language, read(words))).collect();
    let people = numbered(files.iter().flat_map(|(_, file)| file.people.keys()));
    let things = numbered(files.iter().flat_map(|(_, file)| file.things.keys()));
    let kinds = numbered(files.iter().flat_map(|(_, file)| file.kinds.keys().chain(file.members.keys())));
    let lexicons = files.into_iter().map(|(language, file)| {
        let mut lexicon = Lexicon::default();
        for (key, words) in &file.attributes {
            lexicon.add(language, words, Topic::attribute(key), false);
        }
        for (key, words) in &file.people {
            lexicon.add(language, words, people.get(key).copied().map(Topic::Person), false);
        }
        for (key, words) in &file.things {
            lexicon.add(language, words, things.get(key).copied().map(Topic::Thing), false);
        }
        for (key, words) in &file.kinds {
            lexicon.add(language, words, kinds.get(key).copied().map(Topic::Kind), false);
        }
        for (key, words) in &file.members {
            lexicon.add(language, words, kinds.get(key).copied().map(Topic::Kind), true);
        }
        lexicon.times = file.times.into();
        lexicon.numbers = file.numbers.into();
        lexicon
    });
    lexicons.collect()
});

/// A number for every key, the same for all languages.
fn numbered<'a>(keys: impl Iterator<Item = &'a String>) -> BTreeMap<String, u16> {
    let keys: std::collections::BTreeSet<&String> = keys.collect();
    keys.into_iter().cloned().zip(0..).collect()
}

impl Lexicon {
    fn add(&mut self, language: Language, words: &str, topic: Option<Topic>, member: bool) {
        let Some(topic) = topic else { return };
        for word in words.split_whitespace() {
            if word.contains('_') {
                self.add_phrase(word, topic, member);
                continue;
            }
            self.words.entry(word.to_owned()).or_default().add(topic, member);
            if !language.is_unspaced() {
                self.stems.entry(stem(word, language)).or_default().add(topic, member);
            }
        }
    }

    fn add_phrase(&mut self, phrase: &str, topic: Topic, member: bool) {
        let parts: Vec<String> = phrase.split('_').map(str::to_owned).collect();
        let phrases = self.phrases.entry(parts[0].clone()).or_default();
        let at = phrases.iter().position(|(known, _)| *known == parts).unwrap_or_else(|| {
            phrases.push((parts, Entry::default()));
            phrases.len() - 1
        });
        phrases[at].1.add(topic, member);
    }
}

impl Entry {
    fn add(&mut self, topic: Topic, member: bool) {
        let list = if member { &mut self.kinds } else { &mut self.topics };
        if !list.contains(&topic) {
            list.push(topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_of_every_language_is_known() {
        for (language, _, words) in LANGUAGES {
            let file = toml::from_str::<File>(words).expect("the words are well-formed");
            let unknown: Vec<&String> = file.attributes.keys().filter(|key| Topic::attribute(key).is_none()).collect();
            assert!(unknown.is_empty(), "{language:?} {unknown:?}");
            let nameless: Vec<&String> = file.members.keys().filter(|key| !file.kinds.contains_key(*key)).collect();
            assert!(nameless.is_empty() || language != Language::English, "{nameless:?}");
        }
    }
}
