//! Which agent a command means: an exact name or an id.

use anyhow::bail;
use domain::AgentId;
use serde_json::Value;

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::wire::{self, AgentView};
use crate::first_agent::FIRST_AGENT;

/// Names and ids that an error lists.
const LISTED: usize = 50;
/// Agents that are asked for at once.
const PAGE: usize = 100;

/// The agent that `wanted` names.
pub(crate) async fn find(connection: &mut Connection<'_>, wanted: &str) -> anyhow::Result<AgentView> {
    if wanted.parse::<AgentId>().is_ok() {
        let answer = connection.ask(&Call::get(format!("/v1/agents/{wanted}"))).await?;
        if !answer.is_missing() {
            return wire::read(&answer.ok()?);
        }
    } else {
        let named = some(connection, Call::get("/v1/agents/").with("name", wanted), LISTED).await?;
        let named: Vec<AgentView> = named.into_iter().filter(|agent| agent.name == wanted).collect();
        match <[AgentView; 1]>::try_from(named) {
            Ok([agent]) => return Ok(agent),
            Err(several) if !several.is_empty() => bail!(ambiguous(wanted, &several)),
            Err(_) => {}
        }
    }
    let known = some(connection, Call::get("/v1/agents/"), LISTED + 1).await?;
    bail!(unknown(wanted, &known))
}

/// The agent to talk to where none was named: that of the house, or else the oldest.
pub(crate) async fn usual(connection: &mut Connection<'_>) -> anyhow::Result<AgentView> {
    let named = some(connection, Call::get("/v1/agents/").with("name", FIRST_AGENT), 1).await?;
    let oldest = some(connection, Call::get("/v1/agents/"), 1).await?;
    match named.into_iter().chain(oldest).next() {
        Some(agent) => Ok(agent),
        None => bail!(NO_AGENTS),
    }
}

/// Every agent, oldest first, as the owner tells it.
pub(crate) async fn all(connection: &mut Connection<'_>) -> anyhow::Result<Vec<Value>> {
    let mut agents: Vec<Value> = Vec::new();
    loop {
        let mut call = Call::get("/v1/agents/").with("order", "asc").with("limit", PAGE.to_string());
        if let Some(last) = agents.last() {
            call = call.with("after", wire::read::<AgentView>(last)?.id);
        }
        let page: Vec<Value> = wire::read(&connection.ask(&call).await?.ok()?)?;
        let complete = page.len() < PAGE;
        agents.extend(page);
        if complete {
            return Ok(agents);
        }
    }
}

async fn some(connection: &mut Connection<'_>, call: Call, limit: usize) -> anyhow::Result<Vec<AgentView>> {
    let call = call.with("order", "asc").with("limit", limit.to_string());
    wire::read(&connection.ask(&call).await?.ok()?)
}

const NO_AGENTS: &str = "there are no agents: make one with `librarian agents create NAME`";

fn unknown(wanted: &str, known: &[AgentView]) -> String {
    if known.is_empty() {
        return format!("there is no agent `{wanted}`; {NO_AGENTS}");
    }
    let names: Vec<&str> = known.iter().take(LISTED).map(|agent| agent.name.as_str()).collect();
    let more = if known.len() > LISTED { " and others" } else { "" };
    format!("there is no agent `{wanted}`; there is {}{more}", names.join(", "))
}

fn ambiguous(wanted: &str, agents: &[AgentView]) -> String {
    let ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    format!("several agents are named `{wanted}`: say which by its id, {}", ids.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(names: &[&str]) -> Vec<AgentView> {
        let agent = |(index, name): (usize, &&str)| AgentView {
            id: format!("agent-{index}"),
            name: (*name).to_owned(),
            ..AgentView::default()
        };
        names.iter().enumerate().map(agent).collect()
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        assert_eq!(unknown("x", &agents(&["a", "b"])), "there is no agent `x`; there is a, b");
        assert!(unknown("x", &[]).contains("agents create"));
        assert!(unknown("x", &agents(&["a"; LISTED + 1])).ends_with("a and others"));
    }

    #[test]
    fn a_name_of_several_agents_lists_their_ids() {
        let told = ambiguous("twin", &agents(&["twin", "twin"]));
        assert_eq!(told, "several agents are named `twin`: say which by its id, agent-0 or agent-1");
    }
}
