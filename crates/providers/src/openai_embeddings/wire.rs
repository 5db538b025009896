//! The JSON of one call: texts in, vectors out. Pure.

use domain::embedding::MAX_DIMENSIONS;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request for vectors.
#[derive(Serialize)]
struct Asked<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Deserialize)]
struct Answered {
    #[serde(default)]
    data: Option<Vec<Item>>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// What an answer holds.
#[derive(Debug, PartialEq)]
pub(super) enum Understood {
    /// One vector of length 1 for each text, in order.
    Vectors(Vec<Vec<f32>>),
    /// Some servers fail with a status that says otherwise.
    Failed(Value),
    /// Not what was asked for, and why.
    Malformed(String),
}

/// The body of a request.
pub(super) fn body(model: &str, input: &[&str]) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Asked { model, input })
}

/// Reads the answer to a request for `count` texts.
pub(super) fn understand(body: &[u8], count: usize) -> Understood {
    let answered: Answered = match serde_json::from_slice(body) {
        Ok(answered) => answered,
        Err(error) => return Understood::Malformed(format!("it is not a list of vectors: {error}")),
    };
    match answered {
        Answered { error: Some(error), .. } if !error.is_null() => Understood::Failed(error),
        Answered { data: Some(items), .. } => match in_order(items, count) {
            Ok(vectors) => Understood::Vectors(vectors),
            Err(why) => Understood::Malformed(why),
        },
        Answered { .. } => Understood::Malformed("it holds no vectors".to_owned()),
    }
}

fn in_order(items: Vec<Item>, count: usize) -> Result<Vec<Vec<f32>>, String> {
    if items.len() != count {
        return Err(format!("{} vectors came for {count} texts", items.len()));
    }
    let mut vectors = vec![Vec::new(); count];
    for (position, item) in items.into_iter().enumerate() {
        let place = vectors.get_mut(item.index.unwrap_or(position)).filter(|place| place.is_empty());
        let place = place.ok_or("two vectors came for one text")?;
        *place = of_length_1(item.embedding)?;
    }
    let dimensions = vectors.first().map_or(0, Vec::len);
    match vectors.iter().all(|vector| vector.len() == dimensions) {
        true => Ok(vectors),
        false => Err("the vectors are not of one length".to_owned()),
    }
}

/// Vendors differ in whether their vectors have length 1.
fn of_length_1(mut vector: Vec<f32>) -> Result<Vec<f32>, String> {
    if vector.is_empty() || vector.len() > MAX_DIMENSIONS as usize {
        return Err(format!("a vector has {} numbers, and at most {MAX_DIMENSIONS} are taken", vector.len()));
    }
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err("a vector has no length".to_owned());
    }
    // Zeros stay zeros: one text that says nothing must not keep the others from being found.
    if length > 0.0 {
        vector.iter_mut().for_each(|number| *number = (f64::from(*number) / length) as f32);
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, count: usize) -> Result<Vec<Vec<f32>>, String> {
        match understand(body.as_bytes(), count) {
            Understood::Vectors(vectors) => Ok(vectors),
            Understood::Failed(error) => Err(format!("failed: {error}")),
            Understood::Malformed(why) => Err(why),
        }
    }

    #[test]
    fn vectors_come_in_the_order_of_their_texts_with_length_1() {
        let answer = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3.0,4.0]}]}"#;
        assert_eq!(read(answer, 2), Ok(vec![vec![0.6, 0.8], vec![0.0, 1.0]]));
        assert_eq!(read(r#"{"data":[{"embedding":[5]},{"embedding":[1e30]}]}"#, 2), Ok(vec![vec![1.0], vec![1.0]]));
        assert_eq!(read(r#"{"data":[{"embedding":[0,0]}]}"#, 1), Ok(vec![vec![0.0, 0.0]]));
    }

    #[test]
    fn what_was_not_asked_for_is_not_taken() {
        for (answer, why) in [
            (r#"{"data":[]}"#, "0 vectors came for 1 texts"),
            (r#"{"data":[{"index":3,"embedding":[1]}]}"#, "two vectors came for one text"),
            (r#"{"data":[{"embedding":[]}]}"#, "a vector has 0 numbers, and at most 4096 are taken"),
            (r#"{"object":"list"}"#, "it holds no vectors"),
            (r#"{"error":"no such model"}"#, r#"failed: "no such model""#),
        ] {
            assert_eq!(read(answer, 1), Err(why.to_owned()), "{answer}");
        }
        assert!(read(r#"{"data":[{"embedding":[null]}]}"#, 1).unwrap_err().starts_with("it is not a list of vectors"));
        // A number that is too large is refused where it is read, or by the length that it gives.
        assert!(read(r#"{"data":[{"embedding":[1e39,0]}]}"#, 1).is_err());
        let uneven = r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#;
        assert_eq!(read(uneven, 2), Err("the vectors are not of one length".to_owned()));
    }

    #[test]
    fn a_request_names_the_model_and_the_texts() {
        let written = body("m", &["a", "b\n"]).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), r#"{"model":"m","input":["a","b\n"]}"#);
    }
}
