//! A commit is all or nothing, alone and in a group.

use std::sync::Arc;

use domain::identity::IdentityType;
use domain::{
    ContentPart, Identity, IdentityId, Message, MessageId, RunStatus, Step, StepId, StepStatus, StopReason, Usage,
};
use storage::{Change, Commit, RunUpdate};
use tokio::task::JoinSet;

use crate::house::{House, agent, at, block, insert_block, message, run, said, tool, word};

#[tokio::test]
async fn a_change_that_fails_takes_the_whole_commit_back() {
    let house = House::new();
    let home = house.new_home("ada").await;
    house.say(home, &["hello"]).await;
    let before = house.row_counts();
    let bad = Change::AppendContext { conversation: home.conversation, messages: vec![MessageId::random()] };
    let good = || {
        let made = block(house.me, "human", "x");
        let id = made.id;
        let mut changes = vec![insert_block(&made), Change::AttachBlock { agent: home.agent, block: id }];
        changes.extend(said(home, vec![message(house.me, home, "lost")]));
        changes.push(Change::InsertRun(Box::new(run(house.me, home))));
        changes.push(Change::UpsertTool(Box::new(tool(house.me, "lost"))));
        changes
    };
    for position in 0..=good().len() {
        let mut changes = good();
        changes.insert(position, bad.clone());
        assert_eq!(word(&house.apply(changes).await), "not found", "bad change at {position}");
        assert_eq!(house.row_counts(), before, "bad change at {position}");
        assert_eq!(house.context(home).await, ["hello"]);
    }
    assert_eq!(word(&house.apply(good()).await), "ok");
    assert_eq!(house.context(home).await, ["hello", "lost"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_of_a_group_fail_alone() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let mut commits = JoinSet::new();
    for number in 0..300 {
        let mut commit = house.commit();
        commit.changes.extend(said(home, vec![message(house.me, home, &number.to_string())]));
        if number % 3 == 0 {
            commit = commit.with(Change::DeleteBlock(domain::BlockId::random()));
        }
        let store = house.store.clone();
        commits.spawn(async move { (number, store.commit(commit).await) });
    }
    let mut kept = Vec::new();
    while let Some(done) = commits.join_next().await {
        let (number, result) = done.unwrap();
        assert_eq!(word(&result), if number % 3 == 0 { "not found" } else { "ok" });
        if let Ok(committed) = result {
            kept.push((committed.sequence_ids[0], number.to_string()));
        }
    }
    kept.sort();
    let kept: Vec<String> = kept.into_iter().map(|(_, text)| text).collect();
    assert_eq!(kept.len(), 200);
    assert_eq!(house.context(home).await, kept);
    let fresh = house.fresh().snapshot(house.owner(), home.agent, home.conversation).await.unwrap();
    let texts: Vec<_> = fresh.context.iter().map(|message| message.first_text().to_owned()).collect();
    assert_eq!(texts, kept);
    assert_eq!(fresh.message_count, 200);
}

#[tokio::test]
async fn a_commit_tells_the_numbers_of_its_messages_in_order() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let first = vec![message(house.me, home, "a"), message(house.me, home, "b")];
    let second = vec![message(house.me, home, "c")];
    let ids: Vec<_> = first.iter().chain(&second).map(|message| message.id).collect();
    let committed = house.apply([Change::InsertMessages(first), Change::InsertMessages(second)]).await.unwrap();
    assert!(committed.sequence_ids.is_sorted_by(|a, b| a < b));
    assert_eq!(committed.messages.iter().map(|message| message.id).collect::<Vec<_>>(), ids);
    for message in &committed.messages {
        assert_eq!(house.store.message(house.owner(), message.id).await.unwrap(), *message);
    }
}

#[tokio::test]
async fn an_agent_needs_its_default_conversation() {
    let house = House::new();
    let (lonely, conversation) = agent(house.me, "lonely");
    let alone = house.apply([Change::InsertAgent(Box::new(lonely.clone()))]).await;
    assert_eq!(word(&alone), "invalid");
    let home = house.new_home("ada").await;
    let mut foreign = conversation;
    foreign.agent = home.agent;
    let elsewhere = [Change::InsertAgent(Box::new(lonely)), Change::InsertConversation(Box::new(foreign))];
    assert_eq!(word(&house.apply(elsewhere).await), "invalid");
}

#[tokio::test]
async fn nul_characters_are_refused_everywhere() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (mut named, _) = agent(house.me, "a\0b");
    let mut tagged = agent(house.me, "tagged").0;
    tagged.metadata.insert("deep".to_owned(), serde_json::json!([{"x": "\0"}]));
    let mut bad_tool = tool(house.me, "bad");
    bad_tool.description = "a\0".into();
    let mut described = block(house.me, "human", "");
    described.description = Some("\0".to_owned());
    let mut called = Message::clone(&message(house.me, home, "fine"));
    called.tool_calls =
        Arc::from([domain::ToolCall { id: "1".into(), name: "f".into(), arguments: "{\"x\":\"\0\"}".into() }]);
    let mut failed = run(house.me, home);
    failed.error = Some("\0".to_owned());
    for change in [
        Change::InsertAgent(Box::new(named.clone())),
        Change::InsertAgent(Box::new(tagged)),
        Change::UpsertTool(Box::new(bad_tool)),
        insert_block(&described),
        Change::InsertMessages(vec![message(house.me, home, "a\0b")]),
        Change::InsertMessages(vec![Arc::new(called)]),
        Change::InsertRun(Box::new(failed)),
    ] {
        let shown = format!("{change:?}");
        assert_eq!(word(&house.apply([change]).await), "invalid", "{shown}");
    }
    named.id = home.agent;
    assert_eq!(word(&house.apply([Change::UpdateAgent(Box::new(named))]).await), "invalid");
}

#[tokio::test]
async fn a_run_goes_on_until_it_is_over() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let started = run(house.me, home);
    let step = Step {
        id: StepId::random(),
        organization: house.owner(),
        agent: home.agent,
        run: started.id,
        model: "builtin/guide".to_owned(),
        context_window: 32_000,
        usage: Usage { prompt_tokens: 3, total_tokens: 3, ..Usage::default() },
        stop_reason: Some(StopReason::EndTurn),
        status: StepStatus::Success,
        created_at: at(4),
    };
    house
        .apply([Change::InsertRun(Box::new(started.clone())), Change::InsertStep(Box::new(step.clone()))])
        .await
        .unwrap();
    assert_eq!(house.store.run(house.owner(), started.id).await.unwrap(), started);
    assert_eq!(house.store.steps_of_run(house.owner(), started.id).await.unwrap(), [step]);
    let end = RunUpdate {
        run: started.id,
        agent: home.agent,
        status: RunStatus::Completed,
        stop_reason: Some(StopReason::EndTurn),
        error: None,
        usage: Usage { total_tokens: 9, ..Usage::default() },
        step_count: 1,
        completed_at: Some(at(9)),
    };
    house.apply([Change::UpdateRun(end.clone())]).await.unwrap();
    let over = house.store.run(house.owner(), started.id).await.unwrap();
    assert_eq!((over.status, over.completed_at, over.usage.total_tokens), (RunStatus::Completed, Some(at(9)), 9));
    let agent = house.store.agent(house.owner(), home.agent).await.unwrap();
    assert_eq!((agent.last_run_completion, agent.last_stop_reason), (Some(at(9)), Some(StopReason::EndTurn)));
    assert_eq!(word(&house.apply([Change::UpdateRun(end)]).await), "conflict");
}

#[tokio::test]
async fn an_identity_is_known_by_its_key_once() {
    let house = House::new();
    let identity = Identity {
        id: IdentityId::random(),
        organization: house.owner(),
        key: "user:7".to_owned(),
        name: "Seven".to_owned(),
        kind: IdentityType::User,
        created_at: at(0),
    };
    house.apply([Change::InsertIdentity(Box::new(identity.clone()))]).await.unwrap();
    assert_eq!(house.store.identity_by_key(house.owner(), "user:7").await.unwrap(), Some(identity.clone()));
    assert_eq!(house.store.identity_by_key(house.owner(), "user:8").await.unwrap(), None);
    let again = Identity { id: IdentityId::random(), ..identity };
    assert_eq!(word(&house.apply([Change::InsertIdentity(Box::new(again))]).await), "conflict");
}

#[tokio::test]
async fn a_deleted_agent_leaves_nothing_but_its_blocks_and_tools() {
    let house = House::new();
    let kept = house.new_home("kept").await;
    house.say(kept, &["stays"]).await;
    let before = house.row_counts();
    let home = house.new_home("gone").await;
    let (made, hammer, started) = (block(house.me, "human", "x"), tool(house.me, "hammer"), run(house.me, home));
    let step = Step {
        id: StepId::random(),
        organization: house.owner(),
        agent: home.agent,
        run: started.id,
        model: "m".to_owned(),
        context_window: 1,
        usage: Usage::default(),
        stop_reason: None,
        status: StepStatus::Success,
        created_at: at(4),
    };
    let changes = [
        insert_block(&made),
        Change::AttachBlock { agent: home.agent, block: made.id },
        Change::AttachTool { agent: home.agent, tool: hammer.id },
        Change::InsertRun(Box::new(started)),
        Change::InsertStep(Box::new(step)),
    ];
    house.apply([Change::UpsertTool(Box::new(hammer))].into_iter().chain(changes)).await.unwrap();
    house.say(home, &["a", "b", "c"]).await;
    house.context(home).await;
    house.apply([Change::DeleteAgent(home.agent)]).await.unwrap();
    let expected: Vec<_> = before
        .into_iter()
        .map(|(table, count)| {
            let stays = ["block", "block_history", "tool"].contains(&table.as_str());
            (table, count + i64::from(stays))
        })
        .collect();
    assert_eq!(house.row_counts(), expected);
    assert_eq!(house.store.check().await.unwrap().problems, []);
    assert_eq!(word(&house.store.snapshot(house.owner(), home.agent, home.conversation).await), "not found");
    assert_eq!(word(&house.store.context_ids(house.owner(), home.conversation).await), "not found");
    assert_eq!(word(&house.apply(said(home, vec![message(house.me, home, "late")])).await), "not found");
    assert_eq!(house.context(kept).await, ["stays"]);
}

#[tokio::test]
async fn a_message_is_rewritten_in_place() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let ids = house.say(home, &["old system", "hi"]).await;
    house.context(home).await;
    let stored = house.store.message(house.owner(), ids[0]).await.unwrap();
    let mut new = Message::clone(&stored);
    new.content = Arc::from([ContentPart::text("new system")]);
    new.name = Some("ignored".into());
    house.apply([Change::UpdateMessage(Arc::new(new.clone()))]).await.unwrap();
    assert_eq!(house.context(home).await, ["new system", "hi"]);
    new.name = None;
    assert_eq!(*house.store.message(house.owner(), ids[0]).await.unwrap(), new);
    let unknown = message(house.me, home, "never stored");
    assert_eq!(word(&house.apply([Change::UpdateMessage(unknown)]).await), "not found");
}

#[tokio::test]
async fn a_closed_store_has_finished_its_work_and_refuses_more() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let mut commits = JoinSet::new();
    for number in 0..20 {
        let mut commit = Commit::new(house.me, at(number));
        commit.changes.extend(said(home, vec![message(house.me, home, "x")]));
        let store = house.store.clone();
        commits.spawn(async move { store.commit(commit).await });
    }
    while let Some(done) = commits.join_next().await {
        done.unwrap().unwrap();
    }
    house.store.clone().close().await;
    assert_eq!(word(&house.apply([]).await), "closed");
    assert_eq!(word(&house.store.agent(house.owner(), home.agent).await), "closed");
    let log = house.config.path.with_extension("db-wal");
    assert!(!log.exists(), "the log was put away");
    assert_eq!(house.row_counts().iter().find(|(table, _)| table == "message").unwrap().1, 20);
}

#[tokio::test]
async fn numbers_of_deleted_messages_are_never_given_again() {
    let house = House::new();
    let (kept, gone) = (house.new_home("kept").await, house.new_home("gone").await);
    house.say(kept, &["one"]).await;
    let said_last = house.apply(said(gone, vec![message(house.me, gone, "last")])).await.unwrap().sequence_ids[0];
    house.apply([Change::DeleteAgent(gone.agent)]).await.unwrap();
    let after = house.fresh();
    let mut commit = house.commit();
    commit.changes.extend(said(kept, vec![message(house.me, kept, "two")]));
    assert!(after.commit(commit).await.unwrap().sequence_ids[0] > said_last);
}
