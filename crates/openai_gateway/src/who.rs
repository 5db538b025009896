//! Who answers a request: `model` is an agent's id, an alias, an agent's exact name, or a model's handle.
//!
//! There is no fuzzy fallback. Agents that the caller's key does not open do not exist for it.

use std::sync::Arc;

use domain::{Actor, Agent, AgentId, AgentType, Caller, ModelHandle};
use storage::{AgentFilter, Store};

use crate::OpenAiGateway;
use crate::config::{Alias, MemoryScope, Mode, ReasoningShown, Unescape};
use crate::error::ApiError;

/// Names that an error lists at most.
const LISTED: u32 = 50;
/// Agents that are read at once.
const PAGE: u32 = 1_000;

/// Who answers.
#[derive(Debug, Clone)]
pub(crate) enum Who {
    Agent(Box<Answerer>),
    /// The model itself, without an agent.
    Model(ModelHandle),
}

/// An agent, and how it answers under the name that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Answerer {
    pub(crate) agent: Arc<Agent>,
    pub(crate) mode: Mode,
    pub(crate) memory: MemoryScope,
    pub(crate) reasoning: ReasoningShown,
    pub(crate) unescape: Unescape,
    pub(crate) trust_cache_key: bool,
}

impl OpenAiGateway {
    /// Whom `model` means.
    pub(crate) async fn who(&self, actor: Actor, caller: &Caller, model: &str) -> Result<Who, ApiError> {
        let alias = self.config.aliases.iter().find(|alias| alias.name == model);
        let name = alias.map_or(model, |alias| alias.agent.as_str());
        let mut found = named(self.dispatcher.store(), actor, name).await?;
        found.retain(|agent| caller.may_use(agent.id));
        match found.as_slice() {
            [agent] => Ok(Who::Agent(Box::new(self.answerer(agent.clone(), alias)))),
            [] => match ModelHandle::parse(model) {
                Ok(handle) if self.config.pass_through && caller.agents.is_none() => Ok(Who::Model(handle)),
                _ => Err(self.unknown(actor, caller, model, alias).await),
            },
            several => {
                let ids: Vec<String> = several.iter().map(|agent| agent.id.to_string()).collect();
                Err(ApiError::ambiguous_model(name, &ids))
            }
        }
    }

    fn answerer(&self, agent: Arc<Agent>, alias: Option<&Alias>) -> Answerer {
        let of_model = || {
            let handle = agent.llm_config.handle.as_str();
            self.config
                .unescape
                .iter()
                .find(|(model, _)| model == handle)
                .map_or(Unescape::Off, |(_, unescape)| *unescape)
        };
        Answerer {
            mode: alias.map_or(Mode::Auto, |alias| alias.mode),
            memory: alias.map_or(MemoryScope::Private, |alias| alias.memory),
            reasoning: alias.map_or(ReasoningShown::Off, |alias| alias.reasoning),
            unescape: alias.and_then(|alias| alias.unescape).unwrap_or_else(of_model),
            trust_cache_key: alias.is_some_and(|alias| alias.prompt_cache_key),
            agent,
        }
    }

    async fn unknown(&self, actor: Actor, caller: &Caller, model: &str, alias: Option<&Alias>) -> ApiError {
        match self.listed(actor, caller).await {
            Ok(listed) => {
                let names: Vec<String> = listed.into_iter().take(LISTED as usize).map(|(name, _)| name).collect();
                // Whoever may use certain agents only is not told of others, so neither what an alias stands for.
                let stands_for = alias.filter(|_| caller.agents.is_none()).map(|alias| alias.agent.as_str());
                ApiError::unknown_model(model, stands_for, &names)
            }
            Err(error) => error,
        }
    }

    /// The names of agents and aliases that the caller may ask for, oldest agent first, then aliases.
    pub(crate) async fn listed(&self, actor: Actor, caller: &Caller) -> Result<Vec<(String, Arc<Agent>)>, ApiError> {
        let store = self.dispatcher.store();
        let mut agents = all(store, actor).await?;
        agents.retain(|agent| caller.may_use(agent.id));
        let mut listed = Vec::with_capacity(agents.len() + self.config.aliases.len());
        for agent in agents.iter().filter(|agent| !is_hidden(agent)) {
            // A name that several agents have, or that an alias takes, is no address; their ids are.
            let is_unique = agents.iter().filter(|other| other.name == agent.name).count() == 1
                && !self.config.aliases.iter().any(|alias| alias.name == agent.name);
            let name = if is_unique { agent.name.clone() } else { agent.id.to_string() };
            listed.push((name, agent.clone()));
        }
        for alias in &self.config.aliases {
            let named = agents.iter().filter(|agent| agent.name == alias.agent || agent.id.to_string() == alias.agent);
            if let [agent] = named.collect::<Vec<_>>().as_slice() {
                listed.push((alias.name.clone(), (*agent).clone()));
            }
        }
        Ok(listed)
    }
}

/// Agents that tend others' memory are nobody to talk to.
fn is_hidden(agent: &Agent) -> bool {
    agent.hidden || matches!(agent.kind, AgentType::Sleeptime | AgentType::VoiceSleeptime)
}

/// The agents of that id or exact name.
async fn named(store: &Store, actor: Actor, name: &str) -> Result<Vec<Arc<Agent>>, ApiError> {
    let owner = actor.organization;
    if let Ok(id) = name.parse::<AgentId>() {
        return match store.agent(owner, id).await {
            Ok(agent) => Ok(vec![agent]),
            Err(storage::StoreError::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        };
    }
    let filter = AgentFilter { name: Some(name.to_owned()), limit: LISTED, ..AgentFilter::default() };
    Ok(store.agents(owner, &filter).await?)
}

/// All agents, oldest first.
async fn all(store: &Store, actor: Actor) -> Result<Vec<Arc<Agent>>, ApiError> {
    let mut agents: Vec<Arc<Agent>> = Vec::new();
    loop {
        let after = agents.last().map(|agent| agent.id);
        let filter = AgentFilter { limit: PAGE, ascending: true, after, ..AgentFilter::default() };
        let page = store.agents(actor.organization, &filter).await?;
        let is_last = page.len() < PAGE as usize;
        agents.extend(page);
        if is_last {
            return Ok(agents);
        }
    }
}
