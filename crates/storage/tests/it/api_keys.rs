//! API keys: made, found by their text, revoked, limited to agents, and never kept as text.

use std::sync::Arc;

use domain::{Actor, ApiKey, ApiKeyId, KeyScope, OrganizationId};
use storage::{Change, Commit, Store, key_digest};

use crate::house::{House, at, stranger, word};

/// The text of the key of that name.
fn text(name: &str) -> String {
    format!("lib-secret-{name}")
}

pub(crate) fn key(me: Actor, name: &str, scope: KeyScope) -> ApiKey {
    ApiKey {
        id: ApiKeyId::random(),
        organization: me.organization,
        created_by: me.user,
        name: name.to_owned(),
        digest: key_digest(text(name).as_bytes()),
        beginning: "lib-".to_owned(),
        scope,
        created_at: at(0),
        revoked_at: None,
        last_used_at: None,
    }
}

fn insert(key: &ApiKey) -> Change {
    Change::InsertApiKey(Box::new(key.clone()))
}

/// What the text of the key of that name opens now.
fn opens(store: &Store, name: &str) -> Option<KeyScope> {
    store.live_keys().find(text(name).as_bytes(), at(5)).map(|key| key.scope.clone())
}

async fn names(store: &Store, owner: OrganizationId) -> Vec<String> {
    store.api_keys(owner).await.unwrap().into_iter().map(|key| key.name).collect()
}

#[tokio::test]
async fn a_key_is_found_by_its_text_until_it_is_revoked() {
    let house = House::new();
    let (one, two) = (key(house.me, "one", KeyScope::AllAgents), key(house.me, "two", KeyScope::Letta));
    house.apply([insert(&one), insert(&two)]).await.unwrap();
    assert_eq!(opens(&house.store, "one"), Some(KeyScope::AllAgents));
    assert_eq!(opens(&house.store, "two"), Some(KeyScope::Letta));
    assert_eq!(opens(&house.store, "three"), None);
    let found = house.store.live_keys().find(text("one").as_bytes(), at(5)).unwrap();
    assert_eq!((found.id, found.actor(), found.caller().key), (one.id, house.me, Some(one.id)));
    for _ in 0..2 {
        house.apply([Change::RevokeApiKey(one.id)]).await.unwrap();
        assert_eq!((opens(&house.store, "one"), opens(&house.store, "two")), (None, Some(KeyScope::Letta)));
    }
    house.store.clone().close().await;
    let again = house.fresh();
    assert_eq!((opens(&again, "one"), opens(&again, "two")), (None, Some(KeyScope::Letta)));
    let listed = again.api_keys(house.owner()).await.unwrap();
    assert_eq!(listed.iter().map(|key| &*key.name).collect::<Vec<_>>(), ["two", "one"]);
    assert_eq!(listed.iter().map(|key| key.revoked_at).collect::<Vec<_>>(), [None, Some(at(1))]);
    assert_eq!(again.api_key(house.owner(), two.id).await.unwrap(), listed[0]);
    assert_eq!(again.check().await.unwrap().problems, []);
}

#[tokio::test]
async fn what_was_rolled_back_opens_nothing_and_shuts_nothing() {
    let house = House::new();
    let (kept, new) = (key(house.me, "kept", KeyScope::AllAgents), key(house.me, "new", KeyScope::AllAgents));
    house.apply([insert(&kept)]).await.unwrap();
    let fails = || Change::RevokeApiKey(ApiKeyId::random());
    assert_eq!(word(&house.apply([insert(&new), fails()]).await), "not found");
    assert_eq!(word(&house.apply([Change::RevokeApiKey(kept.id), fails()]).await), "not found");
    assert_eq!((opens(&house.store, "kept").is_some(), opens(&house.store, "new").is_some()), (true, false));
}

#[tokio::test]
async fn deleting_an_agent_narrows_keys_and_never_widens_them() {
    let house = House::new();
    let (ada, bob) = (house.new_home("ada").await.agent, house.new_home("bob").await.agent);
    let both = key(house.me, "both", KeyScope::Agents(Arc::from([ada, bob])));
    let one = key(house.me, "one", KeyScope::Agents(Arc::from([ada])));
    house.apply([insert(&both), insert(&one)]).await.unwrap();
    assert_eq!(opens(&house.store, "both"), Some(both.scope));
    house.apply([Change::DeleteAgent(ada)]).await.unwrap();
    let fresh = house.fresh();
    for store in [&house.store, &fresh] {
        assert_eq!(opens(store, "both"), Some(KeyScope::Agents(Arc::from([bob]))));
        assert_eq!(opens(store, "one"), Some(KeyScope::Agents(Arc::from([]))));
    }
    let left = house.store.api_key(house.owner(), one.id).await.unwrap();
    assert!(!left.caller().may_use(ada) && !left.caller().may_use(bob));
    assert_eq!(house.store.check().await.unwrap().problems, []);
}

#[tokio::test]
async fn a_scope_holds_agents_that_are_there() {
    let house = House::new();
    let gone = key(house.me, "gone", KeyScope::Agents(Arc::from([domain::AgentId::random()])));
    assert_eq!(word(&house.apply([insert(&gone)]).await), "not found");
    assert!(names(&house.store, house.owner()).await.is_empty());
    assert_eq!(opens(&house.store, "gone"), None);
}

#[tokio::test]
async fn a_name_is_taken_until_its_key_is_revoked() {
    let house = House::new();
    let first = key(house.me, "laptop", KeyScope::AllAgents);
    house.apply([insert(&first)]).await.unwrap();
    let mut second = key(house.me, "laptop", KeyScope::AllAgents);
    second.digest = key_digest(b"lib-another");
    assert_eq!(word(&house.apply([insert(&second)]).await), "conflict");
    house.apply([Change::RevokeApiKey(first.id)]).await.unwrap();
    house.apply([insert(&second)]).await.unwrap();
    assert_eq!(names(&house.store, house.owner()).await, ["laptop", "laptop"]);
    // The same text is never two keys, whatever they are called.
    let copy = ApiKey { id: ApiKeyId::random(), name: "copy".to_owned(), ..second };
    assert_eq!(word(&house.apply([insert(&copy)]).await), "conflict");
}

#[tokio::test]
async fn keys_belong_to_their_organisation() {
    let house = House::new();
    let other = stranger(&house.store).await;
    let (mine, theirs) = (key(house.me, "mine", KeyScope::AllAgents), key(other, "theirs", KeyScope::AllAgents));
    house.apply([insert(&mine)]).await.unwrap();
    house.store.commit(Commit::new(other, at(1)).with(insert(&theirs))).await.unwrap();
    assert_eq!(names(&house.store, house.owner()).await, ["mine"]);
    assert_eq!(names(&house.store, other.organization).await, ["theirs"]);
    assert_eq!(word(&house.store.api_key(other.organization, mine.id).await), "not found");
    assert_eq!(word(&house.apply([Change::RevokeApiKey(theirs.id)]).await), "not found");
    house.apply([Change::NoteKeyUses(vec![(theirs.id, at(9))])]).await.unwrap();
    let untouched = house.fresh().api_key(other.organization, theirs.id).await.unwrap();
    assert_eq!((untouched.revoked_at, untouched.last_used_at), (None, None));
    let found = house.store.live_keys().find(text("theirs").as_bytes(), at(5)).unwrap();
    assert_eq!(found.actor(), other);
}

#[tokio::test]
async fn the_last_use_is_known_at_once_and_written_once() {
    let house = House::new();
    let laptop = key(house.me, "laptop", KeyScope::AllAgents);
    house.apply([insert(&laptop)]).await.unwrap();
    let stored = async |store: &Store| store.api_key(house.owner(), laptop.id).await.unwrap().last_used_at;
    assert_eq!(stored(&house.store).await, None);
    for micros in [7, 9, 8] {
        house.store.live_keys().find(text("laptop").as_bytes(), at(micros)).unwrap();
    }
    assert_eq!((stored(&house.store).await, stored(&house.fresh()).await), (Some(at(9)), None));
    house.store.write_key_uses(at(10)).await.unwrap();
    assert_eq!(stored(&house.fresh()).await, Some(at(9)));
    // Nothing was used since, so nothing is written: a mark that another hand left stays.
    house.raw().execute("update api_key set last_used_at = null", []).unwrap();
    house.store.write_key_uses(at(11)).await.unwrap();
    assert_eq!(stored(&house.fresh()).await, None);
}

#[tokio::test]
async fn there_are_so_many_keys_and_no_more() {
    let house = House::new();
    let many = (0..1_000).map(|number| insert(&key(house.me, &format!("key {number}"), KeyScope::AllAgents)));
    house.apply(many).await.unwrap();
    let one_more = key(house.me, "one more", KeyScope::AllAgents);
    let error = house.apply([insert(&one_more)]).await.unwrap_err().to_string();
    expect_test::expect!["there can be 1000 API keys: revoke one first"].assert_eq(&error);
    let first = house.store.live_keys().find(text("key 0").as_bytes(), at(5)).unwrap().id;
    house.apply([Change::RevokeApiKey(first), insert(&one_more)]).await.unwrap();
    assert_eq!(names(&house.store, house.owner()).await.len(), 1_001);
}
