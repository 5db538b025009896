//! Tables of prefilled arguments that fit, and of those that don't.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn check(prefilled: Value, expected: Expect) {
    let schema = json!({
        "type": "object",
        "properties": {
            "label": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean"},
            "list": {"type": "array"},
            "mode": {"type": "string", "enum": ["any", "all"]},
            "version": {"const": 2},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "either": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
            "both": {"type": ["string", "null"]},
            "free": {},
        },
        "required": ["label"],
    });
    let Value::Object(args) = prefilled else { panic!("an object is needed") };
    let Value::Object(written) = json!({"label": "human", "note": "kept"}) else { panic!("an object is needed") };
    let prefilled = Prefilled { args, provenance: "ChildToolRule(a->b)".to_owned() };
    let shown = match merge_prefilled(written, &prefilled, &schema) {
        Ok(merged) => Value::Object(merged).to_string(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn prefilled_values_override_and_what_the_model_wrote_stays() {
    check(json!({"label": "persona"}), expect![[r#"{"label":"persona","note":"kept"}"#]]);
    check(
        json!({"count": 2.0, "mode": "all"}),
        expect![[r#"{"label":"human","note":"kept","count":2.0,"mode":"all"}"#]],
    );
    check(json!({"maybe": null, "both": "x"}), expect![[r#"{"label":"human","note":"kept","maybe":null,"both":"x"}"#]]);
    check(
        json!({"either": 1.5, "version": 2.0}),
        expect![[r#"{"label":"human","note":"kept","either":1.5,"version":2.0}"#]],
    );
    check(json!({"free": {"a": [1]}}), expect![[r#"{"label":"human","note":"kept","free":{"a":[1]}}"#]]);
    check(json!({}), expect![[r#"{"label":"human","note":"kept"}"#]]);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    check(json!({"colour": 1}), expect!["ChildToolRule(a->b) sets `colour`, which is not an argument of the tool"]);
    check(json!({"label": 1}), expect!["ChildToolRule(a->b) sets `label` to a value that is not of type string"]);
    check(json!({"count": 1.5}), expect!["ChildToolRule(a->b) sets `count` to a value that is not of type integer"]);
    check(json!({"ratio": "1"}), expect!["ChildToolRule(a->b) sets `ratio` to a value that is not of type number"]);
    check(json!({"flag": "true"}), expect!["ChildToolRule(a->b) sets `flag` to a value that is not of type boolean"]);
    check(json!({"list": {}}), expect!["ChildToolRule(a->b) sets `list` to a value that is not of type array"]);
    check(
        json!({"mode": "some"}),
        expect![[r#"ChildToolRule(a->b) sets `mode` to a value that is none of ["any","all"]"#]],
    );
    check(json!({"version": 3}), expect!["ChildToolRule(a->b) sets `version` to a value that is not 2"]);
    check(
        json!({"maybe": 3}),
        expect!["ChildToolRule(a->b) sets `maybe` to a value that fits none of the allowed shapes"],
    );
    check(
        json!({"either": 3}),
        expect!["ChildToolRule(a->b) sets `either` to a value that fits 2 of the allowed shapes instead of one"],
    );
    check(
        json!({"both": []}),
        expect!["ChildToolRule(a->b) sets `both` to a value that is not of type string or null"],
    );
}

#[test]
fn a_tool_without_a_schema_takes_nothing_prefilled() {
    let mut args = Map::new();
    args.insert("a".to_owned(), json!(1));
    let prefilled = Prefilled { args, provenance: "InitToolRule(x)".to_owned() };
    assert!(merge_prefilled(Map::new(), &prefilled, &Value::Null).is_err());
}
