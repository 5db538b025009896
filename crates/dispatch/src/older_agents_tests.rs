//! Older agents in a store that has just learned of the search tools.

use std::cell::Cell;

use domain::{AgentId, AgentType};
use providers::{Registry, RegistryConfig};
use storage::StoreConfig;
use tempfile::TempDir;

use super::*;
use crate::agent_spec::AgentSpec;
use crate::{DispatchConfig, Dispatcher};

thread_local! {
    /// Each test has a thread of its own, and so a clock of its own.
    static SECONDS: Cell<i64> = const { Cell::new(0) };
}

fn clock() -> Timestamp {
    Timestamp::from_second(1_800_000_000 + SECONDS.get()).unwrap()
}

const TOOLS_CAME: i64 = 1_000;

struct House {
    dispatcher: Dispatcher,
    store: Store,
    me: Actor,
    _directory: TempDir,
}

impl House {
    /// A store that has the tools but was never brought up to date.
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        SECONDS.set(TOOLS_CAME);
        let store = Store::open(&StoreConfig::at(directory.path().join("store.db")), clock()).unwrap();
        crate::builtin_tools::bring_up_to_date(&store, clock()).await.unwrap();
        let search =
            retrieval::Search::new(store.clone(), retrieval::embed::Embedders::local_only(std::path::PathBuf::new()));
        let toolbox = Arc::new(tools::Toolbox::new(store.clone(), search));
        let models = Registry::new(RegistryConfig { providers: Vec::new(), discover_local: false }).unwrap();
        let dispatcher = Dispatcher::new(DispatchConfig::default(), store.clone(), models, toolbox, clock);
        Self { dispatcher, store, me: Actor::default_user(), _directory: directory }
    }

    /// An agent that was made `seconds` after the beginning, with exactly these tools.
    async fn made(&self, seconds: i64, kind: AgentType, tools: &[&str]) -> AgentId {
        SECONDS.set(seconds);
        let spec = AgentSpec {
            kind: Some(kind),
            model: Some("builtin/guide".to_owned()),
            tools: tools.iter().map(|name| (*name).to_owned()).collect(),
            include_base_tools: Some(false),
            hidden: Some(seconds % 2 == 1),
            ..AgentSpec::default()
        };
        self.dispatcher.create_agent(self.me, spec).await.unwrap()
    }

    async fn start(&self) {
        SECONDS.set(TOOLS_CAME + 500);
        self.dispatcher.recover().await.unwrap();
    }

    async fn tools(&self, agent: AgentId) -> String {
        let tools = self.store.agent_tools(self.me.organization, agent).await.unwrap();
        tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(" ")
    }

    async fn rules(&self, agent: AgentId) -> Vec<String> {
        let agent = self.store.agent(self.me.organization, agent).await.unwrap();
        agent.tool_rules.iter().map(|rule| rule.tool_name().to_owned()).collect()
    }
}

const CLASSIC: [&str; 3] = ["send_message", "core_memory_append", "core_memory_replace"];
const TODAY: [&str; 2] = ["memory_replace", "memory_insert"];
const SEARCH: &str = "conversation_search archival_memory_insert archival_memory_search";

#[tokio::test]
async fn older_agents_get_the_tools_that_their_kind_is_born_with() {
    let house = House::new().await;
    let tending = ["memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"];
    let mut made = Vec::new();
    for (kind, tools, gets) in [
        (AgentType::Memgpt, &CLASSIC[..], true),
        (AgentType::LettaV1, &TODAY[..], true),
        (AgentType::LettaV1, &["memory"][..], true),
        (AgentType::MemgptV2, &["send_message", "memory_replace", "memory_insert"][..], true),
        // Somebody chose the tools of these.
        (AgentType::LettaV1, &["memory_insert"][..], false),
        (AgentType::LettaV1, &[][..], false),
        // Kinds that are born without.
        (AgentType::Workflow, &TODAY[..], false),
        (AgentType::Sleeptime, &tending[..], false),
    ] {
        let (old, young) = (house.made(10, kind, tools).await, house.made(TOOLS_CAME + 1, kind, tools).await);
        made.push((kind, old, young, tools.join(" "), gets));
    }
    house.start().await;
    for (kind, old, young, before, gets) in made {
        let after = if gets { format!("{before} {SEARCH}") } else { before.clone() };
        assert_eq!(house.tools(old).await, after, "{kind:?}");
        assert_eq!(house.tools(young).await, before, "{kind:?}");
    }
}

#[tokio::test]
async fn rules_come_along_where_the_other_tools_have_theirs() {
    let house = House::new().await;
    let ruled = house.made(10, AgentType::Memgpt, &CLASSIC).await;
    let free = house.made(11, AgentType::LettaV1, &TODAY).await;
    house.start().await;
    let expected: Vec<&str> = CLASSIC.iter().copied().chain(SEARCH.split(' ')).collect();
    assert_eq!(house.rules(ruled).await, expected);
    assert!(house.rules(free).await.is_empty());
}

#[tokio::test]
async fn what_is_detached_afterwards_stays_detached() {
    let house = House::new().await;
    let agent = house.made(10, AgentType::LettaV1, &TODAY).await;
    house.start().await;
    let tool = house.store.tool_by_name(house.me.organization, "conversation_search").await.unwrap().unwrap();
    let detach = Commit::new(house.me, clock()).with(Change::DetachTool { agent, tool: tool.id });
    house.store.commit(detach).await.unwrap();
    house.start().await;
    assert_eq!(house.tools(agent).await, "memory_replace memory_insert archival_memory_insert archival_memory_search");
}

#[tokio::test]
async fn many_agents_are_brought_up_to_date_in_several_commits() {
    let house = House::new().await;
    let mut agents = Vec::new();
    for number in 0..i64::from(BATCH) * 2 + 5 {
        agents.push(house.made(number, AgentType::LettaV1, &TODAY).await);
    }
    // A crash after the first commits leaves some of them done and no mark.
    let tools = house.store.tools(house.me.organization).await.unwrap();
    let first = house.store.agent(house.me.organization, agents[0]).await.unwrap();
    let attached = house.store.agent_tools(house.me.organization, first.id).await.unwrap();
    let mut commit = Commit::new(house.me, clock());
    commit.changes = changes(&first, &attached, &tools);
    house.store.commit(commit).await.unwrap();
    house.start().await;
    for agent in agents {
        assert_eq!(house.tools(agent).await, format!("memory_replace memory_insert {SEARCH}"));
    }
}
