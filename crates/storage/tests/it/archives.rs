//! Archives, passages and the kept search index: who sees them, what is counted, what deleting takes along.

use std::sync::Arc;

use domain::{Actor, Archive, ArchiveId, ModelHandle, OrganizationId, Passage, PassageId, VectorDbProvider};
use storage::{
    AgentFilter, ArchiveFilter, Change, Page, PassageFilter, SearchScope, Segment, StoreError, VectorStretch,
};

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
async fn archives_are_listed_by_age_name_and_agent() {
    let house = House::new();
    let (ada, bob) = (house.new_home("ada").await, house.new_home("bob").await);
    let mut made = Vec::new();
    for (second, name) in ["a", "b", "b"].into_iter().enumerate() {
        let archive = Archive { created_at: at(second as i64), ..archive(house.me, name) };
        house.apply([Change::InsertArchive(Box::new(archive.clone()))]).await.unwrap();
        made.push(archive.id);
    }
    for (home, place) in [(ada, 0), (ada, 2), (bob, 2)] {
        house.apply([Change::AttachArchive { agent: home.agent, archive: made[place] }]).await.unwrap();
    }
    let usual = ArchiveFilter::default;
    let cases = [
        (usual(), vec![2, 1, 0]),
        (ArchiveFilter { ascending: true, ..usual() }, vec![0, 1, 2]),
        (ArchiveFilter { name: Some("b".to_owned()), ..usual() }, vec![2, 1]),
        (ArchiveFilter { agent: Some(ada.agent), ..usual() }, vec![2, 0]),
        (ArchiveFilter { agent: Some(bob.agent), name: Some("a".to_owned()), ..usual() }, vec![]),
        (ArchiveFilter { limit: 1, ..usual() }, vec![2]),
        (ArchiveFilter { after: Some(made[2]), ..usual() }, vec![1, 0]),
        (ArchiveFilter { before: Some(made[0]), ..usual() }, vec![2, 1]),
        (ArchiveFilter { after: Some(made[0]), before: Some(made[2]), ascending: true, ..usual() }, vec![1]),
    ];
    for (filter, expected) in cases {
        let found = house.store.find_archives(house.owner(), &filter).await.unwrap();
        let places: Vec<_> = found.iter().map(|one| made.iter().position(|id| *id == one.id).unwrap()).collect();
        assert_eq!(places, expected, "{filter:?}");
    }
    assert_eq!(house.store.find_archives(OrganizationId::random(), &usual()).await.unwrap(), []);
    let filter = AgentFilter { archive: Some(made[2]), name: Some("ada".to_owned()), ..AgentFilter::default() };
    assert_eq!(house.store.agents(house.owner(), &filter).await.unwrap().len(), 1);
    house.apply([Change::DetachArchive { agent: ada.agent, archive: made[2] }]).await.unwrap();
    assert_eq!(house.store.agents(house.owner(), &filter).await.unwrap().len(), 0);
}

#[tokio::test]
async fn passages_are_listed_in_pages_and_by_what_they_hold() {
    let house = House::new();
    let ada = house.new_home("ada").await;
    let (first, second) = (shelf(&house, &[ada]).await, shelf(&house, &[ada]).await);
    let mut made = Vec::new();
    for (number, (shelf, text, tags)) in [
        (&first, "Tea at FOUR.", &["food", "a,b"][..]),
        (&second, "100% rain.", &["weather"][..]),
        (&first, "Green tea.", &["food", "green"][..]),
    ]
    .into_iter()
    .enumerate()
    {
        let passage = Passage { created_at: at(number as i64), ..Passage::clone(&passage(shelf, text, tags)) };
        made.push(passage.id);
        house.apply([Change::InsertPassages(vec![Arc::new(passage)])]).await.unwrap();
    }
    let usual = || PassageFilter { archives: vec![first.id, second.id], ..PassageFilter::default() };
    let text = |text: &str| PassageFilter { text: Some(text.to_owned()), ..usual() };
    let tags = |tags: &[&str], match_all_tags| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        PassageFilter { tags, match_all_tags, ..usual() }
    };
    let cases = [
        (usual(), vec![0, 1, 2]),
        (PassageFilter { archives: vec![second.id], ..usual() }, vec![1]),
        (PassageFilter { archives: vec![], ..usual() }, vec![]),
        (PassageFilter { ascending: false, limit: 2, ..usual() }, vec![2, 1]),
        (PassageFilter { after: Some(made[0]), ..usual() }, vec![1, 2]),
        (PassageFilter { after: Some(made[1]), ascending: false, ..usual() }, vec![0]),
        (PassageFilter { before: Some(made[2]), ..usual() }, vec![0, 1]),
        (text("four"), vec![0]),
        (text("%"), vec![1]),
        (tags(&["green", "weather"], false), vec![1, 2]),
        (tags(&["food", "green"], true), vec![2]),
        (tags(&["a"], false), vec![]),
        (PassageFilter { from: Some(at(1)), until: Some(at(2)), ..usual() }, vec![1]),
    ];
    for (filter, expected) in cases {
        let found = house.store.passages(house.owner(), &filter).await.unwrap();
        let places: Vec<_> = found.iter().map(|one| made.iter().position(|id| *id == one.id).unwrap()).collect();
        assert_eq!(places, expected, "{filter:?}");
    }
    assert_eq!(house.store.passages(OrganizationId::random(), &usual()).await.unwrap(), []);
    let foreign = PassageFilter { after: Some(PassageId::random()), ..usual() };
    assert!(house.store.passages(house.owner(), &foreign).await.is_err());
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
    assert_eq!(
        house.store.segments(owner, scope, Page { after: 0, limit: 9 }).await.unwrap(),
        [segment(1, 10), segment(11, 20)]
    );
    assert_eq!(house.store.segments(owner, scope, Page { after: 10, limit: 9 }).await.unwrap(), [segment(11, 20)]);
    assert_eq!(house.store.indexed_to(owner, scope).await.unwrap(), 20);
    let coverage = house.store.coverage(owner, scope).await.unwrap();
    assert_eq!((coverage.len(), coverage[0].last, coverage[0].documents), (1, 20, 20));
    house.apply([Change::DropVectors { scope, embedding: "builtin/embedding".to_owned() }]).await.unwrap();
    assert_eq!(house.store.vectors(owner, scope, "builtin/embedding", Page { after: 0, limit: 9 }).await.unwrap(), []);
    house.apply([Change::DeleteAgent(ada.agent)]).await.unwrap();
    assert_eq!(house.store.segments(owner, scope, Page { after: 0, limit: 9 }).await.unwrap(), []);
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
