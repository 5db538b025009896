//! The agent that a new house begins with, so that there is somebody to talk to.

use std::time::Duration;

use dispatch::agent_spec::{AgentError, AgentSpec, BlockSpec, ModelSettings};
use domain::{Actor, AgentType, ModelHandle};
use prompt::base_prompts::PromptKey;
use prompt::block_descriptions::UNKNOWN_HUMAN;
use prompt::librarian;
use providers::ProviderState;
use storage::AgentFilter;

use crate::wiring::House;

/// The name of the first agent.
pub(crate) const FIRST_AGENT: &str = "librarian";
/// The model that needs neither a key nor a network.
pub(crate) const GUIDE: &str = "builtin/guide";
/// How long a provider may take to tell its models before the first agent starts without it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who is there to talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FirstAgent {
    pub(crate) name: String,
    pub(crate) model: String,
    /// What the operator should know, where the agent is not as it was asked for.
    pub(crate) warning: Option<String>,
}

/// What an agent that is not the first knows about itself unless somebody says otherwise.
pub(crate) fn persona(name: &str) -> String {
    format!(
        "I am {name}. I keep what people tell me in my memory and give it back when it matters. I answer plainly, I say \
         so when I don't know something, and I never pretend to remember what nobody told me."
    )
}

/// The agent that is named like the house or else the oldest one; a house with no agents gets its first.
pub(crate) async fn ensure(house: &House, wanted: Option<&ModelHandle>) -> anyhow::Result<FirstAgent> {
    let owner = Actor::default_user().organization;
    let named = AgentFilter { name: Some(FIRST_AGENT.to_owned()), limit: 1, ascending: true, ..AgentFilter::default() };
    let oldest = AgentFilter { limit: 1, ascending: true, ..AgentFilter::default() };
    for filter in [named, oldest] {
        if let Some(agent) = house.store.agents(owner, &filter).await?.first() {
            let model = &agent.llm_config.handle;
            let warning = house.models.chat_model(model).err().map(|error| {
                format!(
                    "{} can't answer ({error}): configure its provider, or change its model with `librarian agents \
                     set-model {} PROVIDER/MODEL`",
                    agent.name, agent.name
                )
            });
            return Ok(FirstAgent { name: agent.name.clone(), model: model.to_string(), warning });
        }
    }
    create(house, wanted).await
}

/// Makes the agent on the wanted model, or on the guide if that can't be had now.
async fn create(house: &House, wanted: Option<&ModelHandle>) -> anyhow::Result<FirstAgent> {
    let made = tokio::time::timeout(PATIENCE, async {
        let model = match wanted {
            Some(model) => model.clone(),
            None => {
                // A model server on this machine may not have been found yet.
                house.models.discover().await;
                house.models.default_model().await
            }
        };
        create_on(house, model.as_str()).await.map_err(|error| format!("{model} can't be used ({error})"))
    });
    let trouble = match made.await {
        Ok(Ok(agent)) => match silent_provider(house) {
            Some(trouble) if wanted.is_none() && agent.model == GUIDE => return Ok(on_guide(agent, &trouble)),
            _ => return Ok(agent),
        },
        Ok(Err(trouble)) => trouble,
        Err(_) => format!("the model's provider did not answer within {} s", PATIENCE.as_secs()),
    };
    Ok(on_guide(create_on(house, GUIDE).await?, &trouble))
}

/// The agent, with a word on why it is on the guide.
fn on_guide(agent: FirstAgent, trouble: &str) -> FirstAgent {
    let warning = format!(
        "{trouble}, so the agent {FIRST_AGENT} was made with {GUIDE}: change it with \
         `librarian agents set-model {FIRST_AGENT} PROVIDER/MODEL`"
    );
    FirstAgent { warning: Some(warning), ..agent }
}

/// A provider that the operator named and that doesn't tell its models.
fn silent_provider(house: &House) -> Option<String> {
    house.models.providers().into_iter().find_map(|provider| match provider.state {
        ProviderState::Failing { detail } if !provider.discovered => {
            Some(format!("the provider {} ({}) doesn't tell its models ({detail})", provider.name, provider.base_url))
        }
        _ => None,
    })
}

async fn create_on(house: &House, model: &str) -> Result<FirstAgent, AgentError> {
    let block =
        |label: &str, value: &str| BlockSpec { label: label.into(), value: value.into(), ..BlockSpec::default() };
    let rules = BlockSpec {
        description: Some(librarian::RULES_DESCRIPTION.to_owned()),
        read_only: true,
        ..block(librarian::RULES_LABEL, librarian::RULES)
    };
    let spec = AgentSpec {
        name: Some(FIRST_AGENT.to_owned()),
        kind: Some(AgentType::LettaV1),
        description: Some("The first agent of this house.".to_owned()),
        model: Some(model.to_owned()),
        model_settings: ModelSettings { thinks_in_calls: Some(true), ..ModelSettings::default() },
        base_prompt: Some(PromptKey::Librarian),
        memory_blocks: vec![block("persona", librarian::PERSONA), rules, block("human", UNKNOWN_HUMAN)],
        ..AgentSpec::default()
    };
    house.dispatcher.create_agent(Actor::default_user(), spec).await?;
    Ok(FirstAgent { name: FIRST_AGENT.to_owned(), model: model.to_owned(), warning: None })
}
