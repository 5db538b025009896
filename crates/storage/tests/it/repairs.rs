//! What a check finds, and what a repair makes right. The damage is done past the store, as a fault or a hand would.

use domain::{Archive, ArchiveId, ModelHandle, Passage, PassageId, VectorDbProvider};
use storage::{Area, BlockEditor, Change, Problem, SearchScope, Segment, Store, VectorStretch, sealed};

use crate::house::{Home, House, at};

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

/// An archive of the agent with two passages.
async fn shelf(house: &House, home: Home) -> Archive {
    let archive = Archive {
        id: ArchiveId::random(),
        organization: house.owner(),
        created_by: house.me.user,
        name: "shelf".to_owned(),
        description: None,
        embedding: ModelHandle::parse("builtin/embedding").unwrap(),
        vector_db_provider: VectorDbProvider::Native,
        metadata: serde_json::Map::new(),
        created_at: at(0),
        updated_at: at(0),
    };
    let passage = |text: &str, tags: &[&str]| {
        std::sync::Arc::new(Passage {
            id: PassageId::random(),
            organization: house.owner(),
            created_by: house.me.user,
            archive: archive.id,
            number: 0,
            text: text.into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            metadata: serde_json::Map::new(),
            created_at: at(5),
        })
    };
    let changes = [
        Change::InsertArchive(Box::new(archive.clone())),
        Change::AttachArchive { agent: home.agent, archive: archive.id },
        Change::InsertPassages(vec![passage("Tea at four.", &["food", "day"]), passage("Rain.", &["day"])]),
    ];
    house.apply(changes).await.unwrap();
    archive
}

#[tokio::test]
async fn what_archives_count_is_corrected() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let shelf = shelf(&house, home).await;
    assert_eq!(house.store.check().await.unwrap().problems, []);
    house.store.clone().close().await;
    for damage in [
        "update archive set passage_count = 9",
        "update archive_tag set passage_count = 7 where tag = 'day'",
        "insert into archive_tag (archive_id, tag, passage_count) select id, 'ghost', 1 from archive",
        "delete from archive_tag where tag = 'food'",
    ] {
        house.raw().execute_batch(damage).unwrap();
        let store = again(&house);
        let problems = store.check().await.unwrap().problems;
        let expected = format!("archive `{}` counts other passages or tags than it has", shelf.id);
        assert_eq!(problems, [Problem { area: Area::Derived, text: expected }], "{damage}");
        let done = store.repair(at(9)).await.unwrap();
        assert_eq!(done[1..], ["counted passages and tags of 1 archive"], "{damage}");
        assert_eq!(store.check().await.unwrap().problems, [], "{damage}");
        let archival = store.snapshot(house.owner(), home.agent, home.conversation).await.unwrap().archival;
        assert_eq!((archival.passages, archival.tags.join(" ").as_str()), (2, "day food"), "{damage}");
        store.close().await;
    }
}

/// What is kept of an agent's messages: two stretches of words, and three of vectors of one model and one of another.
async fn indexed(house: &House, scope: SearchScope) {
    let word = |first, last| {
        let segment = Box::new(Segment { first, last, documents: 2, content: sealed(vec![1, 2, 3]) });
        Change::InsertSegment { scope, segment }
    };
    let vector = |embedding: &str, first, last| {
        let (embedding, content) = (embedding.to_owned(), sealed(vec![4, 5, 6]));
        let vectors = Box::new(VectorStretch { embedding, first, last, documents: 2, dimensions: 3, content });
        Change::InsertVectors { scope, vectors }
    };
    let vectors = [vector("a/x", 1, 2), vector("a/x", 3, 4), vector("a/x", 5, 6), vector("b/y", 1, 4)];
    house.apply([word(1, 2), word(3, 4)].into_iter().chain(vectors)).await.unwrap();
}

#[tokio::test]
async fn damaged_stretches_of_the_search_index_go_and_sound_vectors_stay() {
    for (damage, told, vectors) in [
        ("update search_segment set content = zeroblob(11) where first_number = 3", "words", [6, 4]),
        ("update search_segment set last_number = 3 where first_number = 1", "words", [6, 4]),
        ("update search_segment set content = x'' where first_number = 1", "words", [6, 4]),
        ("update search_vectors set content = zeroblob(11) where first_number = 3", "vectors", [2, 4]),
        ("update search_vectors set last_number = 9 where embedding = 'a/x' and first_number = 3", "vectors", [9, 4]),
    ] {
        let house = House::new();
        let home = house.new_home("ada").await;
        house.say(home, &["one", "two", "three", "four", "five", "six"]).await;
        let scope = SearchScope::Recall(home.agent);
        indexed(&house, scope).await;
        assert_eq!(house.store.check().await.unwrap().problems, []);
        house.store.clone().close().await;
        house.raw().execute_batch(damage).unwrap();
        let store = again(&house);
        let text = format!("a stretch of the search index ({told}) is damaged or overlaps another");
        let problems = store.check().await.unwrap().problems;
        assert_eq!(problems, [Problem { area: Area::Search, text }], "{damage}");
        assert!(problems[0].can_be_repaired());
        let done = store.repair(at(9)).await.unwrap();
        assert!(done[1].starts_with("threw away, to be made again from the rows, the index of "), "{done:?}");
        assert_eq!(store.check().await.unwrap().problems, [], "{damage}");
        // Words cost nothing to index again, so all of them go.
        assert_eq!(store.indexed_to(house.owner(), scope).await.unwrap(), 0, "{damage}");
        let mut coverage = store.coverage(house.owner(), scope).await.unwrap();
        coverage.sort_by(|one, other| one.embedding.cmp(&other.embedding));
        let reached: Vec<(&str, u64)> = coverage.iter().map(|one| (one.embedding.as_str(), one.last)).collect();
        assert_eq!(reached, [("a/x", vectors[0]), ("b/y", vectors[1])], "{damage}");
    }
}
