//! What each durable change does to the snapshots in memory.
//!
//! Frequent changes are made in place, rare ones drop the entry, which is then read again when it is next wanted.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{AgentId, Block, BlockId, ConversationId, Memory, Message, Standing};

use crate::apply::{ContextMessage, Effect};
use crate::cache::Entries;
use crate::messages;

impl Effect {
    /// Whether a snapshot of this agent and conversation might be another after the change.
    pub(crate) fn touches(&self, agent: AgentId, conversation: ConversationId) -> bool {
        match self {
            Self::AgentChanged(changed) | Self::AgentDeleted(changed) | Self::MembersChanged(changed) => {
                *changed == agent
            }
            Self::BlockDetached { agent: changed, .. }
            | Self::PersonBlocksChanged { agent: changed, .. }
            | Self::RunCompleted { agent: changed, .. } => *changed == agent,
            Self::MessagesInserted(messages) => messages.iter().any(|message| message.agent == agent),
            Self::MessageRewritten(message) => message.conversation == conversation,
            Self::ContextAppended { conversation: changed, .. }
            | Self::ContextReplaced { conversation: changed, .. }
            | Self::MessagesSuperseded { conversation: changed, .. }
            | Self::ConversationBlocksChanged(changed) => *changed == conversation,
            Self::PassagesInserted { .. } | Self::KeyMade(_) | Self::KeyRevoked(_) => false,
            // Blocks and tools are shared: any agent may have them.
            Self::BlockChanged(_)
            | Self::BlockDeleted(_)
            | Self::ToolChanged(_)
            | Self::RunsClosed
            | Self::Repaired => true,
        }
    }

    /// Whether a listing of agents might find others after the change.
    pub(crate) fn changes_listings(&self) -> bool {
        matches!(self, Self::AgentChanged(_) | Self::AgentDeleted(_) | Self::Repaired)
    }
}

impl Entries {
    /// Makes the entries what the database holds now.
    pub(crate) fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::AgentChanged(agent) | Effect::MembersChanged(agent) => {
                self.agents.remove(&agent);
            }
            Effect::AgentDeleted(agent) => {
                self.agents.remove(&agent);
                self.conversations.retain(|_, entry| entry.agent != agent);
            }
            Effect::BlockChanged(block) => self.change_block(&block),
            Effect::BlockDeleted(block) => {
                self.agents.values_mut().for_each(|entry| without_block(&mut entry.memory, block));
                self.conversations.values_mut().for_each(|entry| entry.blocks.remove(block));
            }
            Effect::BlockDetached { agent, block } => {
                if let Some(entry) = self.agents.get_mut(&agent) {
                    without_block(&mut entry.memory, block);
                }
                let talks = self.conversations.values_mut().filter(|entry| entry.agent == agent);
                talks.for_each(|entry| entry.blocks.remove(block));
            }
            Effect::PersonBlocksChanged { agent, identity } => {
                self.conversations.retain(|_, entry| (entry.agent, entry.identity) != (agent, Some(identity)));
            }
            Effect::ConversationBlocksChanged(conversation) => {
                self.conversations.remove(&conversation);
            }
            Effect::ToolChanged(tool) => {
                self.agents.retain(|_, entry| entry.tools.iter().all(|has| has.id != tool));
            }
            Effect::MessagesInserted(messages) => messages.iter().for_each(|message| self.count(message)),
            // Agents that have the archive are named by effects of their own, and keys are kept elsewhere.
            Effect::PassagesInserted { .. } | Effect::KeyMade(_) | Effect::KeyRevoked(_) => {}
            Effect::MessageRewritten(message) => self.rewrite(&message),
            Effect::MessagesSuperseded { conversation, from } => self.supersede(conversation, from),
            Effect::ContextAppended { conversation, messages } => self.append(conversation, messages),
            Effect::ContextReplaced { conversation, messages } => self.replace(conversation, messages),
            Effect::RunCompleted { agent, at, reason } => {
                if let Some(entry) = self.agents.get_mut(&agent)
                    && entry.agent.last_run_completion.is_none_or(|last| last <= at)
                {
                    let agent = Arc::make_mut(&mut entry.agent);
                    agent.last_run_completion = Some(at);
                    agent.last_stop_reason = reason;
                }
            }
            Effect::RunsClosed => self.agents.clear(),
            Effect::Repaired => {
                self.agents.clear();
                self.conversations.clear();
            }
        }
    }

    /// One more message of an agent.
    fn count(&mut self, message: &Message) {
        if let Some(entry) = self.agents.get_mut(&message.agent) {
            entry.message_count += u64::from(message.standing != Standing::Example);
        }
    }

    fn change_block(&mut self, block: &Arc<Block>) {
        for entry in self.agents.values_mut() {
            let Some(old) = entry.memory.by_id(block.id) else { continue };
            let new = changed(old, block);
            let blocks = entry.memory.blocks().iter();
            entry.memory =
                Memory::new(blocks.map(|has| if has.id == new.id { new.clone() } else { has.clone() }).collect());
        }
        let scoped = self.conversations.values_mut().flat_map(|entry| entry.blocks.iter_mut());
        for has in scoped.filter(|has| has.id == block.id) {
            *has = changed(has, block);
        }
    }

    fn supersede(&mut self, conversation: ConversationId, from: u64) {
        let Some(entry) = self.conversations.get_mut(&conversation) else { return };
        for has in Arc::make_mut(&mut entry.context) {
            if messages::is_superseded_from(has, from) {
                *has = messages::superseded(has);
            }
        }
    }

    fn rewrite(&mut self, message: &Message) {
        let Some(entry) = self.conversations.get_mut(&message.conversation) else { return };
        if !entry.context.iter().any(|has| has.id == message.id) {
            return;
        }
        // A list may hold a message more than once.
        for has in Arc::make_mut(&mut entry.context).iter_mut().filter(|has| has.id == message.id) {
            *has = messages::rewritten(has, message);
        }
    }

    fn append(&mut self, conversation: ConversationId, messages: Vec<ContextMessage>) {
        let Some(entry) = self.conversations.get_mut(&conversation) else { return };
        let new: Option<Vec<_>> = messages.into_iter().map(|(_, message)| message).collect();
        match new {
            // A running step may hold the old list; then this copies two hundred pointers, which takes a microsecond.
            Some(new) => {
                Arc::make_mut(&mut entry.context).extend(new.iter().cloned());
                self.after_growth(&new);
            }
            None => {
                self.conversations.remove(&conversation);
            }
        }
    }

    fn replace(&mut self, conversation: ConversationId, messages: Vec<ContextMessage>) {
        let Some(entry) = self.conversations.get_mut(&conversation) else { return };
        let old: HashMap<_, _> = entry.context.iter().map(|message| (message.id, message)).collect();
        let new: Option<Vec<_>> =
            messages.into_iter().map(|(id, message)| message.or_else(|| old.get(&id).copied().cloned())).collect();
        match new {
            Some(new) => entry.context = Arc::new(new),
            // A message came back from recall memory.
            None => {
                self.conversations.remove(&conversation);
            }
        }
    }
}

/// `old` after it became `new`. Who made a block and when never changes, whatever the caller's copy says.
fn changed(old: &Block, new: &Block) -> Arc<Block> {
    let mut new = new.clone();
    new.organization = old.organization;
    new.created_by = old.created_by;
    new.created_at = old.created_at;
    Arc::new(new)
}

fn without_block(memory: &mut Memory, block: BlockId) {
    if memory.by_id(block).is_some() {
        *memory = Memory::new(memory.blocks().iter().filter(|has| has.id != block).cloned().collect());
    }
}
