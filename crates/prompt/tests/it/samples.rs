//! Agents, blocks and rules for the tests beside this file.

use std::sync::Arc;

use domain::block::BlockDraft;
use domain::{Actor, AgentType, Block, BlockId, Label, Memory, Timestamp, ToolRule};
use prompt::base_prompts::PromptKey;
use prompt::directories::{Directories, Directory, FileView};
use prompt::system::{Metadata, SystemInput};

/// An instant that is in the morning both in New York and in UTC.
pub(crate) fn at() -> Timestamp {
    "2026-11-18T05:52:39Z".parse().unwrap()
}

pub(crate) fn block(label: &str, value: &str, read_only: bool) -> Arc<Block> {
    let actor = Actor::default_user();
    let draft = BlockDraft {
        id: BlockId::from_bytes([7; 16]),
        organization: actor.organization,
        created_by: actor.user,
        label: Label::new(label).unwrap(),
        value: value.to_owned(),
        limit: 20_000,
        description: Some(format!("What is kept under {label}.")),
        read_only,
        metadata: serde_json::Map::new(),
        created_at: at(),
    };
    Arc::new(Block::new(draft).unwrap())
}

pub(crate) fn human_and_persona() -> Memory {
    let human = block("human", "Likes tea.\nThe human's name is Sam.", false);
    Memory::new(vec![human, block("persona", "I am a test agent.", false)])
}

pub(crate) fn chat_rules() -> Vec<ToolRule> {
    let goes_on = |tool: &str| ToolRule::ContinueLoop { tool_name: tool.to_owned(), prompt_template: None };
    vec![
        goes_on("memory_insert"),
        goes_on("memory_replace"),
        goes_on("conversation_search"),
        ToolRule::ExitLoop { tool_name: "send_message".to_owned(), prompt_template: None },
    ]
}

pub(crate) fn one_open_file() -> Directories {
    let file = FileView {
        name: "papers/notes.txt".to_owned(),
        open: true,
        description: None,
        read_only: true,
        chars_current: 58,
        chars_limit: 15_000,
        value: "[Viewing file start (out of 2 lines)]\n1: Whales.\n2: Ships.".to_owned(),
    };
    let directory = Directory {
        name: "papers".to_owned(),
        description: Some("Things to read".to_owned()),
        instructions: None,
        files: vec![file],
    };
    Directories { files_open: 1, max_files_open: 5, directories: vec![directory] }
}

pub(crate) fn input(kind: AgentType, memory: &Memory) -> SystemInput<'_> {
    let base = PromptKey::for_agent(kind).text();
    SystemInput { base, kind, memory, tool_rules: &[], directories: None, line_numbers: false }
}

pub(crate) fn metadata(zone: &str) -> Metadata<'_> {
    Metadata {
        now: at(),
        zone,
        memory_modified_at: at(),
        previous_messages: 0,
        archival_memories: 0,
        archival_tags: &[],
    }
}
