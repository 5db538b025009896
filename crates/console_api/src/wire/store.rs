//! The state of the store.

use serde::Serialize;
use storage::{Problem, StoreReport};

/// Something that is wrong.
#[derive(Debug, Serialize)]
struct ProblemView {
    area: &'static str,
    text: String,
    repairable: bool,
}

impl From<&Problem> for ProblemView {
    fn from(problem: &Problem) -> Self {
        Self { area: problem.area.as_str(), text: problem.text.clone(), repairable: problem.can_be_repaired() }
    }
}

/// What a check found.
#[derive(Debug, Serialize)]
pub(crate) struct StoreState {
    problems: Vec<ProblemView>,
    schema_version: u32,
    bytes: u64,
    agents: u64,
    conversations: u64,
    messages: u64,
    blocks: u64,
    tools: u64,
    runs: u64,
}

impl From<StoreReport> for StoreState {
    fn from(report: StoreReport) -> Self {
        Self {
            problems: report.problems.iter().map(ProblemView::from).collect(),
            schema_version: report.schema_version,
            bytes: report.bytes,
            agents: report.agents,
            conversations: report.conversations,
            messages: report.messages,
            blocks: report.blocks,
            tools: report.tools,
            runs: report.runs,
        }
    }
}
