//! What no text in the store may hold.
//!
//! SQLite would keep a NUL character and cut the text there in some functions; PostgreSQL refuses it. So the store
//! refuses it everywhere, and a database can be moved from one engine to the other.

use serde_json::Value;

use crate::error::StoreError;

/// Refuses a text with NUL in it. `what` names the text for the caller.
pub(crate) fn check(what: &str, text: &str) -> Result<(), StoreError> {
    if text.as_bytes().contains(&0) { Err(refused(what)) } else { Ok(()) }
}

pub(crate) fn check_optional(what: &str, text: Option<&str>) -> Result<(), StoreError> {
    text.map_or(Ok(()), |text| check(what, text))
}

/// Refuses a JSON value with NUL in any of its texts or keys.
pub(crate) fn check_json(what: &str, value: &Value) -> Result<(), StoreError> {
    match value {
        Value::String(text) => check(what, text),
        Value::Array(items) => items.iter().try_for_each(|item| check_json(what, item)),
        Value::Object(fields) => check_fields(what, fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

pub(crate) fn check_fields(what: &str, fields: &serde_json::Map<String, Value>) -> Result<(), StoreError> {
    fields.iter().try_for_each(|(key, value)| check(what, key).and_then(|()| check_json(what, value)))
}

fn refused(what: &str) -> StoreError {
    StoreError::Invalid(format!("{what} can't hold NUL characters"))
}
