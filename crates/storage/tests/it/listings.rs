//! Listings of agents and tools.

use domain::AgentId;
use storage::{AgentFilter, Change};

use crate::house::{House, agent, at, tool, word};

#[tokio::test]
async fn agents_are_filtered_and_paged_by_age() {
    let house = House::new();
    let mut ids = Vec::new();
    for (number, (name, tags)) in
        [("ada", "x"), ("bob", "xy"), ("Ada_2", "y"), ("eve", ""), ("hid", "x")].into_iter().enumerate()
    {
        let (mut agent, conversation) = agent(house.me, name);
        agent.tags = tags.chars().map(String::from).collect();
        // Pairs of the same age: the order of their making decides.
        agent.created_at = at(number as i64 / 2);
        agent.hidden = name == "hid";
        ids.push(agent.id);
        house
            .apply([Change::InsertAgent(Box::new(agent)), Change::InsertConversation(Box::new(conversation))])
            .await
            .unwrap();
    }
    let check = async |adjust: fn(&mut AgentFilter, &[AgentId]), expected: &str| {
        let mut filter = AgentFilter { ascending: true, ..AgentFilter::default() };
        adjust(&mut filter, &ids);
        let found = house.store.agents(house.owner(), &filter).await.unwrap();
        assert_eq!(found.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(" "), expected);
    };
    check(|_, _| {}, "ada bob Ada_2 eve").await;
    check(|filter, _| filter.ascending = false, "eve Ada_2 bob ada").await;
    check(|filter, _| filter.include_hidden = true, "ada bob Ada_2 eve hid").await;
    check(|filter, _| filter.name = Some("ada".into()), "ada").await;
    check(|filter, _| filter.query_text = Some("ADA".into()), "ada Ada_2").await;
    check(|filter, _| filter.query_text = Some("a_".into()), "Ada_2").await;
    check(|filter, _| filter.tags = vec!["x".into(), "y".into()], "ada bob Ada_2").await;
    check(|filter, _| (filter.tags, filter.match_all_tags) = (vec!["x".into(), "y".into()], true), "bob").await;
    check(|filter, _| filter.limit = 2, "ada bob").await;
    check(|filter, ids| filter.after = Some(ids[0]), "bob Ada_2 eve").await;
    check(|filter, ids| filter.before = Some(ids[2]), "ada bob").await;
    check(|filter, ids| (filter.after, filter.ascending) = (Some(ids[1]), false), "ada").await;
    check(|filter, ids| (filter.before, filter.ascending) = (Some(ids[1]), false), "eve Ada_2").await;
    let filter = AgentFilter { after: Some(AgentId::random()), ..AgentFilter::default() };
    assert_eq!(word(&house.store.agents(house.owner(), &filter).await), "not found");
}

#[tokio::test]
async fn a_remembered_name_follows_every_change() {
    let house = House::new();
    let home = house.new_home("ada").await;
    house.context(home).await;
    let named = async |name: &str| {
        let filter = AgentFilter { name: Some(name.to_owned()), ..AgentFilter::default() };
        // Twice, so that the second answer may come from memory.
        house.store.agents(house.owner(), &filter).await.unwrap();
        house.context(home).await;
        let found = house.store.agents(house.owner(), &filter).await.unwrap();
        found.iter().map(|agent| agent.id).collect::<Vec<_>>()
    };
    assert_eq!(named("ada").await, [home.agent]);
    let second = house.new_home("ada").await;
    assert_eq!(named("ada").await, [second.agent, home.agent]);
    let mut renamed = domain::Agent::clone(&*house.store.agent(house.owner(), second.agent).await.unwrap());
    renamed.name = "bob".to_owned();
    house.apply([Change::UpdateAgent(Box::new(renamed.clone()))]).await.unwrap();
    assert_eq!((named("ada").await, named("bob").await), (vec![home.agent], vec![second.agent]));
    renamed.updated_at = at(1);
    assert_eq!(*house.store.agent(house.owner(), second.agent).await.unwrap(), renamed);
    house.apply([Change::DeleteAgent(second.agent)]).await.unwrap();
    assert!(named("bob").await.is_empty());
}

#[tokio::test]
async fn a_tool_keeps_its_id_when_it_is_replaced() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let first = tool(house.me, "hammer");
    let mut second = tool(house.me, "hammer");
    second.description = "hits harder".into();
    let agent = home.agent;
    house.apply([Change::UpsertTool(Box::new(first.clone()))]).await.unwrap();
    // The new id is understood within the commit that brings it.
    house
        .apply([Change::UpsertTool(Box::new(second.clone())), Change::AttachTool { agent, tool: second.id }])
        .await
        .unwrap();
    house.apply([Change::AttachTool { agent, tool: first.id }]).await.unwrap();
    let stored = house.store.tool_by_name(house.owner(), "hammer").await.unwrap().unwrap();
    assert_eq!((stored.id, &*stored.description), (first.id, "hits harder"));
    assert_eq!(house.store.agent_tools(house.owner(), agent).await.unwrap(), std::slice::from_ref(&stored));
    assert_eq!(house.store.tools(house.owner()).await.unwrap(), [stored]);
    assert_eq!(word(&house.apply([Change::AttachTool { agent, tool: second.id }]).await), "not found");
    house.apply([Change::DetachTool { agent, tool: first.id }]).await.unwrap();
    assert_eq!(word(&house.apply([Change::DetachTool { agent, tool: first.id }]).await), "not found");
    assert!(house.store.agent_tools(house.owner(), agent).await.unwrap().is_empty());
    assert_eq!(house.store.tool_by_name(house.owner(), "saw").await.unwrap(), None);
}
