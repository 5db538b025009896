//! What a check finds, and what a repair makes right. The damage is done past the store, as a fault or a hand would.

use storage::{Area, BlockEditor, Problem, Store};

use crate::house::{House, at};

fn areas(problems: &[Problem]) -> Vec<Area> {
    problems.iter().map(|problem| problem.area).collect()
}

/// A house with something of everything.
async fn furnished() -> House {
    let house = House::new();
    let home = house.new_home("ada").await;
    house.say(home, &["system", "hello", "again"]).await;
    let block = house.new_block("human", "likes tea").await;
    house.apply([storage::Change::AttachBlock { agent: home.agent, block: block.id }]).await.unwrap();
    house
}

/// Opens the closed store of `house` once more.
fn again(house: &House) -> Store {
    Store::open(&house.config, at(0)).unwrap()
}

#[tokio::test]
async fn a_sound_store_stays_as_it_is() {
    let house = furnished().await;
    assert_eq!(house.store.check().await.unwrap().problems, []);
    let before = house.row_counts();
    let done = house.store.repair(at(9)).await.unwrap();
    assert_eq!(done, ["built all indexes of the database anew"]);
    assert_eq!((house.row_counts(), house.store.check().await.unwrap().problems), (before, vec![]));
}

#[tokio::test]
async fn an_index_that_lost_entries_is_built_anew() {
    let house = furnished().await;
    house.store.clone().close().await;
    let raw = house.raw();
    // The index is declared to be another one for a moment, so that a row is removed without it noticing.
    raw.execute_batch(
        "pragma writable_schema = on; \
         create table kept as select sql from sqlite_schema where name = 'message_by_conversation'; \
         update sqlite_schema set sql = 'create index message_by_conversation on message (conversation_id, \
         sequence_id) where role = ''nobody''' where name = 'message_by_conversation'; \
         pragma writable_schema = reset;",
    )
    .unwrap();
    drop(raw);
    let raw = house.raw();
    raw.execute_batch(
        "update message set conversation_id = conversation_id; \
         reindex message_by_conversation; pragma writable_schema = on; \
         update sqlite_schema set sql = (select sql from kept) where name = 'message_by_conversation'; \
         drop table kept; pragma writable_schema = reset;",
    )
    .unwrap();
    drop(raw);
    let store = again(&house);
    let problems = store.check().await.unwrap().problems;
    assert!(areas(&problems).contains(&Area::Index), "{problems:?}");
    assert!(problems.iter().filter(|one| one.area == Area::Index).all(Problem::can_be_repaired));
    store.repair(at(9)).await.unwrap();
    assert_eq!(store.check().await.unwrap().problems, []);
}

#[tokio::test]
async fn counts_labels_and_histories_are_corrected() {
    let house = furnished().await;
    house.store.clone().close().await;
    let raw = house.raw();
    raw.execute_batch(
        "update conversation set message_count = 77; update agent_block set label = 'other'; \
         update block set value = 'edited by hand'",
    )
    .unwrap();
    drop(raw);
    let store = again(&house);
    let problems = store.check().await.unwrap().problems;
    assert_eq!(areas(&problems), [Area::Derived, Area::Derived, Area::History]);
    assert!(problems[0].text.ends_with("counts 77 messages and has 3"), "{problems:?}");
    let done = store.repair(at(9)).await.unwrap();
    assert_eq!(
        done[1..],
        [
            "counted the messages of 1 conversation",
            "corrected the label of 1 block",
            "wrote down the present text of 1 block"
        ]
    );
    assert_eq!(store.check().await.unwrap().problems, []);
    let agent = &store.agents(house.owner(), &storage::AgentFilter::default()).await.unwrap()[0];
    let block = &store.agent_blocks(house.owner(), agent.id).await.unwrap()[0];
    assert_eq!((block.value(), block.version, block.label.as_str()), ("edited by hand", 2, "human"));
    let history = store.block_history(house.owner(), block.id).await.unwrap();
    let history: Vec<_> = history.iter().map(|one| (one.version, one.value.as_str(), one.editor)).collect();
    assert_eq!(history, [(1, "likes tea", BlockEditor::Api), (2, "edited by hand", BlockEditor::Import)]);
}

#[tokio::test]
async fn what_can_not_be_made_from_rows_is_told_and_left() {
    let house = furnished().await;
    house.store.clone().close().await;
    let raw = house.raw();
    raw.execute_batch(
        "pragma foreign_keys = off; delete from organization; update conversation set context = '[[1,99]]'",
    )
    .unwrap();
    drop(raw);
    let store = again(&house);
    let before = store.check().await.unwrap().problems;
    assert!(areas(&before).contains(&Area::Reference) && areas(&before).contains(&Area::Context), "{before:?}");
    assert!(before.iter().all(|problem| !problem.can_be_repaired()));
    store.repair(at(9)).await.unwrap();
    assert_eq!(store.check().await.unwrap().problems, before);
}
