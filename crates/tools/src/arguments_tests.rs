//! Tables of argument texts, good and broken.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(text: &str, expected: Expect) {
    let shown = match parse_arguments(text) {
        Ok(arguments) => Value::Object(arguments).to_string(),
        Err(error) => format!("error: {error}"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn objects_and_harmless_slips_are_read() {
    check(r#"{"label": "human", "n": 1}"#, expect![[r#"{"label":"human","n":1}"#]]);
    check("", expect!["{}"]);
    check(" \n\t", expect!["{}"]);
    check(r#""{\"label\": \"human\"}""#, expect![[r#"{"label":"human"}"#]]);
}

#[test]
fn anything_else_says_what_is_wrong_and_where() {
    check(r#"{"label": "human""#, expect!["error: invalid JSON: EOF while parsing an object (line 1, column 17)"]);
    check("{\n  'label': 1}", expect!["error: invalid JSON: key must be a string (line 2, column 3)"]);
    check(r#"{"a": 1} {"b": 2}"#, expect!["error: invalid JSON: trailing characters (line 1, column 10)"]);
    check("hello", expect!["error: invalid JSON: expected value (line 1, column 1)"]);
    check("[1]", expect!["error: expected a JSON object with the arguments by name, but got an array"]);
    check("null", expect!["error: expected a JSON object with the arguments by name, but got null"]);
    check(r#""hello""#, expect!["error: expected a JSON object with the arguments by name, but got a string"]);
}

#[test]
fn nesting_without_end_is_refused() {
    let text = format!("{{\"a\": {}", "[".repeat(100_000));
    assert!(matches!(parse_arguments(&text), Err(ArgumentsError::NotJson { .. })));
}

fn strip(arguments: Value, expected: Expect) {
    let Value::Object(mut arguments) = arguments else { panic!("an object is needed") };
    let injected = strip_injected(&mut arguments);
    expected.assert_eq(&format!(
        "thinking={:?} heartbeat={:?} left={}",
        injected.thinking,
        injected.request_heartbeat,
        Value::Object(arguments)
    ));
}

#[test]
fn injected_arguments_are_taken_out_and_the_order_of_the_rest_is_kept() {
    strip(
        json!({"thinking": "hm", "b": 1, "a": 2, "request_heartbeat": true}),
        expect![[r#"thinking=Some("hm") heartbeat=Some(true) left={"b":1,"a":2}"#]],
    );
    strip(json!({"request_heartbeat": "True"}), expect!["thinking=None heartbeat=Some(true) left={}"]);
    strip(json!({"request_heartbeat": "false"}), expect!["thinking=None heartbeat=Some(false) left={}"]);
    strip(json!({"request_heartbeat": "soon", "thinking": null}), expect!["thinking=None heartbeat=None left={}"]);
    strip(json!({"thinking": ["a"], "x": 1}), expect![[r#"thinking=Some("[\"a\"]") heartbeat=None left={"x":1}"#]]);
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = parse_arguments(&text);
    }
}
