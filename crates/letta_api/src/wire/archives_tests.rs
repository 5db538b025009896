//! Shapes and requests of archives.

use domain::{Actor, EmbeddingConfig, ModelHandle, Timestamp, VectorDbProvider};

use super::super::models::EmbeddingModel;
use super::*;

fn archive() -> Archive {
    let (actor, now) = (Actor::default_user(), Timestamp::UNIX_EPOCH);
    Archive {
        id: ArchiveId::random(),
        organization: actor.organization,
        created_by: actor.user,
        name: "shelf".into(),
        description: Some("About tea.".into()),
        embedding: ModelHandle::builtin("embedding"),
        vector_db_provider: VectorDbProvider::Native,
        metadata: Map::new(),
        created_at: now,
        updated_at: now,
    }
}

fn fields(body: &str) -> Fields {
    Fields::parse(body.as_bytes()).expect("JSON")
}

#[test]
fn the_shape_is_the_recorded_one() {
    let facts: Value = serde_json::from_str(include_str!("../../tests/facts/archival.json")).expect("facts");
    let config = EmbeddingConfig { handle: ModelHandle::builtin("embedding"), dimensions: 256 };
    let archive = archive();
    let shown = ArchiveState::new(&archive, Some(EmbeddingModel::local(&config).config()));
    let shown = serde_json::to_value(shown).expect("JSON");
    crate::wire::facts::check(&shown, &facts["archive"]);
    assert_eq!(shown["embedding_config"]["handle"], "builtin/embedding");
    assert_eq!(shown["vector_db_provider"], "native");
}

#[test]
fn a_new_archive_needs_a_name() {
    let error = read_archive(fields(r#"{"description": "x"}"#)).expect_err("no name");
    assert!(error.to_string().contains("('body', 'name')"), "{error}");
    let spec = read_archive(fields(r#"{"name": "a", "embedding_config": {"handle": "x/y", "embedding_dim": 3}}"#));
    assert_eq!(spec.expect("a spec").embedding.as_deref(), Some("x/y"));
    let spec = read_archive(fields(r#"{"name": "a", "embedding": "p/q", "embedding_config": {"handle": "x/y"}}"#));
    assert_eq!(spec.expect("a spec").embedding.as_deref(), Some("p/q"));
}

#[test]
fn null_clears_only_the_description() {
    let patch = read_archive_patch(fields(r#"{"name": null, "description": null}"#)).expect("a patch");
    assert_eq!((patch.name, patch.description), (None, Some(None)));
    let patch = read_archive_patch(fields(r#"{"name": "b"}"#)).expect("a patch");
    assert_eq!((patch.name.as_deref(), patch.description), (Some("b"), None));
}
