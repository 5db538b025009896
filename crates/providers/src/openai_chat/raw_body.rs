//! A request that a client wrote in the dialect itself, looked at from outside.
//!
//! Pure. Only the names of the fields at the top are read; what they hold is never taken apart, so that whatever a
//! vendor understands goes through: several choices, log probabilities, images, parameters of tomorrow.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Bytes by which a body may grow when its model gets another name.
const ROOM: usize = 64;

/// A body and where its fields are.
#[derive(Debug)]
pub struct RawBody<'a> {
    text: &'a str,
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> RawBody<'a> {
    /// Looks at a body; none if it is not a JSON object.
    pub fn look(body: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let Fields(fields) = serde_json::from_str(text).ok()?;
        Some(Self { text, fields })
    }

    /// The text of a field. Of fields that are there twice, the last counts, as for most readers of JSON.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value.get())
    }

    /// The model that is asked; none if the field is not a string.
    pub fn model(&self) -> Option<Cow<'a, str>> {
        let Text(model) = serde_json::from_str(self.get("model")?).ok()?;
        Some(model)
    }

    /// The same body for another model. Nothing else is changed.
    pub(super) fn with_model(&self, model: &str) -> Vec<u8> {
        let name = serde_json::Value::from(model).to_string();
        let mut written = Vec::with_capacity(self.text.len() + name.len() + ROOM);
        let mut rest = 0;
        for (_, value) in self.fields.iter().filter(|(field, _)| field == "model") {
            // A raw value is a part of the text that it was read from.
            let start = value.get().as_ptr().addr() - self.text.as_ptr().addr();
            written.extend_from_slice(&self.text.as_bytes()[rest..start]);
            written.extend_from_slice(name.as_bytes());
            rest = start + value.get().len();
        }
        written.extend_from_slice(&self.text.as_bytes()[rest..]);
        written
    }
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::with_capacity(16);
        while let Some((Text(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn renamed(body: &str) -> Option<String> {
        let body = RawBody::look(body.as_bytes())?;
        Some(String::from_utf8(body.with_model("m\"2")).unwrap())
    }

    #[test]
    fn only_the_model_is_written_anew() {
        for (body, expected) in [
            (r#"{"model":"p/m"}"#, r#"{"model":"m\"2"}"#),
            (
                " { \"n\" : 2,\"model\"\n:\t\"p/m\" , \"x\":{\"model\":\"p/m\"}, \"t\":1.50 } ",
                " { \"n\" : 2,\"model\"\n:\t\"m\\\"2\" , \"x\":{\"model\":\"p/m\"}, \"t\":1.50 } ",
            ),
            // Whoever reads the first of two, and whoever reads the last, reads the same.
            (r#"{"model":"a","mod\u0065l":"b"}"#, r#"{"model":"m\"2","mod\u0065l":"m\"2"}"#),
            (r#"{"messages":[]}"#, r#"{"messages":[]}"#),
        ] {
            assert_eq!(renamed(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn the_model_is_read_as_json_means_it() {
        let model = |body: &str| RawBody::look(body.as_bytes()).unwrap().model().map(Cow::into_owned);
        assert_eq!(model(r#"{"model":"openai\/gpt"}"#).as_deref(), Some("openai/gpt"));
        assert_eq!(model(r#"{"model":"a/b","model":"c/d"}"#).as_deref(), Some("c/d"));
        assert_eq!(model(r#"{"model":7}"#), None);
        assert_eq!(model("{}"), None);
    }

    #[test]
    fn what_is_no_object_is_not_looked_at() {
        for body in [&b"[]"[..], b"{", b"", b"{\"a\":1} x", b"{\"a\":\"\xff\"}"] {
            assert!(RawBody::look(body).is_none(), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn every_other_field_means_the_same(names in prop::collection::vec("[a-z\"\\\\é]{1,6}", 0..6), model in ".*") {
            let mut body: serde_json::Map<String, Value> =
                names.iter().map(|name| (name.clone(), json!([name, {"model": name}]))).collect();
            body.insert("model".to_owned(), json!("p/m"));
            let bytes = Value::Object(body.clone()).to_string();
            let written = RawBody::look(bytes.as_bytes()).unwrap().with_model(&model);
            body.insert("model".to_owned(), json!(model));
            prop_assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), Value::Object(body));
        }
    }
}
