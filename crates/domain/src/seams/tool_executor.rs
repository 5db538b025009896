//! The seam to tools: a call in, a result and changes out. Nothing reaches the store but through the step's commit.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::BoxFuture;
use crate::archive::{Archive, Passage};
use crate::ids::RunId;
use crate::memory::{Memory, MemoryChange};
use crate::message::ToolStatus;
use crate::snapshot::AgentSnapshot;
use crate::tool::Tool;

/// One call, with what it may look at.
#[derive(Debug, Clone, Copy)]
pub struct ToolInvocation<'a> {
    pub tool: &'a Tool,
    /// Arguments without anything that the runtime injected.
    pub arguments: &'a Map<String, Value>,
    /// The step's working copy of core memory.
    pub memory: &'a Memory,
    /// What earlier calls of the same step did to archival memory.
    pub archival: &'a [ArchivalChange],
    pub snapshot: &'a AgentSnapshot,
    /// The run that calls.
    pub run: RunId,
    /// The number of the conversation's message from which on this step sets everything aside, where the run went back.
    /// The store still has it as said.
    pub set_aside_from: Option<u64>,
    pub now: Timestamp,
}

/// One change of archival memory.
#[derive(Debug, Clone, PartialEq)]
pub enum ArchivalChange {
    /// Make an archive and attach it to the agent.
    NewArchive(Box<Archive>),
    /// Store a passage in an archive of the agent.
    Insert(Arc<Passage>),
}

/// What a call gave back.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    pub status: ToolStatus,
    /// What the model is told.
    pub text: String,
    /// Edits of core memory; empty where the call failed.
    pub changes: Vec<MemoryChange>,
    /// Changes of archival memory; empty where the call failed.
    pub archival: Vec<ArchivalChange>,
}

impl ToolOutcome {
    /// A call that worked.
    pub fn success(text: impl Into<String>, changes: Vec<MemoryChange>) -> Self {
        Self { status: ToolStatus::Success, text: text.into(), changes, archival: Vec::new() }
    }

    /// A call that failed, with what the model can do about it.
    pub fn error(text: impl Into<String>) -> Self {
        Self { status: ToolStatus::Error, text: text.into(), changes: Vec::new(), archival: Vec::new() }
    }
}

/// Something that runs tools.
pub trait ToolExecutor: Send + Sync {
    /// Runs one call.
    fn execute<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutcome>;
}
