//! What is done once is remembered, for its owner alone.

use storage::{Change, Commit};

use crate::house::{House, at, stranger};

#[tokio::test]
async fn a_mark_stays_and_belongs_to_its_owner() {
    let house = House::new();
    let other = stranger(&house.store).await;
    assert!(!house.store.is_done(house.owner(), "spring cleaning").await.unwrap());
    for _ in 0..2 {
        house.apply([Change::MarkDone("spring cleaning")]).await.unwrap();
        assert!(house.store.is_done(house.owner(), "spring cleaning").await.unwrap());
    }
    assert!(!house.store.is_done(house.owner(), "painting").await.unwrap());
    assert!(!house.store.is_done(other.organization, "spring cleaning").await.unwrap());
    assert!(house.fresh().is_done(house.owner(), "spring cleaning").await.unwrap());
}

#[tokio::test]
async fn work_that_failed_leaves_no_mark() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let missing = Change::DetachTool { agent: home.agent, tool: domain::ToolId::random() };
    let commit = Commit::new(house.me, at(1)).with(Change::MarkDone("spring cleaning")).with(missing);
    assert!(house.store.commit(commit).await.is_err());
    assert!(!house.store.is_done(house.owner(), "spring cleaning").await.unwrap());
}
