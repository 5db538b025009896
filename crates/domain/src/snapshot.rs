//! All that is fixed for one step: what the store knew when the step began.

use std::sync::Arc;

use crate::agent::Agent;
use crate::archive::Archival;
use crate::ids::{ConversationId, IdentityId};
use crate::memory::Memory;
use crate::message::{Message, Role, ToolCall};
use crate::tool::Tool;

/// One agent in one conversation at one moment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AgentSnapshot {
    pub agent: Arc<Agent>,
    pub conversation: ConversationId,
    /// The person whose conversation it is: their own blocks take the place of the agent's, and only their past is
    /// searched. None is whoever names nobody.
    pub identity: Option<IdentityId>,
    /// The agent's blocks in attach order, those of the person in place of the agent's of the same label, then those
    /// of the conversation.
    pub memory: Memory,
    /// Tools in attach order.
    pub tools: Arc<[Arc<Tool>]>,
    /// The context list; element 0 is the system message.
    pub context: Arc<Vec<Arc<Message>>>,
    /// All messages ever kept for the agent, in context or not.
    pub message_count: u64,
    pub archival: Archival,
}

/// Calls at the end of a context that wait for a client's results.
pub fn waiting_calls(context: &[Arc<Message>]) -> Vec<&ToolCall> {
    let Some(asked) = context.iter().rposition(|message| message.role == Role::Assistant) else {
        return Vec::new();
    };
    let later = &context[asked + 1..];
    if later.iter().any(|message| message.role != Role::Tool) {
        return Vec::new();
    }
    let answered = |id: &str| {
        later.iter().flat_map(|message| message.tool_returns.iter()).any(|returned| &*returned.call_id == id)
    };
    context[asked].tool_calls.iter().filter(|call| !answered(&call.id)).collect()
}
