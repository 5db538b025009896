//! Readers that fill the memory while the writer changes what they read.

use domain::BlockId;
use storage::Change;
use tokio::task::JoinSet;

use crate::house::{Home, House, block, insert_block, message, said, update_block};

const COMMITS: usize = 300;

/// One writer that counts in two conversations of an agent and in a block, and readers that must always see the three
/// counts at one moment, never going back.
async fn check(cached_conversations: usize) {
    let house = House::with(|config| config.cached_conversations = cached_conversations);
    let home = house.new_home("ada").await;
    let other = house.new_home("bob").await;
    let counter = block(house.me, "counter", "0");
    let changes = [insert_block(&counter), Change::AttachBlock { agent: home.agent, block: counter.id }];
    house.apply(changes).await.unwrap();
    house.say(other, &["push the first one out of a small memory"]).await;
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        tasks.spawn(watch(house.store.clone(), house.me, home, other, counter.id));
    }
    for number in 0..COMMITS {
        let mut next = house.store.block(house.owner(), counter.id).await.unwrap();
        next.set_value((number + 1).to_string()).unwrap();
        let said = said(home, vec![message(house.me, home, &number.to_string())]);
        house.apply(said.into_iter().chain([update_block(&next)])).await.unwrap();
        // Whoever was told that a commit is durable sees it.
        assert_eq!(house.context(home).await.len(), number + 1);
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

async fn watch(store: storage::Store, me: domain::Actor, home: Home, other: Home, counter: BlockId) {
    let mut seen = 0;
    while seen < COMMITS {
        let snapshot = store.snapshot(me.organization, home.agent, home.conversation).await.unwrap();
        let texts: Vec<usize> = snapshot.context.iter().map(|message| message.first_text().parse().unwrap()).collect();
        assert_eq!(texts, (0..texts.len()).collect::<Vec<_>>());
        assert_eq!(snapshot.message_count, texts.len() as u64);
        assert_eq!(snapshot.memory.by_id(counter).unwrap().value(), texts.len().to_string());
        assert!(texts.len() >= seen, "a later look shows an earlier state");
        seen = texts.len();
        store.snapshot(me.organization, other.agent, other.conversation).await.unwrap();
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_warm_memory_is_never_stale() {
    check(512).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_memory_that_is_filled_again_and_again_is_never_stale() {
    check(1).await;
}
