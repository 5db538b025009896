//! What fills an agent's context window, part by part, in tokens.
//!
//! Pure. The parts are those that clients know; together they are everything that the next request would show.

use std::sync::Arc;

use domain::seams::chat_model::ToolSpec;
use domain::{AgentSnapshot, Message, Role};

use crate::compaction::{CutGoal, plan_cut};
use crate::history::HistoryOptions;
use crate::memory::render_blocks;
use crate::system::{CORE_MEMORY, SystemInput, metadata_of};
use crate::tokens::{Family, PER_REQUEST, message_tokens, tools_tokens};
use crate::{directories, rule_text};

/// A text and its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    pub text: String,
    pub tokens: u64,
}

/// Everything in a context window.
#[derive(Debug, Clone)]
pub struct ContextOverview {
    /// Tokens that the window holds.
    pub window: u32,
    /// The base prompt.
    pub system: Section,
    pub blocks: Section,
    pub tool_rules: Option<Section>,
    pub directories: Option<Section>,
    /// What the model is told about memory that it doesn't see.
    pub metadata: Section,
    /// What stands in the place of messages that have left.
    pub summary: Option<Section>,
    pub tools: Arc<[ToolSpec]>,
    pub tools_tokens: u64,
    /// The whole context list, the system message and the summary included.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// Of the messages that no other part has.
    pub messages_tokens: u64,
    /// All messages ever kept, in context or not.
    pub message_count: u64,
    /// Passages of all archives.
    pub passages: u64,
}

impl ContextOverview {
    /// Tokens of all parts.
    pub fn total(&self) -> u64 {
        let parts = [&self.system, &self.blocks, &self.metadata].map(|part| part.tokens);
        let optional = [&self.tool_rules, &self.directories, &self.summary];
        let optional = optional.iter().filter_map(|part| part.as_ref()).map(|part| part.tokens);
        parts.into_iter().chain(optional).sum::<u64>() + self.tools_tokens + self.messages_tokens
    }
}

/// Takes a context apart.
pub fn overview(
    snapshot: &AgentSnapshot,
    input: &SystemInput<'_>,
    tools: Arc<[ToolSpec]>,
    options: &HistoryOptions,
) -> ContextOverview {
    let config = &snapshot.agent.llm_config;
    let family = Family::of_model(config.handle.model());
    let section = |text: String| Section { tokens: family.count(&text), text };
    let context = &snapshot.context;
    let everything = CutGoal { mode: domain::CompactionMode::SlidingWindow, keep_tokens: u64::MAX, pinned: 0 };
    let cut = plan_cut(context, &[], &everything);
    let texts = |indexes: &[usize]| {
        let texts = indexes.iter().map(|index| context[*index].first_text().to_owned());
        texts.collect::<Vec<_>>().join("\n")
    };
    let stored = context.first().filter(|message| message.role == Role::System);
    let metadata = stored.and_then(|message| metadata_of(message.first_text())).unwrap_or_default();
    let messages = cut.kept.iter().map(|index| message_tokens(&context[*index], options, family));
    ContextOverview {
        window: config.context_window,
        system: section(input.base.replace(CORE_MEMORY, "").trim().to_owned()),
        blocks: section(render_blocks(input.memory, input.kind, input.line_numbers).unwrap_or_default()),
        tool_rules: rule_text::compile(input.tool_rules).map(section),
        directories: input.directories.and_then(directories::render_directories).map(section),
        metadata: section(metadata.to_owned()),
        summary: (!cut.notes.is_empty()).then(|| section(texts(&cut.notes))),
        tools_tokens: if tools.is_empty() { 0 } else { tools_tokens(&tools, family) },
        tools,
        messages_tokens: messages.sum::<u64>() + PER_REQUEST,
        messages: context.clone(),
        message_count: snapshot.message_count,
        passages: snapshot.archival.passages,
    }
}
