//! What is kept of the index gives what the rows would give, and what is damaged is made again.

use retrieval::{RecallQuery, Search};
use storage::{Page, SearchScope};

use crate::house::{House, Talk};

const WORDS: [&str; 12] = [
    "garden", "violin", "bakery", "tractor", "harbour", "lecture", "marble", "lantern", "orchard", "ticket", "ferry",
    "candle",
];

/// A house in which two stretches and a bit more were said.
async fn full() -> (House, Talk) {
    let house = House::new();
    let talk = house.agent().await;
    let texts = (0..9_000_usize).map(|number| {
        let word = |step: usize| WORDS[(number / step + number * step) % WORDS.len()];
        format!("Number {number}: the {} near the {} has a {}.", word(1), word(7), word(5))
    });
    house.say(talk, texts).await;
    (house, talk)
}

async fn all_found(house: &House, search: &Search, talk: Talk) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for query in ["ferry and candle", "Number 17", "where is the orchard", "a musical instrument", "Number 8999 marble"]
    {
        found.push(house.found(search, &RecallQuery::new(talk.agent, query, 10)).await);
    }
    found
}

#[tokio::test]
async fn kept_stretches_find_what_rows_find() {
    let (house, talk) = full().await;
    let from_rows = all_found(&house, &house.search, talk).await;
    let scope = SearchScope::Recall(talk.agent);
    house.search.index(house.owner(), scope, &mut |_| true).await.unwrap();
    let kept = house.store.segments(house.owner(), scope, Page { after: 0, limit: 9 }).await.unwrap();
    assert_eq!(kept.iter().map(|segment| segment.documents).collect::<Vec<_>>(), [4_096, 4_096]);
    assert_eq!(all_found(&house, &house.fresh(), talk).await, from_rows);
    // The one that never read them goes on as before, too.
    assert_eq!(all_found(&house, &house.search, talk).await, from_rows);
}

#[tokio::test]
async fn a_damaged_stretch_is_noticed_and_made_again() {
    let (house, talk) = full().await;
    let scope = SearchScope::Recall(talk.agent);
    house.search.index(house.owner(), scope, &mut |_| true).await.unwrap();
    let sound = all_found(&house, &house.fresh(), talk).await;
    for table in ["search_segment", "search_vectors"] {
        let raw = rusqlite::Connection::open(&house.path).unwrap();
        let wrong = format!("update {table} set content = zeroblob(length(content)) where first_number > 4000");
        assert_eq!(raw.execute(&wrong, []).unwrap(), 1, "{table}");
        drop(raw);
        assert!(!house.store.check().await.unwrap().problems.is_empty(), "{table}");
        let search = house.fresh();
        assert_eq!(all_found(&house, &search, talk).await.len(), sound.len(), "{table}");
        search.index(house.owner(), scope, &mut |_| true).await.unwrap();
        assert_eq!(house.store.check().await.unwrap().problems, [], "{table}");
        assert_eq!(all_found(&house, &house.fresh(), talk).await, sound, "{table}");
    }
}
