//! What a file is like after it was closed, copied or written by another program.

use domain::{RunStatus, StopReason};
use storage::{AgentFilter, Change, Store, StoreConfig};

use crate::house::{House, at, block, insert_block, run, tool, word};

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (note, hammer) = (block(house.me, "human", "likes cats"), tool(house.me, "hammer"));
    let changes = [
        insert_block(&note),
        Change::AttachBlock { agent: home.agent, block: note.id },
        Change::UpsertTool(Box::new(hammer.clone())),
        Change::AttachTool { agent: home.agent, tool: hammer.id },
    ];
    house.apply(changes).await.unwrap();
    house.say(home, &["system", "hello"]).await;
    let before = house.store.snapshot(house.owner(), home.agent, home.conversation).await.unwrap();
    house.store.clone().close().await;
    let again = house.fresh();
    let after = again.snapshot(house.owner(), home.agent, home.conversation).await.unwrap();
    assert_eq!(format!("{after:?}"), format!("{before:?}"));
    assert_eq!((after.context.len(), after.memory.blocks().len(), after.tools.len()), (2, 1, 1));
    let report = again.check().await.unwrap();
    assert_eq!((report.problems.len(), report.agents, report.messages, report.schema_version), (0, 1, 2, 7));
}

#[tokio::test]
async fn opening_again_changes_nothing() {
    let house = House::new();
    house.new_home("ada").await;
    let before = house.row_counts();
    for _ in 0..3 {
        let store = house.fresh();
        assert_eq!(store.agents(house.owner(), &AgentFilter::default()).await.unwrap().len(), 1);
        store.close().await;
    }
    assert_eq!(house.row_counts(), before);
}

#[tokio::test]
async fn a_file_of_a_newer_program_is_refused_untouched() {
    let house = House::new();
    house.store.clone().close().await;
    house.raw().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(&house.config, at(0)).err().unwrap().to_string();
    expect_test::expect![
        "the database has schema version 99 and this program knows versions up to 7: use a newer program"
    ]
    .assert_eq(&error);
    let version: i64 = house.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

#[test]
fn a_file_that_is_no_database_is_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let text = "these are not the bytes of a database ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let opened = Store::open(&StoreConfig::at(&path), at(0));
    assert_eq!(word(&opened), "corrupt");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn runs_that_a_crash_left_open_are_closed() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (open, mut created, mut over) = (run(house.me, home), run(house.me, home), run(house.me, home));
    created.status = RunStatus::Created;
    over.status = RunStatus::Completed;
    over.stop_reason = Some(StopReason::EndTurn);
    over.completed_at = Some(at(5));
    let changes = [&open, &created, &over].map(|run| Change::InsertRun(Box::new(run.clone())));
    house.apply(changes).await.unwrap();
    house.context(home).await;
    assert_eq!(house.store.close_open_runs(at(8), "the server stopped").await.unwrap(), 2);
    assert_eq!(house.store.close_open_runs(at(9), "again").await.unwrap(), 0);
    for left in [open, created] {
        let closed = house.store.run(house.owner(), left.id).await.unwrap();
        assert_eq!((closed.status, closed.stop_reason), (RunStatus::Failed, Some(StopReason::Error)));
        assert_eq!((closed.error.as_deref(), closed.completed_at), (Some("the server stopped"), Some(at(8))));
    }
    assert_eq!(house.store.run(house.owner(), over.id).await.unwrap(), over);
    let agent = house.store.agent(house.owner(), home.agent).await.unwrap();
    assert_eq!((agent.last_run_completion, agent.last_stop_reason), (Some(at(8)), Some(StopReason::Error)));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    house.new_home("ada").await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&house.config.path), 0o600);
    assert_eq!(mode(&house.config.path.with_extension("db-wal")), 0o600);
    assert_eq!(mode(house.config.path.parent().unwrap()), 0o700);
}
