//! The messages that a new agent starts with, after its system message.
//!
//! They show the model by example how it speaks: a first `send_message` with its return, then the user's login. Ids
//! and times come from the caller; nothing here is stored or sent.

use std::sync::Arc;

use domain::{AgentType, ContentPart, Role, Timestamp, ToolCall, ToolReturn, ToolStatus};
use serde_json::json;

use crate::packaging::{boot_return, login, pretty};
use crate::tool_specs::SEND_MESSAGE;

/// The thought before the first message.
pub const INITIAL_BOOT_MESSAGE_SEND_MESSAGE_THOUGHT: &str =
    "Bootup sequence complete. Persona activated. Testing messaging functionality.";
/// The first message.
pub const INITIAL_BOOT_MESSAGE_SEND_MESSAGE_FIRST_MSG: &str = "More human than human is our motto.";
/// Characters that a tool call's id may have.
pub const TOOL_CALL_ID_MAX_LEN: usize = 29;

/// Characters of a call id that local models with the user-first order can repeat.
const SHORT_CALL_ID_LEN: usize = 9;
/// What clients are shown as the return of a call that returned nothing.
const NOTHING: &str = "None";

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootOrder {
    /// The first message, then the login.
    AssistantFirst,
    /// The login, then the first message: some local models refuse a tool call before any user message.
    UserFirst,
}

/// A new agent.
#[derive(Debug, Clone, Copy)]
pub struct Boot<'a> {
    pub kind: AgentType,
    pub order: BootOrder,
    /// A random id for the first tool call; what is too long is cut off.
    pub call_id: &'a str,
    pub at: Timestamp,
    /// The agent's time zone.
    pub zone: &'a str,
}

/// A message without the ids that the caller gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitialMessage {
    pub role: Role,
    pub content: Vec<ContentPart>,
    pub tool_calls: Vec<ToolCall>,
    pub tool_returns: Vec<ToolReturn>,
    pub name: Option<Arc<str>>,
}

/// The first messages in order, without the system message.
pub fn initial_sequence(boot: &Boot<'_>) -> Vec<InitialMessage> {
    let login = InitialMessage {
        role: Role::User,
        content: vec![ContentPart::text(login(boot.at, boot.zone))],
        tool_calls: Vec::new(),
        tool_returns: Vec::new(),
        name: None,
    };
    match (opening(boot.kind), boot.order) {
        (Opening::Nothing, _) => Vec::new(),
        (Opening::Login, _) => vec![login],
        (Opening::MessageAndLogin, BootOrder::AssistantFirst) => {
            let [call, returned] = first_message(boot, TOOL_CALL_ID_MAX_LEN);
            vec![call, returned, login]
        }
        (Opening::MessageAndLogin, BootOrder::UserFirst) => {
            let [call, returned] = first_message(boot, SHORT_CALL_ID_LEN);
            vec![login, call, returned]
        }
    }
}

enum Opening {
    Nothing,
    Login,
    MessageAndLogin,
}

/// Memory keepers don't speak. React and workflow agents are made without `send_message`, and a call in the history
/// to a tool that isn't offered would teach the model to call it.
fn opening(kind: AgentType) -> Opening {
    match kind {
        AgentType::LettaV1 => Opening::Nothing,
        AgentType::Sleeptime | AgentType::VoiceSleeptime | AgentType::React | AgentType::Workflow => Opening::Login,
        AgentType::Memgpt | AgentType::MemgptV2 | AgentType::SplitThread | AgentType::VoiceConvo => {
            Opening::MessageAndLogin
        }
    }
}

/// The call and its return. The thought is kept on the message; whether a model sees it is decided by the history.
fn first_message(boot: &Boot<'_>, id_len: usize) -> [InitialMessage; 2] {
    let id: Arc<str> = boot.call_id.chars().take(id_len).collect::<String>().into();
    let name: Arc<str> = SEND_MESSAGE.into();
    let arguments = pretty(&json!({ "message": INITIAL_BOOT_MESSAGE_SEND_MESSAGE_FIRST_MSG }));
    let thought = INITIAL_BOOT_MESSAGE_SEND_MESSAGE_THOUGHT.into();
    let call = InitialMessage {
        role: Role::Assistant,
        content: vec![ContentPart::Reasoning { text: thought, is_native: false, signature: None }],
        tool_calls: vec![ToolCall { id: id.clone(), name: name.clone(), arguments: arguments.into() }],
        tool_returns: Vec::new(),
        name: None,
    };
    let status = ToolStatus::Success;
    let returned = InitialMessage {
        role: Role::Tool,
        content: vec![ContentPart::text(boot_return(boot.at, boot.zone))],
        tool_calls: Vec::new(),
        tool_returns: vec![ToolReturn { call_id: id, name: name.clone(), status, text: NOTHING.into() }],
        name: Some(name),
    };
    [call, returned]
}

#[cfg(test)]
#[path = "initial_tests.rs"]
mod tests;
