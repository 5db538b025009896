//! The bodies of `POST /v1/embeddings`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::embedding::MAX_DIMENSIONS;
use serde::Serialize;
use serde_json::Value;

use super::token_ids::{MAX_TOKENS, are_ids, spelled, too_many};
use super::{fields, missing, model, wrong_type};
use crate::error::ApiError;

/// Texts of one request.
const MAX_TEXTS: usize = 2048;

/// What is asked for.
#[derive(Debug, PartialEq)]
pub(crate) struct EmbeddingsRequest {
    pub(crate) model: String,
    pub(crate) texts: Vec<Arc<str>>,
    pub(crate) dimensions: Option<usize>,
    pub(crate) encoding: Encoding,
}

/// How vectors are written. The SDKs ask for base64 and decode it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Float,
    Base64,
}

impl EmbeddingsRequest {
    /// Reads a body, or says what is wrong with it and where.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let fields = fields(body)?;
        let encoding = match fields.get("encoding_format").filter(|value| !value.is_null()).map(Value::as_str) {
            None | Some(Some("float")) => Encoding::Float,
            Some(Some("base64")) => Encoding::Base64,
            Some(_) => {
                let text = "`encoding_format` must be `float` or `base64`.";
                return Err(ApiError::invalid(text, Some("encoding_format"), Some("invalid_value")));
            }
        };
        let dimensions = match fields.get("dimensions").filter(|value| !value.is_null()) {
            None => None,
            Some(value) => match value.as_u64() {
                Some(count) if (1..=u64::from(MAX_DIMENSIONS)).contains(&count) => Some(count as usize),
                _ => return Err(wrong_type("dimensions", &format!("a whole number from 1 to {MAX_DIMENSIONS}"))),
            },
        };
        Ok(Self { model: model(&fields)?, texts: texts(fields.get("input"))?, dimensions, encoding })
    }
}

fn texts(input: Option<&Value>) -> Result<Vec<Arc<str>>, ApiError> {
    let texts = match input {
        None | Some(Value::Null) => return Err(missing("input")),
        Some(text @ Value::String(_)) => std::slice::from_ref(text),
        Some(ids @ Value::Array(list)) if are_ids(list) => std::slice::from_ref(ids),
        Some(Value::Array(texts)) => texts.as_slice(),
        Some(_) => return Err(wrong_type("input", "a string, an array of strings, or token ids")),
    };
    if texts.is_empty() || texts.len() > MAX_TEXTS {
        let text = format!("`input` must hold 1 to {MAX_TEXTS} texts, and it holds {}.", texts.len());
        let code = if texts.is_empty() { "invalid_value" } else { "array_above_max_length" };
        return Err(ApiError::invalid(text, Some("input"), Some(code)));
    }
    texts.iter().enumerate().map(|(index, value)| text(value, index)).collect()
}

fn text(value: &Value, index: usize) -> Result<Arc<str>, ApiError> {
    let place = || format!("input[{index}]");
    let invalid = |text: String, code| Err(ApiError::invalid(text, Some("input"), Some(code)));
    match value {
        Value::String(text) if text.is_empty() => invalid(format!("`{}` is empty.", place()), "invalid_value"),
        Value::String(text) => match tokens_above(text, MAX_TOKENS) {
            Some(count) => Err(too_many("input", &place(), count)),
            None => Ok(Arc::from(text.as_str())),
        },
        Value::Array(ids) => spelled(ids, "input", &place()).map(Arc::from),
        _ => invalid(format!("`{}` must be a string or a list of token ids.", place()), "invalid_type"),
    }
}

/// The tokens of a text if they are more than `limit`.
fn tokens_above(text: &str, limit: usize) -> Option<usize> {
    // No token is shorter than a byte, so most texts are not counted at all.
    let count = if text.len() <= limit { 0 } else { prompt::tokens::cl100k_count(text) };
    (count > limit).then_some(count)
}

/// The answer.
#[derive(Debug, Serialize)]
pub(crate) struct Embeddings<'a> {
    object: &'static str,
    data: Vec<Embedding>,
    model: &'a str,
    usage: EmbeddingUsage,
}

#[derive(Debug, Serialize)]
struct Embedding {
    object: &'static str,
    index: usize,
    embedding: Written,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Written {
    Float(Vec<f32>),
    Base64(String),
}

#[derive(Debug, Serialize)]
struct EmbeddingUsage {
    prompt_tokens: usize,
    total_tokens: usize,
}

impl<'a> Embeddings<'a> {
    pub(crate) fn new(model: &'a str, vectors: Vec<Vec<f32>>, encoding: Encoding, tokens: usize) -> Self {
        let embedding =
            |(index, vector)| Embedding { object: "embedding", index, embedding: written(vector, encoding) };
        let data = vectors.into_iter().enumerate().map(embedding).collect();
        let usage = EmbeddingUsage { prompt_tokens: tokens, total_tokens: tokens };
        Self { object: "list", data, model, usage }
    }
}

/// Base64 is that of the numbers as little-endian f32.
fn written(vector: Vec<f32>, encoding: Encoding) -> Written {
    match encoding {
        Encoding::Float => Written::Float(vector),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            Written::Base64(STANDARD.encode(bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(body: &str, expected: Expect) {
        let shown = match EmbeddingsRequest::parse(body.as_bytes()) {
            Ok(request) => {
                format!("{} {:?} {:?} {:?}", request.model, request.texts, request.dimensions, request.encoding)
            }
            Err(error) => format!("{} {:?} {:?}: {}", error.status.as_u16(), error.param, error.code, error.message),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn texts_come_alone_or_in_a_list() {
        check(r#"{"model":"m","input":"a"}"#, expect![[r#"m ["a"] None Float"#]]);
        check(
            r#"{"model":"m","input":["a"," "],"dimensions":64,"encoding_format":"base64","user":"u"}"#,
            expect![[r#"m ["a", " "] Some(64) Base64"#]],
        );
        check(
            r#"{"model":"m","input":"a","dimensions":null,"encoding_format":null}"#,
            expect![[r#"m ["a"] None Float"#]],
        );
    }

    #[test]
    fn bad_bodies_are_refused_by_name() {
        check(
            r#"{"input":"a"}"#,
            expect![[r#"400 Some("model") Some("missing_required_parameter"): Missing required parameter: `model`."#]],
        );
        check(
            r#"{"model":"m"}"#,
            expect![[r#"400 Some("input") Some("missing_required_parameter"): Missing required parameter: `input`."#]],
        );
        check(
            r#"{"model":"m","input":[]}"#,
            expect![[r#"400 Some("input") Some("invalid_value"): `input` must hold 1 to 2048 texts, and it holds 0."#]],
        );
        check(
            r#"{"model":"m","input":["a",""]}"#,
            expect![[r#"400 Some("input") Some("invalid_value"): `input[1]` is empty."#]],
        );
        check(
            r#"{"model":"m","input":[null]}"#,
            expect![[r#"400 Some("input") Some("invalid_type"): `input[0]` must be a string or a list of token ids."#]],
        );
        check(
            r#"{"model":"m","input":"a","encoding_format":"hex"}"#,
            expect![[
                r#"400 Some("encoding_format") Some("invalid_value"): `encoding_format` must be `float` or `base64`."#
            ]],
        );
        for wrong in ["0", "-1", "1.5", "\"8\"", "5000"] {
            check(
                &format!(r#"{{"model":"m","input":"a","dimensions":{wrong}}}"#),
                expect![[
                    r#"400 Some("dimensions") Some("invalid_type"): `dimensions` must be a whole number from 1 to 4096."#
                ]],
            );
        }
        let many = serde_json::json!({"model": "m", "input": vec!["a"; 2049]}).to_string();
        check(
            &many,
            expect![[
                r#"400 Some("input") Some("array_above_max_length"): `input` must hold 1 to 2048 texts, and it holds 2049."#
            ]],
        );
        let tokens = |count: usize| serde_json::json!({"model": "m", "input": vec![220; count]}).to_string();
        let words = |count: usize| serde_json::json!({"model": "m", "input": " hello".repeat(count)}).to_string();
        for long in [tokens(8_193), words(8_193)] {
            check(
                &long,
                expect![[
                    r#"400 Some("input") Some("context_length_exceeded"): `input[0]` has 8193 tokens, and the limit is 8192: cut it into parts."#
                ]],
            );
        }
        for fine in [tokens(8_192), words(8_192)] {
            assert!(EmbeddingsRequest::parse(fine.as_bytes()).is_ok());
        }
    }

    #[test]
    fn token_ids_are_read_as_the_text_that_they_spell() {
        check(r#"{"model":"m","input":[9906,1917]}"#, expect![[r#"m ["Hello world"] None Float"#]]);
        check(r#"{"model":"m","input":[[9906],[1917,0],"a"]}"#, expect![[r#"m ["Hello", " world!", "a"] None Float"#]]);
        // A client cuts a long text between tokens, which may be inside a character.
        check(r#"{"model":"m","input":[[9468]]}"#, expect![[r#"m ["�"] None Float"#]]);
        for (input, place) in [("[1,100300]", "input[0]"), ("[[1],[1,4294967295]]", "input[1]")] {
            let error = EmbeddingsRequest::parse(format!(r#"{{"model":"m","input":{input}}}"#).as_bytes()).unwrap_err();
            assert!(error.message.contains(place) && error.message.contains("cl100k_base"), "{}", error.message);
        }
        for wrong in ["[1,\"a\"]", "[[1],[-1]]", "[[1.5]]", "[[]]", "[[[1]]]"] {
            assert!(
                EmbeddingsRequest::parse(format!(r#"{{"model":"m","input":{wrong}}}"#).as_bytes()).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn vectors_are_written_as_asked() {
        let write =
            |encoding| serde_json::to_string(&Embeddings::new("m", vec![vec![1.0, -0.5]], encoding, 3)).unwrap();
        expect![[r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1.0,-0.5]}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}"#]]
            .assert_eq(&write(Encoding::Float));
        assert!(write(Encoding::Base64).contains(r#""embedding":"AACAPwAAAL8=""#));
    }
}
