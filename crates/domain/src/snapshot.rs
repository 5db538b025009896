//! All that is fixed for one step: what the store knew when the step began.

use std::sync::Arc;

use crate::agent::Agent;
use crate::archive::Archival;
use crate::ids::ConversationId;
use crate::memory::Memory;
use crate::message::Message;
use crate::tool::Tool;

/// One agent in one conversation at one moment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AgentSnapshot {
    pub agent: Arc<Agent>,
    pub conversation: ConversationId,
    /// Blocks in attach order.
    pub memory: Memory,
    /// Tools in attach order.
    pub tools: Arc<[Arc<Tool>]>,
    /// The context list; element 0 is the system message.
    pub context: Arc<Vec<Arc<Message>>>,
    /// All messages ever kept for the agent, in context or not.
    pub message_count: u64,
    pub archival: Archival,
}
