//! The numbers of messages and the context lists made of them.

use domain::{Conversation, ConversationId, MessageId};
use storage::{Change, MessageFilter};

use crate::house::{Home, House, at, message, said, word};

#[tokio::test]
async fn a_context_is_appended_to_and_replaced() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let mut ids = house.say(home, &["system", "one"]).await;
    ids.extend(house.say(home, &["two", "three"]).await);
    assert_eq!(house.context(home).await, ["system", "one", "two", "three"]);
    let replace = |picks: &[usize]| Change::ReplaceContext {
        conversation: home.conversation,
        messages: picks.iter().map(|pick| ids[*pick]).collect(),
    };
    house.apply([replace(&[0, 3])]).await.unwrap();
    assert_eq!(house.context(home).await, ["system", "three"]);
    house.say(home, &["four"]).await;
    assert_eq!(house.context(home).await, ["system", "three", "four"]);
    // From recall memory and in another order.
    house.apply([replace(&[0, 2, 1])]).await.unwrap();
    assert_eq!(house.context(home).await, ["system", "two", "one"]);
    let stored = house.store.context_ids(house.owner(), home.conversation).await.unwrap();
    assert_eq!(stored, [ids[0], ids[2], ids[1]]);
    assert_eq!(house.fresh().context_ids(house.owner(), home.conversation).await.unwrap(), stored);
    house.apply([replace(&[])]).await.unwrap();
    assert!(house.context(home).await.is_empty());
}

#[tokio::test]
async fn a_context_takes_only_messages_of_its_own_conversation() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let second = Conversation {
        id: ConversationId::random(),
        organization: house.owner(),
        agent: home.agent,
        identity: None,
        summary: Some("the other one".to_owned()),
        created_at: at(5),
        updated_at: at(5),
    };
    house.apply([Change::InsertConversation(Box::new(second.clone()))]).await.unwrap();
    assert_eq!(house.store.conversation(house.owner(), second.id).await.unwrap(), second);
    let other = Home { conversation: second.id, ..home };
    let ids = house.say(home, &["here"]).await;
    house.say(other, &["there"]).await;
    for foreign in [ids[0], MessageId::random()] {
        let append = Change::AppendContext { conversation: second.id, messages: vec![foreign] };
        let replace = Change::ReplaceContext { conversation: second.id, messages: vec![foreign] };
        assert_eq!(word(&house.apply([append]).await), "not found");
        assert_eq!(word(&house.apply([replace]).await), "not found");
    }
    assert_eq!((house.context(home).await, house.context(other).await), (vec!["here".into()], vec!["there".into()]));
    let snapshot = house.store.snapshot(house.owner(), home.agent, second.id).await.unwrap();
    assert_eq!(snapshot.message_count, 2, "counts the messages of all conversations");
    let wrong = house.new_home("bob").await;
    assert_eq!(word(&house.store.snapshot(house.owner(), wrong.agent, second.id).await), "not found");
    let mixed = message(house.me, Home { agent: wrong.agent, ..home }, "mixed up");
    assert_eq!(word(&house.apply([Change::InsertMessages(vec![mixed])]).await), "not found");
}

#[tokio::test]
async fn numbers_only_ever_grow() {
    let house = House::new();
    let (ada, bob) = (house.new_home("ada").await, house.new_home("bob").await);
    house.say(ada, &["1", "2"]).await;
    let last = house.apply(said(bob, vec![message(house.me, bob, "3")])).await.unwrap().sequence_ids[0];
    house.apply([Change::DeleteAgent(bob.agent)]).await.unwrap();
    house.store.clone().close().await;
    let store = house.fresh();
    let mut commit = house.commit();
    commit.changes.extend(said(ada, vec![message(house.me, ada, "4")]));
    assert!(store.commit(commit).await.unwrap().sequence_ids[0] > last);
}

#[tokio::test]
async fn messages_are_listed_by_page() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let ids = house.say(home, &["0", "1", "2", "3", "4", "5"]).await;
    let check = async |adjust: fn(&mut MessageFilter, &[MessageId]), expected: &str| {
        let mut filter = MessageFilter::newest(home.agent, 3);
        adjust(&mut filter, &ids);
        let found = house.store.messages(house.owner(), &filter).await.unwrap();
        assert_eq!(found.iter().map(|message| message.first_text()).collect::<String>(), expected);
    };
    check(|_, _| {}, "543").await;
    check(|filter, _| filter.ascending = true, "012").await;
    check(|filter, ids| filter.before = Some(ids[2]), "10").await;
    check(|filter, ids| (filter.after, filter.ascending) = (Some(ids[2]), true), "345").await;
    check(|filter, ids| (filter.after, filter.before) = (Some(ids[1]), Some(ids[4])), "32").await;
    check(|filter, _| filter.limit = 0, "").await;
    let mut filter = MessageFilter::newest(home.agent, 3);
    filter.conversation = Some(home.conversation);
    assert_eq!(house.store.messages(house.owner(), &filter).await.unwrap().len(), 3);
    filter.conversation = Some(ConversationId::random());
    assert_eq!(word(&house.store.messages(house.owner(), &filter).await), "not found");
    let mut filter = MessageFilter::newest(home.agent, 3);
    filter.before = Some(MessageId::random());
    assert_eq!(word(&house.store.messages(house.owner(), &filter).await), "not found");
}
