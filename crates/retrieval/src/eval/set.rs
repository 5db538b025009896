//! Reads a set of conversations with questions, in the format of LoCoMo.

use std::collections::HashMap;

use domain::Timestamp;
use serde_json::{Map, Value};

use super::moment;

/// Seconds between two turns, where a set says only when a session was.
const TURN_SECONDS: i64 = 20;
/// Seconds between two sessions at least.
const SESSION_SECONDS: i64 = 2 * 60 * 60;
const DAY_SECONDS: i64 = 24 * 60 * 60;
/// Speakers that are roles and not names.
const ROLES: [&str; 6] = ["user", "human", "assistant", "ai", "bot", "system"];
const ASSISTANTS: [&str; 3] = ["assistant", "ai", "bot"];

/// Why a file is not such a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    #[error("the file is not JSON: {0}")]
    NotJson(String),
    #[error("{0}")]
    BadShape(String),
}

/// One conversation with its questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub turns: Vec<Turn>,
    /// Questions that have evidence.
    pub questions: Vec<Question>,
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub id: String,
    /// None where the set names no person but a role.
    pub speaker: Option<String>,
    pub is_assistant: bool,
    pub text: String,
    pub at: Timestamp,
}

/// A question and which turns answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub text: String,
    pub category: String,
    /// Places of turns; none for an id that no turn has, which can't be found.
    pub evidence: Vec<Option<usize>>,
    /// Only turns before this one may be searched.
    pub before: Option<usize>,
}

/// Reads all samples of a file.
pub fn read(text: &str) -> Result<Vec<Sample>, SetError> {
    let parsed: Value = serde_json::from_str(text).map_err(|error| SetError::NotJson(error.to_string()))?;
    let samples = match parsed {
        Value::Array(samples) => samples,
        one @ Value::Object(_) => vec![one],
        _ => return Err(SetError::BadShape("the file holds no list of samples".to_owned())),
    };
    samples.iter().enumerate().map(|(number, sample)| read_sample(number, sample)).collect()
}

fn read_sample(number: usize, sample: &Value) -> Result<Sample, SetError> {
    let name = sample.get("sample_id").map_or_else(|| number.to_string(), words);
    let wrong = |what: &str| SetError::BadShape(format!("sample `{name}` has {what}"));
    let conversation =
        sample.get("conversation").and_then(Value::as_object).ok_or_else(|| wrong("no `conversation` object"))?;
    let (turns, starts) = read_turns(conversation).map_err(|what| wrong(&what))?;
    if turns.is_empty() {
        return Err(wrong("no turns"));
    }
    let places: HashMap<&str, usize> =
        turns.iter().enumerate().map(|(place, turn)| (turn.id.as_str(), place)).collect();
    let qa = sample.get("qa").and_then(Value::as_array).ok_or_else(|| wrong("no list `qa`"))?;
    let mut questions = Vec::with_capacity(qa.len());
    for entry in qa {
        let text =
            entry.get("question").and_then(Value::as_str).ok_or_else(|| wrong("a question without `question`"))?;
        let evidence = entry.get("evidence").map(|ids| evidence(ids, &places)).unwrap_or_default();
        if evidence.is_empty() {
            continue;
        }
        let before = match entry.get("before").filter(|id| !id.is_null()).map(words) {
            Some(id) => Some(border(&id, &places, &starts).ok_or_else(|| wrong(&format!("no turn `{id}`")))?),
            None => None,
        };
        let category = entry.get("category").map_or_else(|| "none".to_owned(), words);
        questions.push(Question { text: text.to_owned(), category, evidence, before });
    }
    Ok(Sample { name, turns, questions })
}

/// The place of each session's first turn, by the session's number.
type Starts = Vec<(u64, usize)>;

/// The turns of all sessions in order, and the place of each session's first turn by its number.
fn read_turns(conversation: &Map<String, Value>) -> Result<(Vec<Turn>, Starts), String> {
    let mut sessions: Vec<(u64, &Vec<Value>)> = conversation
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("session_")?.parse().ok()?, value.as_array()?)))
        .collect();
    sessions.sort_unstable_by_key(|(number, _)| *number);
    let second_speaker = conversation.get("speaker_b").and_then(Value::as_str);
    let (mut turns, mut starts) = (Vec::new(), Vec::new());
    let mut clock: Option<i64> = None;
    for (number, session) in sessions {
        let told = conversation.get(&format!("session_{number}_date_time")).and_then(Value::as_str);
        let told = told.and_then(moment::parse).map(|at| at.as_second());
        let begin = match (told, clock) {
            (Some(told), Some(clock)) => told.max(clock + SESSION_SECONDS),
            (Some(told), None) => told,
            (None, clock) => clock.unwrap_or_default() + DAY_SECONDS,
        };
        starts.push((number, turns.len()));
        for (place, turn) in (0..).zip(session) {
            let seconds = begin + place * TURN_SECONDS;
            clock = Some(seconds);
            let at = Timestamp::from_second(seconds).map_err(|_| "a time that is out of range".to_owned())?;
            turns.push(read_turn(turn, at, second_speaker)?);
        }
    }
    Ok((turns, starts))
}

fn read_turn(turn: &Value, at: Timestamp, second_speaker: Option<&str>) -> Result<Turn, String> {
    let field = |name: &str| turn.get(name).and_then(Value::as_str);
    let id = turn.get("dia_id").map(words).ok_or("a turn without `dia_id`")?;
    let text = field("text").ok_or_else(|| format!("no `text` in turn `{id}`"))?.to_owned();
    let speaker = field("speaker").unwrap_or_default();
    let lower = speaker.to_lowercase();
    let is_role = lower.is_empty() || ROLES.contains(&lower.as_str());
    // Of two people the second has the agent's place.
    let is_assistant = ASSISTANTS.contains(&lower.as_str()) || (!is_role && second_speaker == Some(speaker));
    Ok(Turn { id, speaker: (!is_role).then(|| speaker.to_owned()), is_assistant, text, at })
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Places of the turns that are named; several ids in one text are told apart, and zeros in front don't count.
fn evidence(ids: &Value, places: &HashMap<&str, usize>) -> Vec<Option<usize>> {
    let listed: Vec<String> = match ids {
        Value::Array(ids) => ids.iter().map(words).collect(),
        Value::String(id) => vec![id.clone()],
        _ => Vec::new(),
    };
    let mut found: Vec<Option<usize>> = Vec::new();
    let mut add = |place: Option<usize>| {
        if place.is_none() || !found.contains(&place) {
            found.push(place);
        }
    };
    for id in listed.iter().map(|id| id.trim()).filter(|id| !id.is_empty()) {
        if let Some(place) = places.get(id) {
            add(Some(*place));
            continue;
        }
        let parts = id.split(|c: char| c.is_whitespace() || ";,".contains(c)).filter(|part| !part.is_empty());
        parts.for_each(|part| add(places.get(part).or_else(|| places.get(repaired(part).as_str())).copied()));
    }
    found
}

/// `D:11:026` as `D11:26`.
fn repaired(id: &str) -> String {
    let digits: Vec<u64> = id.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    match digits[..] {
        [session, turn] => format!("D{session}:{turn}"),
        _ => id.to_owned(),
    }
}

/// The place of a turn, or of the first one of its session or a later one.
fn border(id: &str, places: &HashMap<&str, usize>, starts: &[(u64, usize)]) -> Option<usize> {
    let known = places.get(id).or_else(|| places.get(repaired(id).as_str())).copied();
    known.or_else(|| {
        let session: u64 = id.trim_start_matches(|c: char| !c.is_ascii_digit()).split(':').next()?.parse().ok()?;
        starts.iter().find(|(number, _)| *number >= session).map(|(_, place)| *place)
    })
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
