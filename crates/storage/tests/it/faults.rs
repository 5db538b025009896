//! A full disk and a busy file.

use storage::Store;

use crate::house::{House, at, message, said, word};

#[tokio::test]
async fn a_full_store_keeps_what_it_has_and_works_again_with_more_room() {
    let mut house = House::with(|config| config.max_bytes = Some(600_000));
    let home = house.new_home("ada").await;
    let large = "x".repeat(20_000);
    let mut kept = 0;
    loop {
        let result = house.apply(said(home, vec![message(house.me, home, &large)])).await;
        if word(&result) != "ok" {
            assert_eq!(word(&result), "full");
            break;
        }
        kept += 1;
        assert!(kept < 100, "the limit was never met");
    }
    assert!(kept > 3);
    // Still full, still readable, in memory and on disk.
    assert_eq!(word(&house.apply(said(home, vec![message(house.me, home, &large)])).await), "full");
    assert_eq!(house.context(home).await.len(), kept);
    assert_eq!(house.fresh().context_ids(house.owner(), home.conversation).await.unwrap().len(), kept);
    assert_eq!(house.store.check().await.unwrap().problems, []);
    house.store.clone().close().await;
    house.config.max_bytes = None;
    house.store = Store::open(&house.config, at(0)).unwrap();
    house.apply(said(home, vec![message(house.me, home, &large)])).await.unwrap();
    assert_eq!(house.context(home).await.len(), kept + 1);
}

#[tokio::test]
async fn a_file_that_another_process_writes_to_is_busy_until_it_lets_go() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let other = house.raw();
    other.execute_batch("begin immediate").unwrap();
    assert_eq!(word(&house.apply(said(home, vec![message(house.me, home, "waits")])).await), "busy");
    assert!(house.context(home).await.is_empty(), "reading goes on");
    other.execute_batch("rollback").unwrap();
    house.say(home, &["goes"]).await;
    assert_eq!(house.context(home).await, ["goes"]);
}
