//! Blocks: versions, history, labels and limits.

use domain::{Block, Label, RunId};
use storage::{BlockEditor, Change};

use crate::house::{House, at, block, insert_block, update_block, word};

#[tokio::test]
async fn whoever_saw_an_older_version_is_refused() {
    let house = House::new();
    let seen = house.new_block("human", "one").await;
    let mut mine = seen.clone();
    mine.set_value("two").unwrap();
    house.apply([update_block(&mine)]).await.unwrap();
    let mut theirs = seen.clone();
    theirs.set_value("three").unwrap();
    assert_eq!(word(&house.apply([update_block(&theirs)]).await), "conflict");
    let stored = house.store.block(house.owner(), seen.id).await.unwrap();
    assert_eq!((stored.value(), stored.version, stored.updated_at), ("two", 2, at(1)));
    let unknown = block(house.me, "human", "");
    assert_eq!(word(&house.apply([update_block(&unknown)]).await), "not found");
}

#[tokio::test]
async fn every_version_is_remembered_with_its_editor() {
    let house = House::new();
    let mut block = house.new_block("human", "one").await;
    let run = RunId::random();
    block.set_value_and_limit("two", 200).unwrap();
    block.label = Label::new("person").unwrap();
    house
        .apply([Change::UpdateBlock { block: Box::new(block.clone()), editor: BlockEditor::Tool(run) }])
        .await
        .unwrap();
    let history = house.store.block_history(house.owner(), block.id).await.unwrap();
    let short: Vec<_> = history
        .iter()
        .map(|old| (old.version, old.label.as_str(), old.value.as_str(), old.limit, old.editor, old.user))
        .collect();
    let me = house.me.user;
    assert_eq!(
        short,
        [(1, "human", "one", 100, BlockEditor::Api, me), (2, "person", "two", 200, BlockEditor::Tool(run), me)]
    );
    house.apply([Change::DeleteBlock(block.id)]).await.unwrap();
    assert_eq!(word(&house.store.block_history(house.owner(), block.id).await), "not found");
}

#[tokio::test]
async fn an_agent_has_no_label_twice() {
    let house = House::new();
    let (ada, bob) = (house.new_home("ada").await, house.new_home("bob").await);
    let human = house.new_block("human", "1").await;
    let second = house.new_block("human", "2").await;
    let mut persona = house.new_block("persona", "3").await;
    let attach = |agent, block: &Block| [Change::AttachBlock { agent, block: block.id }];
    house.apply(attach(ada.agent, &human)).await.unwrap();
    house.apply(attach(bob.agent, &second)).await.unwrap();
    assert_eq!(word(&house.apply(attach(ada.agent, &second)).await), "conflict");
    assert_eq!(word(&house.apply(attach(ada.agent, &human)).await), "conflict");
    house.apply(attach(ada.agent, &persona)).await.unwrap();
    persona.label = Label::new("human").unwrap();
    assert_eq!(word(&house.apply([update_block(&persona)]).await), "conflict");
    assert_eq!(house.store.block(house.owner(), persona.id).await.unwrap().version, 1);
    persona.label = Label::new("self").unwrap();
    house.apply([update_block(&persona)]).await.unwrap();
    // The old label is free again, the new one is not.
    house.apply(attach(ada.agent, &house.new_block("persona", "4").await)).await.unwrap();
    assert_eq!(word(&house.apply(attach(ada.agent, &house.new_block("self", "5").await)).await), "conflict");
    let labels: Vec<_> = house.store.agent_blocks(house.owner(), ada.agent).await.unwrap();
    let labels: Vec<_> = labels.iter().map(|block| block.label.as_str()).collect();
    assert_eq!(labels, ["human", "self", "persona"]);
}

#[tokio::test]
async fn a_detached_block_stays_and_a_deleted_one_goes() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (a, b) = (house.new_block("a", "").await, house.new_block("b", "").await);
    let agent = home.agent;
    house
        .apply([Change::AttachBlock { agent, block: a.id }, Change::AttachBlock { agent, block: b.id }])
        .await
        .unwrap();
    house.apply([Change::DetachBlock { agent, block: a.id, editor: BlockEditor::Api }]).await.unwrap();
    assert_eq!(
        word(&house.apply([Change::DetachBlock { agent, block: a.id, editor: BlockEditor::Api }]).await),
        "not found"
    );
    assert_eq!(word(&house.store.block(house.owner(), a.id).await), "ok");
    house.apply([Change::DeleteBlock(b.id)]).await.unwrap();
    assert_eq!(word(&house.store.block(house.owner(), b.id).await), "not found");
    assert!(house.store.agent_blocks(house.owner(), agent).await.unwrap().is_empty());
    assert_eq!(word(&house.apply([insert_block(&a)]).await), "conflict");
}

#[tokio::test]
async fn a_limit_counts_characters_in_the_database_too() {
    let house = House::new();
    let mut block = house.new_block("human", "").await;
    block.set_value_and_limit("日本語の記憶", 6).unwrap();
    house.apply([update_block(&block)]).await.unwrap();
    assert_eq!(house.store.block(house.owner(), block.id).await.unwrap().value(), "日本語の記憶");
    // Past the type, as a program with a fault would do it.
    let raw = house.raw();
    let set = |value: &str| raw.execute("update block set value = ?1", [value]).map_err(|error| error.to_string());
    assert_eq!(set("記憶の日本語"), Ok(1));
    assert_eq!(set("日本語の記憶。"), Err("CHECK constraint failed: value_within_limit".to_owned()));
}
