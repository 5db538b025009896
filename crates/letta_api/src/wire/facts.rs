//! Compares what we write with the skeletons of recorded answers: the same keys in the same order, the same kinds of
//! values. Only tests use it.

use serde_json::Value;

/// Fails unless `actual` has the shape of `facts`.
pub(crate) fn check(actual: &Value, facts: &Value) {
    if let Err(problem) = compare(actual, facts, "$") {
        panic!("{problem}\n{actual:#}");
    }
}

fn compare(actual: &Value, facts: &Value, place: &str) -> Result<(), String> {
    match (actual, facts) {
        (Value::Object(actual), Value::Object(facts)) => {
            let (ours, theirs): (Vec<_>, Vec<_>) = (actual.keys().collect(), facts.keys().collect());
            if ours != theirs {
                return Err(format!("keys of {place}\n  ours     {ours:?}\n  recorded {theirs:?}"));
            }
            actual.iter().try_for_each(|(key, value)| compare(value, &facts[key], &format!("{place}.{key}")))
        }
        (Value::Array(actual), Value::Array(facts)) => match facts.first() {
            Some(one) => actual.iter().try_for_each(|value| compare(value, one, &format!("{place}[]"))),
            None if actual.is_empty() => Ok(()),
            None => Err(format!("{place} is recorded empty")),
        },
        (value, Value::String(kind)) if fits(value, kind) => Ok(()),
        (value, kind) => Err(format!("{place} is {value}, recorded as {kind}")),
    }
}

/// What is null once may have a value at another time, and the other way round.
fn fits(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => true,
        _ if kind == "null" => true,
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => kind == "number",
        Value::String(_) => kind == "string",
        Value::Object(_) => kind == "object",
        Value::Array(_) => false,
    }
}
