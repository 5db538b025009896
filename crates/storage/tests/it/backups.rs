//! Backups that are taken while others write, and stores that are put back from them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use storage::{Backup, MessageFilter, Store, StoreConfig, examine, restore};
use tempfile::TempDir;

use crate::house::{Home, House, at, word};

/// Takes the whole copy.
async fn taken(mut backup: Backup) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(piece) = backup.next().await {
        bytes.extend(piece.unwrap());
    }
    assert_eq!(bytes.len() as u64, backup.bytes);
    bytes
}

/// Backs `house` up into a file of its own.
async fn backed_up(house: &House) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a backup?#%.db");
    std::fs::write(&file, taken(house.store.back_up().await.unwrap()).await).unwrap();
    (directory, file)
}

/// What lies in a directory, but for the files that the store itself has beside it.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !["store.db-wal", "store.db-shm"].contains(&name.as_str()));
    names.sort();
    names
}

async fn texts(store: &Store, house: &House, home: Home) -> Vec<String> {
    let filter = MessageFilter { ascending: true, ..MessageFilter::newest(home.agent, 10_000) };
    let messages = store.messages(house.owner(), &filter).await.unwrap();
    messages.iter().map(|message| message.first_text().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_the_store_of_one_moment() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let talk = async {
        for number in 0..300 {
            house.say(home, &[&format!("question {number}"), &format!("answer {number}")]).await;
        }
    };
    let watch = async {
        let mut files = Vec::new();
        for _ in 0..5 {
            let before = texts(&house.store, &house, home).await;
            files.push((before, backed_up(&house).await));
        }
        files
    };
    let ((), files) = tokio::join!(talk, watch);
    for (before, (_directory, file)) in &files {
        let report = examine(file).unwrap();
        assert_eq!(report.problems, []);
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("store.db");
        restore(file, &path, at(0)).await.unwrap();
        let store = Store::open(&StoreConfig::at(&path), at(0)).unwrap();
        let found = texts(&store, &house, home).await;
        assert!(found.len() >= before.len() && found.starts_with(before));
        assert_eq!(found.len() % 2, 0, "half a commit is in the copy");
        store.close().await;
    }
}

#[tokio::test]
async fn a_backup_is_one_plain_file_and_leaves_nothing_behind() {
    let house = House::new();
    let home = house.new_home("ada").await;
    house.say(home, &["hello"]).await;
    let (directory, file) = backed_up(&house).await;
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!((&bytes[..15], &bytes[18..20]), (&b"SQLite format 3"[..], &[1, 1][..]), "no log is expected");
    examine(&file).unwrap();
    assert_eq!(names(directory.path()), ["a backup?#%.db"]);
    assert_eq!(names(house.config.path.parent().unwrap()), ["store.db"]);
}

#[tokio::test]
async fn backups_are_made_one_at_a_time() {
    let house = House::new();
    let home = house.new_home("ada").await;
    for _ in 0..20 {
        house.say(home, &["x".repeat(100_000).as_str()]).await;
    }
    let first = house.store.back_up().await.unwrap();
    assert_eq!(word(&house.store.back_up().await), "conflict");
    // A reader that leaves makes room.
    drop(first);
    let mut second = house.store.back_up().await;
    while word(&second) == "conflict" {
        tokio::task::yield_now().await;
        second = house.store.back_up().await;
    }
    assert!(examine_bytes(&taken(second.unwrap()).await));
    house.store.clone().close().await;
    assert_eq!(word(&house.store.back_up().await), "closed");
    assert_eq!(names(house.config.path.parent().unwrap()), ["store.db"]);
}

fn examine_bytes(bytes: &[u8]) -> bool {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("x"), bytes).unwrap();
    examine(&directory.path().join("x")).unwrap().problems.is_empty()
}

#[tokio::test]
async fn what_a_killed_backup_or_restore_left_is_removed() {
    let house = House::new();
    house.store.clone().close().await;
    for ending in [".backup", ".backup-journal", ".restore", ".restore-wal", ".restore-shm"] {
        let mut name = house.config.path.clone().into_os_string();
        name.push(ending);
        std::fs::write(name, "left").unwrap();
    }
    house.fresh().close().await;
    assert_eq!(names(house.config.path.parent().unwrap()), ["store.db"]);
}

#[tokio::test]
async fn a_restore_keeps_the_store_that_was_there() {
    let house = House::new();
    let home = house.new_home("ada").await;
    house.say(home, &["first"]).await;
    let (_directory, file) = backed_up(&house).await;
    house.say(home, &["second"]).await;
    house.store.clone().close().await;
    let restored = restore(&file, &house.config.path, at(0)).await.unwrap();
    let kept = restored.kept.unwrap();
    assert!(kept.to_str().unwrap().ends_with("store.db.before-restore-20270115T080000Z"), "{kept:?}");
    assert_eq!((restored.report.agents, restored.report.messages), (1, 1));
    assert_eq!(texts(&house.fresh(), &house, home).await, ["first"]);
    // And back again; the second old store has a name of its own.
    house.fresh().close().await;
    let again = restore(&kept, &house.config.path, at(0)).await.unwrap();
    assert!(again.kept.unwrap().to_str().unwrap().ends_with("Z-1"));
    assert_eq!(texts(&house.fresh(), &house, home).await, ["first", "second"]);
    let mode = std::fs::metadata(&house.config.path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[tokio::test]
async fn what_was_still_in_the_log_is_kept_too() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (_directory, file) = backed_up(&house).await;
    house.say(home, &["only in the log"]).await;
    // A crash leaves store and log as they are now.
    let crashed = tempfile::tempdir().unwrap();
    let path = crashed.path().join("store.db");
    for ending in ["", "-wal"] {
        let name = |path: &Path| format!("{}{ending}", path.display());
        std::fs::copy(name(&house.config.path), name(&path)).unwrap();
    }
    let kept = restore(&file, &path, at(0)).await.unwrap().kept.unwrap();
    assert_eq!(names(crashed.path()), ["store.db", kept.file_name().unwrap().to_str().unwrap()]);
    let old = Store::open(&StoreConfig::at(&kept), at(0)).unwrap();
    assert_eq!(texts(&old, &house, home).await, ["only in the log"]);
}

#[tokio::test]
async fn a_store_that_is_none_any_more_can_be_replaced() {
    let house = House::new();
    house.new_home("ada").await;
    let (_directory, file) = backed_up(&house).await;
    let broken = tempfile::tempdir().unwrap();
    let path = broken.path().join("store.db");
    std::fs::write(&path, "garbage".repeat(1_000)).unwrap();
    let kept = restore(&file, &path, at(0)).await.unwrap().kept.unwrap();
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "garbage".repeat(1_000));
    Store::open(&StoreConfig::at(&path), at(0)).unwrap().close().await;
}

#[tokio::test]
async fn a_log_without_its_store_does_not_meet_the_new_one() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let (_directory, file) = backed_up(&house).await;
    house.say(home, &["only in the log"]).await;
    let other = tempfile::tempdir().unwrap();
    std::fs::copy(format!("{}-wal", house.config.path.display()), other.path().join("store.db-wal")).unwrap();
    let path = other.path().join("store.db");
    assert_eq!(restore(&file, &path, at(0)).await.unwrap().kept, None);
    assert_eq!(names(other.path()), ["store.db", "store.db.before-restore-20270115T080000Z-wal"]);
    let store = Store::open(&StoreConfig::at(&path), at(0)).unwrap();
    assert_eq!(texts(&store, &house, home).await, [""; 0]);
}

/// Damages a copy of a backup and gives what a restore from it says. The store must be untouched.
async fn refused(damage: impl FnOnce(&Path)) -> String {
    let house = House::new();
    let home = house.new_home("ada").await;
    for number in 0..50 {
        house.say(home, &[&format!("message {number} {}", "x".repeat(500))]).await;
    }
    let (_directory, file) = backed_up(&house).await;
    damage(&file);
    house.store.clone().close().await;
    let (before, listed) = (std::fs::read(&house.config.path).unwrap(), names(house.config.path.parent().unwrap()));
    let error = restore(&file, &house.config.path, at(0)).await.unwrap_err();
    assert!(std::fs::read(&house.config.path).unwrap() == before, "the store was touched");
    assert_eq!(names(house.config.path.parent().unwrap()), listed);
    error.to_string().replace(file.to_str().unwrap(), "FILE")
}

#[tokio::test]
async fn what_is_no_sound_backup_is_refused() {
    let sql =
        |text: &'static str| move |file: &Path| rusqlite::Connection::open(file).unwrap().execute_batch(text).unwrap();
    let cases: [(String, &str); 7] = [
        (refused(|file| std::fs::write(file, "").unwrap()).await, "FILE is not a store of Librarian"),
        (refused(|file| std::fs::write(file, "x".repeat(9_000)).unwrap()).await, "file is not a database"),
        (refused(sql("drop table run")).await, "it has no table `run`"),
        (refused(sql("pragma user_version = 99")).await, "has schema version 99"),
        (refused(sql("pragma foreign_keys = off; delete from organization")).await, "missing row of `organization`"),
        (
            refused(|file| std::fs::write(format!("{}-wal", file.display()), "log").unwrap()).await,
            "has a log beside it",
        ),
        (
            refused(|file| {
                let bytes = std::fs::read(file).unwrap();
                std::fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
            })
            .await,
            "the database is damaged",
        ),
    ];
    for (told, expected) in cases {
        assert!(told.contains(expected), "{told} lacks {expected}");
    }
    // Bytes in the middle of a page.
    let told = refused(|file| {
        let mut bytes = std::fs::read(file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 6_000].fill(0xa5);
        std::fs::write(file, bytes).unwrap();
    })
    .await;
    assert!(told.contains("the database is damaged"), "{told}");
}
