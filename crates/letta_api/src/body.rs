//! JSON bodies, read field by field, so that an error names the field. Unknown fields are ignored.

use axum::extract::FromRequest;
use axum::extract::Request;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::ApiError;

/// The fields of a JSON object that were not taken yet.
#[derive(Debug)]
pub(crate) struct Fields(Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await.map_err(ApiError::unread_body)?;
        Self::parse(&bytes)
    }
}

impl Fields {
    /// The fields of an object inside of a body.
    pub(crate) fn of(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// The value of `name`, which can't be left out.
    pub(crate) fn need<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, ApiError> {
        let missing = || ApiError::invalid("missing", &["body", name], &format!("`{name}` is required"));
        self.take(name)?.ok_or_else(missing)
    }

    /// Reads a JSON object.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(ApiError::invalid("missing", &["body"], "a JSON body is required"));
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(ApiError::invalid("model_attributes_type", &["body"], "the body must be a JSON object")),
            Err(error) => {
                let text = format!("the body is not valid JSON: {error}");
                Err(ApiError::invalid("json_invalid", &["body"], &text))
            }
        }
    }

    /// The value of `name`; null counts as left out.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, ApiError> {
        Ok(self.take_nullable(name)?.flatten())
    }

    /// The value of `name`, where null is a value too.
    pub(crate) fn take_nullable<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Option<T>>, ApiError> {
        let Some(value) = self.0.shift_remove(name) else { return Ok(None) };
        if value.is_null() {
            return Ok(Some(None));
        }
        let wrong = |error: serde_json::Error| ApiError::invalid("value_error", &["body", name], &error.to_string());
        serde_json::from_value(value).map(|value| Some(Some(value))).map_err(wrong)
    }

    /// Refuses a field that asks for something that is not offered. Null, false and empty ask for nothing.
    pub(crate) fn refuse(&mut self, names: &[&'static str]) -> Result<(), ApiError> {
        for name in names {
            let asks = match self.0.shift_remove(*name) {
                None | Some(Value::Null | Value::Bool(false)) => false,
                Some(Value::String(text)) => !text.is_empty(),
                Some(Value::Array(items)) => !items.is_empty(),
                Some(Value::Object(fields)) => !fields.is_empty(),
                Some(Value::Bool(true) | Value::Number(_)) => true,
            };
            if asks {
                return Err(ApiError::refused(&format!("`{name}` is not offered by this server yet; leave it out")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::parse(text.as_bytes()).expect("an object")
    }

    #[test]
    fn only_a_json_object_is_a_body() {
        for text in ["", " \n", "{\"name\": ", "[]", "\"x\"", "{\"a\":1} x"] {
            assert_eq!(Fields::parse(text.as_bytes()).expect_err(text).status(), 422);
        }
    }

    #[test]
    fn null_is_left_out_unless_it_is_a_value() {
        let mut body = fields(r#"{"a": null, "b": null, "c": 1}"#);
        assert_eq!(body.take::<String>("a").ok(), Some(None));
        assert_eq!(body.take_nullable::<String>("b").ok(), Some(Some(None)));
        assert_eq!(body.take::<u32>("c").ok(), Some(Some(1)));
        assert_eq!(body.take::<u32>("d").ok(), Some(None));
    }

    #[test]
    fn a_wrong_type_names_its_field() {
        let error = fields(r#"{"memory_blocks": "nope"}"#).take::<Vec<u32>>("memory_blocks").expect_err("a string");
        assert!(error.to_string().contains("('body', 'memory_blocks')"), "{error}");
    }

    #[test]
    fn only_what_asks_for_something_is_refused() {
        let mut body = fields(r#"{"a": null, "b": [], "c": {}, "d": "", "e": false, "f": [1]}"#);
        assert!(body.refuse(&["a", "b", "c", "d", "e", "g"]).is_ok());
        assert_eq!(body.refuse(&["f"]).expect_err("f").status(), 400);
    }
}
