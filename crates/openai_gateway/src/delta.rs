//! What is new in a request. Pure.
//!
//! Clients send their whole history with every request, or only their newest message; the agent remembers the rest. New
//! are the results of tools after the last answer, and what the user said after it. Everything before is the past.

use std::sync::Arc;

use dispatch::request::{ClientReturn, PastMessage};
use domain::{ContentPart, Digest, Message, Role, Standing, ToolCall, ToolReturn, ToolStatus};

use crate::error::ApiError;
use crate::tool_bridge::Bridge;
use crate::wire::chat_messages::{ClientMessage, ClientRole};
use crate::wire::chat_request::ChatRequest;

/// Bytes of a call's id that every vendor takes.
const MAX_CALL_ID: usize = 40;
/// Between the texts of several system messages.
const BETWEEN: &str = "\n\n";

/// A request, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Delta<'a> {
    /// User, assistant and tool messages up to the last answer.
    pub(crate) past: Vec<&'a ClientMessage>,
    /// What users said after the last answer and before the newest message; a client may split what it says.
    pub(crate) said: Vec<&'a ClientMessage>,
    pub(crate) newest: Option<&'a ClientMessage>,
    /// Results of tools after the last answer, in order: id or function name, and text.
    results: Vec<(ResultOf<'a>, String)>,
}

/// Which call a result is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultOf<'a> {
    Call(&'a str),
    /// A result of the old kind, which knows only the function.
    Function(&'a str),
}

/// All system texts of a request as one, without what no store keeps.
pub(crate) fn system_text(messages: &[ClientMessage]) -> String {
    let texts: Vec<String> = messages
        .iter()
        .filter(|message| message.role == ClientRole::System)
        .map(ClientMessage::text)
        .filter(|text| !text.trim().is_empty())
        .collect();
    texts.join(BETWEEN).replace("\r\n", "\n").replace('\r', "\n")
}

impl<'a> Delta<'a> {
    /// Takes `request` apart.
    pub(crate) fn of(request: &'a ChatRequest) -> Self {
        let spoken: Vec<&ClientMessage> =
            request.messages.iter().filter(|message| message.role != ClientRole::System).collect();
        let after = spoken.iter().rposition(|message| message.role == ClientRole::Assistant).map_or(0, |last| last + 1);
        let (past, tail) = spoken.split_at(after);
        let mut said: Vec<&ClientMessage> =
            tail.iter().filter(|message| message.role == ClientRole::User).copied().collect();
        let newest = said.pop();
        let loose = request.results.iter().map(|result| (ResultOf::Call(&result.tool_call_id), result.text.clone()));
        let trailing = tail.iter().filter(|message| message.role == ClientRole::Tool).map(|message| {
            let of = match (&message.tool_call_id, &message.name) {
                (Some(id), _) => ResultOf::Call(id),
                (None, name) => ResultOf::Function(name.as_deref().unwrap_or_default()),
            };
            (of, message.text())
        });
        Self { past: past.to_vec(), said, newest, results: loose.chain(trailing).collect() }
    }

    /// Whether there is neither a user's message nor a result to forward.
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.is_none() && self.results.is_empty()
    }

    /// Whether the client shows an answer that it was given.
    pub(crate) fn has_answers(&self) -> bool {
        !self.past.is_empty()
    }

    /// Digests of what users said before the newest message, oldest first.
    pub(crate) fn earlier(&self) -> Vec<Digest> {
        let past = self.past.iter().filter(|message| message.role == ClientRole::User);
        past.chain(&self.said).map(|message| message.digest()).collect()
    }

    /// The past as a run takes it over. Calls without results are left out, but for those of the last answer, which
    /// may be what the new results are of.
    pub(crate) fn history(&self, bridge: &Bridge, standing: Standing) -> Vec<PastMessage> {
        let mut taken = Taken { bridge, standing, messages: Vec::with_capacity(self.past.len()) };
        taken.take(&self.past, !self.results.is_empty());
        taken.messages
    }

    /// The results as returns of the calls that wait, or what is wrong with them. A client that did not get the answer
    /// to its results sends them again before what its user says next: those in `context` are let pass then.
    pub(crate) fn returns(
        &self,
        waiting: &[&ToolCall],
        context: &[Arc<Message>],
        bridge: &Bridge,
    ) -> Result<Vec<ClientReturn>, ApiError> {
        let mut returns: Vec<ClientReturn> = Vec::with_capacity(self.results.len());
        let (mut unknown, mut repeated) = (Vec::new(), Vec::new());
        for (of, text) in &self.results {
            let answers = |call: &&&ToolCall| match of {
                // A call of a history that was taken over may have got a shorter id.
                ResultOf::Call(id) => *call.id == **id || *call.id == *call_id(id),
                ResultOf::Function(name) => *call.name == *bridge.offered(name),
            };
            let named = match of {
                ResultOf::Call(name) | ResultOf::Function(name) => *name,
            };
            let is_known = |given: &ToolReturn| match of {
                ResultOf::Call(id) => *given.call_id == **id || *given.call_id == *call_id(id),
                ResultOf::Function(name) => *given.name == *bridge.offered(name),
            };
            match waiting.iter().find(answers) {
                None if self.newest.is_some()
                    && context.iter().flat_map(|message| message.tool_returns.iter()).any(is_known) => {}
                None => unknown.push(named),
                Some(call) if returns.iter().any(|given| given.call_id == call.id) => repeated.push(named),
                Some(call) => returns.push(ClientReturn {
                    call_id: call.id.clone(),
                    status: ToolStatus::Success,
                    text: text.as_str().into(),
                }),
            }
        }
        let missing: Vec<&str> = waiting
            .iter()
            .filter(|call| !returns.iter().any(|given| given.call_id == call.id))
            .map(|call| &*call.id)
            .collect();
        // Whoever says something new gives up what it has not run; whoever only brings results must bring them all.
        let is_short = self.newest.is_none() && !missing.is_empty();
        match (unknown.is_empty(), repeated.is_empty(), is_short) {
            (true, true, false) => Ok(returns),
            (false, _, _) => Err(wrong("are not calls that wait for a result in this session", &unknown)),
            (true, false, _) => Err(wrong("have more than one result", &repeated)),
            (true, true, true) => Err(wrong("wait for a result and have none in this request", &missing)),
        }
    }
}

fn wrong(what: &str, ids: &[&str]) -> ApiError {
    let shown: Vec<String> =
        ids.iter().take(20).map(|id| format!("`{}`", id.chars().take(80).collect::<String>())).collect();
    let text = format!("These `tool_call_id`s {what}: {}.", shown.join(", "));
    ApiError::invalid(text, Some("messages"), Some("invalid_tool_call_id"))
}

/// A user's message of the past.
pub(crate) fn past_user(message: &ClientMessage, standing: Standing) -> PastMessage {
    PastMessage {
        role: Role::User,
        content: message.content.clone(),
        tool_calls: Arc::new([]),
        tool_returns: Arc::new([]),
        name: message.name.clone(),
        standing,
        text: Some(message.digest()),
    }
}

/// A whole request as a model is shown it, where nothing is kept of it.
pub(crate) fn transcript(messages: &[ClientMessage], bridge: &Bridge) -> Vec<PastMessage> {
    let all: Vec<&ClientMessage> = messages.iter().collect();
    let mut taken = Taken { bridge, standing: Standing::Kept, messages: Vec::with_capacity(all.len()) };
    taken.take(&all, false);
    taken.messages
}

/// Messages of a client, as they are taken over.
struct Taken<'a> {
    bridge: &'a Bridge,
    standing: Standing,
    messages: Vec<PastMessage>,
}

impl Taken<'_> {
    /// Takes messages over in order. `last_waits`: calls of the last answer may be without results.
    fn take(&mut self, messages: &[&ClientMessage], last_waits: bool) {
        for (index, message) in messages.iter().enumerate() {
            match message.role {
                ClientRole::User => self.messages.push(past_user(message, self.standing)),
                ClientRole::System => self.push(Role::System, message.content.clone(), Vec::new(), Vec::new()),
                ClientRole::Assistant => {
                    let later = &messages[index + 1..];
                    self.answer(message, later, later.is_empty() && last_waits);
                }
                // Each is taken together with the call that it answers.
                ClientRole::Tool => {}
            }
        }
    }

    /// An answer with its calls, and their results.
    fn answer(&mut self, message: &ClientMessage, later: &[&ClientMessage], may_wait: bool) {
        let results: Vec<&&ClientMessage> =
            later.iter().take_while(|message| message.role == ClientRole::Tool).collect();
        let result_of = |call: &ToolCall| {
            results.iter().find(|result| match &result.tool_call_id {
                Some(id) => *id == call.id,
                None => result.name.as_ref() == Some(&call.name),
            })
        };
        let (mut calls, mut returns) = (Vec::new(), Vec::new());
        for call in &message.tool_calls {
            let result = result_of(call);
            if result.is_none() && !may_wait {
                continue;
            }
            let call = renamed(call, self.bridge);
            returns.extend(result.map(|result| ToolReturn {
                call_id: call.id.clone(),
                name: call.name.clone(),
                status: ToolStatus::Success,
                text: result.text().into(),
            }));
            calls.push(call);
        }
        if message.content.is_empty() && calls.is_empty() {
            return;
        }
        self.push(Role::Assistant, message.content.clone(), calls, Vec::new());
        if !returns.is_empty() {
            let content = returns.iter().map(|returned| ContentPart::text(returned.text.clone())).collect();
            self.push(Role::Tool, content, Vec::new(), returns);
        }
    }

    fn push(
        &mut self,
        role: Role,
        content: Arc<[ContentPart]>,
        tool_calls: Vec<ToolCall>,
        tool_returns: Vec<ToolReturn>,
    ) {
        self.messages.push(PastMessage {
            role,
            content,
            tool_calls: tool_calls.into(),
            tool_returns: tool_returns.into(),
            name: None,
            standing: self.standing,
            text: None,
        });
    }
}

/// Calls at the end of a history that have no result in it.
pub(crate) fn waiting(history: &[PastMessage]) -> Vec<&ToolCall> {
    let Some(asked) = history.iter().rposition(|message| message.role == Role::Assistant) else { return Vec::new() };
    let answered = |id: &str| {
        history[asked + 1..].iter().flat_map(|message| message.tool_returns.iter()).any(|given| &*given.call_id == id)
    };
    history[asked].tool_calls.iter().filter(|call| !answered(&call.id)).collect()
}

/// A call under the name that the model is shown, with arguments that every vendor can read.
fn renamed(call: &ToolCall, bridge: &Bridge) -> ToolCall {
    let is_object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.arguments).is_ok();
    let arguments = if is_object {
        call.arguments.clone()
    } else {
        serde_json::json!({"invalid_arguments": &*call.arguments}).to_string().into()
    };
    ToolCall { id: call_id(&call.id), name: bridge.offered(&call.name), arguments }
}

/// The id of a call of which a client tells. Some make longer ones than vendors take.
fn call_id(id: &str) -> Arc<str> {
    if (1..=MAX_CALL_ID).contains(&id.len()) {
        return id.into();
    }
    format!("call_{}", &crate::session_name::text_digest(id).to_string()[..24]).into()
}
