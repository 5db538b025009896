//! What a statement tells: which attributes, which names, whether a place, a time, a number.

use super::clause::Clause;
use super::languages::Language;
use super::topics::{Topic, lexicon};
use super::words::{Word, contains};

/// Adverbs that may stand between a subject and its verb.
const ADVERBS: &str = "usually always often never also really still just now sometimes only already mostly normally \
    mainly currently recently once do don t not have ve actually both";

impl Clause {
    /// The attributes that it states, wherever they stand.
    pub(super) fn attributes(&self) -> Vec<Topic> {
        let words = self.read.words.iter().flat_map(|word| word.topics.iter().copied());
        let mut topics: Vec<Topic> = words.filter(|topic| topic.is_attribute()).collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    /// Whether it states this attribute.
    pub(super) fn states(&self, topic: Topic) -> bool {
        self.read.words.iter().any(|word| word.is_about(topic))
    }

    /// Whether the word at `at` looks like a name.
    pub(super) fn is_name(&self, at: usize) -> bool {
        let Some(word) = self.read.words.get(at) else { return false };
        let first = at == 0 && !(self.inverted || self.next_joins(at) || self.next_is_verb(at));
        word.capital && is_unknown(word) && !first && !self.is_german_noun(at) && !self.is_time(at)
    }

    fn next_joins(&self, at: usize) -> bool {
        self.copula == Some(at + 1) || self.read.folded(at + 1) == "s"
    }

    fn next_is_verb(&self, at: usize) -> bool {
        self.read.words.get(at + 1).is_some_and(|word| word.is_attribute() && !word.capital)
    }

    /// In German every noun has a capital: one after an article, or one that names a trade, is no name.
    fn is_german_noun(&self, at: usize) -> bool {
        if self.read.language != Language::German {
            return false;
        }
        let grammar = self.read.grammar();
        let trade = ["er", "in", "ist", "ent", "eur", "ant"].iter().any(|end| self.read.folded(at).ends_with(end));
        let before = at.checked_sub(1).map_or("", |before| self.read.folded(before));
        trade || grammar.articles.has(before) || grammar.speakers_own.has(before)
    }

    /// Whether any word looks like a name.
    pub(super) fn has_name(&self) -> bool {
        (0..self.read.words.len()).any(|at| self.is_name(at))
    }

    /// Whether the word at `at` could be a name that stands beside whom it belongs to, also for people who write
    /// without capitals.
    pub(super) fn could_be_name(&self, at: usize) -> bool {
        let Some(word) = self.read.words.get(at).filter(|word| is_unknown(word) && !word.is_number()) else {
            return false;
        };
        let apart = at > 0 && self.text[self.read.words[at - 1].end..word.start].contains([',', '(', '"', '“', '«']);
        let lower = self.is_lower() && (apart || self.in_subject(at)) && !self.is_time(at);
        self.is_name(at) || lower
    }

    fn is_lower(&self) -> bool {
        !self.text.chars().any(char::is_uppercase)
    }

    /// The name that it gives as its value: "… is called <name>", "her name is <name>", "my boss is <name>".
    pub(super) fn name_value(&self) -> Option<usize> {
        let from = self.value_from()?;
        let stated = self.states(Topic::Name);
        let joined = self.copula.is_some_and(|at| from == at + 1);
        let named = self.is_name(from) || (stated && self.read.words.get(from).is_some_and(is_unknown));
        (named && (stated || joined)).then_some(from)
    }

    /// Whether the word at `at` names the noun before it and not the subject: "a company called …".
    pub(super) fn names_noun(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.read.words.get(before));
        let participle = contains(
            "called named genannt namens nomme nommee llamado llamada chiamato chiamata",
            self.read.folded(at),
        );
        participle && !self.in_subject(at) && before.is_some_and(|word| !word.function && !word.is_attribute())
    }

    /// Whether "am" or "is" is followed by a name.
    pub(super) fn names_directly(&self) -> bool {
        const ADJECTIVES: [&str; 16] =
            ["ed", "ing", "ic", "an", "er", "or", "ist", "ful", "y", "al", "ous", "ive", "ent", "ant", "less", "ish"];
        let from = match self.copula {
            Some(at) => at + 1,
            None if self.read.language == Language::Russian && self.speaker => self.subject.end,
            None => return false,
        };
        // "Sou a Rita", "ich bin der Tom".
        let article = self.read.grammar().articles.has(self.read.folded(from)) && self.is_name(from + 1);
        let Some(word) = self.read.words.get(from) else { return false };
        let alone = self.read.words.len() == from + 1 && self.speaker && self.is_lower() && is_unknown(word);
        let plain = !word.is_number() && !ADJECTIVES.iter().any(|ending| word.folded.ends_with(ending));
        let foreign = article && (self.read.language != Language::English || !self.speaker);
        self.is_name(from) || foreign || (alone && plain && self.read.language == Language::English)
    }

    /// Whether "I" is all of its subject.
    pub(super) fn is_plain_speaker(&self) -> bool {
        self.speaker && self.copula == Some(1) && self.read.grammar().speaker.has(self.read.folded(0))
    }

    /// Whether it gives a name of two words or more.
    pub(super) fn gives_full_name(&self) -> bool {
        let stated = self.states(Topic::Name) || self.names_directly();
        stated && (0..self.read.words.len()).any(|at| self.is_name(at) && self.is_name(at + 1))
    }

    /// The first word of the value: what follows the join with its verbs and prepositions.
    pub(super) fn value_from(&self) -> Option<usize> {
        const NOW: &str = "now jetzt maintenant ahora ora agora nu теперь сейчас";
        let grammar = self.read.grammar();
        let last_join = (self.subject.end..self.read.words.len()).filter(|at| {
            let word = &self.read.words[*at];
            Some(*at) == self.copula || (word.is_attribute() && *at < self.subject.end + 4)
        });
        let mut at = last_join.max()? + 1;
        while self
            .read
            .words
            .get(at)
            .is_some_and(|word| grammar.locatives.has(&word.folded) || contains(NOW, &word.folded))
        {
            at += 1;
        }
        (at < self.read.words.len()).then_some(at)
    }

    /// The words of the value, as written.
    pub(super) fn value(&self) -> Option<&str> {
        let from = self.value_from()?;
        Some(self.text[self.read.words[from].start..].trim())
    }

    /// Whether a number stands right after the join.
    pub(super) fn value_is_number(&self) -> bool {
        let from = self.copula.map(|at| at + 1);
        let after = from.map_or(&[][..], |from| self.read.words.get(from..).unwrap_or_default());
        let counts = &lexicon(self.read.language).numbers;
        let number = after.iter().take(2).any(|word| word.is_number() || counts.has(&word.folded));
        number
            && after.len() <= 4
            && !self.tells_date()
            && !after.iter().any(|word| word.folded.contains(['.', ':', '@']))
    }

    /// Whether the join is followed by an indefinite noun ("is a nurse") or, where a language has no article there, by
    /// a bare noun.
    pub(super) fn value_is_noun(&self) -> bool {
        let Some(copula) = self.copula else { return false };
        let Some(next) = self.read.words.get(copula + 1) else { return false };
        let article = contains("a an ein eine un une een um uma una uno", &next.folded);
        let at = if article { copula + 2 } else { copula + 1 };
        let end = (at..self.read.words.len()).find(|at| self.read.words[*at].function).unwrap_or(self.read.words.len());
        let head = self.read.words[at.min(end)..end].last();
        let noun = head.is_some_and(|word| !word.is_attribute() && !word.is_number() && word.kinds.is_empty());
        noun && (article || !matches!(self.read.language, Language::English | Language::Dutch))
    }

    /// Whether it is about the speaker or about somebody.
    pub(super) fn is_about_person(&self) -> bool {
        let person = |at: usize, word: &Word| word.is_person() || self.is_name(at) || (at == 0 && is_unknown(word));
        self.speaker
            || self.entities().any(|(at, word)| person(at, word))
            || self.inherited.iter().any(|word| word.is_person() || is_unknown(word))
    }

    /// Whether the word at `at` owns what follows: "Anna's …".
    pub(super) fn is_owner(&self, at: usize) -> bool {
        self.in_subject(at) && self.copula != Some(at + 1) && self.read.folded(at + 1) == "s"
    }

    /// Whether the noun at `at` owns what stands before it: "… of my daughter".
    pub(super) fn is_genitive(&self, at: usize) -> bool {
        const OF: &str = "of de di du des del della dei do da von van meiner meines seiner ihrer der моей моего";
        let grammar = self.read.grammar();
        let small = |word: &str| grammar.articles.has(word) || grammar.speakers_own.has(word);
        let mut before = (0..at).rev().map(|at| self.read.folded(at));
        before.find(|word| contains(OF, word) || !small(word)).is_some_and(|word| contains(OF, word))
    }

    /// The noun that the subject is about, past its modifiers and before what is added with a preposition.
    pub(super) fn head(&self) -> Option<usize> {
        let grammar = self.read.grammar();
        let english = self.read.language == Language::English;
        let prepositions = if english { "of for with" } else { "de di du von fur pour van" };
        let added = |word: &Word| grammar.locatives.has(&word.folded) || contains(prepositions, &word.folded);
        let end = self.subject.clone().skip(1).find(|at| added(&self.read.words[*at])).unwrap_or(self.subject.end);
        let head = self.entities().filter(|(at, _)| *at < end).last().map(|(at, _)| at);
        // After an attribute ("my sister's birthday") whoever owns it is asked for anyway.
        head.filter(|head| !self.read.words[*head..end].iter().any(Word::is_attribute))
    }

    /// Where the verb stands that says what the speaker does, if it is more than "have" or "go".
    pub(super) fn main_verb(&self) -> Option<usize> {
        if !self.speaker || self.read.language.is_unspaced() {
            return None;
        }
        let grammar = self.read.grammar();
        let subject = self.read.words.iter().position(|word| grammar.speaker.has(&word.folded));
        let mut at = subject.map_or(0, |at| at + 1);
        while contains(ADVERBS, self.read.folded(at)) {
            at += 1;
        }
        let word = self.read.words.get(at)?;
        let verb =
            !word.function && !word.is_attribute() && !word.capital && !word.is_number() && self.copula != Some(at);
        (verb && !grammar.light.has(&word.folded) && !grammar.speakers_own.has(self.read.folded(0))).then_some(at)
    }

    /// Whether its verb is "have", "take" or the like.
    pub(super) fn has_light_verb(&self) -> bool {
        let grammar = self.read.grammar();
        let subject = self.read.words.iter().position(|word| grammar.speaker.has(&word.folded));
        let Some(next) = subject.and_then(|at| self.read.words.get(at + 1)) else { return false };
        self.speaker && self.copula.is_none() && (next.function || grammar.light.has(&next.folded))
    }

    /// Whether it tells of what was and may no longer be.
    pub(super) fn is_past(&self) -> bool {
        const PAST: &str = "lived worked used was fruher lebte wohnte habitais vivia abitavo morava woonde werkte \
            studied formerly previously once раньше";
        self.read.has_word(PAST) && !self.states(Topic::Birth)
    }

    /// Whether the word at `at` tells a time.
    pub(super) fn is_time(&self, at: usize) -> bool {
        let times = &lexicon(self.read.language).times;
        self.read.words.get(at).is_some_and(|word| {
            times.has(&word.folded) || (self.read.language.is_unspaced() && times.stands_in(&word.folded))
        })
    }

    /// Whether it tells a time: a date, an hour, a day, a season.
    pub(super) fn tells_time(&self) -> bool {
        self.read.words.iter().skip(2).any(|word| contains("when wenn quand cuando quando wanneer когда", &word.folded))
            || self
                .read
                .words
                .windows(3)
                .any(|three| contains("when", &three[0].folded) && contains("was", &three[2].folded))
            || (0..self.read.words.len()).any(|at| {
                self.is_time(at) && (!self.in_subject(at) || self.inverted || self.speaker)
                    || self.read.words[at].is_number()
            })
    }

    /// Whether a number in it belongs to a date or an hour.
    pub(super) fn tells_date(&self) -> bool {
        (0..self.read.words.len()).any(|at| {
            let near = self.is_time(at + 1) || (at > 0 && self.is_time(at - 1)) || self.read.folded(at).contains(':');
            self.read.words[at].is_number() && near
        })
    }

    /// Whether it has a year.
    pub(super) fn has_year(&self) -> bool {
        self.read.words.iter().any(|word| word.folded.parse::<u16>().is_ok_and(|year| (1850..2150).contains(&year)))
    }

    /// Whether it says that something is a number.
    pub(super) fn numbers_something(&self) -> bool {
        self.read.has_word("number phone telephone mobile cell nummer telefon handy numero telephone telefono telefone")
    }

    /// Whether it counts something.
    pub(super) fn tells_count(&self) -> bool {
        let counts = &lexicon(self.read.language).numbers;
        let words = self.read.words.iter().enumerate();
        let dated = |at: usize| {
            let word = self.read.folded(at);
            let month = |at: usize| self.is_time(at) && !contains(UNITS, self.read.folded(at));
            word.contains(':') || month(at + 1) || (at > 0 && month(at - 1))
        };
        words.into_iter().any(|(at, word)| (word.is_number() && !dated(at)) || counts.has(&word.folded))
            || (self.read.language.is_unspaced() && counts.stands_in(&self.text))
    }

    /// Whether it tells a place.
    pub(super) fn tells_place(&self) -> bool {
        let cleft = self.inverted && self.read.has_word("where wo donde dove onde waar где");
        if cleft || self.states(Topic::Residence) || self.states(Topic::Origin) || self.read.language.is_unspaced() {
            return true;
        }
        if self.read.language == Language::Other {
            return !self.states(Topic::Name) && !self.states(Topic::Like);
        }
        let grammar = self.read.grammar();
        let words = &self.read.words;
        (0..words.len()).filter(|at| grammar.locatives.has(&words[*at].folded)).any(|at| {
            let next = (at + 1..words.len()).find(|next| !words[*next].function);
            next.is_some_and(|next| {
                (!words[next].is_number() || words[next].folded.contains('.')) && !self.is_time(next)
            })
        })
    }

    /// Whether it tells who.
    pub(super) fn tells_person(&self) -> bool {
        let spaced = !self.read.language.is_unspaced();
        let person = |at: usize, word: &Word| {
            let unsaid =
                self.is_lower() && !self.in_subject(at) && is_unknown(word) && !self.is_time(at) && !word.is_number();
            word.is_person() || (at == 0 && is_unknown(word)) || unsaid
        };
        !spaced || self.has_name() || self.read.content().any(|(at, word)| person(at, word))
    }

    /// Whether it denies something.
    pub(super) fn denies(&self) -> bool {
        let grammar = self.read.grammar();
        if self.read.language.is_unspaced() {
            return grammar.negations.stands_in(&self.text);
        }
        self.read.words.iter().any(|word| grammar.negations.has(&word.folded))
    }
}

/// Words of time that are counted, and so no date.
const UNITS: &str = "minutes minute hours hour years weeks months days times minuten stunden jahre ans annees minutos anos \
    minuti anni jaren лет года";

/// Whether nothing is known about a word, as about most names.
fn is_unknown(word: &Word) -> bool {
    !word.function && word.topics.is_empty() && word.kinds.is_empty()
}
