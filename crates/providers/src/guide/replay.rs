//! What the conversation itself tells, for agents that can't write it down: earlier messages, gone through in order.
//!
//! A later statement takes the place of an earlier one just as it would in a memory block.

use super::clause::Clause;
use super::evidence::names;
use super::facts::{Note, is_known, notes_of, replacement};
use super::languages::Language;
use super::reading::{Event, Seen};
use super::recall::Question;
use super::speech::{Fact, Speech, Utterance};
use super::words::Word;

/// At most so many of the newest messages are gone through.
const MESSAGES: usize = 200;

/// The statements of the users' earlier messages that still hold.
pub(super) fn told_before(seen: &Seen) -> Vec<Note> {
    let texts: Vec<&str> = seen.earlier.iter().filter_map(said_by_user).collect();
    told(texts.iter().skip(texts.len().saturating_sub(MESSAGES)).copied())
}

/// The statements of `texts` that hold after the last of them.
pub(super) fn told<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for text in texts {
        let speech = Speech::read(text);
        for part in &speech.parts {
            match part {
                Utterance::Fact(fact) => keep(fact, &mut notes, speech.language),
                Utterance::Forget(what) => {
                    let question = Question::read(what, speech.language);
                    notes.retain(|note| !names(&question, &note.clause));
                }
                _ => {}
            }
        }
    }
    notes
}

fn keep(fact: &Fact, notes: &mut Vec<Note>, usual: Language) {
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
    notes.extend(notes_of(0, &text, &text, usual));
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
