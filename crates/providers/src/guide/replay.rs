//! What texts tell that are no memory blocks, gone through in order: earlier messages, and what a search found.
//!
//! A later statement takes the place of an earlier one just as it would in a memory block.

use super::clause::Clause;
use super::evidence::names;
use super::facts::{Note, is_known, notes_of, replacement, with_value};
use super::languages::Language;
use super::reading::{Event, Seen};
use super::recall::Question;
use super::speech::{Fact, Speech, Utterance};
use super::words::{Word, language_of};

/// At most so many of the newest messages are gone through.
const MESSAGES: usize = 200;
/// And so many lines of something written down.
const MAX_LINES: usize = 200;

/// A text and how it is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Told<'a> {
    /// A message of the user.
    Said(&'a str),
    /// Lines that somebody wrote down, all of them statements.
    Written(&'a str),
}

/// The statements of the users' earlier messages that still hold.
pub(super) fn told_before(seen: &Seen) -> Vec<Note> {
    told(texts(seen).into_iter().map(|text| (0, Told::Said(text))))
}

/// The users' earlier messages, the newest of them if there are many.
pub(super) fn texts(seen: &Seen) -> Vec<&str> {
    let texts: Vec<&str> = seen.earlier.iter().filter_map(said_by_user).collect();
    texts.iter().skip(texts.len().saturating_sub(MESSAGES)).copied().collect()
}

/// The statements of `texts` that hold after the last of them; each has the number of its text as its block.
pub(super) fn told<'a>(texts: impl Iterator<Item = (usize, Told<'a>)>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for (number, text) in texts {
        match text {
            Told::Said(text) => take(number, &Speech::read(text), &mut notes),
            Told::Written(text) => write_down(number, text, &mut notes),
        }
    }
    notes
}

fn take(number: usize, speech: &Speech, notes: &mut Vec<Note>) {
    let usual = speech.language;
    for part in &speech.parts {
        match part {
            Utterance::Fact(fact) => keep(number, fact, notes, usual),
            Utterance::Archive(text) => write_down(number, text, notes),
            Utterance::Change { what, to } => change(number, (what, to), notes, usual),
            Utterance::Forget(what) => {
                let question = Question::read(what, usual);
                notes.retain(|note| !names(&question, &note.clause));
            }
            Utterance::Question(_) | Utterance::Talk(_) | Utterance::Other => {}
        }
    }
}

fn write_down(number: usize, text: &str, notes: &mut Vec<Note>) {
    let usual = language_of(text, Language::English);
    let lines = text.lines().map(|line| line.trim().trim_start_matches(['-', '*', '•']).trim());
    for line in lines.filter(|line| !line.is_empty()).take(MAX_LINES) {
        let fact = Fact { text: line.to_owned(), corrects: false, changes: false, wrong: None };
        keep(number, &fact, notes, usual);
    }
}

/// "Change … to …".
fn change(number: usize, (what, to): (&str, &str), notes: &mut Vec<Note>, usual: Language) {
    let question = Question::read(what, usual);
    let old = notes.iter().find(|note| names(&question, &note.clause)).cloned();
    let new = old.as_ref().and_then(|old| with_value(&old.clause, to)).unwrap_or_else(|| format!("{what}: {to}"));
    notes.retain(|note| old.as_ref().is_none_or(|old| note.line != old.line));
    notes.extend(notes_of(number, &new, &new, usual));
}

fn keep(number: usize, fact: &Fact, notes: &mut Vec<Note>, usual: Language) {
    if is_known(&fact.text, notes) {
        return;
    }
    let text = match replacement(fact, notes, notes.last(), usual) {
        Some((old, new)) => {
            notes.retain(|note| note.line != old.line);
            new
        }
        None => fact.text.clone(),
    };
    notes.extend(notes_of(number, &text, &text, usual));
}

/// Whom or what the newest earlier message was about, for a "she" or an "it" of the next one.
pub(super) fn last_named(seen: &Seen) -> Vec<Word> {
    let mut texts = seen.earlier.iter().rev().filter_map(said_by_user);
    let Some(speech) = texts.next().map(Speech::read) else { return Vec::new() };
    match speech.parts.last() {
        Some(Utterance::Fact(fact)) => {
            Clause::all(&fact.text, speech.language).last().map(Clause::named).unwrap_or_default()
        }
        Some(Utterance::Question(text)) => Question::read(text, speech.language).named(),
        _ => Vec::new(),
    }
}

fn said_by_user(event: &Event) -> Option<&str> {
    match event {
        Event::User(text) => Some(text),
        Event::Agent(_) | Event::Call(_) | Event::Heartbeat(_) => None,
    }
}
