//! OpenAI's JSON for answers, chunks, model lists and errors.
//!
//! Pure: numbers for ids come from the caller, and the time of creation is a constant, so that tests can compare
//! whole bodies.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::VendorModel;
use super::reply::Refusal;
use super::shape::Answer;

const CREATED: u64 = 1_760_000_000;
/// Characters in one streamed piece, unless the number of pieces is given.
const PIECE: usize = 5;

/// An answer with everything that makes it unique.
pub(super) struct Envelope<'a> {
    pub(super) answer: &'a Answer,
    pub(super) model: &'a str,
    /// Numbers the completion and its calls.
    pub(super) number: u64,
    pub(super) usage: Value,
    /// `reasoning_content` or `reasoning`: compatible servers differ.
    pub(super) reasoning_field: &'a str,
}

/// Token counts: what the request has, and the answer by the rule of thumb; `total` overrules their sum.
pub(super) fn usage(mut prompt: u64, answer: &Answer, total: Option<u64>) -> Value {
    let reasoning = rough(answer.reasoning.as_deref().map_or(0, str::len));
    let said = answer.text.as_deref().map_or(0, str::len);
    let called: usize = answer.calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum();
    let mut completion = rough(said + called) + reasoning;
    if let Some(total) = total {
        completion = completion.min(total);
        prompt = total - completion;
    }
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning.min(completion), "audio_tokens": 0},
    })
}

/// Four bytes a token.
pub(super) fn rough(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// The whole answer at once.
pub(super) fn completion(envelope: &Envelope<'_>) -> Value {
    let answer = envelope.answer;
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(answer.text));
    message.insert("refusal".to_owned(), Value::Null);
    if let Some(reasoning) = &answer.reasoning {
        message.insert(envelope.reasoning_field.to_owned(), json!(reasoning));
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().enumerate().map(|(index, (name, arguments))| {
            let function = json!({"name": name, "arguments": arguments});
            json!({"id": call_id(envelope.number, index), "type": "function", "function": function})
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    json!({
        "id": completion_id(envelope.number), "object": "chat.completion", "created": CREATED, "model": envelope.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": answer.finish}],
        "usage": envelope.usage, "service_tier": "default", "system_fingerprint": "fp_fake",
    })
}

/// The answer as server-sent events.
pub(super) struct Events {
    /// The opening and all pieces of the answer.
    pub(super) pieces: Vec<Bytes>,
    /// What says that it is complete.
    pub(super) ending: Vec<Bytes>,
}

/// Cuts the answer into events; `pieces` says how many each text gives at most.
pub(super) fn events(envelope: &Envelope<'_>, pieces: Option<usize>, with_usage: bool) -> Events {
    let answer = envelope.answer;
    let opening = if answer.calls.is_empty() { json!("") } else { Value::Null };
    let mut deltas = vec![json!({"role": "assistant", "content": opening, "refusal": null})];
    for piece in cut(answer.reasoning.as_deref().unwrap_or_default(), pieces) {
        let mut delta = Map::new();
        delta.insert(envelope.reasoning_field.to_owned(), json!(piece));
        deltas.push(Value::Object(delta));
    }
    deltas.extend(
        cut(answer.text.as_deref().unwrap_or_default(), pieces).into_iter().map(|piece| json!({"content": piece})),
    );
    for (index, (name, arguments)) in answer.calls.iter().enumerate() {
        let id = call_id(envelope.number, index);
        let start = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        deltas.push(json!({"tool_calls": [start]}));
        deltas.extend(
            cut(arguments, pieces)
                .into_iter()
                .map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})),
        );
    }
    let choice =
        |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": completion_id(envelope.number), "object": "chat.completion.chunk", "created": CREATED,
            "model": envelope.model, "system_fingerprint": "fp_fake", "choices": choices,
        });
        if with_usage {
            chunk["usage"] = usage;
        }
        event(&chunk.to_string())
    };
    let mut ending = vec![chunk(choice(json!({}), json!(answer.finish)), Value::Null)];
    if with_usage {
        ending.push(chunk(json!([]), envelope.usage.clone()));
    }
    ending.push(event("[DONE]"));
    Events { pieces: deltas.into_iter().map(|delta| chunk(choice(delta, Value::Null), Value::Null)).collect(), ending }
}

fn event(text: &str) -> Bytes {
    Bytes::from(format!("data: {text}\n\n"))
}

/// `text` in pieces, cut between characters wherever it happens to be.
fn cut(text: &str, pieces: Option<usize>) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = pieces.map_or(PIECE, |pieces| letters.len().div_ceil(pieces.max(1)).max(1));
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

fn completion_id(number: u64) -> String {
    format!("chatcmpl-fake{number:020}")
}

/// As long as OpenAI's own ids.
fn call_id(number: u64, index: usize) -> String {
    format!("call_{number:021}{index:03}")
}

/// The error body.
pub(super) fn error(refusal: &Refusal) -> Value {
    let kind = match refusal.status {
        429 => "requests",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code}})
}

/// The list of models, or one of them.
pub(super) fn model(model: &VendorModel) -> Value {
    json!({
        "id": model.id, "object": "model", "created": CREATED, "owned_by": "fake", "context_length": model.context_length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("Grüße, Welt", None), ["Grüße", ", Wel", "t"]);
        assert_eq!(cut("abcd", Some(3)), ["ab", "cd"]);
        assert_eq!(cut("abcd", Some(1)), ["abcd"]);
        assert_eq!(cut("ab", Some(9)), ["a", "b"]);
        assert!(cut("", Some(0)).is_empty());
    }

    #[test]
    fn a_total_overrules_the_counted_tokens() {
        let answer = Answer { reasoning: None, text: Some("12345678".into()), calls: vec![], finish: "stop".into() };
        let total = |total| usage(10, &answer, total)["total_tokens"].clone();
        assert_eq!(total(None), 12);
        assert_eq!(total(Some(7000)), 7000);
        assert_eq!(total(Some(1)), 1);
    }

    #[test]
    fn call_ids_are_short_enough_for_strict_vendors() {
        assert_eq!(call_id(u64::from(u32::MAX), 3).len(), 29);
    }
}
