//! OpenAI's JSON, as its SDKs check it.

pub(crate) mod chat_messages;
pub(crate) mod chat_request;
pub(crate) mod chat_response;
pub(crate) mod chat_tools;
pub(crate) mod embeddings;
mod sampling;
pub(crate) mod text_completion;
pub(crate) mod token_ids;

use serde_json::{Map, Value};

use crate::error::ApiError;

/// The fields of a body.
fn fields(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::invalid(format!("The body is not valid JSON: {error}."), None, None))?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(ApiError::invalid("The body must be a JSON object.", None, Some("invalid_type"))),
    }
}

/// The name of the model that is asked.
fn model(fields: &Map<String, Value>) -> Result<String, ApiError> {
    match fields.get("model") {
        Some(Value::String(model)) => Ok(model.clone()),
        Some(_) => Err(wrong_type("model", "a string")),
        None => Err(missing("model")),
    }
}

fn missing(param: &'static str) -> ApiError {
    let text = format!("Missing required parameter: `{param}`.");
    ApiError::invalid(text, Some(param), Some("missing_required_parameter"))
}

fn wrong_type(param: &'static str, wanted: &str) -> ApiError {
    ApiError::invalid(format!("`{param}` must be {wanted}."), Some(param), Some("invalid_type"))
}

fn invalid_value(param: &'static str, wanted: &str) -> ApiError {
    ApiError::invalid(format!("`{param}` must be {wanted}."), Some(param), Some("invalid_value"))
}

fn optional_flag(fields: &Map<String, Value>, param: &'static str) -> Result<Option<bool>, ApiError> {
    match fields.get(param) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(wrong_type(param, "true or false")),
    }
}

fn flag(fields: &Map<String, Value>, param: &'static str) -> Result<bool, ApiError> {
    Ok(optional_flag(fields, param)?.unwrap_or(false))
}
