//! Nothing of one organisation is visible to another, or can be changed by it.

use std::sync::Arc;

use domain::identity::IdentityType;
use domain::{Actor, Identity, IdentityId, KeyScope, Message, RunStatus, Step, StepId, StepStatus, Usage};
use storage::{AgentFilter, BlockEditor, Change, Commit, MessageFilter, RunUpdate};

use crate::api_keys::key;
use crate::house::{
    Home, House, agent, at, block, insert_block, message, run, said, stranger, tool, update_block, word,
};

#[tokio::test]
async fn another_organisation_reads_nothing() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (note, hammer, started) = (house.new_block("human", "x").await, tool(house.me, "hammer"), run(house.me, home));
    let ids = house.say(home, &["secret"]).await;
    let identity = identity(house.me);
    let changes = [
        Change::UpsertTool(Box::new(hammer)),
        Change::InsertRun(Box::new(started.clone())),
        Change::InsertIdentity(Box::new(identity)),
    ];
    house.apply(changes).await.unwrap();
    let store = &house.store;
    let other = stranger(store).await.organization;
    let named = AgentFilter { name: Some("ada".to_owned()), ..AgentFilter::default() };
    // Cold, and then with everything of the owner's in memory.
    for _ in 0..2 {
        assert_eq!(word(&store.snapshot(other, home.agent, home.conversation).await), "not found");
        assert_eq!(word(&store.agent(other, home.agent).await), "not found");
        assert_eq!(word(&store.agent_blocks(other, home.agent).await), "not found");
        assert_eq!(word(&store.agent_tools(other, home.agent).await), "not found");
        assert_eq!(word(&store.context_ids(other, home.conversation).await), "not found");
        assert_eq!(word(&store.conversation(other, home.conversation).await), "not found");
        assert_eq!(word(&store.message(other, ids[0]).await), "not found");
        assert_eq!(word(&store.messages(other, &MessageFilter::newest(home.agent, 9)).await), "not found");
        assert_eq!(word(&store.block(other, note.id).await), "not found");
        assert_eq!(word(&store.block_history(other, note.id).await), "not found");
        assert_eq!(word(&store.run(other, started.id).await), "not found");
        assert_eq!(word(&store.steps_of_run(other, started.id).await), "not found");
        assert!(store.agents(other, &AgentFilter::default()).await.unwrap().is_empty());
        assert!(store.agents(other, &named).await.unwrap().is_empty());
        assert!(store.tools(other).await.unwrap().is_empty());
        assert_eq!(store.tool_by_name(other, "hammer").await.unwrap(), None);
        assert_eq!(store.identity_by_key(other, "key").await.unwrap(), None);
        house.context(home).await;
        assert_eq!(store.agents(house.owner(), &named).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn another_organisation_changes_nothing() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (mine, hammer, started) = (house.new_block("human", "x").await, tool(house.me, "hammer"), run(house.me, home));
    let attach = Change::AttachBlock { agent: home.agent, block: mine.id };
    let changes = [Change::UpsertTool(Box::new(hammer.clone())), attach, Change::InsertRun(Box::new(started.clone()))];
    house.apply(changes).await.unwrap();
    let ids = house.say(home, &["secret"]).await;
    let thief = stranger(&house.store).await;
    let before = house.row_counts();
    for (change, expected) in thefts(thief, home, ids[0], &house) {
        let shown = format!("{change:?}");
        let commit = Commit::new(thief, at(1)).with(change);
        assert_eq!(word(&house.store.commit(commit).await), expected, "{shown}");
    }
    for (change, expected) in member_thefts(thief, home, &mine, hammer.id) {
        let shown = format!("{change:?}");
        let commit = Commit::new(thief, at(1)).with(change);
        assert_eq!(word(&house.store.commit(commit).await), expected, "{shown}");
    }
    let end = RunUpdate {
        run: started.id,
        agent: home.agent,
        status: RunStatus::Failed,
        stop_reason: None,
        error: None,
        usage: Usage::default(),
        step_count: 0,
        completed_at: None,
    };
    let step = Step {
        id: StepId::random(),
        organization: thief.organization,
        agent: home.agent,
        run: started.id,
        model: "m".to_owned(),
        context_window: 1,
        usage: Usage::default(),
        stop_reason: None,
        status: StepStatus::Success,
        created_at: at(1),
    };
    for change in [Change::UpdateRun(end), Change::InsertStep(Box::new(step))] {
        assert_eq!(word(&house.store.commit(Commit::new(thief, at(1)).with(change)).await), "not found");
    }
    assert_eq!(house.row_counts(), before);
    assert_eq!(house.context(home).await, ["secret"]);
    assert_eq!(house.store.block(house.owner(), mine.id).await.unwrap(), mine);
}

fn thefts(thief: Actor, home: Home, said_id: domain::MessageId, house: &House) -> Vec<(Change, &'static str)> {
    let mut taken = agent(thief, "taken").0;
    taken.id = home.agent;
    let mut conversation = agent(thief, "x").1;
    conversation.agent = home.agent;
    let mut rewritten = Message::clone(&message(thief, home, "forged"));
    rewritten.id = said_id;
    let context = vec![said_id];
    vec![
        (Change::UpdateAgent(Box::new(taken)), "not found"),
        (Change::DeleteAgent(home.agent), "not found"),
        (Change::InsertAgent(Box::new(agent(house.me, "planted").0)), "invalid"),
        (Change::InsertConversation(Box::new(conversation)), "not found"),
        (Change::InsertMessages(vec![message(thief, home, "planted")]), "not found"),
        (Change::InsertMessages(vec![message(house.me, home, "planted")]), "not found"),
        (Change::UpdateMessage(Arc::new(rewritten)), "not found"),
        (Change::AppendContext { conversation: home.conversation, messages: context.clone() }, "not found"),
        (Change::ReplaceContext { conversation: home.conversation, messages: context }, "not found"),
        (Change::InsertRun(Box::new(run(thief, home))), "not found"),
        (Change::InsertRun(Box::new(run(house.me, home))), "invalid"),
        (Change::InsertIdentity(Box::new(identity(house.me))), "invalid"),
        (Change::InsertApiKey(Box::new(key(house.me, "planted", KeyScope::AllAgents))), "invalid"),
        (Change::InsertApiKey(Box::new(key(thief, "taken", KeyScope::Agents(Arc::from([home.agent]))))), "not found"),
    ]
}

fn member_thefts(
    thief: Actor,
    home: Home,
    mine: &domain::Block,
    hammer: domain::ToolId,
) -> Vec<(Change, &'static str)> {
    let owner = Actor::default_user();
    vec![
        (update_block(mine), "not found"),
        (insert_block(&block(owner, "planted", "")), "invalid"),
        (Change::DeleteBlock(mine.id), "not found"),
        (Change::AttachBlock { agent: home.agent, block: mine.id }, "not found"),
        (Change::DetachBlock { agent: home.agent, block: mine.id, editor: BlockEditor::Api }, "not found"),
        (Change::AttachTool { agent: home.agent, tool: hammer }, "not found"),
        (Change::DetachTool { agent: home.agent, tool: hammer }, "not found"),
        (Change::UpsertTool(Box::new(tool(owner, "planted"))), "invalid"),
        (Change::UpsertTool(Box::new(domain::Tool { id: hammer, ..tool(thief, "mine") })), "conflict"),
    ]
}

#[tokio::test]
async fn two_organisations_may_use_the_same_names_but_not_each_others_things() {
    let house = House::new();
    let other = stranger(&house.store).await;
    let (their_agent, their_conversation) = agent(other, "ada");
    let their_home = Home { agent: their_agent.id, conversation: their_conversation.id };
    let their_block = block(other, "human", "theirs");
    let commit = Commit::new(other, at(1))
        .with(Change::InsertAgent(Box::new(their_agent)))
        .with(Change::InsertConversation(Box::new(their_conversation)))
        .with(insert_block(&their_block))
        .with(Change::UpsertTool(Box::new(tool(other, "hammer"))));
    house.store.commit(commit).await.unwrap();
    let home = house.new_home("ada").await;
    let mine = house.new_block("human", "mine").await;
    house.apply([Change::UpsertTool(Box::new(tool(house.me, "hammer")))]).await.unwrap();
    for (agent, block) in [(home.agent, their_block.id), (their_home.agent, mine.id)] {
        assert_eq!(word(&house.apply([Change::AttachBlock { agent, block }]).await), "not found");
    }
    let mixed = said(Home { conversation: their_home.conversation, ..home }, vec![]);
    assert_eq!(word(&house.apply(mixed).await), "not found");
    let mut conversation = agent(house.me, "x").1;
    conversation.agent = home.agent;
    conversation.identity = Some(IdentityId::random());
    assert_eq!(word(&house.apply([Change::InsertConversation(Box::new(conversation))]).await), "not found");
}

#[tokio::test]
async fn rows_of_an_organisation_that_does_not_exist_are_refused() {
    let house = House::new();
    let nobody = Actor { user: domain::UserId::random(), organization: domain::OrganizationId::random() };
    let (agent, conversation) = agent(nobody, "ghost");
    let commit = Commit::new(nobody, at(1))
        .with(Change::InsertAgent(Box::new(agent)))
        .with(Change::InsertConversation(Box::new(conversation)));
    assert_eq!(word(&house.store.commit(commit).await), "invalid");
}

fn identity(me: Actor) -> Identity {
    Identity {
        id: IdentityId::random(),
        organization: me.organization,
        key: "key".to_owned(),
        name: "name".to_owned(),
        kind: IdentityType::User,
        created_at: at(0),
    }
}
