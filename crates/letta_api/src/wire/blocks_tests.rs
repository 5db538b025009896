//! Shapes and updates of blocks.

use domain::block::BlockDraft;
use domain::{Actor, Timestamp};

use super::*;

fn block() -> Block {
    let actor = Actor::default_user();
    Block::new(BlockDraft {
        id: BlockId::random(),
        organization: actor.organization,
        created_by: actor.user,
        label: Label::new("human").expect("a label"),
        value: "Likes tea.".into(),
        limit: 20,
        description: Some("About the person.".into()),
        read_only: false,
        metadata: Map::new(),
        created_at: Timestamp::UNIX_EPOCH,
    })
    .expect("a block")
}

fn update(body: &str) -> Result<Block, String> {
    let update = BlockUpdate::read(Fields::parse(body.as_bytes()).expect("JSON")).map_err(|error| error.to_string())?;
    update.applied_to(&block()).map_err(|error| error.to_string())
}

#[test]
fn the_shape_is_the_recorded_one() {
    let facts: Value = serde_json::from_str(include_str!("../../tests/facts/block.json")).expect("facts");
    crate::wire::facts::check(&serde_json::to_value(BlockState::from(&block())).expect("JSON"), &facts);
}

#[test]
fn what_is_left_out_stays() {
    let changed = update(r#"{"value": "Likes coffee."}"#).expect("an update");
    assert_eq!(changed.value(), "Likes coffee.");
    assert_eq!(changed.limit(), 20);
    assert_eq!(changed.description.as_deref(), Some("About the person."));
    let block = block();
    let nothing = BlockUpdate::default().applied_to(&block).expect("no update");
    assert_eq!(nothing, block);
}

#[test]
fn value_and_limit_change_together() {
    let changed = update(r#"{"value": "A longer text than the old limit allows.", "limit": 100}"#).expect("an update");
    assert_eq!(changed.limit(), 100);
    assert!(update(r#"{"value": "A longer text than the old limit allows."}"#).is_err());
    assert!(update(r#"{"limit": 3}"#).is_err());
}

#[test]
fn null_clears_only_the_description() {
    let changed =
        update(r#"{"description": null, "value": null, "label": null, "read_only": true}"#).expect("an update");
    assert_eq!(changed.description, None);
    assert_eq!(changed.value(), "Likes tea.");
    assert!(changed.read_only);
}

#[test]
fn wrong_types_and_labels_are_refused() {
    for body in
        [r#"{"value": 3}"#, r#"{"limit": "x"}"#, r#"{"limit": -1}"#, r#"{"label": "<a>"}"#, r#"{"value": "\u0000"}"#]
    {
        assert!(update(body).is_err(), "{body}");
    }
}
