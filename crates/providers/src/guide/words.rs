//! Texts cut into words, and words brought to a form that can be compared: folded, stemmed, with what they are about.
//!
//! Pure. A comparison must rather miss than match by accident: the guide says "I don't know" instead of guessing.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::languages::{Grammar, LANGUAGES, Language, WordSet};
use super::stems::{same_stem, stem};
use super::topics::{Entry, Topic, lexicon};

/// A word of a text.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each was read on its own, and any of them may hold")]
pub(super) struct Word {
    /// Lower case, without accents.
    pub(super) folded: String,
    pub(super) stem: String,
    /// Where it stands in the text, in bytes.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Begins with a capital letter, or is of a script that names are written in.
    pub(super) capital: bool,
    pub(super) topics: Vec<Topic>,
    /// The kinds it belongs to.
    pub(super) kinds: Vec<Topic>,
    /// Has no topic: articles, pronouns, auxiliaries.
    pub(super) function: bool,
    /// Belongs to a phrase that its last word stands for.
    pub(super) inside: bool,
    /// Its language writes nouns together.
    compounds: bool,
}

impl Word {
    /// A word that stands for a topic and not for any text.
    pub(super) fn of_topic(topic: Topic) -> Self {
        Self {
            folded: String::new(),
            stem: String::from("\u{0}"),
            start: 0,
            end: 0,
            capital: false,
            topics: vec![topic],
            kinds: Vec::new(),
            function: false,
            inside: false,
            compounds: false,
        }
    }

    /// Whether it is about this topic.
    pub(super) fn is_about(&self, topic: Topic) -> bool {
        self.topics.contains(&topic)
    }

    /// Whether it names somebody, or an animal.
    pub(super) fn is_person(&self) -> bool {
        self.topics.iter().any(|topic| matches!(topic, Topic::Person(_)))
    }

    /// Whether everything known about it is an attribute.
    pub(super) fn is_attribute(&self) -> bool {
        !self.topics.is_empty() && self.topics.iter().all(|topic| topic.is_attribute())
    }

    /// Whether it is written in digits.
    pub(super) fn is_number(&self) -> bool {
        self.folded.chars().any(|c| c.is_ascii_digit())
    }

    /// Whether both mean the same, or this one is a kind that the other belongs to.
    pub(super) fn covers(&self, other: &Word) -> bool {
        self.topics.iter().any(|topic| other.topics.contains(topic) || other.kinds.contains(topic))
            || (same_stem(&self.stem, last_part(&other.stem, &self.stem)) && !self.conflicts(other))
            || self.heads(other)
    }

    /// Whether both are known to be different people.
    fn conflicts(&self, other: &Word) -> bool {
        self.is_person() && other.is_person()
    }

    /// Whether the other is a compound of this noun: a sailboat is a boat.
    fn heads(&self, other: &Word) -> bool {
        let unknown = other.topics.is_empty() && other.kinds.is_empty();
        let long = self.folded.chars().count() >= 4;
        self.compounds && other.compounds && unknown && long && other.folded.ends_with(&self.folded)
    }
}

/// The last word of a phrase, where it is compared with a single word: a "size" may be a "shoe size".
fn last_part<'a>(stem: &'a str, with: &str) -> &'a str {
    if with.contains(' ') { stem } else { stem.rsplit(' ').next().unwrap_or(stem) }
}

/// A text as words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) language: Language,
    pub(super) words: Vec<Word>,
}

impl Text {
    /// Reads `text`; where nothing shows its language, it is taken to be in `usual`.
    pub(super) fn read(text: &str, usual: Language) -> Self {
        let language = language_of(text, usual);
        Self { language, words: words_of(text, language) }
    }

    /// The grammar of its language.
    pub(super) fn grammar(&self) -> &'static Grammar {
        self.language.grammar()
    }

    /// Words that say what it is about.
    pub(super) fn content(&self) -> impl Iterator<Item = (usize, &Word)> {
        self.words.iter().enumerate().filter(|(_, word)| !word.function)
    }

    /// Whether any of these words occurs.
    pub(super) fn has_any(&self, list: &WordSet) -> bool {
        self.words.iter().any(|word| list.has(&word.folded))
    }

    /// Whether any of these space-separated words occurs.
    pub(super) fn has_word(&self, list: &str) -> bool {
        self.words.iter().any(|word| contains(list, &word.folded))
    }

    /// The word at `at`, folded; empty if there is none.
    pub(super) fn folded(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.folded.as_str())
    }

    /// All words, folded.
    pub(super) fn all_folded(&self) -> impl Iterator<Item = &str> + Clone {
        self.words.iter().map(|word| word.folded.as_str())
    }
}

/// Whether the space-separated `list` has `word`.
pub(super) fn contains(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|entry| entry == word)
}

/// Letters with marks, each group with what it is compared as.
const PLAIN: [(&str, &str); 26] = [
    ("àáâãäåāăą", "a"),
    ("çćč", "c"),
    ("ďđ", "d"),
    ("èéêëēęě", "e"),
    ("ğ", "g"),
    ("ìíîïīıį", "i"),
    ("ł", "l"),
    ("ñńň", "n"),
    ("òóôõöøőō", "o"),
    ("ř", "r"),
    ("śšşș", "s"),
    ("ťţț", "t"),
    ("ùúûüūůű", "u"),
    ("ýÿ", "y"),
    ("źżž", "z"),
    ("ß", "ss"),
    ("œ", "oe"),
    ("æ", "ae"),
    ("ё", "е"),
    ("ά", "α"),
    ("έ", "ε"),
    ("ή", "η"),
    ("ί", "ι"),
    ("ό", "ο"),
    ("ύ", "υ"),
    ("ώ", "ω"),
];

/// Lower case, without accents, one apostrophe.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            // Lower-casing İ and decomposed letters leave combining marks behind.
            '\u{300}'..='\u{36f}' => {}
            _ if c.is_ascii() => folded.push(c),
            _ => match PLAIN.iter().find(|(marked, _)| marked.contains(c)) {
                Some((_, plain)) => folded.push_str(plain),
                None => folded.push(c),
            },
        }
    }
    folded
}

/// Whether a character is of a script that is written without spaces.
pub(super) fn is_unspaced(c: char) -> bool {
    is_kana(c) || matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '々')
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}')
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30a0}'..='\u{30ff}')
}

/// So many words are enough to tell a language.
const TELLING: usize = 200;

/// The language that most of the small words of `text` belong to.
pub(super) fn language_of(text: &str, usual: Language) -> Language {
    let letters = || text.chars().filter(|c| c.is_alphabetic()).take(TELLING * 8);
    let unspaced = letters().filter(|c| is_unspaced(*c)).count();
    if unspaced * 3 >= letters().count().max(1) {
        let kana = letters().any(is_kana);
        let japanese = kana || (usual == Language::Japanese && unspaced > 0);
        return if japanese { Language::Japanese } else { Language::Chinese };
    }
    let shown: String = text.chars().take(TELLING * 8).collect();
    let folded = fold(&shown);
    let tokens: Vec<&str> = folded.split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty()).collect();
    let mut scores = [0_usize; LANGUAGES.len()];
    for weights in tokens.iter().filter_map(|token| WEIGHTS.get(*token)) {
        scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += usize::from(*weight));
    }
    // Letters that only lesser known languages write.
    let marked = shown.chars().filter(|c| "ğışİłżśćęąńźřěůčžňťďåæøőűșțăŁŻŚČŘŽŠšďě".contains(*c)).count();
    scores[Language::Other as usize] += 3 * marked;
    // "I" is written so in no other language.
    let speaks =
        |word: &str| word.trim_end_matches(',') == "I" || ["I'm", "I've", "I'd", "I'll", "I’m", "I’ve"].contains(&word);
    scores[Language::English as usize] += 8 * usize::from(shown.split(' ').any(speaks));
    let usual_score = &mut scores[usual as usize];
    *usual_score += usize::from(*usual_score > 0);
    let best = LANGUAGES.iter().zip(scores).rev().max_by_key(|(_, score)| *score);
    let foreign = letters().count() > 0 && letters().all(|c| c > '\u{24f}');
    match best {
        Some(((language, _, _), score)) if score > 0 => *language,
        _ if foreign => Language::Other,
        _ => usual,
    }
}

/// How strongly a word speaks for each language.
type Weights = [u8; LANGUAGES.len()];

static WEIGHTS: LazyLock<HashMap<&'static str, Weights>> = LazyLock::new(|| {
    let mut weights: HashMap<&'static str, Weights> = HashMap::new();
    let mut add = |word, language: Language, weight| weights.entry(word).or_default()[language as usize] += weight;
    for (language, _, _) in LANGUAGES.iter().filter(|(language, _, _)| !language.is_unspaced()) {
        let grammar = language.grammar();
        grammar.function_words.iter().for_each(|word| add(word, *language, 4));
        grammar.speakers_own.iter().for_each(|word| add(word, *language, 2));
        lexicon(*language).words.keys().for_each(|word| add(word.as_str(), *language, 2));
    }
    // Small words that a well-known language shares with some other one don't speak for that.
    for weights in weights.values_mut().filter(|weights| weights[..Language::Other as usize].iter().any(|w| *w > 0)) {
        weights[Language::Other as usize] = 0;
    }
    weights
});

fn words_of(text: &str, language: Language) -> Vec<Word> {
    let mut words = Vec::new();
    for (start, end) in spans(text) {
        push_word(&mut words, text, (start, end), language);
    }
    if language.is_unspaced() {
        mark_unspaced(&mut words, text, language);
    } else {
        mark_topics(&mut words, language);
    }
    words
}

/// Where the words stand: runs of letters and digits, single ideographs, runs of kana.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    let mut last: Option<char> = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let end = at + c.len_utf8();
        // A dot, colon, comma or at sign inside a number or an address belongs to it.
        let inside = matches!(c, '.' | ':' | '@' | '_' | ',')
            && last.is_some_and(|before| before.is_ascii_alphanumeric())
            && characters.peek().is_some_and(|(_, next)| next.is_ascii_alphanumeric())
            && (matches!(c, '@' | '_')
                || last.is_some_and(|before| before.is_ascii_digit())
                || within_address(text, at));
        if !c.is_alphanumeric() && !inside {
            last = None;
            continue;
        }
        let joins = last.is_some_and(|before| same_run(before, c));
        match spans.last_mut() {
            Some(span) if joins || (inside && span.1 == at) => span.1 = end,
            _ => spans.push((at, end)),
        }
        last = Some(if inside { 'a' } else { c });
    }
    spans
}

/// Whether a mark of an address stands in the same run; only so near that long texts stay quick to read.
fn within_address(text: &str, at: usize) -> bool {
    const NEAR: usize = 60;
    let mark = |c: &char| matches!(c, '@' | '/');
    let before = text[..at].chars().rev().take(NEAR).take_while(|c| !c.is_whitespace()).any(|c| mark(&c));
    before || text[at..].chars().take(NEAR).take_while(|c| !c.is_whitespace()).any(|c| mark(&c))
}

fn same_run(before: char, c: char) -> bool {
    match (is_unspaced(before), is_unspaced(c)) {
        (false, false) => true,
        (true, true) => is_kana(before) && is_kana(c) && is_katakana(before) == is_katakana(c),
        _ => false,
    }
}

/// First parts of compounds that mean "favourite": two words to everybody but the dictionary.
const FAVOURITE: [(&str, Language); 5] = [
    ("lieblings", Language::German),
    ("lievelings", Language::Dutch),
    ("favorit", Language::Other),
    ("yndlings", Language::Other),
    ("lempi", Language::Other),
];

fn push_word(words: &mut Vec<Word>, text: &str, (start, end): (usize, usize), language: Language) {
    let raw = &text[start..end];
    let folded = fold(raw);
    let first = raw.chars().next().unwrap_or(' ');
    let capital = first.is_uppercase() || is_katakana(first);
    for (compound, head) in FAVOURITE {
        let split = folded.strip_prefix(compound).filter(|rest| rest.len() > 2 && language == head);
        if let Some(rest) = split {
            let (head_end, rest) = (start + compound.len(), rest.to_owned());
            words.push(new_word(compound.to_owned(), (start, head_end), false, language));
            words.push(new_word(rest, (head_end, end), false, language));
            return;
        }
    }
    words.push(new_word(folded, (start, end), capital, language));
}

fn new_word(folded: String, (start, end): (usize, usize), capital: bool, language: Language) -> Word {
    let grammar = language.grammar();
    let function = grammar.function_words.has(&folded) || grammar.question_words.has(&folded);
    let stem = stem(&folded, language);
    let compounds = language.compounds();
    Word {
        folded,
        stem,
        start,
        end,
        capital,
        topics: Vec::new(),
        kinds: Vec::new(),
        function,
        inside: false,
        compounds,
    }
}

/// Gives words and phrases their topics; the longest phrase wins, and its other words lose theirs.
fn mark_topics(words: &mut [Word], language: Language) {
    let lexicon = lexicon(language);
    let mut at = 0;
    while at < words.len() {
        let fits = |phrase: &[String]| {
            words.len() >= at + phrase.len() && phrase.iter().zip(&words[at..]).all(|(part, word)| *part == word.folded)
        };
        let phrases = lexicon.phrases.get(&words[at].folded).map(Vec::as_slice).unwrap_or_default();
        // "Moved to 17:30" says nothing about where somebody lives.
        let counts = |phrase: &[String]| {
            phrase.last().is_some_and(|last| last == "to") && words.get(at + phrase.len()).is_some_and(Word::is_number)
        };
        let longest =
            phrases.iter().filter(|(phrase, _)| fits(phrase) && !counts(phrase)).max_by_key(|(phrase, _)| phrase.len());
        if let Some((phrase, entry)) = longest {
            let last = at + phrase.len() - 1;
            for word in &mut words[at..last] {
                (word.function, word.inside) = (true, true);
            }
            mark(&mut words[last], entry);
            words[last].function = false;
            // The phrase is one word: "plate number" is no "number".
            words[last].stem = phrase.iter().map(|part| stem(part, language)).collect::<Vec<String>>().join(" ");
            at = last + 1;
            continue;
        }
        let word = &mut words[at];
        let known = lexicon.words.get(&word.folded).or_else(|| lexicon.stems.get(&word.stem));
        if let Some(entry) = known.filter(|_| !word.function) {
            mark(word, entry);
        }
        at += 1;
    }
}

fn mark(word: &mut Word, entry: &Entry) {
    word.topics.clone_from(&entry.topics);
    word.kinds.clone_from(&entry.kinds);
}

/// The same without spaces: the characters of a known expression share its topic.
fn mark_unspaced(words: &mut [Word], text: &str, language: Language) {
    for word in words.iter_mut() {
        let hiragana = word.folded.chars().all(|c| is_kana(c) && !is_katakana(c));
        word.function = word.function || (language == Language::Japanese && hiragana);
    }
    for (expression, entry) in &lexicon(language).words {
        for (start, _) in text.match_indices(expression.as_str()) {
            let end = start + expression.len();
            for word in words.iter_mut().filter(|word| word.start < end && word.end > start) {
                word.topics.extend(&entry.topics);
                word.kinds.extend(&entry.kinds);
                word.function = false;
            }
        }
    }
}
