//! The vendor's embeddings: the same text always has the same vector, and texts that share words have similar ones.
//!
//! Pure. Directives in a text count as in a chat message: `[[error:STATUS]]`, `[[error-once:STATUS]]`, `[[delay:MS]]`,
//! `[[cut]]`, `[[stall]]`.

use serde_json::{Value, json};

use super::reply::Refusal;

/// Texts that one request may hold.
const TEXTS_CAP: usize = 2048;
const KNOWN_FIELDS: [&str; 5] = ["model", "input", "dimensions", "encoding_format", "user"];

/// The texts of a request, or what a strict server says about it.
pub(super) fn texts(body: &Value) -> Result<Vec<&str>, Refusal> {
    let Some(fields) = body.as_object() else {
        return Err(Refusal::invalid("", "the body must be a JSON object"));
    };
    if let Some(unknown) = fields.keys().find(|name| !KNOWN_FIELDS.contains(&name.as_str())) {
        return Err(Refusal::invalid(unknown, format!("Unrecognized request argument supplied: {unknown}")));
    }
    if !body["model"].is_string() {
        return Err(Refusal::invalid("model", "you must provide a model parameter"));
    }
    if !matches!(body["encoding_format"].as_str(), None | Some("float")) {
        return Err(Refusal::invalid("encoding_format", "this vendor only gives floats"));
    }
    let texts: Option<Vec<&str>> = match &body["input"] {
        Value::String(text) => Some(vec![text]),
        Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
        _ => None,
    };
    match texts {
        Some(texts) if (1..=TEXTS_CAP).contains(&texts.len()) && texts.iter().all(|text| !text.is_empty()) => Ok(texts),
        _ => Err(Refusal::invalid("input", "'$.input' is invalid: texts that are not empty are needed")),
    }
}

/// The answer to a request for the vectors of `texts`.
pub(super) fn answer(body: &Value, texts: &[&str], dimensions: usize) -> Value {
    let vectors = texts.iter().enumerate();
    let vectors = vectors
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text, dimensions)}));
    let tokens: usize = texts.iter().map(|text| text.len().div_ceil(4)).sum();
    json!({
        "object": "list", "data": vectors.collect::<Vec<_>>(), "model": body["model"],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}

/// Every word pulls the vector a little in a direction of its own. Its length is not 1: that is for the client.
fn vector(text: &str, dimensions: usize) -> Vec<f64> {
    let mut vector = vec![0.0; dimensions];
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let mut state = word.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |state, byte| {
            (state ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x100_0000_01B3)
        });
        for number in &mut vector {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *number += (state >> 40) as f64 / f64::from(1_u32 << 23) - 1.0;
        }
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_texts_have_similar_vectors() {
        let cosine = |left: &str, right: &str| {
            let (left, right) = (vector(left, 64), vector(right, 64));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            dot(&left, &right) / (dot(&left, &left) * dot(&right, &right)).sqrt()
        };
        assert!((cosine("the red house", "the red house") - 1.0).abs() < 1e-9);
        assert!(cosine("the red house", "the red barn") > 0.4);
        assert!(cosine("the red house", "some green frog") < 0.4);
    }

    #[test]
    fn a_strict_server_says_what_is_wrong() {
        let check = |body: Value, param: &str| assert_eq!(texts(&body).unwrap_err().param.as_deref(), Some(param));
        check(json!({"input": "x"}), "model");
        check(json!({"model": "m"}), "input");
        check(json!({"model": "m", "input": ["a", ""]}), "input");
        check(json!({"model": "m", "input": []}), "input");
        check(json!({"model": "m", "input": "x", "encoding_format": "base64"}), "encoding_format");
        check(json!({"model": "m", "input": "x", "wat": 1}), "wat");
        assert_eq!(texts(&json!({"model": "m", "input": "x"})).unwrap(), ["x"]);
    }
}
