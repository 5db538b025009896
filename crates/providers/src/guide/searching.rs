//! The search tools: when to call them, and what they gave, read as statements.
//!
//! What was found is material like the conversation itself. It is gone through in the order in which it was said, so
//! that a correction or a request to forget holds for what came before it.

use domain::seams::chat_model::ToolSpec;
use serde_json::{Map, Value, json};

use super::calls::{self, Call};
use super::dates::Day;
use super::evidence::{self, Findings};
use super::facts::Note;
use super::reading::{Event, PastCall, Seen, words_of_user};
use super::recall::Question;
use super::replay::{self, Told};
use super::speech::{Speech, Utterance};

const RECALL: &str = "conversation_search";
const ARCHIVE: &str = "archival_memory_search";
/// Results to ask for: enough that a correction comes along with what it corrects.
const RESULTS: usize = 30;
/// A search needs no more characters of a long question.
const MAX_QUERY: usize = 300;
/// Of a longer line only the statement that answers is quoted.
const MAX_QUOTE: usize = 300;

/// Something that a search gave.
#[derive(Debug, Clone, PartialEq)]
struct Source {
    text: String,
    /// When it was said or stored, as the tool wrote it.
    timestamp: String,
    /// From the archive, and not from a conversation.
    archived: bool,
    /// Nothing else is closer in meaning to what was searched.
    closest: bool,
}

/// A line that answers, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) line: String,
    pub(super) day: Option<Day>,
    pub(super) archived: bool,
}

/// What was found for a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Recalled {
    Answer(Vec<Found>),
    /// This may be about the same.
    Nearest(String),
    Nothing,
}

/// The search that has not been made for this question yet; each tool is asked once.
pub(super) fn next_search(tools: &[ToolSpec], seen: &Seen, question: &Question, text: &str) -> Option<Call> {
    let query = query(question, text);
    let asked = |name: &str| {
        let same = |call: &PastCall| call.arguments.get("query").and_then(Value::as_str) == Some(query.as_str());
        seen.calls().any(|call| call.name == name && same(call))
    };
    let offered = |name: &&str| calls::find(tools, name).is_some() && !asked(name);
    let name = [RECALL, ARCHIVE].into_iter().find(offered)?;
    let arguments = match name {
        RECALL => json!({"query": query, "roles": ["user"], "limit": RESULTS}),
        _ => json!({"query": query, "top_k": RESULTS}),
    };
    let Value::Object(arguments) = arguments else { return None };
    Some(Call { name: name.to_owned(), arguments })
}

/// The question's own words, and those that its "she" or "it" stands for.
fn query(question: &Question, text: &str) -> String {
    let text: String = text.trim().chars().take(MAX_QUERY).collect();
    let resolved = question.terms.iter().filter(|term| term.at == usize::MAX);
    let resolved = resolved.map(|term| term.word.folded.as_str()).filter(|word| !word.is_empty());
    std::iter::once(text.as_str()).chain(resolved).collect::<Vec<&str>>().join(" ")
}

/// What the visible search results say to `question`. `kept` are the lines of memory, which win over them.
pub(super) fn recall(seen: &Seen, question: &Question, kept: &[Note]) -> Recalled {
    let sources = sources(seen);
    if sources.is_empty() {
        return Recalled::Nothing;
    }
    let notes = statements(seen, &sources, kept);
    let of = |line: &str| notes.iter().rev().find(|note| note.line == line);
    match evidence::find(question, &notes) {
        Findings::Answer(lines) => {
            Recalled::Answer(lines.iter().filter_map(|line| Some(found(of(line)?, question, &sources))).collect())
        }
        Findings::Nearest(line) => Recalled::Nearest(line),
        Findings::Nothing => closest(question, &notes, &sources).map_or(Recalled::Nothing, Recalled::Nearest),
    }
}

/// The statements that still hold, each with the number of its source as its block.
fn statements(seen: &Seen, sources: &[Source], kept: &[Note]) -> Vec<Note> {
    let in_context = replay::texts(seen);
    let searched = sources.iter().enumerate().filter(|(_, source)| !in_context.contains(&source.text.as_str()));
    let searched = searched.map(|(number, source)| match source.archived {
        true => (number, Told::Written(&source.text)),
        false => (number, Told::Said(&source.text)),
    });
    // Lines of memory and of the conversation are no sources, so that they have a number beyond.
    let beyond = sources.len();
    let kept = kept.iter().map(|note| (beyond, Told::Written(&note.line)));
    let in_context = in_context.iter().map(|text| (beyond, Told::Said(text)));
    replay::told(searched.chain(kept).chain(in_context))
}

fn found(note: &Note, question: &Question, sources: &[Source]) -> Found {
    let source = sources.get(note.block);
    let long = note.line.chars().count() > MAX_QUOTE && evidence::names(question, &note.clause);
    let line = if long { &note.clause.text } else { &note.line };
    Found {
        line: line.clone(),
        day: source.and_then(|source| Day::of(&source.timestamp)),
        archived: source.is_some_and(|source| source.archived),
    }
}

/// The line of the source that is closest in meaning, if its words speak for it too.
fn closest(question: &Question, notes: &[Note], sources: &[Source]) -> Option<String> {
    let is_closest = |note: &&Note| sources.get(note.block).is_some_and(|source| source.closest);
    let near = notes.iter().filter(is_closest).find(|note| evidence::touches(question, &note.clause))?;
    Some(near.line.clone())
}

/// Everything that searches gave, where it can be seen, oldest first.
fn sources(seen: &Seen) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    let events = seen.earlier.iter().chain(&seen.since);
    let calls = events.filter_map(|event| match event {
        Event::Call(call) => Some(call),
        Event::User(_) | Event::Agent(_) | Event::Heartbeat(_) => None,
    });
    for call in calls.filter(|call| call.name == RECALL || call.name == ARCHIVE) {
        let returned = call.returned.as_ref().filter(|returned| !returned.failed);
        let results = returned.map(|returned| results_in(&returned.text)).unwrap_or_default();
        for source in results.iter().filter_map(|result| source(result, call.name == ARCHIVE)) {
            let known = |other: &&mut Source| other.text == source.text && other.timestamp == source.timestamp;
            match sources.iter_mut().find(known) {
                Some(other) => other.closest |= source.closest,
                None => sources.push(source),
            }
        }
    }
    // Of what was said in one second, a correction came last.
    sources.sort_by_cached_key(|source| (source.timestamp.clone(), !source.archived && corrects(&source.text)));
    sources
}

fn source(result: &Map<String, Value>, archived: bool) -> Option<Source> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if !archived && text("role") != "user" {
        return None;
    }
    let content = if archived { Some(text("content")) } else { words_of_user(&text("content")) };
    let rank = result.get("relevance").and_then(|relevance| relevance.get("vector_rank")).and_then(Value::as_u64);
    let closest = rank == Some(1) && content.as_deref().is_some_and(|content| archived || states(content));
    Some(Source { text: content?, timestamp: text("timestamp"), archived, closest })
}

/// Whether a message tells something; a question is no answer.
fn states(text: &str) -> bool {
    Speech::read(text).parts.iter().any(|part| matches!(part, Utterance::Fact(_) | Utterance::Archive(_)))
}

/// Whether a message takes back something that was said before it.
fn corrects(text: &str) -> bool {
    Speech::read(text).parts.iter().any(|part| match part {
        Utterance::Fact(fact) => fact.corrects || fact.changes,
        Utterance::Change { .. } | Utterance::Forget(_) => true,
        Utterance::Archive(_) | Utterance::Question(_) | Utterance::Talk(_) | Utterance::Other => false,
    })
}

/// The results in a return, which may be cut off at its end.
fn results_in(text: &str) -> Vec<Map<String, Value>> {
    let list = match text.trim_start().starts_with('[') {
        true => text.trim_start(),
        false => text.find("\"results\"").map_or("", |at| &text[at..]),
    };
    let Some(start) = list.find('[') else { return Vec::new() };
    let mut rest = &list[start + 1..];
    let mut results = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\n', '\r', '\t', ',']);
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        let Some(Ok(result)) = stream.next() else { return results };
        results.push(result);
        rest = &rest[stream.byte_offset()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_from_both_shapes_and_from_a_cut_one() {
        let one = json!({"role": "user", "content": "a ] \"b\"", "relevance": {"vector_rank": 1}});
        let whole = json!({"message": "Showing 2 results:", "results": [one, one]}).to_string();
        let cut = &whole[..whole.len() - 20];
        for (text, count) in [
            (whole.as_str(), 2),
            (cut, 1),
            (&json!([one, one, one]).to_string(), 3),
            ("[]", 0),
            (r#"{"message": "No results found.", "results": []}"#, 0),
            ("The search failed.", 0),
            ("", 0),
        ] {
            assert_eq!(results_in(text).len(), count, "{text}");
        }
    }
}
