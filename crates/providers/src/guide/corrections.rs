//! What a correction calls wrong: "…, not …", "… instead of …", "not … but …".

use super::languages::Language;
use super::words::{Text, Word, contains};

/// Negations that may stand before a wrong value.
const NOT: &str = "not nicht pas no non nao niet не";
/// What may stand between the wrong value and the right one.
const BUT: &str = "but rather sondern mais sino ma bensi mas maar а";
/// Openings of a wrong value at the end of a sentence.
const INSTEAD: [&str; 14] = [
    "instead of",
    "rather than",
    "and not",
    "statt",
    "anstatt",
    "und nicht",
    "au lieu de",
    "et pas",
    "en lugar de",
    "en vez de",
    "invece di",
    "em vez de",
    "in plaats van",
    "вместо",
];
/// A wrong value has at most so many words.
const MOST_WORDS: usize = 4;

/// The text without what it calls wrong, and that.
pub(super) fn split_wrong(text: &str, usual: Language) -> (String, Option<String>) {
    let read = Text::read(text, usual);
    let found = not_but(text, &read).or_else(|| closing_not(text, &read)).or_else(|| closing_instead(text, &read));
    match found {
        Some((kept, wrong)) => (kept.to_owned(), Some(wrong.to_owned())),
        None => (text.to_owned(), None),
    }
}

/// "Not Monday but Tuesday", "it's not Monday, it's Tuesday".
fn not_but<'a>(text: &'a str, read: &Text) -> Option<(&'a str, &'a str)> {
    let grammar = read.grammar();
    let not = read.words.iter().take(4).position(|word| contains(NOT, &word.folded))?;
    let about_it =
        |word: &Word| word.function && !grammar.speaker.has(&word.folded) && !grammar.speakers_own.has(&word.folded);
    if !read.words[..not].iter().all(about_it) {
        return None;
    }
    let next = |at: usize| gap_before(text, read, at).contains([',', ';']) && grammar.pronouns.has(read.folded(at));
    let but = (not + 2..read.words.len()).find(|at| contains(BUT, read.folded(*at)) || next(*at))?;
    let wrong = value(read, not + 1, but)?;
    let after = (but..read.words.len()).find(|at| {
        let joins = grammar.copulas.has(read.folded(*at)) || grammar.pronouns.has(read.folded(*at));
        !joins && !contains(BUT, read.folded(*at))
    })?;
    let kept = text[read.words[after].start..].trim_end_matches(['.', '!', ' ']);
    Some((kept, &text[wrong.0..wrong.1]))
}

/// "…, not Monday".
fn closing_not<'a>(text: &'a str, read: &Text) -> Option<(&'a str, &'a str)> {
    let marked = |at: &usize| gap_before(text, read, *at).contains([',', ';', '—', '–', '-']);
    let not = (2..read.words.len()).find(|at| contains(NOT, read.folded(*at)) && marked(at))?;
    let wrong = value(read, not + 1, read.words.len())?;
    Some((kept(text, read, not), &text[wrong.0..wrong.1]))
}

/// "… instead of Monday".
fn closing_instead<'a>(text: &'a str, read: &Text) -> Option<(&'a str, &'a str)> {
    let opens = |at: usize| {
        let phrases =
            INSTEAD.iter().filter(|phrase| phrase.split(' ').zip(at..).all(|(part, at)| read.folded(at) == part));
        phrases.map(|phrase| phrase.split(' ').count()).max()
    };
    let (at, length) = (2..read.words.len()).find_map(|at| Some((at, opens(at)?)))?;
    let wrong = value(read, at + length, read.words.len())?;
    Some((kept(text, read, at), &text[wrong.0..wrong.1]))
}

fn kept<'a>(text: &'a str, read: &Text, end: usize) -> &'a str {
    text[..read.words[end].start].trim_end_matches([' ', ',', ';', '—', '–', '-'])
}

/// Where a short value stands among these words, past its articles.
fn value(read: &Text, from: usize, to: usize) -> Option<(usize, usize)> {
    let words = read.words.get(from..to)?;
    let first = words.iter().position(|word| !word.function)?;
    let words = &words[first..];
    let last = words.last().filter(|_| words.len() <= MOST_WORDS)?;
    Some((words[0].start, last.end))
}

fn gap_before<'a>(text: &'a str, read: &Text, at: usize) -> &'a str {
    let start = at.checked_sub(1).map_or(0, |before| read.words[before].end);
    &text[start..read.words[at].start]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_value_is_told_from_the_right_one() {
        for (text, kept, wrong) in [
            ("it starts on Tuesday, not Monday.", "it starts on Tuesday", "Monday"),
            ("Not 7:30 but 8:15 pm.", "8:15 pm", "7:30"),
            ("It's not Monday, it's Tuesday.", "Tuesday", "Monday"),
            ("we meet at noon instead of ten o'clock", "we meet at noon", "ten o'clock"),
            ("nicht am Montag, sondern am Dienstag", "am Dienstag", "Montag"),
            ("No es azul, sino verde", "verde", "azul"),
        ] {
            assert_eq!(split_wrong(text, Language::English), (kept.to_owned(), Some(wrong.to_owned())), "{text}");
        }
        for text in ["I don't like tea but coffee", "My name is not important", "I live here"] {
            assert_eq!(split_wrong(text, Language::English).1, None, "{text}");
        }
    }
}
