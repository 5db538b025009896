//! Tests with a model of our own that has the same inputs and outputs: it gives each token a direction of its own.

use std::fs;

use super::*;

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\none\ntwo\nthree";
const TOKENS: usize = 7;
const WIDTH: usize = MINILM.dimensions as usize;

/// A field of a protobuf message that holds bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 128 {
        bytes.push(length as u8 | 128);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(content);
    bytes
}

/// A field that holds a small number.
fn number(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

/// A graph's input or output of two or three dimensions.
fn value(name: &str, kind: u8, dimensions: usize) -> Vec<u8> {
    let dimension = field(1, &field(2, b"n"));
    let tensor = [number(1, kind), field(2, &dimension.repeat(dimensions))].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// An ONNX file: `last_hidden_state` is the row of each token in a table, where token 4 points along number 4.
fn onnx() -> Vec<u8> {
    let rows = (0..TOKENS * WIDTH).map(|at| if at % WIDTH == at / WIDTH { 1.0_f32 } else { 0.0 });
    let rows: Vec<u8> = rows.flat_map(f32::to_le_bytes).collect();
    let shape = [number(1, TOKENS as u8), vec![1 << 3, WIDTH as u8 | 128, (WIDTH >> 7) as u8]].concat();
    let table = [shape, number(2, 1), field(8, b"table"), field(9, &rows)].concat();
    let node = [field(1, b"table"), field(1, b"input_ids"), field(2, b"last_hidden_state"), field(4, b"Gather")];
    let inputs = ["input_ids", "attention_mask", "token_type_ids"].map(|name| field(11, &value(name, 7, 2)));
    let output = field(12, &value("last_hidden_state", 1, 3));
    let graph = [field(1, &node.concat()), field(2, b"g"), field(5, &table), inputs.concat(), output].concat();
    [number(1, 8), field(7, &graph), field(8, &number(2, 17))].concat()
}

fn model() -> MiniLm {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("model.onnx"), onnx()).unwrap();
    fs::write(place.path().join("vocab.txt"), VOCABULARY).unwrap();
    MiniLm::open(place.path()).unwrap()
}

/// How often each token was counted, from the direction of a vector.
fn parts(vector: &[f32]) -> [i32; TOKENS] {
    let start = vector[2];
    std::array::from_fn(|token| (vector[token] / start).round() as i32)
}

#[tokio::test]
async fn a_vector_is_the_mean_of_its_own_tokens_whatever_runs_beside_it() {
    let model = model();
    assert_eq!((model.config().handle.as_str(), model.config().dimensions), ("builtin/minilm", 384));
    assert_eq!(model.pace(), Pace::Slow);
    let texts: Vec<Arc<str>> = (0..40).map(|at| "two ".repeat(1 + at % 7).into()).collect();
    let texts = [vec![Arc::from("one three three"), Arc::from(""), Arc::from("x")], texts].concat();
    let vectors = model.embed(&texts).await.unwrap();
    assert_eq!(parts(&vectors[0]), [0, 0, 1, 1, 1, 0, 2]);
    assert_eq!(vectors[1], [0.0; WIDTH]);
    assert_eq!(parts(&vectors[2]), [0, 1, 1, 1, 0, 0, 0]);
    for (at, vector) in vectors[3..].iter().enumerate() {
        assert_eq!(parts(vector), [0, 0, 1, 1, 0, 1 + at as i32 % 7, 0]);
        assert!((vector.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-5);
    }
    assert!(model.embed(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn long_texts_are_cut_at_what_the_model_takes() {
    let vectors = model().embed(&["one ".repeat(1000).into()]).await.unwrap();
    assert_eq!(parts(&vectors[0]), [0, 0, 1, 1, 254, 0, 0]);
}

#[test]
fn files_that_are_not_the_model_are_named() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    assert!(!MiniLm::is_in(folder));
    for file in MINILM.files {
        fs::write(folder.join(file.name), "nonsense").unwrap();
    }
    assert!(MiniLm::is_in(folder));
    let error = MiniLm::open(folder).err().unwrap().to_string();
    assert!(error.contains("model.onnx can't be read") && error.contains("models pull minilm"), "{error}");
    fs::write(folder.join("model.onnx"), onnx()).unwrap();
    let error = MiniLm::open(folder).err().unwrap().to_string();
    assert!(error.contains("vocab.txt can't be read: it is not a vocabulary"), "{error}");
}
