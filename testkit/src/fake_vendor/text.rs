//! The vendor's older dialect, `/v1/completions`: every prompt gets the same short text.
//!
//! Pure. Nothing steers it: what passes through a gateway is looked at in the recorded request.

use bytes::Bytes;
use serde_json::{Value, json};

use super::reply::Refusal;

/// What follows every prompt.
const TEXT: &str = " and so on";

/// The answer to a request, as one JSON text or as the events of a stream.
pub(super) fn answer(body: &Value) -> Result<(Bytes, bool), Refusal> {
    if !body["model"].is_string() {
        return Err(Refusal::invalid("model", "you must provide a model parameter"));
    }
    let prompts = match &body["prompt"] {
        Value::String(_) => 1,
        Value::Array(list) if list.first().is_some_and(Value::is_number) => 1,
        Value::Array(list) if !list.is_empty() => list.len(),
        _ => return Err(Refusal::invalid("prompt", "you must provide a prompt")),
    };
    let choices: Vec<Value> = (0..prompts)
        .map(|index| {
            let logprobs = if body["logprobs"].is_number() { json!({"tokens": [TEXT]}) } else { Value::Null };
            json!({"text": TEXT, "index": index, "logprobs": logprobs, "finish_reason": "stop"})
        })
        .collect();
    let object = |choices: &[Value]| {
        json!({
            "id": "cmpl-fake", "object": "text_completion", "created": 1_760_000_000, "model": body["model"],
            "choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4},
        })
    };
    if body["stream"] != true {
        return Ok((Bytes::from(object(&choices).to_string()), false));
    }
    let events = choices.chunks(1).map(|choice| format!("data: {}\n\n", object(choice)));
    let events: String = events.chain(["data: [DONE]\n\n".to_owned()]).collect();
    Ok((Bytes::from(events), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_has_a_choice() {
        let count = |prompt: Value| {
            let (bytes, _) = answer(&json!({"model": "m", "prompt": prompt}))?;
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            Ok::<_, Refusal>(value["choices"].as_array().map(Vec::len))
        };
        assert_eq!(count(json!("a")).unwrap(), Some(1));
        assert_eq!(count(json!(["a", "b"])).unwrap(), Some(2));
        assert_eq!(count(json!([1, 2])).unwrap(), Some(1));
        assert!(count(json!([])).is_err());
        let (events, is_stream) = answer(&json!({"model": "m", "prompt": "a", "stream": true})).unwrap();
        assert!(is_stream && events.ends_with(b"data: [DONE]\n\n"));
    }
}
