//! What a strict OpenAI-compatible vendor accepts: field names, JSON types, roles, and the pairing of tool calls with
//! their answers.
//!
//! Pure. The first fault is reported with the path of the field, as OpenAI does; nothing is ever repaired.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::reply::Refusal;

/// Fields of a chat request that are checked below or whose type does not matter to the vendor.
const FIELDS: &[&str] = &[
    "messages",
    "model",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "stop",
    "user",
    "reasoning_effort",
    "response_format",
    "seed",
    "store",
    "metadata",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "modalities",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "verbosity",
    "web_search_options",
];

/// Models that don't take images, by the start of their names.
const BLIND: &[&str] = &["gpt-3.5"];
const TOOLS_MAX: usize = 128;
const NAME_MAX: usize = 64;
const CALL_ID_MAX: usize = 40;

type Checked = Result<(), Refusal>;

/// Checks the whole body of a chat request.
pub(super) fn check(body: &Value) -> Checked {
    let Value::Object(fields) = body else {
        return Err(Refusal::invalid("", "the body must be a JSON object"));
    };
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return fault(unknown, "this field is not known");
    }
    match fields.get("model") {
        Some(Value::String(model)) if !model.is_empty() => {}
        _ => return fault("model", "a model must be named"),
    }
    check_settings(fields)?;
    check_tools(fields)?;
    match fields.get("messages").and_then(Value::as_array) {
        Some(messages) if !messages.is_empty() => {
            let model = fields.get("model").and_then(Value::as_str).unwrap_or_default();
            check_messages(messages, !BLIND.iter().any(|start| model.starts_with(start)))
        }
        _ => fault("messages", "there must be at least one message"),
    }
}

fn fault(param: impl Into<String>, message: impl Into<String>) -> Checked {
    Err(Refusal::invalid(param, message))
}

/// A field that is there and not null.
fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn check_settings(fields: &Map<String, Value>) -> Checked {
    for (name, least, most) in [
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("frequency_penalty", -2.0, 2.0),
        ("presence_penalty", -2.0, 2.0),
    ] {
        let value = given(fields, name);
        if value.is_some_and(|value| value.as_f64().is_none_or(|number| !(least..=most).contains(&number))) {
            return fault(name, format!("this must be a number from {least} to {most}"));
        }
    }
    for name in ["max_tokens", "max_completion_tokens"] {
        if given(fields, name).is_some_and(|value| value.as_u64().is_none_or(|number| number == 0)) {
            return fault(name, "this must be a positive integer");
        }
    }
    if given(fields, "max_tokens").is_some() && given(fields, "max_completion_tokens").is_some() {
        return fault("max_tokens", "only one limit of the answer's length may be given");
    }
    if given(fields, "n").is_some_and(|value| value != 1) {
        return fault("n", "this vendor gives exactly one answer");
    }
    for name in ["stream", "store", "logprobs", "parallel_tool_calls"] {
        if given(fields, name).is_some_and(|value| !value.is_boolean()) {
            return fault(name, "this must be a boolean");
        }
    }
    for name in ["user", "reasoning_effort", "prompt_cache_key", "safety_identifier", "service_tier", "verbosity"] {
        if given(fields, name).is_some_and(|value| !value.is_string()) {
            return fault(name, "this must be a string");
        }
    }
    if given(fields, "seed").is_some_and(|value| !value.is_i64()) {
        return fault("seed", "this must be an integer");
    }
    check_formats(fields)
}

fn check_formats(fields: &Map<String, Value>) -> Checked {
    if let Some(options) = given(fields, "stream_options") {
        if fields.get("stream") != Some(&Value::Bool(true)) {
            return fault("stream_options", "this may be given only with `stream`");
        }
        if !options.is_object() || options.get("include_usage").is_some_and(|value| !value.is_boolean()) {
            return fault("stream_options", "`include_usage` must be a boolean");
        }
    }
    if let Some(stop) = given(fields, "stop") {
        let listed = stop.as_array().is_some_and(|all| all.len() <= 4 && all.iter().all(Value::is_string));
        if !stop.is_string() && !listed {
            return fault("stop", "this must be a string or at most four of them");
        }
    }
    let Some(format) = given(fields, "response_format") else {
        return Ok(());
    };
    match format["type"].as_str() {
        Some("text" | "json_object") => Ok(()),
        Some("json_schema") if format["json_schema"]["name"].is_string() => Ok(()),
        Some("json_schema") => fault("response_format.json_schema.name", "a schema must have a name"),
        _ => fault("response_format.type", "this kind of format is not known"),
    }
}

fn check_tools(fields: &Map<String, Value>) -> Checked {
    let Some(tools) = given(fields, "tools") else {
        return match ["tool_choice", "parallel_tool_calls"].iter().find(|name| given(fields, name).is_some()) {
            Some(name) => fault(*name, "this may be given only with `tools`"),
            None => Ok(()),
        };
    };
    let Some(tools) = tools.as_array().filter(|tools| (1..=TOOLS_MAX).contains(&tools.len())) else {
        return fault("tools", format!("this must be a list of 1 to {TOOLS_MAX} tools"));
    };
    let mut names = BTreeSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let path = format!("tools[{index}]");
        let function = &tool["function"];
        if tool["type"] != "function" || !function.is_object() {
            return fault(path, "a tool must be of type `function`");
        }
        let Some(name) = function["name"].as_str().filter(|name| is_name(name)) else {
            return fault(format!("{path}.function.name"), "a name has 1 to 64 letters, digits, `_` or `-`");
        };
        if !names.insert(name) {
            return fault(format!("{path}.function.name"), "two tools have this name");
        }
        if function.get("description").is_some_and(|text| !text.is_string()) {
            return fault(format!("{path}.function.description"), "this must be a string");
        }
        if let Some(parameters) = function.get("parameters") {
            check_parameters(parameters, &format!("{path}.function.parameters"))?;
        }
    }
    check_choice(given(fields, "tool_choice"), &names)
}

fn check_choice(choice: Option<&Value>, names: &BTreeSet<&str>) -> Checked {
    match choice {
        None => Ok(()),
        Some(Value::String(word)) if matches!(word.as_str(), "none" | "auto" | "required") => Ok(()),
        Some(Value::Object(chosen)) if chosen.get("type").is_some_and(|kind| kind == "function") => {
            match chosen.get("function").and_then(|function| function["name"].as_str()) {
                Some(name) if names.contains(name) => Ok(()),
                _ => fault("tool_choice.function.name", "the chosen function is not among the tools"),
            }
        }
        Some(_) => fault("tool_choice", "this must be `none`, `auto`, `required` or a function"),
    }
}

fn check_parameters(schema: &Value, path: &str) -> Checked {
    if schema["type"] != "object" || schema.get("properties").is_some_and(|all| !all.is_object()) {
        return fault(path, "the parameters must be a schema of type `object`");
    }
    let required = schema.get("required");
    if required.is_some_and(|all| all.as_array().is_none_or(|all| !all.iter().all(Value::is_string))) {
        return fault(format!("{path}.required"), "this must be a list of names");
    }
    check_arrays(schema, path)
}

/// OpenAI refuses arrays that don't say what they hold, at any depth.
fn check_arrays(schema: &Value, path: &str) -> Checked {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(|kind| kind == "array") && !fields.contains_key("items") {
                return fault(path, "an array must say what its items are");
            }
            fields.iter().try_for_each(|(name, inner)| check_arrays(inner, &format!("{path}.{name}")))
        }
        Value::Array(all) => all.iter().try_for_each(|inner| check_arrays(inner, path)),
        _ => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'-';
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(allowed)
}

fn check_messages(messages: &[Value], sees: bool) -> Checked {
    // Calls of the last assistant message that have no answer yet.
    let mut open = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages[{index}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            return fault(path, format!("calls without an answer stand before this message: {open:?}"));
        }
        match role {
            "user" => {
                check_content(&message["content"], &path)?;
                check_images(&message["content"], &path, sees)?;
            }
            "system" | "developer" => check_words(&message["content"], &path)?,
            "assistant" => open = check_assistant(message, &path)?,
            "tool" => {
                check_words(&message["content"], &path)?;
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    return fault(format!("{path}.tool_call_id"), format!("no call `{id}` waits for an answer here"));
                }
            }
            _ => return fault(format!("{path}.role"), format!("the role `{role}` is not known")),
        }
        if message.get("name").is_some_and(|name| !name.is_string()) {
            return fault(format!("{path}.name"), "this must be a string");
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => fault("messages", format!("the last calls have no answer: {open:?}")),
    }
}

/// The content of anybody but a user.
fn check_words(content: &Value, path: &str) -> Checked {
    let shows = content.as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] == "image_url"));
    if shows {
        return fault(format!("{path}.content"), "only messages of the role `user` may hold images");
    }
    check_content(content, path)
}

fn check_content(content: &Value, path: &str) -> Checked {
    match content {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => match parts.iter().find(|part| !is_part(part)) {
            None => Ok(()),
            Some(_) => fault(format!("{path}.content"), "a part of the content is malformed"),
        },
        _ => fault(format!("{path}.content"), "this must be a string or a list of parts"),
    }
}

fn is_part(part: &Value) -> bool {
    match part["type"].as_str() {
        Some("text") => part["text"].is_string(),
        Some("refusal") => part["refusal"].is_string(),
        // Whose images are taken is checked by `check_images`.
        Some("image_url") => part["image_url"]["url"].is_string(),
        Some("input_audio") => part["input_audio"]["data"].is_string(),
        Some("file") => part["file"].is_object(),
        _ => false,
    }
}

/// Images of a user's message, each with its address, its detail and nothing else.
fn check_images(content: &Value, path: &str, sees: bool) -> Checked {
    for part in content.as_array().into_iter().flatten().filter(|part| part["type"] == "image_url") {
        let path = format!("{path}.content.image_url");
        if !sees {
            return fault(path, "this model does not take images");
        }
        let image = &part["image_url"];
        let of_two = part.as_object().is_some_and(|fields| fields.len() == 2);
        let unknown = image.as_object().and_then(|all| all.keys().find(|name| *name != "url" && *name != "detail"));
        if !of_two || unknown.is_some() {
            return fault(path, "an image has a `url`, a `detail` and nothing else");
        }
        let detail = image.get("detail");
        if detail.is_some_and(|detail| !["auto", "low", "high"].iter().any(|word| detail == word)) {
            return fault(format!("{path}.detail"), "this must be `auto`, `low` or `high`");
        }
        if !image["url"].as_str().is_some_and(is_image_url) {
            return fault(format!("{path}.url"), "this must be an address of the web or a `data:` URL of an image");
        }
    }
    Ok(())
}

fn is_image_url(url: &str) -> bool {
    let Some(inline) = url.strip_prefix("data:") else {
        return ["http://", "https://"]
            .iter()
            .any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    };
    let Some((kind, data)) = inline.split_once(";base64,") else {
        return false;
    };
    let letters = data.trim_end_matches('=');
    let padding = data.len() - letters.len();
    let of_alphabet = letters.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/');
    ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&kind)
        && !letters.is_empty()
        && data.len() % 4 == 0
        && padding <= 2
        && of_alphabet
}

/// The ids of the calls that the message makes.
fn check_assistant<'a>(message: &'a Value, path: &str) -> Result<BTreeSet<&'a str>, Refusal> {
    let mut ids = BTreeSet::new();
    let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
    let content = &message["content"];
    if calls.is_none() || !content.is_null() {
        check_words(content, path)?;
    }
    let Some(calls) = calls else {
        return Ok(ids);
    };
    let path = format!("{path}.tool_calls");
    let Some(calls) = calls.as_array().filter(|calls| !calls.is_empty()) else {
        return Err(Refusal::invalid(path, "this must be a list with at least one call, or be absent"));
    };
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() || id.len() > CALL_ID_MAX {
            return Err(Refusal::invalid(path, format!("a call must have an id of at most {CALL_ID_MAX} characters")));
        }
        let function = &call["function"];
        let named = function["name"].as_str().is_some_and(is_name);
        if call["type"] != "function" || !named || !function["arguments"].is_string() {
            return Err(Refusal::invalid(path, "a call must be of type `function`, with a name and argument text"));
        }
        if !ids.insert(id) {
            return Err(Refusal::invalid(path, format!("two calls have the id `{id}`")));
        }
    }
    Ok(ids)
}

#[cfg(test)]
#[path = "strict_tests.rs"]
mod tests;
