//! What the parts of a user's message are: facts to keep, corrections, things to forget, questions, talk.
//!
//! Questions, greetings and commands must never come out of here as facts.

use super::clause::Clause;
use super::corrections::split_wrong;
use super::languages::{Language, Phrases};
use super::small_talk::{Talk, small_talk};
use super::splitting::sentences;
use super::topics::Topic;
use super::words::{Text, contains, language_of};

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Utterance {
    Fact(Fact),
    /// "Change … to …".
    Change {
        what: String,
        to: String,
    },
    Forget(String),
    /// A text for the archive.
    Archive(String),
    Question(String),
    Talk(Talk),
    /// Nothing that the guide has a rule for.
    Other,
}

/// Something said to be kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    /// As it was said, without the words that ask for it to be kept.
    pub(super) text: String,
    /// It was said to be a correction.
    pub(super) corrects: bool,
    /// It sounds like news ("now", "no longer").
    pub(super) changes: bool,
    /// The value that it says is wrong.
    pub(super) wrong: Option<String>,
}

/// A message, read.
#[derive(Debug, Clone)]
pub(super) struct Speech {
    pub(super) language: Language,
    pub(super) parts: Vec<Utterance>,
}

impl Speech {
    /// Reads a whole message.
    pub(super) fn read(text: &str) -> Self {
        let text = beginning(text, MAX_READ);
        let language = language_of(text, Language::English);
        if let Some(passage) = for_archive(text, language) {
            return Self { language, parts: vec![Utterance::Archive(passage)] };
        }
        let mut parts: Vec<Utterance> = Vec::new();
        let mut corrects = false;
        for sentence in sentences(text).into_iter().take(MAX_SENTENCES) {
            let mut reader = Reader { text: sentence, usual: language, corrects };
            let utterance = reader.utterance();
            corrects = reader.corrects && utterance.is_none();
            match utterance {
                Some(Utterance::Fact(fact)) => push_fact(&mut parts, fact, language),
                Some(utterance) => parts.push(utterance),
                None => {}
            }
        }
        if parts.is_empty() {
            parts.push(Utterance::Other);
        }
        Self { language, parts }
    }
}

/// Of longer messages only the beginning is read.
const MAX_READ: usize = 20_000;
const MAX_SENTENCES: usize = 60;
/// A longer sentence is kept only on request, and then in the archive.
const MAX_STATEMENT: usize = 600;

/// What follows a request to archive it, if the message is one.
fn for_archive(text: &str, usual: Language) -> Option<String> {
    let text = text.trim();
    let opening = Text::read(beginning(text, MAX_STATEMENT), usual);
    let (rest, _) = after_prefix(text, &opening, &opening.grammar().archives)?;
    (rest.split_whitespace().count() > 1 && !text.ends_with('?')).then(|| rest.to_owned())
}

/// The first `most` bytes, or a little less.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

/// A sentence about "she" or "it" goes on with the sentence before, so that the line can be understood alone.
fn push_fact(parts: &mut Vec<Utterance>, fact: Fact, usual: Language) {
    let clause = Clause::read(&fact.text, usual);
    if let (true, false, Some(Utterance::Fact(before))) = (clause.pronoun, fact.corrects, parts.last_mut()) {
        before.text = format!("{} {}", before.text, fact.text);
        before.changes |= fact.changes;
        return;
    }
    parts.push(Utterance::Fact(fact));
}

struct Reader<'a> {
    text: &'a str,
    usual: Language,
    corrects: bool,
}

impl<'a> Reader<'a> {
    /// What the sentence is; `None` if it only opens the next one.
    fn utterance(&mut self) -> Option<Utterance> {
        if let Some(talk) = small_talk(self.text) {
            return Some(Utterance::Talk(talk));
        }
        self.skip_openers();
        if self.text.is_empty() {
            return None;
        }
        if let Some(talk) = small_talk(self.text) {
            return Some(Utterance::Talk(talk));
        }
        if self.read().language.is_unspaced() { self.unspaced() } else { self.spaced() }
    }

    fn read(&self) -> Text {
        Text::read(self.text, self.usual)
    }

    fn skip_openers(&mut self) {
        for _ in 0..4 {
            let read = self.read();
            match after_prefix(self.text, &read, &read.grammar().openers) {
                Some((rest, _)) => self.text = rest,
                None => return,
            }
        }
    }

    fn spaced(&mut self) -> Option<Utterance> {
        let read = self.read();
        let grammar = read.grammar();
        if let Some((rest, _)) = after_prefix(self.text, &read, &grammar.forgets) {
            return Some(self.forgotten(rest));
        }
        if let Some((rest, _)) = after_prefix(self.text, &read, &grammar.inquiries).filter(|(rest, _)| !rest.is_empty())
        {
            return Some(Utterance::Question(rest.to_owned()));
        }
        let asks = self.text.ends_with(['?', '？']);
        if let Some((rest, prefix)) = after_prefix(self.text, &read, &grammar.requests) {
            let polite = read.words.first().is_some_and(|word| contains(POLITE, &word.folded));
            return Some(self.request(rest, prefix, asks && !polite));
        }
        if is_question(self.text, &read) {
            return Some(Utterance::Question(self.text.to_owned()));
        }
        self.skip_corrections();
        if self.text.is_empty() {
            return None;
        }
        let read = self.read();
        if let Some((rest, _)) = after_prefix(self.text, &read, &grammar.requests) {
            return Some(self.fact(rest));
        }
        if is_question(self.text, &read) {
            return Some(Utterance::Question(self.text.to_owned()));
        }
        if let Some(change) = change_request(self.text, &read) {
            return Some(change);
        }
        if self.is_statement(&read) { Some(self.fact(self.text)) } else { Some(Utterance::Other) }
    }

    /// What follows a request to forget: what to forget, or the statement that takes its place.
    fn forgotten(&mut self, rest: &'a str) -> Utterance {
        if let Some((_, instead)) = rest.split_once(", ") {
            let read = Text::read(instead, self.usual);
            let clause = Clause::read(instead, self.usual);
            let said = read.has_any(&read.grammar().speaker) || read.has_any(&read.grammar().speakers_own);
            if said && (clause.copula.is_some() || !clause.attributes().is_empty()) {
                self.corrects = true;
                return self.fact(instead);
            }
        }
        forget(rest, self.usual)
    }

    /// What follows a request to remember.
    fn request(&mut self, rest: &'a str, prefix: usize, asks: bool) -> Utterance {
        let read = Text::read(rest, self.usual);
        let first = read.words.first().map_or("", |word| word.folded.as_str());
        let inquires = read.grammar().question_words.has(first) && prefix > 0 && !first.starts_with("que");
        if read.content().next().is_none() {
            return Utterance::Other;
        }
        if asks || inquires {
            return Utterance::Question(rest.to_owned());
        }
        self.text = rest;
        self.skip_corrections();
        if self.text.len() > MAX_STATEMENT { Utterance::Archive(self.text.to_owned()) } else { self.fact(self.text) }
    }

    fn fact(&self, text: &str) -> Utterance {
        let read = Text::read(text, self.usual);
        let (text, wrong) = split_wrong(text.trim_end_matches(['?', '？']).trim(), self.usual);
        let changes = has_phrase(&text, &read, &read.grammar().changes);
        Utterance::Fact(Fact { corrects: self.corrects || wrong.is_some(), changes, wrong, text })
    }

    fn skip_corrections(&mut self) {
        for _ in 0..4 {
            let read = self.read();
            let Some((rest, words)) = after_prefix(self.text, &read, &read.grammar().corrections) else { return };
            let marked = self.text[..self.text.len() - rest.len()]
                .trim_end()
                .ends_with([',', '.', ':', ';', '!', '-', '—', '–', '，']);
            let next = read.words.get(words).map_or("", |word| word.folded.as_str());
            let ambiguous = words == 1 && contains("no non nao ne wrong news update", &read.words[0].folded);
            let english =
                read.language == Language::English && contains("it its my i the that she he they our we im", next);
            if ambiguous && !marked && !english && !rest.is_empty() {
                return;
            }
            self.corrects = true;
            self.text = rest;
        }
    }

    /// Whether a sentence that nobody asked to keep states a fact.
    fn is_statement(&self, read: &Text) -> bool {
        let grammar = read.grammar();
        let nickname = read.words.len() > 2 && read.folded(0) == "call" && read.folded(1) == "me";
        if (is_command(self.text, read) && !nickname) || self.text.len() > MAX_STATEMENT {
            return false;
        }
        if read.content().next().is_none() {
            return false;
        }
        let about_speaker = read.has_any(&grammar.speaker) || read.has_any(&grammar.speakers_own);
        let clause = Clause::read(self.text, self.usual);
        if clause.pronoun {
            return self.corrects || about_speaker || says_of_pronoun(&clause);
        }
        if self.corrects {
            return true;
        }
        let drops = read.language.drops_subjects() && clause.speaker && is_own_verb(&clause);
        let third_person = read.words.len() >= 3 && !read.has_any(&grammar.listener) && read.folded(0) != "there";
        (about_speaker || drops) && read.words.len() >= 2 || third_person
    }

    fn unspaced(&mut self) -> Option<Utterance> {
        let grammar = self.read().grammar();
        self.strip_unspaced(&grammar.corrections);
        if let Some(rest) = without_request(self.text, &grammar.requests) {
            self.text = rest;
            self.strip_unspaced(&grammar.corrections);
            return Some(self.unspaced_fact(self.text));
        }
        if let Some(rest) = without_request(self.text, &grammar.forgets) {
            return Some(forget(rest, self.usual));
        }
        let asked = grammar.question_words.stands_in(self.text);
        let ends = self.text.trim_end_matches(['。', '？', '?', '！']);
        if asked || self.text.ends_with(['?', '？']) || ends.ends_with('か') {
            return Some(Utterance::Question(self.text.to_owned()));
        }
        let command = grammar.talk.iter().any(|word| self.text.starts_with(word) || ends.ends_with(word));
        let about_speaker = grammar.speakers_own.stands_in(self.text);
        let clause = Clause::read(self.text, self.usual);
        let states = clause.copula.is_some() || !clause.attributes().is_empty();
        if command || !(about_speaker || states || self.corrects) {
            return Some(Utterance::Other);
        }
        Some(self.unspaced_fact(self.text))
    }

    fn unspaced_fact(&self, text: &str) -> Utterance {
        let grammar = Text::read(text, self.usual).grammar();
        let changes = grammar.changes.iter().any(|word| text.contains(word));
        let text = text.trim_matches([' ', '，', '、', '：', ':', ',']).to_owned();
        Utterance::Fact(Fact { text, corrects: self.corrects, changes, wrong: None })
    }

    fn strip_unspaced(&mut self, list: &Phrases) {
        let longest = list.iter().filter(|word| self.text.starts_with(*word)).max_by_key(|word| word.len());
        if let Some(word) = longest {
            self.text = self.text[word.len()..].trim_start_matches([' ', '，', '、', '。', '：', ':', ',']);
            self.corrects = true;
        }
    }
}

/// Whether a sentence about "she" or "that" says more than "that is nice".
fn says_of_pronoun(clause: &Clause) -> bool {
    let grammar = clause.read.grammar();
    let thing = clause.read.has_word("it that this das es dies ce c ca cela eso esto isso isto dat dit het это");
    let telling = !clause.attributes().is_empty() || clause.tells_count() || clause.tells_time() || clause.has_name();
    (!thing || telling) && clause.read.words.len() >= 3 && !clause.read.has_any(&grammar.listener)
}

/// First words of requests that are put as questions.
const POLITE: &str =
    "can could would will did kannst konntest peux pourrais puedes podrias puoi potresti podes pode kun kan wil zou";

fn forget(rest: &str, usual: Language) -> Utterance {
    let rest = rest.trim_end_matches(['?', '？', '.', '!', '。']).trim();
    match Text::read(rest, usual).content().next() {
        Some(_) => Utterance::Forget(rest.to_owned()),
        None => Utterance::Other,
    }
}

/// What follows the longest of the phrases that `text` begins with, and how many words that phrase has.
fn after_prefix<'a>(text: &'a str, read: &Text, list: &Phrases) -> Option<(&'a str, usize)> {
    let longest = list.opening(read.all_folded())?;
    let end = read.words[longest - 1].end;
    let mark = |c: char| !c.is_alphanumeric() && !matches!(c, '"' | '“' | '(' | '+' | '¿' | '#');
    Some((text[end..].trim_start_matches(mark), longest))
}

fn has_phrase(text: &str, read: &Text, list: &Phrases) -> bool {
    let words: Vec<&str> = read.words.iter().map(|word| word.folded.as_str()).collect();
    let joined = format!(" {} ", words.join(" "));
    !text.is_empty() && list.iter().any(|phrase| joined.contains(&format!(" {phrase} ")))
}

fn is_question(text: &str, read: &Text) -> bool {
    if text.ends_with(['?', '？']) {
        let bare = text.trim_end_matches(['?', '？', ' ']).to_lowercase();
        // A tag that asks for no answer leaves a statement.
        return !["ok", "okay", "got it", "alright", "d'accord", "vale", "va bene", "oké"]
            .iter()
            .any(|tag| bare.strip_suffix(tag).is_some_and(|rest| rest.trim_end().ends_with(',')));
    }
    let grammar = read.grammar();
    let folded = |at: usize| read.words.get(at).map_or("", |word| word.folded.as_str());
    let subject = |word: &str| {
        grammar.speaker.has(word)
            || grammar.speakers_own.has(word)
            || grammar.listener.has(word)
            || contains("the", word)
    };
    // "What I love most is …": questions put the verb before the subject.
    let told = read.language == Language::English && grammar.speaker.has(folded(1));
    if told && grammar.question_words.has(folded(0)) && read.words.len() > 4 {
        return false;
    }
    if grammar.question_words.has(folded(0)) {
        // "When I was a child, …" and "Que sepas …" only begin like questions.
        let time_clause =
            contains("when wenn quand cuando quando wanneer como comme as wie come", folded(0)) && text.contains(',');
        return !time_clause && !is_command(text, read);
    }
    let preposition =
        contains("in an auf um von mit aus a en de da di com con op bij at on to for with dans por", folded(0));
    if preposition && grammar.question_words.has(folded(1)) && read.words.len() > 2 && folded(1) != "que" {
        return true;
    }
    grammar.auxiliaries.has(folded(0)) && subject(folded(1)) && read.language == Language::English
}

/// Whether it begins like an order, or like talk about the talk itself.
fn is_command(text: &str, read: &Text) -> bool {
    let grammar = read.grammar();
    if grammar.command_verbs.has(read.folded(0)) {
        return true;
    }
    after_prefix(text, read, &grammar.talk).is_some_and(|(_, length)| read.words.len() <= length + 3)
}

/// Whether a sentence without a subject has a verb in the first person, or says what somebody likes or is called.
fn is_own_verb(clause: &Clause) -> bool {
    let grammar = clause.read.grammar();
    let words = &clause.read.words;
    let known = words.iter().take(3).any(|word| word.is_attribute());
    let own = words.first().is_some_and(|word| grammar.speakers_own.has(&word.folded));
    let copula = clause.copula.is_some_and(|at| at < 2);
    let ends_in_o =
        words.iter().take(2).any(|word| word.folded.ends_with('o') && word.folded.len() > 3 && !word.capital);
    let has =
        words.iter().take(2).any(|word| contains("tengo tenho ho sono soy sou estoy estou sto fui he", &word.folded));
    known || own || copula || has || ends_in_o || first_verb(clause)
}

fn first_verb(clause: &Clause) -> bool {
    clause.read.words.first().is_some_and(|word| {
        word.topics.iter().any(|topic| matches!(topic, Topic::Thing(_))) && word.folded.ends_with('o')
    })
}

/// "Change my … to …".
fn change_request(text: &str, read: &Text) -> Option<Utterance> {
    const VERBS: &str = "change update correct set rename replace andere aktualisiere korrigiere modifie corrige cambia actualiza aggiorna correggi muda altera atualiza wijzig verander";
    let grammar = read.grammar();
    let first = read.words.first()?;
    let own = read.words.iter().skip(1).take(2).any(|word| grammar.speakers_own.has(&word.folded));
    if !contains(VERBS, &first.folded) || !own {
        return None;
    }
    let joint = read
        .words
        .iter()
        .skip(2)
        .rposition(|word| contains("to with zu in auf en por a para naar par con", &word.folded))?
        + 2;
    let value = read.words.get(joint + 1)?;
    let what = text[first.end..read.words[joint].start].trim().to_owned();
    let to = text[value.start..].trim_end_matches(['.', '!']).trim().to_owned();
    Some(Utterance::Change { what, to })
}

/// The text without a request that stands at its start or at its end.
fn without_request<'a>(text: &'a str, requests: &Phrases) -> Option<&'a str> {
    let found = requests.iter().filter_map(|request| text.find(request).map(|at| (at, request)));
    let (at, request) = found.max_by_key(|(_, request)| request.len())?;
    let after = text[at + request.len()..].trim_matches(MARKS);
    let before = text[..at].trim_matches(MARKS);
    let mut before = before.strip_suffix("ということ").or_else(|| before.strip_suffix("こと")).unwrap_or(before);
    for particle in ["ということを", "ことを", "を", "って", "と"] {
        before = before.strip_suffix(particle).unwrap_or(before);
    }
    let rest = if before.chars().count() > after.chars().count() { before } else { after };
    (!rest.is_empty()).then_some(rest)
}

const MARKS: [char; 12] = [' ', '，', '、', '。', '：', ':', ',', '！', '!', '「', '」', '.'];
