//! Puts prefilled arguments into a call, after a light look at the tool's schema.
//!
//! Only rules are checked here, not models: a prefilled value that the tool does not take is a mistake of the person
//! who wrote the rule, and the call must not run.

use serde_json::{Map, Value};

use super::Prefilled;

/// Why prefilled arguments can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrefillError {
    /// The tool has no such argument.
    #[error("{provenance} sets `{argument}`, which is not an argument of the tool")]
    UnknownArgument { argument: String, provenance: String },
    /// The value does not fit the argument's schema.
    #[error("{provenance} sets `{argument}` to a value that {problem}")]
    WrongValue { argument: String, provenance: String, problem: String },
}

/// The model's arguments with the prefilled ones over them. `schema` is the JSON Schema of the tool's arguments.
pub fn merge_prefilled(
    mut arguments: Map<String, Value>,
    prefilled: &Prefilled,
    schema: &Value,
) -> Result<Map<String, Value>, PrefillError> {
    for (argument, value) in &prefilled.args {
        let provenance = || prefilled.provenance.clone();
        let Some(expected) = schema.get("properties").and_then(|properties| properties.get(argument)) else {
            return Err(PrefillError::UnknownArgument { argument: argument.clone(), provenance: provenance() });
        };
        if let Err(problem) = fits(value, expected) {
            return Err(PrefillError::WrongValue { argument: argument.clone(), provenance: provenance(), problem });
        }
        arguments.insert(argument.clone(), value.clone());
    }
    Ok(arguments)
}

/// Checks `type`, `enum`, `const`, `anyOf` and `oneOf`. Other keywords are left to the tool itself.
fn fits(value: &Value, schema: &Value) -> Result<(), String> {
    if let Some(wanted) = schema.get("const")
        && !same(value, wanted)
    {
        return Err(format!("is not {wanted}"));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.iter().any(|choice| same(value, choice))
    {
        return Err(format!("is none of {}", Value::Array(choices.clone())));
    }
    if let Some(wanted) = schema.get("type") {
        check_type(value, wanted)?;
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array)
        && !options.iter().any(|option| fits(value, option).is_ok())
    {
        return Err("fits none of the allowed shapes".to_owned());
    }
    if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
        let matching = options.iter().filter(|option| fits(value, option).is_ok()).count();
        if matching != 1 {
            return Err(format!("fits {matching} of the allowed shapes instead of one"));
        }
    }
    Ok(())
}

fn check_type(value: &Value, wanted: &Value) -> Result<(), String> {
    let names: Vec<&str> = match wanted {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    if names.iter().any(|name| has_type(value, name)) {
        return Ok(());
    }
    Err(format!("is not of type {}", names.join(" or ")))
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => is_integer(value),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        // A type that JSON Schema does not know can't be checked, and is not the rule's fault.
        _ => true,
    }
}

/// JSON Schema counts 2.0 as an integer.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Equality as JSON Schema has it: 1 and 1.0 are the same number.
fn same(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

#[cfg(test)]
#[path = "prefill_tests.rs"]
mod tests;
