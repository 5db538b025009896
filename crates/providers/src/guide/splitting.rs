//! Where one sentence ends and the next begins, and where a sentence holds two statements.
//!
//! Only cuts: every piece is a slice of what was written.

use super::clause::RELATIVES;
use super::languages::Language;
use super::topics::Topic;
use super::words::{Text, Word, contains, is_unspaced};

/// Short forms whose dot ends nothing.
const SHORT_FORMS: &str = "dr mr mrs ms st prof jr sr vs etc no nr hr fr sra sr dott sig e.g i.e ca approx";

/// The sentences of a message, with their closing marks.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            '!' | '?' => next.is_none_or(|next| !matches!(next, '!' | '?' | '"' | '”' | ')' | '»')),
            '.' | '…' => next.is_none_or(char::is_whitespace) && !is_short_form(&text[start..at]),
            _ => false,
        };
        if ends {
            let end = at + c.len_utf8();
            sentences.push(text[start..end].trim());
            start = end;
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

fn is_short_form(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "i";
    // "am 3. Mai" goes on after its dot.
    let ordinal = !word.is_empty() && word.len() <= 2 && word.chars().all(|c| c.is_ascii_digit());
    initial || ordinal || contains(SHORT_FORMS, &word)
}

/// The statements of one sentence: cut where a joint is followed by a new subject and both sides say something.
pub(super) fn statements(line: &str, usual: Language) -> Vec<&str> {
    let read = Text::read(line, usual);
    let mut cuts = vec![0];
    for at in 1..read.words.len() {
        let first = before_adverbs(&read, at);
        let Some(joint) = joint_before(line, &read, first) else { continue };
        let from = *cuts.last().unwrap_or(&0);
        let left = read.words.iter().position(|word| word.start >= from).unwrap_or(0);
        if opens_statement(&read, at) && says_something(&read, left, joint) {
            cuts.push(read.words[first].start);
        }
    }
    cuts.push(line.len());
    let pieces = cuts.windows(2).map(|cut| trim_joint(&line[cut[0]..cut[1]], &read));
    pieces.filter(|piece| !piece.is_empty()).collect()
}

/// The first of the adverbs that lead to word `at`: "…, so now I …".
fn before_adverbs(read: &Text, at: usize) -> usize {
    const ADVERBS: &str =
        "so now then therefore thus hence today because since darum deshalb jetzt nun donc alors ahora asi";
    let adverbs = (1..at).rev().take_while(|before| contains(ADVERBS, read.folded(*before))).count();
    at - adverbs
}

/// Where the statement before word `at` ends, if a joint stands between.
fn joint_before(line: &str, read: &Text, at: usize) -> Option<usize> {
    let joints = &read.grammar().joints;
    let before = &read.words[at - 1];
    let gap = &line[before.end..read.words[at].start];
    if gap.contains([',', ';', '，', '、']) || gap.starts_with(": ") {
        return Some(at);
    }
    // With its accent it is a verb.
    let plain = line[before.start..before.end].to_lowercase() == before.folded;
    (plain && joints.has(&before.folded)).then(|| at - 1)
}

/// Whether word `at` can be the subject of a new statement that has a verb.
fn opens_statement(read: &Text, at: usize) -> bool {
    let grammar = read.grammar();
    let word = &read.words[at];
    if read.words.len() < at + 2 {
        return false;
    }
    if read.language.is_unspaced() {
        return grammar.speaker.has(&word.folded) || is_own(read, at) || word.is_about(Topic::Name);
    }
    let subject = grammar.speaker.has(&word.folded) || grammar.pronouns.has(&word.folded);
    let gap = at > 0 && contains(RELATIVES, &word.folded);
    let verb_first = read.language.drops_subjects() && word.is_attribute();
    subject
        || verb_first
        || gap
        || is_noun_with_verb(read, at)
        || (is_own(read, at) && has_verb(read, at + 1, read.words.len()))
}

/// Whether a noun stands here with its verb right behind it: "… and Finn just turned five".
fn is_noun_with_verb(read: &Text, at: usize) -> bool {
    let grammar = read.grammar();
    let adverb = |word: &Word| contains("just now also only already still", &word.folded);
    let next = read.words[at + 1..].iter().find(|word| !adverb(word));
    let verb = next.is_some_and(|word| grammar.copulas.has(&word.folded) || (word.is_attribute() && !word.capital));
    let noun = !read.words[at].function && !read.words[at].is_attribute() && !read.words[at].is_number();
    noun && verb
}

fn is_own(read: &Text, at: usize) -> bool {
    let grammar = read.grammar();
    let owned = grammar.speakers_own.has(&read.words[at].folded);
    let article = grammar.articles.has(&read.words[at].folded);
    let next = read.words.get(at + 1).map_or("", |word| word.folded.as_str());
    owned || (article && grammar.speakers_own.has(next))
}

fn says_something(read: &Text, from: usize, to: usize) -> bool {
    let words = &read.words[from.min(to)..to];
    let content = words.iter().any(|word| !word.function);
    content && words.len() >= 2 && (has_verb(read, from, to) || speaks(read, from, to))
}

fn speaks(read: &Text, from: usize, to: usize) -> bool {
    let grammar = read.grammar();
    read.words[from.min(to)..to].iter().take(3).any(|word| grammar.speaker.has(&word.folded))
}

fn has_verb(read: &Text, from: usize, to: usize) -> bool {
    let grammar = read.grammar();
    let words = read.words.get(from..to).unwrap_or_default();
    let past = |word: &Word| read.language == Language::English && word.folded.len() > 4 && word.folded.ends_with("ed");
    words.iter().skip(1).any(|word| {
        grammar.copulas.has(&word.folded) || grammar.auxiliaries.has(&word.folded) || word.is_attribute() || past(word)
    }) || words.iter().any(|word| word.topics.iter().any(|topic| matches!(topic, Topic::Thing(_))))
}

fn trim_joint<'a>(piece: &'a str, read: &Text) -> &'a str {
    let joints = &read.grammar().joints;
    let mut piece = piece.trim();
    loop {
        let trimmed = piece.trim_end_matches([',', ';', '，', '、', ' ']);
        let last = trimmed.rsplit(' ').next().unwrap_or_default();
        let spaced = !last.chars().any(is_unspaced);
        match trimmed.strip_suffix(last) {
            Some(rest) if spaced && joints.has(&last.to_lowercase()) && !rest.trim().is_empty() => piece = rest,
            _ => return trimmed,
        }
    }
}
