//! What came of the parts of a message, put into one answer.
//!
//! Says only what happened: a memory tool that failed is reported with its own words.

use super::answer::{CONNECT_COMMAND, fill, phrases, quoted};
use super::languages::Language;
use super::reading::Seen;
use super::searching::Found;
use super::small_talk::Talk;

/// What came of one part of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Noted(String),
    Replaced {
        new: String,
        old: String,
    },
    Known(String),
    Forgotten(String),
    NothingToForget,
    /// A memory tool refused, in its own words.
    Failed(String),
    /// There is no block or no tool to write with.
    NoPlace,
    Told(Vec<String>),
    ToldBefore(Vec<String>),
    /// What a search found.
    Found(Vec<Found>),
    Archived(String),
    Unknown,
    /// Not known, but this line is about the same.
    Nearest(String),
    Talk(Talk),
    Everything(Vec<String>),
    NotUnderstood,
}

/// The answer that tells all `outcomes`.
pub(super) fn compose(outcomes: &[Outcome], language: Language, seen: &Seen) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let mut noted: Vec<String> = Vec::new();
    for outcome in outcomes {
        if let Outcome::Noted(line) = outcome {
            noted.push(line.clone());
            continue;
        }
        say_noted(&mut sentences, &mut noted, language);
        push_new(&mut sentences, sentence(outcome, language));
    }
    say_noted(&mut sentences, &mut noted, language);
    if outcomes.iter().any(wants_hint) && !seen.agent_said(CONNECT_COMMAND) {
        push_new(&mut sentences, phrases(language).connect.to_owned());
    }
    sentences.join(" ")
}

fn say_noted(sentences: &mut Vec<String>, noted: &mut Vec<String>, language: Language) {
    if !noted.is_empty() {
        sentences.push(fill(phrases(language).noted, &quoted(noted)));
        noted.clear();
    }
}

/// The same is not said twice.
fn push_new(sentences: &mut Vec<String>, sentence: String) {
    if !sentences.contains(&sentence) {
        sentences.push(sentence);
    }
}

/// Who asks for more than the guide can do should learn how to get it.
fn wants_hint(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Unknown | Outcome::NotUnderstood | Outcome::Talk(Talk::Greeting | Talk::Help | Talk::Identity)
    )
}

fn sentence(outcome: &Outcome, language: Language) -> String {
    let phrases = phrases(language);
    let quote = |phrase: &str, line: &String| fill(phrase, &quoted(std::slice::from_ref(line)));
    match outcome {
        Outcome::Noted(line) => quote(phrases.noted, line),
        Outcome::Replaced { new, old } => {
            quote(phrases.replaced, new).replacen("{old}", &quoted(std::slice::from_ref(old)), 1)
        }
        Outcome::Known(line) => quote(phrases.known, line),
        Outcome::Forgotten(line) => quote(phrases.forgotten, line),
        Outcome::NothingToForget => phrases.nothing_to_forget.to_owned(),
        Outcome::Failed(error) => fill(phrases.failed, error),
        Outcome::NoPlace => phrases.no_place.to_owned(),
        Outcome::Told(lines) => fill(phrases.told, &quoted(lines)),
        Outcome::ToldBefore(lines) => fill(phrases.told_before, &quoted(lines)),
        Outcome::Found(found) => found_sentences(found, language),
        Outcome::Archived(text) => fill(phrases.archived, &quoted(&[beginning(text)])),
        Outcome::Unknown => phrases.unknown.to_owned(),
        Outcome::Nearest(line) => quote(phrases.nearest, line),
        Outcome::Talk(Talk::Greeting) => phrases.hello.to_owned(),
        Outcome::Talk(Talk::Thanks) => phrases.welcome.to_owned(),
        Outcome::Talk(Talk::Identity) => phrases.identity.to_owned(),
        Outcome::Talk(Talk::Help | Talk::Everything) => format!("{} {}", phrases.identity, phrases.abilities),
        Outcome::Everything(lines) if lines.is_empty() => phrases.nothing_yet.to_owned(),
        Outcome::Everything(lines) => fill(phrases.everything, &quoted(lines)),
        Outcome::NotUnderstood => format!("{} {}", phrases.identity, phrases.abilities),
    }
}

/// What was found, with the day of each; lines of one day stand together.
fn found_sentences(found: &[Found], language: Language) -> String {
    let phrases = phrases(language);
    let same = |one: &Found, other: &Found| one.day == other.day && one.archived == other.archived;
    let sentences = found.chunk_by(same).map(|group| {
        let phrase = match (group[0].archived, group[0].day) {
            (true, Some(day)) => phrases.archive_says.replacen("{day}", &day.shown(language), 1),
            (false, Some(day)) => phrases.told_on.replacen("{day}", &day.shown(language), 1),
            (_, None) => phrases.told_before.to_owned(),
        };
        let lines: Vec<String> = group.iter().map(|found| found.line.clone()).collect();
        fill(&phrase, &quoted(&lines))
    });
    sentences.collect::<Vec<String>>().join(" ")
}

/// Of a long text only so much is repeated.
const REPEATED: usize = 120;

fn beginning(text: &str) -> String {
    let text = text.trim();
    let short: String = text.chars().take(REPEATED).collect();
    if short.len() < text.len() { format!("{}…", short.trim_end()) } else { short }
}
