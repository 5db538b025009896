//! Archives, passages and the kept search index: who sees them, what is counted, what deleting takes along.

use std::sync::Arc;

use domain::{Actor, Archive, ArchiveId, ModelHandle, OrganizationId, Passage, PassageId, VectorDbProvider};
use storage::{Change, SearchScope, Segment, StoreError, VectorStretch};

use crate::house::{Home, House, at};

fn archive(me: Actor, name: &str) -> Archive {
    Archive {
        id: ArchiveId::random(),
        organization: me.organization,
        created_by: me.user,
        name: name.to_owned(),
        description: None,
        embedding: ModelHandle::parse("builtin/embedding").unwrap(),
        vector_db_provider: VectorDbProvider::Native,
        metadata: serde_json::Map::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

fn passage(archive: &Archive, text: &str, tags: &[&str]) -> Arc<Passage> {
    Arc::new(Passage {
        id: PassageId::random(),
        organization: archive.organization,
        created_by: archive.created_by,
        archive: archive.id,
        number: 0,
        text: text.into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        metadata: serde_json::Map::new(),
        created_at: at(5),
    })
}

async fn shelf(house: &House, homes: &[Home]) -> Archive {
    let archive = archive(house.me, "shelf");
    let attach = homes.iter().map(|home| Change::AttachArchive { agent: home.agent, archive: archive.id });
    house.apply(std::iter::once(Change::InsertArchive(Box::new(archive.clone()))).chain(attach)).await.unwrap();
    archive
}

/// Passages and tags that an agent is told about, from memory and from the file.
async fn told(house: &House, home: Home) -> (u64, Vec<String>) {
    let warm = house.store.snapshot(house.owner(), home.agent, home.conversation).await.unwrap().archival;
    let cold = house.fresh().snapshot(house.owner(), home.agent, home.conversation).await.unwrap().archival;
    assert_eq!(warm, cold);
    (warm.passages, warm.tags.to_vec())
}

#[tokio::test]
async fn a_shared_archive_is_told_to_every_agent_that_has_it() {
    let house = House::new();
    let (ada, bob, eve) = (house.new_home("ada").await, house.new_home("bob").await, house.new_home("eve").await);
    let shelf = shelf(&house, &[ada, bob]).await;
    assert_eq!(told(&house, ada).await, (0, vec![]));
    let (first, second) = (passage(&shelf, "Tea at four.", &["food", "b"]), passage(&shelf, "Rain.", &["b"]));
    let stored = house.apply([Change::InsertPassages(vec![first.clone(), second])]).await.unwrap().passages;
    assert!(stored[0].number < stored[1].number && stored[0].number > 0);
    for home in [ada, bob] {
        assert_eq!(told(&house, home).await, (2, vec!["b".to_owned(), "food".to_owned()]));
    }
    assert_eq!(told(&house, eve).await, (0, vec![]));
    house.apply([Change::DeletePassage(first.id)]).await.unwrap();
    assert_eq!(told(&house, bob).await, (1, vec!["b".to_owned()]));
    let gone = house.store.gone_after(house.owner(), SearchScope::Archive(shelf.id), 0).await.unwrap();
    assert_eq!(gone.iter().map(|gone| gone.number).collect::<Vec<_>>(), [stored[0].number]);
    house.apply([Change::DetachArchive { agent: bob.agent, archive: shelf.id }]).await.unwrap();
    assert_eq!(told(&house, bob).await, (0, vec![]));
}

#[tokio::test]
async fn deleting_an_agent_leaves_its_archives() {
    let house = House::new();
    let ada = house.new_home("ada").await;
    let shelf = shelf(&house, &[ada]).await;
    house.apply([Change::InsertPassages(vec![passage(&shelf, "Tea.", &[])])]).await.unwrap();
    house.apply([Change::DeleteAgent(ada.agent)]).await.unwrap();
    assert_eq!(house.store.passages_after(house.owner(), shelf.id, 0, 10).await.unwrap().len(), 1);
    assert!(house.store.check().await.unwrap().problems.is_empty());
    house.apply([Change::DeleteArchive(shelf.id)]).await.unwrap();
    assert!(house.store.archive(house.owner(), shelf.id).await.is_err());
    assert_eq!(house.store.passages_after(house.owner(), shelf.id, 0, 10).await.unwrap(), []);
}

#[tokio::test]
async fn nobody_else_sees_or_fills_an_archive() {
    let house = House::new();
    let ada = house.new_home("ada").await;
    let shelf = shelf(&house, &[ada]).await;
    let stored = house.apply([Change::InsertPassages(vec![passage(&shelf, "Tea.", &[])])]).await.unwrap().passages;
    let stranger = OrganizationId::random();
    assert!(house.store.archive(stranger, shelf.id).await.is_err());
    assert!(house.store.passage(stranger, stored[0].id).await.is_err());
    assert_eq!(house.store.passages_by_number(stranger, &[stored[0].number]).await.unwrap(), []);
    assert_eq!(house.store.passages_after(stranger, shelf.id, 0, 10).await.unwrap(), []);
    let mut foreign = archive(house.me, "other");
    foreign.id = ArchiveId::random();
    let lost = house.apply([Change::InsertPassages(vec![passage(&foreign, "Tea.", &[])])]).await;
    assert!(matches!(lost, Err(StoreError::NotFound { noun: "archive", .. })));
}

#[tokio::test]
async fn stretches_of_the_index_never_overlap() {
    let house = House::new();
    let ada = house.new_home("ada").await;
    let scope = SearchScope::Recall(ada.agent);
    let segment = |first, last| Segment { first, last, documents: last - first + 1, content: vec![1, 2, 3] };
    let vectors = |first, last| VectorStretch {
        embedding: "builtin/embedding".to_owned(),
        first,
        last,
        documents: last - first + 1,
        dimensions: 2,
        content: vec![0, 1],
    };
    let add = |first, last| {
        [
            Change::InsertSegment { scope, segment: Box::new(segment(first, last)) },
            Change::InsertVectors { scope, vectors: Box::new(vectors(first, last)) },
        ]
    };
    house.apply(add(1, 10)).await.unwrap();
    for (first, last) in [(1, 10), (5, 6), (10, 20)] {
        assert!(matches!(house.apply(add(first, last)).await, Err(StoreError::Conflict { .. })), "{first}");
    }
    house.apply(add(11, 20)).await.unwrap();
    let owner = house.owner();
    assert_eq!(house.store.segments(owner, scope, 0, 9).await.unwrap(), [segment(1, 10), segment(11, 20)]);
    assert_eq!(house.store.segments(owner, scope, 10, 9).await.unwrap(), [segment(11, 20)]);
    assert_eq!(house.store.indexed_to(owner, scope).await.unwrap(), 20);
    let coverage = house.store.coverage(owner, scope).await.unwrap();
    assert_eq!((coverage.len(), coverage[0].last, coverage[0].documents), (1, 20, 20));
    house.apply([Change::DropVectors { scope, embedding: "builtin/embedding".to_owned() }]).await.unwrap();
    assert_eq!(house.store.vectors(owner, scope, "builtin/embedding", 0, 9).await.unwrap(), []);
    house.apply([Change::DeleteAgent(ada.agent)]).await.unwrap();
    assert_eq!(house.store.segments(owner, scope, 0, 9).await.unwrap(), []);
}

#[tokio::test]
async fn rows_that_came_are_counted_for_the_indexer() {
    let house = House::new();
    let ada = house.new_home("ada").await;
    house.say(ada, &["one", "two", "three"]).await;
    house.store.backlog_grew().await;
    let scope = SearchScope::Recall(ada.agent);
    assert_eq!(house.store.backlog(), [(house.owner(), scope, 3)]);
    house.store.forget_backlog(&[(house.owner(), scope)]);
    assert_eq!(house.store.backlog(), []);
    assert_eq!(house.store.rows_after(house.owner(), SearchScope::Recall(ada.agent), 1).await.unwrap(), 2);
}
