//! Tests of the pages of a history and of differences.

use domain::block::BlockDraft;
use domain::{Actor, BlockId, Label};
use expect_test::expect;
use serde_json::Value;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn version(number: u64, value: &str, editor: BlockEditor) -> BlockVersion {
    BlockVersion {
        version: number,
        label: Label::new("human").unwrap(),
        value: value.to_owned(),
        description: None,
        limit: 100,
        editor,
        user: Actor::default_user().user,
        at: at(number as i64),
    }
}

fn block(number: u64) -> Block {
    let draft = BlockDraft {
        id: BlockId::random(),
        organization: Actor::default_user().organization,
        created_by: Actor::default_user().user,
        label: Label::new("human").unwrap(),
        value: String::new(),
        limit: 100,
        description: None,
        read_only: false,
        metadata: serde_json::Map::new(),
        created_at: at(0),
    };
    Block::stored(draft, number, at(0)).unwrap()
}

fn versions() -> Vec<BlockVersion> {
    vec![
        version(1, "tea", BlockEditor::Api),
        version(2, "green tea", BlockEditor::Import),
        version(3, "tea", BlockEditor::Undo { to_version: 1 }),
    ]
}

/// Each entry as `version +added -removed`, and whether there is more.
fn page(present: u64, versions: &[BlockVersion], limit: u32) -> String {
    let history =
        serde_json::to_value(History::new(BlockEntry::new(&block(present), None), versions, limit, Vec::new()))
            .unwrap();
    let entries = history["changes"].as_array().unwrap().iter();
    let entries: Vec<String> = entries
        .map(|entry| {
            let mark = if entry["current"] == true { "*" } else { "" };
            format!("{}{mark} +{} -{}", entry["version"], entry["added"], entry["removed"])
        })
        .collect();
    format!("{}; {}", entries.join(", "), history["has_more"])
}

#[test]
fn a_page_is_newest_first_and_knows_whether_there_is_more() {
    assert_eq!(page(3, &versions(), 50), "3* +0 -6, 2 +6 -0, 1 +3 -0; false");
    assert_eq!(page(3, &versions(), 3), "3* +0 -6, 2 +6 -0, 1 +3 -0; false");
    // One more than the page was read, to compare with.
    assert_eq!(page(3, &versions(), 2), "3* +0 -6, 2 +6 -0; true");
    assert_eq!(page(3, &versions()[1..], 1), "3* +0 -6; true");
    // Long texts may leave nothing to compare with.
    assert_eq!(page(3, &versions()[2..], 50), "3* +null -null; true");
    assert_eq!(page(3, &[], 50), "; false");
}

#[test]
fn an_entry_says_who_it_was() {
    let history =
        serde_json::to_value(History::new(BlockEntry::new(&block(3), None), &versions(), 1, Vec::new())).unwrap();
    expect![[r#"
        {
          "version": 3,
          "at": "2027-01-15T08:00:03Z",
          "editor": "undo",
          "run_id": null,
          "restored_version": 1,
          "label": "human",
          "description": null,
          "limit": 100,
          "characters": 3,
          "added": 0,
          "removed": 6,
          "current": true
        }"#]]
    .assert_eq(&format!("{:#}", history["changes"][0]));
}

#[test]
fn a_difference_has_both_sides_and_its_lines() {
    let versions = versions();
    let diff = serde_json::to_value(Diff::new(None, Some(&versions[1]))).unwrap();
    assert_eq!((&diff["from"]["version"], &diff["from"]["label"]), (&Value::from(0), &Value::Null));
    assert_eq!((&diff["to"]["version"], &diff["to"]["label"]), (&Value::from(2), &Value::from("human")));
    assert_eq!(diff["lines"][0], serde_json::json!({"op": "added", "text": "green tea"}));
}

#[test]
fn a_limit_has_its_bounds() {
    let limit = |limit| HistoryQuery { before: None, limit }.limit().ok();
    assert_eq!(
        [limit(None), limit(Some(1)), limit(Some(1_000)), limit(Some(0)), limit(Some(1_001))],
        [Some(50), Some(1), Some(1_000), None, None]
    );
}
