//! The history of blocks: who changed what, what an undo leaves behind, and files that are older than undo.

use std::collections::BTreeSet;

use domain::{Block, RunId};
use storage::{BlockEdit, BlockEditor, Change, Store, StoreConfig};

use crate::house::{House, at, insert_block, stranger, update_block, word};

/// Stores `block` as it is now and counts its version up, as the store does.
async fn edit(house: &House, block: &mut Block, value: &str, editor: BlockEditor) {
    block.set_value(value).unwrap();
    house.apply([Change::UpdateBlock { block: Box::new(block.clone()), editor }]).await.unwrap();
    block.version += 1;
}

#[tokio::test]
async fn every_kind_of_editor_is_remembered() {
    let house = House::new();
    let mut block = house.new_block("human", "one").await;
    let editors = [
        BlockEditor::Tool(RunId::random()),
        BlockEditor::Sleeptime(RunId::random()),
        BlockEditor::Import,
        BlockEditor::Undo { to_version: 3 },
        BlockEditor::Redo { to_version: 4 },
    ];
    for (number, editor) in editors.into_iter().enumerate() {
        edit(&house, &mut block, &format!("{number}"), editor).await;
    }
    let history = house.fresh().block_history(house.owner(), block.id).await.unwrap();
    let found: Vec<BlockEditor> = history.iter().map(|version| version.editor).collect();
    assert_eq!(found[0], BlockEditor::Api);
    assert_eq!(found[1..], editors);
}

#[tokio::test]
async fn a_change_that_shows_nothing_is_told_apart() {
    let house = House::new();
    let mut block = house.new_block("human", "one").await;
    block.read_only = true;
    house.apply([update_block(&block)]).await.unwrap();
    block.version += 1;
    block.description = Some("about the person".to_owned());
    house.apply([update_block(&block)]).await.unwrap();
    block.version += 1;
    edit(&house, &mut block, "two", BlockEditor::Api).await;
    let edits = house.store.block_edits(house.owner(), block.id, 100).await.unwrap();
    let edit = |version, visible| BlockEdit { version, editor: BlockEditor::Api, visible };
    assert_eq!(edits, [edit(1, true), edit(2, false), edit(3, true), edit(4, true)]);
    let newest = house.store.block_edits(house.owner(), block.id, 2).await.unwrap();
    assert_eq!(newest, [edit(3, true), edit(4, true)]);
}

#[tokio::test]
async fn a_long_history_comes_in_pages() {
    let house = House::new();
    let mut block = house.new_block("human", "").await;
    for number in 2..=9 {
        edit(&house, &mut block, &format!("text {number}"), BlockEditor::Api).await;
    }
    let page = async |before, limit| {
        let versions = house.store.block_versions(house.owner(), block.id, before, limit).await.unwrap();
        versions.iter().map(|version| version.version).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 3).await, [7, 8, 9]);
    assert_eq!(page(Some(7), 3).await, [4, 5, 6]);
    assert_eq!(page(Some(2), 3).await, [1]);
    assert_eq!(page(Some(1), 3).await, [0_u64; 0]);
    let one = house.store.block_version(house.owner(), block.id, 5).await.unwrap();
    assert_eq!((one.version, one.value.as_str()), (5, "text 5"));
    assert_eq!(word(&house.store.block_version(house.owner(), block.id, 10).await), "not found");
}

#[tokio::test]
async fn long_texts_make_a_page_shorter_but_never_empty() {
    let house = House::new();
    let mut block = house.new_block("human", "").await;
    block.set_value_and_limit("", 9_000_000).unwrap();
    for letter in ["a", "b", "c"] {
        edit(&house, &mut block, &letter.repeat(9_000_000), BlockEditor::Api).await;
    }
    let versions = house.store.block_versions(house.owner(), block.id, None, 10).await.unwrap();
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [4]);
    let versions = house.store.block_versions(house.owner(), block.id, Some(3), 10).await.unwrap();
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_history_is_its_owners_alone() {
    let house = House::new();
    let block = house.new_block("human", "secret").await;
    let other = stranger(&house.store).await.organization;
    assert_eq!(word(&house.store.block_history(other, block.id).await), "not found");
    assert_eq!(word(&house.store.block_versions(other, block.id, None, 10).await), "not found");
    assert_eq!(word(&house.store.block_version(other, block.id, 1).await), "not found");
    assert_eq!(word(&house.store.block_edits(other, block.id, 10).await), "not found");
    assert!(house.store.block_agents(other, block.id, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_agents_of_a_shared_block_are_named() {
    let house = House::new();
    let (ada, bob) = (house.new_home("ada").await, house.new_home("bob").await);
    let block = house.new_block("human", "").await;
    assert!(house.store.block_agents(house.owner(), block.id, 10).await.unwrap().is_empty());
    for agent in [bob.agent, ada.agent] {
        house.apply([Change::AttachBlock { agent, block: block.id }]).await.unwrap();
    }
    let shared = house.store.block_agents(house.owner(), block.id, 10).await.unwrap();
    assert_eq!(shared, [(ada.agent, "ada".to_owned()), (bob.agent, "bob".to_owned())]);
    assert_eq!(house.store.block_agents(house.owner(), block.id, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_detached_block_keeps_its_history() {
    let house = House::new();
    let agent = house.new_home("ada").await.agent;
    let mut block = house.new_block("human", "one").await;
    house.apply([Change::AttachBlock { agent, block: block.id }]).await.unwrap();
    edit(&house, &mut block, "two", BlockEditor::Api).await;
    house.apply([Change::DetachBlock { agent, block: block.id, editor: BlockEditor::Api }]).await.unwrap();
    house.apply([Change::DeleteAgent(agent)]).await.unwrap();
    assert_eq!(house.store.block_history(house.owner(), block.id).await.unwrap().len(), 2);
    assert_eq!(word(&house.apply([insert_block(&block)]).await), "conflict");
}

#[tokio::test]
async fn an_agent_can_have_back_what_it_was_parted_from() {
    let house = House::new();
    let agent = house.new_home("ada").await.agent;
    let (first, second) = (house.new_block("human", "one").await, house.new_block("notes", "two").await);
    let (attach, run) = (|block: &Block| Change::AttachBlock { agent, block: block.id }, RunId::random());
    let editor = BlockEditor::Tool(run);
    let detach = |block: &Block| Change::DetachBlock { agent, block: block.id, editor };
    house.apply([attach(&first), attach(&second), detach(&first), detach(&second)]).await.unwrap();
    let parted = async |owner| {
        let detached = house.store.detached_blocks(owner, agent, 10).await.unwrap();
        assert!(detached.iter().all(|one| one.editor == editor && one.at == at(1)));
        detached.iter().map(|one| one.block.label.to_string()).collect::<BTreeSet<_>>()
    };
    assert_eq!(parted(house.owner()).await, BTreeSet::from(["human".to_owned(), "notes".to_owned()]));
    assert_eq!(parted(stranger(&house.store).await.organization).await, BTreeSet::new());
    // Parted again after it was there again, it is remembered once.
    house.apply([attach(&first), detach(&first), attach(&first)]).await.unwrap();
    assert_eq!(parted(house.owner()).await, BTreeSet::from(["notes".to_owned()]));
    house.apply([Change::DeleteBlock(second.id)]).await.unwrap();
    assert_eq!(parted(house.owner()).await, BTreeSet::new());
    house.apply([detach(&first)]).await.unwrap();
    house.apply([Change::DeleteAgent(agent)]).await.unwrap();
    assert_eq!(house.store.check().await.unwrap().problems, []);
}

#[tokio::test]
async fn a_history_from_before_undo_is_read() {
    let house = House::new();
    let block = house.new_block("human", "one").await;
    let directory = tempfile::tempdir().unwrap();
    let config = StoreConfig::at(directory.path().join("old.db"));
    let raw = rusqlite::Connection::open(&config.path).unwrap();
    raw.execute_batch(include_str!("../../migrations/0001_first.sql")).unwrap();
    raw.execute("attach database ?1 as new", [house.config.path.to_str().unwrap()]).unwrap();
    let kept = "block_id, version, organization_id, label, value, description, char_limit, editor, run_id, user_id, at";
    raw.execute_batch(&format!(
        "pragma user_version = 1; \
         insert into organization select * from new.organization; \
         insert into user_account select * from new.user_account; \
         insert into block select * from new.block; \
         insert into block_history ({kept}) select {kept} from new.block_history"
    ))
    .unwrap();
    drop(raw);
    let store = Store::open(&config, at(0)).unwrap();
    let history = store.block_history(house.owner(), block.id).await.unwrap();
    assert_eq!((history.len(), history[0].value.as_str(), history[0].editor), (1, "one", BlockEditor::Api));
}
