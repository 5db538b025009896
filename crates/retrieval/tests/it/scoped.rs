//! Whose words a search may find.

use domain::OrganizationId;
use retrieval::{RecallQuery, Whose};
use storage::StoreError;

use crate::house::House;

#[tokio::test]
async fn a_message_is_found_right_after_its_commit() {
    let house = House::new();
    let talk = house.agent().await;
    for number in 0..5 {
        house.say(talk, [format!("The parcel number {number} went to Lisbon.")]).await;
        let query = RecallQuery::new(talk.agent, format!("parcel {number}"), 1);
        assert_eq!(house.found(&house.search, &query).await, [format!("The parcel number {number} went to Lisbon.")]);
    }
}

#[tokio::test]
async fn a_search_can_be_limited_to_a_conversation_or_a_person() {
    let house = House::new();
    let mine = house.agent().await;
    let theirs = house.another(mine, "eve").await;
    house.say(mine, ["My cat is called Miso.".to_owned()]).await;
    house.say(theirs, ["My cat is called Tofu.".to_owned()]).await;
    let all = RecallQuery::new(mine.agent, "what is the cat called", 5);
    assert_eq!(house.found(&house.search, &all).await.len(), 2);
    let here = RecallQuery { conversation: Some(mine.conversation), ..all.clone() };
    assert_eq!(house.found(&house.search, &here).await, ["My cat is called Miso."]);
    let eve = RecallQuery { whose: Whose::Person(theirs.identity), ..all.clone() };
    assert_eq!(house.found(&house.search, &eve).await, ["My cat is called Tofu."]);
    let nobody = RecallQuery { whose: Whose::Person(theirs.identity), conversation: Some(mine.conversation), ..all };
    assert_eq!(house.found(&house.search, &nobody).await, Vec::<String>::new());
}

#[tokio::test]
async fn another_organisation_and_another_agent_find_nothing() {
    let house = House::new();
    let (mine, other) = (house.agent().await, house.agent().await);
    house.say(mine, ["My cat is called Miso.".to_owned()]).await;
    let query = RecallQuery::new(mine.agent, "cat", 5);
    let stranger = house.search.recall(OrganizationId::random(), &query).await;
    assert!(matches!(stranger, Err(StoreError::NotFound { noun: "agent", .. })));
    let query = RecallQuery::new(other.agent, "cat", 5);
    assert_eq!(house.found(&house.search, &query).await, Vec::<String>::new());
}

#[tokio::test]
async fn roles_and_times_narrow_a_search() {
    let house = House::new();
    let talk = house.agent().await;
    house.say(talk, ["The dog barks.", "The dog sleeps.", "The dog eats."].map(str::to_owned)).await;
    let all = RecallQuery::new(talk.agent, "dog", 5);
    let answers = RecallQuery { roles: vec![domain::Role::Assistant], ..all.clone() };
    assert_eq!(house.found(&house.search, &answers).await, ["The dog sleeps."]);
    let late = RecallQuery { from: Some(crate::house::at(60)), ..all.clone() };
    assert_eq!(house.found(&house.search, &late).await, ["The dog eats."]);
    let early = RecallQuery { until: Some(crate::house::at(30)), ..all };
    assert_eq!(house.found(&house.search, &early).await, ["The dog barks."]);
}

#[tokio::test]
async fn what_a_run_is_about_to_set_aside_is_not_found() {
    let house = House::new();
    let talk = house.agent().await;
    house.say(talk, ["The dog barks.", "The dog sleeps.", "The dog eats."].map(str::to_owned)).await;
    let all = RecallQuery::new(talk.agent, "dog", 5);
    let numbers: Vec<u64> =
        house.search.recall(house.owner(), &all).await.unwrap().hits.iter().map(|hit| hit.row.sequence_id).collect();
    let last = *numbers.iter().max().unwrap();
    let back = RecallQuery { set_aside: Some((talk.conversation, last)), ..all.clone() };
    let found = house.found(&house.search, &back).await;
    assert!(found.len() == 2 && !found.contains(&"The dog eats.".to_owned()), "{found:?}");
    // Another conversation's numbers say nothing about this one.
    let elsewhere = RecallQuery { set_aside: Some((domain::ConversationId::random(), 0)), ..all };
    assert_eq!(house.found(&house.search, &elsewhere).await.len(), 3);
}
