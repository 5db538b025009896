//! The archival tools: what they store, what they find, and who shares it.

use domain::seams::tool_executor::{ArchivalChange, ToolOutcome};
use domain::{AgentSnapshot, ToolStatus};
use serde_json::{Value, json};
use storage::Change;

use crate::house::House;

/// Does what a step's commit would do with an outcome.
async fn keep(house: &House, of: &AgentSnapshot, outcome: &ToolOutcome) {
    let agent = of.agent.id;
    for change in outcome.archival.clone() {
        match change {
            ArchivalChange::NewArchive(archive) => {
                let id = archive.id;
                house.apply([Change::InsertArchive(archive), Change::AttachArchive { agent, archive: id }]).await;
            }
            ArchivalChange::Insert(passage) => house.apply([Change::InsertPassages(vec![passage])]).await,
        }
    }
}

async fn store(house: &House, of: &AgentSnapshot, text: &str, tags: &[&str]) {
    let outcome = house.call(of, "archival_memory_insert", json!({"content": text, "tags": tags})).await;
    assert_eq!(outcome.status, ToolStatus::Success, "{}", outcome.text);
    keep(house, of, &outcome).await;
}

fn contents(found: &Value) -> Vec<String> {
    let mut contents: Vec<String> =
        found.as_array().unwrap().iter().map(|result| result["content"].as_str().unwrap().to_owned()).collect();
    contents.sort();
    contents
}

#[tokio::test]
async fn the_first_insert_makes_an_archive_and_later_ones_use_it() {
    let house = House::new();
    let ada = house.agent().await;
    let first = house.call(&ada, "archival_memory_insert", json!({"content": "One."})).await;
    let second = house.call_after(&ada, "archival_memory_insert", json!({"content": "Two."}), &first.archival).await;
    assert_eq!((first.archival.len(), second.archival.len()), (2, 1));
    keep(&house, &ada, &first).await;
    keep(&house, &ada, &second).await;
    store(&house, &ada, "Three.", &[]).await;
    let archives = house.store.agent_archives(house.me.organization, ada.agent.id).await.unwrap();
    assert_eq!(archives.len(), 1);
    let passages = house.store.passages_after(house.me.organization, archives[0].id, 0, 9).await.unwrap();
    assert_eq!(passages.iter().map(|passage| &*passage.text).collect::<Vec<_>>(), ["One.", "Two.", "Three."]);
}

#[tokio::test]
async fn passages_are_found_by_tags_and_dates() {
    let house = House::new();
    let ada = house.agent().await;
    store(&house, &ada, "The boat is blue.", &["boat", "colour"]).await;
    store(&house, &ada, "The boat is fast.", &["boat"]).await;
    store(&house, &ada, "The house is blue.", &["colour"]).await;
    let find = async |arguments: Value| contents(&house.ask(&ada, "archival_memory_search", arguments).await);
    assert_eq!(find(json!({"query": "boat", "top_k": 9})).await.len(), 3);
    let tags = json!({"query": "what", "tags": ["boat", "colour"], "tag_match_mode": "all"});
    assert_eq!(find(tags).await, ["The boat is blue."]);
    assert_eq!(find(json!({"query": "what", "tags": ["boat"]})).await, ["The boat is blue.", "The boat is fast."]);
    assert_eq!(find(json!({"query": "boat", "start_datetime": "2026-01-21"})).await, Vec::<String>::new());
    assert_eq!(find(json!({"query": "boat", "end_datetime": "2026-01-20"})).await.len(), 3);
    let one = house.ask(&ada, "archival_memory_search", json!({"query": "fast boat", "top_k": 1})).await;
    let keys: Vec<&str> = one[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["timestamp", "content", "tags", "relevance"]);
    assert_eq!((&one[0]["content"], &one[0]["tags"]), (&json!("The boat is fast."), &json!(["boat"])));
    assert_eq!(one[0]["timestamp"], "2026-01-20T12:00:00-05:00");
}

#[tokio::test]
async fn an_archive_can_be_shared() {
    let house = House::new();
    let (ada, bob) = (house.agent().await, house.agent().await);
    store(&house, &ada, "The key is under the mat.", &[]).await;
    let query = json!({"query": "where is the key"});
    assert_eq!(house.ask(&bob, "archival_memory_search", query.clone()).await, json!([]));
    let archives = house.store.agent_archives(house.me.organization, ada.agent.id).await.unwrap();
    house.apply([Change::AttachArchive { agent: bob.agent.id, archive: archives[0].id }]).await;
    assert_eq!(contents(&house.ask(&bob, "archival_memory_search", query).await), ["The key is under the mat."]);
}

#[tokio::test]
async fn a_deleted_passage_is_not_found() {
    let house = House::new();
    let ada = house.agent().await;
    store(&house, &ada, "The key is under the mat.", &[]).await;
    store(&house, &ada, "The key is in the shed.", &[]).await;
    let query = json!({"query": "key"});
    assert_eq!(house.ask(&ada, "archival_memory_search", query.clone()).await.as_array().unwrap().len(), 2);
    let archives = house.store.agent_archives(house.me.organization, ada.agent.id).await.unwrap();
    let passages = house.store.passages_after(house.me.organization, archives[0].id, 0, 9).await.unwrap();
    house.apply([Change::DeletePassage(passages[0].id)]).await;
    assert_eq!(contents(&house.ask(&ada, "archival_memory_search", query).await), ["The key is in the shed."]);
}

#[tokio::test]
async fn what_can_not_be_stored_is_told() {
    let house = House::new();
    let ada = house.agent().await;
    for (arguments, expected) in [
        (json!({"content": " "}), "Nothing was stored: a passage needs some text."),
        (json!({"content": "x", "tags": [""]}), "Nothing was stored: a tag needs 1 to 200 characters"),
        (json!({"content": "x", "tags": [3]}), "The argument `tags` must be a list of strings"),
        (json!({"content": "x".repeat(300_000)}), "Nothing was stored: a passage may have 262144 bytes"),
    ] {
        let outcome = house.call(&ada, "archival_memory_insert", arguments).await;
        assert_eq!((outcome.status, outcome.archival.len()), (ToolStatus::Error, 0));
        assert!(outcome.text.starts_with(expected), "{}", outcome.text);
    }
}
