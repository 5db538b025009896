//! A summary without a language model: what people said, in their own words, with names and dates.
//!
//! The built-in guide reads and writes no prose, so it keeps the first sentence of what each user message said instead
//! of inventing a summary. It says so in its first line. Pure.

use std::sync::Arc;

use domain::image::IMAGE_MARK;
use domain::{Message, Role};

use crate::packaging::{is_heartbeat, read_alert};
use crate::time::format_local_date;

/// Names that are listed.
const MAX_NAMES: usize = 16;
/// Characters of one kept sentence.
const SENTENCE_CHARS: usize = 160;
const LEAD: &str = "Extract of earlier messages, first sentences of what the user said:";
const NAMES: &str = "Names that came up: ";

/// The extract of `messages`, with what an earlier extract kept, in at most `max_chars` characters.
pub fn extract(so_far: Option<&str>, messages: &[Arc<Message>], zone: &str, max_chars: usize) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in so_far.unwrap_or_default().lines() {
        match line.strip_prefix(NAMES) {
            Some(listed) => names.extend(listed.split(", ").map(|name| name.trim_end_matches('.').to_owned())),
            None if line == LEAD || line.trim().is_empty() => {}
            None => lines.push(line.to_owned()),
        }
    }
    let said = messages.iter().filter(|message| message.role == Role::User);
    for message in said.filter(|message| !is_heartbeat(message) && read_alert(message).is_none()) {
        let text = match message.first_text() {
            "" if message.images().next().is_some() => IMAGE_MARK,
            text => text,
        };
        if text.starts_with("{\n  \"type\":") {
            continue;
        }
        names.extend(names_in(text));
        let sentence = first_sentence(text);
        if !sentence.is_empty() {
            lines.push(format!("- {}: {sentence}", format_local_date(message.created_at, zone)));
        }
    }
    assemble(names, lines, max_chars)
}

fn assemble(mut names: Vec<String>, mut lines: Vec<String>, max_chars: usize) -> String {
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
    names.truncate(MAX_NAMES);
    let mut head = LEAD.to_owned();
    if !names.is_empty() {
        head = format!("{NAMES}{}.\n{LEAD}", names.join(", "));
    }
    let size =
        |lines: &[String]| head.chars().count() + lines.iter().map(|line| line.chars().count() + 1).sum::<usize>();
    // Every second of the older half goes until the rest fits: the newest stay whole, the oldest grow thin.
    while size(&lines) > max_chars && !lines.is_empty() {
        let older = lines.len().div_ceil(2);
        let mut index = 0;
        lines.retain(|_| {
            index += 1;
            index > older || index % 2 == 0
        });
    }
    let mut text = head.clone();
    for line in &lines {
        text.push('\n');
        text.push_str(line);
    }
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// The first sentence, on one line.
fn first_sentence(text: &str) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    let end = line.char_indices().find(|(place, letter)| {
        matches!(letter, '.' | '!' | '?')
            && line[place + letter.len_utf8()..].chars().next().is_none_or(char::is_whitespace)
    });
    let sentence = end.map_or(line, |(place, letter)| &line[..place + letter.len_utf8()]);
    match sentence.char_indices().nth(SENTENCE_CHARS) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

/// Capitalised words that don't begin a sentence.
fn names_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut begins = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let bare = bare.strip_suffix("'s").unwrap_or(bare);
        let starts_upper = bare.chars().next().is_some_and(char::is_uppercase);
        let is_word = bare.chars().count() > 1 && bare.chars().any(char::is_lowercase);
        if !begins && starts_upper && is_word && !bare.starts_with("I'") {
            names.push(bare.to_owned());
        }
        begins = word.ends_with(['.', '!', '?', ':']);
    }
    names
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
