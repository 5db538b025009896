//! The parameters by which a request wants its answer, checked by name and range.

use domain::ResponseFormat;
use domain::seams::chat_model::Sampling;
use serde_json::{Map, Value};

use super::{invalid_value, wrong_type};
use crate::error::ApiError;

/// Texts that may end an answer.
const MAX_STOPS: usize = 4;
/// Parameters that would change what an answer means, and that agents don't have.
const UNSUPPORTED: [(&str, &str); 3] = [
    ("audio", "agents answer in words"),
    ("web_search_options", "agents search with tools of their own"),
    ("moderation", "this server does not moderate"),
];

/// Reads the parameters of a body.
pub(super) fn sampling(fields: &Map<String, Value>) -> Result<Sampling, ApiError> {
    Ok(Sampling {
        temperature: number(fields, "temperature", 0.0, 2.0)?,
        top_p: number(fields, "top_p", 0.0, 1.0)?,
        max_output_tokens: match count(fields, "max_completion_tokens")? {
            None => count(fields, "max_tokens")?,
            given => given,
        },
        stop: stop(fields)?,
        seed: seed(fields)?,
        presence_penalty: number(fields, "presence_penalty", -2.0, 2.0)?,
        frequency_penalty: number(fields, "frequency_penalty", -2.0, 2.0)?,
        logit_bias: logit_bias(fields)?,
        reasoning_effort: word(
            fields,
            "reasoning_effort",
            &["none", "minimal", "low", "medium", "high", "xhigh", "max"],
        )?,
        verbosity: word(fields, "verbosity", &["low", "medium", "high"])?,
        response_format: response_format(fields)?,
        user: None,
    })
}

/// Refuses what would change the meaning of the answer if it were ignored.
pub(super) fn refuse_unsupported(fields: &Map<String, Value>) -> Result<(), ApiError> {
    let refuse = |param, text: String| Err(ApiError::invalid(text, Some(param), Some("unsupported_parameter")));
    if fields.get("n").is_some_and(|n| !n.is_null() && n.as_u64() != Some(1)) {
        let text = "An agent gives one answer to a message: `n` can only be 1.";
        return Err(ApiError::invalid(text, Some("n"), Some("unsupported_value")));
    }
    let asks = |param: &str| !matches!(fields.get(param), None | Some(Value::Null | Value::Bool(false)));
    for param in ["logprobs", "top_logprobs"] {
        if asks(param) && fields.get(param).and_then(Value::as_u64) != Some(0) {
            return refuse(param, format!("`{param}` is not supported: an agent's answer has no log probabilities."));
        }
    }
    for (param, why) in UNSUPPORTED {
        if asks(param) {
            return refuse(param, format!("`{param}` is not supported: {why}."));
        }
    }
    match fields.get("modalities") {
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind.as_str() != Some("text")) => {
            refuse("modalities", "`modalities` can only hold `text`.".to_owned())
        }
        _ => Ok(()),
    }
}

fn number(fields: &Map<String, Value>, param: &'static str, least: f64, most: f64) -> Result<Option<f64>, ApiError> {
    match fields.get(param) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            Some(_) => Err(invalid_value(param, &format!("from {least} to {most}"))),
            None => Err(wrong_type(param, "a number")),
        },
    }
}

fn count(fields: &Map<String, Value>, param: &'static str) -> Result<Option<u32>, ApiError> {
    match fields.get(param) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            // A wish for more than any model can write is no mistake.
            Some(count) if count > 0 => Ok(Some(u32::try_from(count).unwrap_or(u32::MAX))),
            _ => Err(invalid_value(param, "a whole number of at least 1")),
        },
    }
}

fn stop(fields: &Map<String, Value>) -> Result<Vec<String>, ApiError> {
    let wrong = || invalid_value("stop", &format!("a text or at most {MAX_STOPS} texts, none of them empty"));
    let texts: Vec<String> = match fields.get("stop") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(listed)) => {
            listed.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>().ok_or_else(wrong)?
        }
        Some(_) => return Err(wrong()),
    };
    if texts.len() > MAX_STOPS || texts.iter().any(String::is_empty) {
        return Err(wrong());
    }
    Ok(texts)
}

fn seed(fields: &Map<String, Value>) -> Result<Option<i64>, ApiError> {
    match fields.get("seed") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| wrong_type("seed", "a whole number")),
    }
}

fn logit_bias(fields: &Map<String, Value>) -> Result<Option<Value>, ApiError> {
    match fields.get("logit_bias") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(bias)) if bias.is_empty() => Ok(None),
        Some(bias @ Value::Object(_)) => Ok(Some(bias.clone())),
        Some(_) => Err(wrong_type("logit_bias", "an object")),
    }
}

fn word(fields: &Map<String, Value>, param: &'static str, words: &[&str]) -> Result<Option<String>, ApiError> {
    match fields.get(param) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) if words.contains(&word.as_str()) => Ok(Some(word.clone())),
        Some(_) => Err(invalid_value(param, &format!("one of {}", words.join(", ")))),
    }
}

fn response_format(fields: &Map<String, Value>) -> Result<Option<ResponseFormat>, ApiError> {
    let wrong = |text: &str| ApiError::invalid(text, Some("response_format"), Some("invalid_value"));
    let format = match fields.get("response_format") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(format)) => format,
        Some(_) => return Err(wrong_type("response_format", "an object")),
    };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(ResponseFormat::JsonObject)),
        Some("json_schema") => match format.get("json_schema") {
            Some(schema @ Value::Object(inner)) => {
                let named = inner.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
                match (named, inner.get("schema")) {
                    (false, _) => Err(wrong("`response_format.json_schema` has no `name`.")),
                    (true, Some(Value::Object(_))) => {
                        Ok(Some(ResponseFormat::JsonSchema { json_schema: schema.clone() }))
                    }
                    (true, _) => Err(wrong("`response_format.json_schema` has no `schema`.")),
                }
            }
            _ => Err(wrong("`response_format` of type `json_schema` has no `json_schema`.")),
        },
        _ => Err(wrong("The type of `response_format` can be text, json_object or json_schema.")),
    }
}
