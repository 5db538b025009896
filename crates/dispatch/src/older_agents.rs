//! Gives agents that were made before the search tools existed what a new agent of their kind is born with.
//!
//! Done once for a store and then never again: whoever detaches a tool afterwards has it stay detached.

use std::sync::Arc;

use domain::{Actor, Agent, Timestamp, Tool, ToolRule};
use storage::{AgentFilter, Change, Commit, Store, StoreError};
use tools::catalog::{self, MemoryVariant};

/// The name of this work among all that is done once.
const DONE: &str = "search tools for older agents";
/// The tools that older agents lack.
const SEARCH_TOOLS: [&str; 3] = ["conversation_search", "archival_memory_insert", "archival_memory_search"];
/// Agents of one commit. A crash between two commits is no harm: what was done already is not done again.
const BATCH: u32 = 200;

/// Brings all older agents up to date, or does nothing if that was done before.
pub(crate) async fn bring_up_to_date(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    let actor = Actor::default_user();
    if store.is_done(actor.organization, DONE).await? {
        return Ok(());
    }
    let tools = store.tools(actor.organization).await?;
    let mut filter = AgentFilter { limit: BATCH, ascending: true, include_hidden: true, ..AgentFilter::default() };
    let mut changed = 0_usize;
    loop {
        let agents = store.agents(actor.organization, &filter).await?;
        let mut commit = Commit::new(actor, now);
        for agent in &agents {
            let attached = store.agent_tools(actor.organization, agent.id).await?;
            let changes = changes(agent, &attached, &tools);
            changed += usize::from(!changes.is_empty());
            commit.changes.extend(changes);
        }
        filter.after = agents.last().map(|agent| agent.id);
        if filter.after.is_none() {
            commit.changes.push(Change::MarkDone(DONE));
        }
        if !commit.changes.is_empty() {
            store.commit(commit).await?;
        }
        if filter.after.is_none() {
            break;
        }
    }
    if changed > 0 {
        tracing::info!(agents = changed, "older agents were given the search tools");
    }
    Ok(())
}

/// What gives `agent` the tools that it lacks, and their rules where it has the rules that its other tools came with.
fn changes(agent: &Agent, attached: &[Arc<Tool>], all: &[Arc<Tool>]) -> Vec<Change> {
    let has = |name: &str| attached.iter().any(|tool| &*tool.name == name);
    let bundles =
        [MemoryVariant::Separate, MemoryVariant::Omni].map(|memory| catalog::base_tools(agent.kind, false, memory));
    let is_memory = |name: &&str| !catalog::BASE_TOOLS.contains(name);
    // The model may have changed since, so that the memory tools of either variant will do.
    let found = bundles.iter().find(|bundle| {
        let mut memory = bundle.iter().copied().filter(is_memory).peekable();
        memory.peek().is_some() && memory.all(has)
    });
    let Some(bundle) = found else { return Vec::new() };
    // An agent that is younger than a tool lacks it because somebody wanted it so.
    let lacked = bundle.iter().filter(|name| SEARCH_TOOLS.contains(name) && !has(name));
    let rows = lacked.filter_map(|name| all.iter().find(|tool| &*tool.name == *name));
    let missing: Vec<&Arc<Tool>> = rows.filter(|tool| agent.created_at < tool.created_at).collect();
    let mut changes = Vec::new();
    let memory: Vec<&str> = bundle.iter().copied().filter(is_memory).collect();
    if catalog::default_rules(&memory).iter().all(|rule| agent.tool_rules.contains(rule)) {
        let names: Vec<&str> = missing.iter().map(|tool| &*tool.name).collect();
        let ruled = |name: &str| agent.tool_rules.iter().any(|rule| rule.tool_name() == name);
        let rules: Vec<ToolRule> =
            catalog::default_rules(&names).into_iter().filter(|rule| !ruled(rule.tool_name())).collect();
        if !rules.is_empty() {
            let tool_rules = agent.tool_rules.iter().cloned().chain(rules).collect();
            changes.push(Change::UpdateAgent(Box::new(Agent { tool_rules, ..agent.clone() })));
        }
    }
    changes.extend(missing.iter().map(|tool| Change::AttachTool { agent: agent.id, tool: tool.id }));
    changes
}

#[cfg(test)]
#[path = "older_agents_tests.rs"]
mod tests;
