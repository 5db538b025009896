//! What of a row is searched: the words, and what a search may be limited to.

use domain::{Message, Passage, Role, Standing};

use crate::words::{Mark, Term, mark};

/// The tool whose calls and returns are never found, or a search would find searches.
const CONVERSATION_SEARCH: &str = "conversation_search";
/// Types of envelopes that the runtime writes in the user's place.
const EVENTS: [&str; 3] = ["heartbeat", "login", "system_alert"];

/// A row as the index sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    pub(crate) number: u64,
    /// Microseconds since 1970.
    pub(crate) at: i64,
    pub(crate) role: Role,
    /// Documents of one thread are neighbours; none means that it stands alone.
    pub(crate) thread: Option<[u8; 16]>,
    /// What it is marked with, for filters.
    pub(crate) marks: Vec<Term>,
    /// The one of its marks that says whose it is.
    pub(crate) person: Option<Term>,
    /// A client went back to before it.
    pub(crate) superseded: bool,
    /// Who speaks, where the row says so.
    pub(crate) speaker: Option<String>,
    pub(crate) text: String,
}

impl Document {
    /// The document of a message; none if there is nothing in it that anybody would search for. An example was never
    /// said.
    pub(crate) fn of_message(message: &Message) -> Option<Self> {
        if message.standing == Standing::Example {
            return None;
        }
        let text = searchable_text(message)?;
        let mut marks = vec![mark(Mark::Conversation, message.conversation.as_bytes())];
        let person = message.identity.map(|identity| mark(Mark::Identity, identity.as_bytes()));
        marks.extend(person);
        Some(Self {
            number: message.sequence_id,
            at: message.created_at.as_microsecond(),
            role: message.role,
            thread: Some(*message.conversation.as_bytes()),
            marks,
            person,
            superseded: message.standing == Standing::Superseded,
            speaker: message.name.as_deref().map(str::to_owned),
            text,
        })
    }

    pub(crate) fn of_passage(passage: &Passage) -> Self {
        Self {
            number: passage.number,
            at: passage.created_at.as_microsecond(),
            role: Role::User,
            thread: None,
            marks: passage.tags.iter().map(|tag| mark(Mark::Tag, tag.as_bytes())).collect(),
            person: None,
            superseded: false,
            speaker: None,
            text: passage.text.to_string(),
        }
    }
}

/// The words of a message as a person would look for them: what was said, also by `send_message`. Tool messages, events
/// of the runtime, system messages and searches have none.
pub fn searchable_text(message: &Message) -> Option<String> {
    match message.role {
        Role::System | Role::Tool | Role::Approval => return None,
        Role::User | Role::Assistant => {}
    }
    if message.tool_calls.iter().any(|call| &*call.name == CONVERSATION_SEARCH) {
        return None;
    }
    let spoken = message.tool_calls.iter().filter_map(domain::ToolCall::spoken);
    let said = message.texts().map(str::to_owned).chain(spoken).collect::<Vec<_>>().join("\n");
    if message.role == Role::User {
        return said_by_user(said);
    }
    Some(said).filter(|said| !said.trim().is_empty())
}

/// Takes what a person said out of its envelope; none for events.
fn said_by_user(text: String) -> Option<String> {
    if text.trim().is_empty() {
        return None;
    }
    if !text.trim_start().starts_with('{') {
        return Some(text);
    }
    let Ok(serde_json::Value::Object(envelope)) = serde_json::from_str(&text) else { return Some(text) };
    let field = |name: &str| envelope.get(name).and_then(serde_json::Value::as_str);
    match (field("type"), field("message")) {
        (Some(kind), _) if EVENTS.contains(&kind) => None,
        (Some("user_message"), Some(message)) => Some(message.to_owned()),
        _ => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_taken_out_of_envelopes_and_events_left_out() {
        for (text, expected) in [
            ("Hello", Some("Hello")),
            (r#"{"type": "user_message", "message": "Hi", "time": "x"}"#, Some("Hi")),
            (r#"{"type": "heartbeat", "reason": "x"}"#, None),
            (r#"{"type": "login", "last_login": "x"}"#, None),
            (r#"{"type": "system_alert", "message": "summary"}"#, None),
            (r#"{"a": 1}"#, Some(r#"{"a": 1}"#)),
            (r#"{"half"#, Some(r#"{"half"#)),
            ("  \n", None),
        ] {
            assert_eq!(said_by_user(text.to_owned()).as_deref(), expected, "{text}");
        }
    }
}
