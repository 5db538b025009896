//! Values of the right type: arguments that a tool's schema requires and nobody gave, answers in a wanted shape.
//!
//! Pure, and in the order of the schema, as a model that follows the schema writes them.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; deeper values are null, so that a schema which refers to itself ends.
const DEPTH: usize = 8;

/// `given` with every required argument of `tool` that it lacks.
pub(super) fn complete(tool: &str, parameters: &Value, given: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = Map::new();
    for (name, schema) in parameters["properties"].as_object().into_iter().flatten() {
        let value = match given.get(name) {
            Some(value) => value.clone(),
            None if requires(parameters, name) => injected(tool, name).unwrap_or_else(|| fill(schema, parameters, 0)),
            None => continue,
        };
        arguments.insert(name.clone(), value);
    }
    for (name, value) in given {
        arguments.entry(name).or_insert_with(|| value.clone());
    }
    arguments
}

/// A value that fits `schema`, with what it requires and no more.
pub(super) fn sample(schema: &Value) -> Value {
    fill(schema, schema, 0)
}

fn requires(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
}

/// What the runtime adds to tools. A heartbeat is asked for, so that the words that follow the call are heard.
fn injected(tool: &str, name: &str) -> Option<Value> {
    match name {
        "thinking" => Some(json!("The script says what to do.")),
        "request_heartbeat" => Some(json!(tool != "send_message")),
        _ => None,
    }
}

fn fill(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == DEPTH {
        return Value::Null;
    }
    if let Some(given) = ["default", "const"].iter().find_map(|key| schema.get(key)) {
        return given.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#'))) {
        return fill(target, root, depth + 1);
    }
    let choices = ["anyOf", "oneOf"].iter().find_map(|key| schema[key].as_array());
    if let Some(choice) = choices.and_then(|all| all.iter().find(|one| one["type"] != "null")) {
        return fill(choice, root, depth + 1);
    }
    match type_of(schema) {
        "string" => json!("text"),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(0)),
        "boolean" => json!(false),
        "array" => json!([]),
        "object" => object(schema, root, depth),
        _ => Value::Null,
    }
}

fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(name) => name,
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("null"),
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    }
}

fn object(schema: &Value, root: &Value, depth: usize) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let required = properties.filter(|(name, _)| requires(schema, name));
    Value::Object(required.map(|(name, inner)| (name.clone(), fill(inner, root, depth + 1))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, parameters: Value, given: Value, expected: &str) {
        let given = given.as_object().unwrap();
        assert_eq!(Value::Object(complete(tool, &parameters, given)).to_string(), expected);
    }

    #[test]
    fn only_what_is_required_and_missing_is_filled_in() {
        let parameters = json!({
            "type": "object",
            "properties": {
                "thinking": {"type": "string"}, "label": {"type": "string"}, "limit": {"type": "integer", "minimum": 1},
                "tags": {"type": "array", "items": {"type": "string"}}, "note": {"type": "string"},
                "request_heartbeat": {"type": "boolean"},
            },
            "required": ["thinking", "label", "limit", "tags", "request_heartbeat"],
        });
        check(
            "memory",
            parameters.clone(),
            json!({"label": "human", "extra": 1}),
            r#"{"thinking":"The script says what to do.","label":"human","limit":1,"tags":[],"request_heartbeat":true,"extra":1}"#,
        );
        check(
            "send_message",
            parameters,
            json!({"thinking": "t", "limit": 3, "label": "x"}),
            r#"{"thinking":"t","label":"x","limit":3,"tags":[],"request_heartbeat":false}"#,
        );
    }

    #[test]
    fn nested_schemas_are_followed() {
        let parameters = json!({
            "properties": {
                "kind": {"enum": ["create", "delete"]},
                "maybe": {"anyOf": [{"type": "null"}, {"type": "number"}]},
                "either": {"type": ["null", "boolean"]},
                "inner": {"$ref": "#/$defs/inner"},
            },
            "required": ["kind", "maybe", "either", "inner"],
            "$defs": {"inner": {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}},
        });
        check("t", parameters, json!({}), r#"{"kind":"create","maybe":0,"either":false,"inner":{"a":"text"}}"#);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let node = json!({"properties": {"next": {"$ref": "#/properties/root"}}, "required": ["next"]});
        let filled = complete("t", &json!({"properties": {"root": node}, "required": ["root"]}), &Map::new());
        assert!(Value::Object(filled).to_string().contains("null"));
    }
}
