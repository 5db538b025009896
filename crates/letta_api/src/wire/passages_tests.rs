//! Shapes and requests of passages.

use std::sync::Arc;

use domain::{Actor, EmbeddingConfig, ModelHandle};
use retrieval::{Relevance, SearchMode};
use serde_json::json;

use super::super::models::EmbeddingModel;
use super::*;

fn passage(tags: &[&str]) -> Passage {
    let (actor, now) = (Actor::default_user(), Timestamp::UNIX_EPOCH);
    Passage {
        id: PassageId::random(),
        organization: actor.organization,
        created_by: actor.user,
        archive: ArchiveId::random(),
        number: 7,
        text: "Tea at four.".into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        metadata: Map::new(),
        created_at: now,
    }
}

fn facts(name: &str) -> Value {
    let facts: Value = serde_json::from_str(include_str!("../../tests/facts/archival.json")).expect("facts");
    facts[name].clone()
}

fn fields(body: &Value) -> Fields {
    Fields::parse(body.to_string().as_bytes()).expect("JSON")
}

#[test]
fn the_shapes_are_the_recorded_ones() {
    let config = EmbeddingConfig { handle: ModelHandle::builtin("embedding"), dimensions: 256 };
    let config = EmbeddingModel::local(&config).config();
    let passage = passage(&["food"]);
    let shown = || PassageState::new(&passage, Some(&[0.5, -0.25]), Some(config));
    crate::wire::facts::check(&serde_json::to_value(shown()).expect("JSON"), &facts("passage"));
    let hit = PassageHit { passage: shown(), score: 0.5, metadata: HitMetadata::default() };
    let hits = serde_json::to_value([hit]).expect("JSON");
    crate::wire::facts::check(&hits, &facts("passage_search"));
    assert_eq!(hits[0]["metadata"], json!({}));
}

#[test]
fn what_was_found_is_told_in_the_agents_zone() {
    let relevance = Relevance { score: 1.0, fts_rank: Some(1), vector_rank: None, cosine: None, words: Vec::new() };
    let row = Arc::new(passage(&["food"]));
    let hit = Hit { text: row.text.to_string(), row, relevance };
    let found = Found { mode: SearchMode::FullText, hits: vec![hit] };
    let shown = serde_json::to_value(ArchivalResults::new(&found, "America/New_York")).expect("JSON");
    crate::wire::facts::check(&shown, &facts("archival_search"));
    assert_eq!(shown["results"][0]["timestamp"], "1969-12-31T19:00:00.000000-05:00");
    assert_eq!(shown["count"], 1);
}

#[test]
fn no_tags_are_null_in_a_passage() {
    let passage = passage(&[]);
    let shown = serde_json::to_value(PassageState::new(&passage, None, None)).expect("JSON");
    assert!(shown["tags"].is_null() && shown["embedding"].is_null() && shown["metadata"].is_object());
}

#[test]
fn a_new_passage_is_read_with_its_time() {
    let spec = read_passage(fields(&json!({"text": "Tea.", "tags": null, "created_at": "2026-01-20T10:30:00+02:00"})));
    let spec = spec.expect("a spec");
    assert_eq!(spec.created_at.map(|at| at.to_string()).as_deref(), Some("2026-01-20T08:30:00Z"));
    for (wrong, place) in [
        (json!({"tags": []}), "('body', 'text')"),
        (json!({"text": 3}), "('body', 'text')"),
        (json!({"text": "x", "tags": "y"}), "('body', 'tags')"),
        (json!({"text": "x", "created_at": "soon"}), "('body', 'created_at')"),
    ] {
        let error = read_passage(fields(&wrong)).expect_err(place);
        assert!(error.status() == 422 && error.to_string().contains(place), "{error}");
    }
}

#[test]
fn a_batch_has_a_limit() {
    let many = vec![json!({"text": "x"}); MAX_BATCH + 1];
    assert_eq!(read_passages(fields(&json!({"passages": &many[..2]}))).expect("two").len(), 2);
    assert_eq!(read_passages(fields(&json!({"passages": many}))).expect_err("too many").status(), 422);
    assert_eq!(read_passages(fields(&json!({}))).expect_err("none").status(), 422);
}

#[test]
fn a_search_is_read_with_its_defaults() {
    let search = PassageSearch::read(fields(&json!({"query": " "}))).expect("a search");
    assert_eq!((search.text, search.limit, search.match_all_tags), (None, 50, false));
    let search = PassageSearch::read(fields(&json!({"query": "tea", "tag_match_mode": "all", "limit": 3})));
    let search = search.expect("a search");
    assert_eq!((search.text.as_deref(), search.limit, search.match_all_tags), (Some("tea"), 3, true));
    for wrong in [
        json!({"limit": 0}),
        json!({"limit": 101}),
        json!({"tag_match_mode": "some"}),
        json!({"archive_id": "shelf"}),
        json!({"start_date": "soon"}),
        json!({"tags": vec!["t"; MAX_TAGS + 1]}),
        json!({"query": "x".repeat(MAX_QUERY_CHARS + 1)}),
    ] {
        assert_eq!(PassageSearch::read(fields(&wrong)).expect_err("wrong").status(), 422);
    }
}
