//! The bodies of `POST /v1/completions`, the older dialect without roles.
//!
//! A prompt is a user's message; what the older dialect has and agents don't is refused by name.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::chat_request::ChatRequest;
use super::chat_response::{Delta, Head, Told, UsageWire};
use super::token_ids::{are_ids, spelled};
use super::{fields, flag, missing, wrong_type};
use crate::error::ApiError;

/// Parameters that mean the same as in a chat.
const SHARED: [&str; 17] = [
    "model",
    "max_tokens",
    "temperature",
    "top_p",
    "n",
    "stream",
    "stream_options",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "user",
    "safety_identifier",
    "metadata",
    "prompt_cache_key",
    "store",
];

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextRequest {
    /// The same as a chat of one message.
    pub(crate) chat: ChatRequest,
    /// The prompt, where it is to stand before the answer.
    pub(crate) echo: Option<String>,
}

impl TextRequest {
    /// Reads a body, or says what is wrong with it and where.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let fields = fields(body)?;
        refuse_unsupported(&fields)?;
        let prompt = prompt(fields.get("prompt"))?;
        let echo = flag(&fields, "echo")?.then(|| prompt.clone());
        let mut chat: Map<String, Value> =
            SHARED.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone()))).collect();
        chat.insert("messages".to_owned(), json!([{"role": "user", "content": prompt}]));
        Ok(Self { chat: ChatRequest::read(&chat)?, echo })
    }
}

fn refuse_unsupported(fields: &Map<String, Value>) -> Result<(), ApiError> {
    let given = |param: &str| fields.get(param).filter(|value| !value.is_null());
    let refuse = |param, text: &str| Err(ApiError::invalid(text, Some(param), Some("unsupported_parameter")));
    if given("best_of").is_some_and(|count| !matches!(count.as_u64(), Some(0 | 1))) {
        return refuse("best_of", "An agent gives one answer to a prompt: `best_of` can only be 1.");
    }
    if given("logprobs").is_some_and(|wanted| *wanted != Value::Bool(false)) {
        return refuse("logprobs", "`logprobs` is not supported: an agent's answer has no log probabilities.");
    }
    if given("suffix").is_some_and(|suffix| suffix.as_str() != Some("")) {
        return refuse("suffix", "`suffix` is not supported: an agent answers a prompt and fills no gap.");
    }
    Ok(())
}

/// The one prompt.
fn prompt(prompt: Option<&Value>) -> Result<String, ApiError> {
    let text = match prompt {
        None | Some(Value::Null) => return Err(missing("prompt")),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(ids)) if are_ids(ids) => spelled(ids, "prompt", "prompt")?,
        Some(Value::Array(several)) => match several.as_slice() {
            [Value::String(text)] => text.clone(),
            [Value::Array(ids)] => spelled(ids, "prompt", "prompt[0]")?,
            [_] => return Err(wrong_type("prompt", "a string or a list of token ids")),
            several => {
                let text = format!(
                    "An agent answers one prompt at a time, and `prompt` holds {}: send each in a request of its own.",
                    several.len()
                );
                return Err(ApiError::invalid(text, Some("prompt"), Some("unsupported_value")));
            }
        },
        Some(_) => return Err(wrong_type("prompt", "a string or a list of token ids")),
    };
    if text.trim().is_empty() {
        return Err(ApiError::invalid("`prompt` is empty.", Some("prompt"), Some("invalid_value")));
    }
    Ok(text)
}

/// The answer, whole or a piece of it: both have the same shape.
#[derive(Serialize)]
pub(crate) struct TextCompletion<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: Vec<TextChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<UsageWire>>,
    system_fingerprint: Option<()>,
}

#[derive(Serialize)]
struct TextChoice<'a> {
    text: &'a str,
    index: u8,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

impl<'a> TextCompletion<'a> {
    /// The whole answer; `text` is what was said, after the prompt where that is wanted.
    pub(crate) fn new(head: &'a Head, text: &'a str, told: &Told) -> Self {
        let choices = vec![choice(text, Some(told.finish.as_str(false)))];
        Self { usage: Some(Some(told.usage.into())), ..Self::of(head, choices) }
    }

    fn of(head: &'a Head, choices: Vec<TextChoice<'a>>) -> Self {
        let Head { id, created, model } = head;
        Self { id, object: "text_completion", created: *created, model, choices, usage: None, system_fingerprint: None }
    }
}

fn choice<'a>(text: &'a str, finish_reason: Option<&'static str>) -> TextChoice<'a> {
    TextChoice { text, index: 0, logprobs: None, finish_reason }
}

/// One chunk as JSON text; none for what the older dialect has no words for. `echo` opens the answer.
pub(crate) fn text_chunk(
    head: &Head,
    delta: Delta<'_>,
    echo: Option<&str>,
    include_usage: bool,
) -> Option<Result<String, serde_json::Error>> {
    let (choices, usage) = match delta {
        Delta::Role => (vec![choice(echo?, None)], None),
        Delta::Content(text) => (vec![choice(text, None)], None),
        Delta::Finish(reason) => (vec![choice("", Some(reason))], None),
        Delta::Usage(usage) => (Vec::new(), Some(usage)),
        Delta::Reasoning(..) | Delta::Call { .. } | Delta::Arguments { .. } | Delta::Function { .. } => return None,
    };
    let usage = include_usage.then_some(usage);
    Some(serde_json::to_string(&TextCompletion { usage, ..TextCompletion::of(head, choices) }))
}

#[cfg(test)]
mod tests {
    use domain::RunId;
    use expect_test::{Expect, expect};

    use super::*;

    fn check(body: &Value, expected: Expect) {
        let shown = match TextRequest::parse(body.to_string().as_bytes()) {
            Ok(request) => {
                let said: Vec<String> = request.chat.messages.iter().map(|message| message.text()).collect();
                format!("{said:?} {:?} {:?}", request.echo, request.chat.sampling.max_output_tokens)
            }
            Err(error) => format!("{} {:?} {:?}: {}", error.status.as_u16(), error.param, error.code, error.message),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_prompt_is_one_message() {
        check(&json!({"model": "a", "prompt": "Hi", "max_tokens": 16}), expect![[r#"["Hi"] None Some(16)"#]]);
        check(&json!({"model": "a", "prompt": ["Hi"], "echo": true}), expect![[r#"["Hi"] Some("Hi") None"#]]);
        check(&json!({"model": "a", "prompt": [9906, 1917]}), expect![[r#"["Hello world"] None None"#]]);
        check(&json!({"model": "a", "prompt": [[9906]], "best_of": 1}), expect![[r#"["Hello"] None None"#]]);
        // What belongs to chats only is no parameter here.
        check(&json!({"model": "a", "prompt": "Hi", "tools": 7, "suffix": ""}), expect![[r#"["Hi"] None None"#]]);
    }

    #[test]
    fn what_an_agent_can_not_do_is_refused_by_name() {
        check(
            &json!({"model": "a"}),
            expect![[
                r#"400 Some("prompt") Some("missing_required_parameter"): Missing required parameter: `prompt`."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": []}),
            expect![[
                r#"400 Some("prompt") Some("unsupported_value"): An agent answers one prompt at a time, and `prompt` holds 0: send each in a request of its own."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": ["a", "b"]}),
            expect![[
                r#"400 Some("prompt") Some("unsupported_value"): An agent answers one prompt at a time, and `prompt` holds 2: send each in a request of its own."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": [" "]}),
            expect![[r#"400 Some("prompt") Some("invalid_value"): `prompt` is empty."#]],
        );
        check(
            &json!({"model": "a", "prompt": [1, "a"]}),
            expect![[
                r#"400 Some("prompt") Some("invalid_type"): `prompt` must be texts or lists of token ids, and not both in one."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": [4_000_000]}),
            expect![[
                r#"400 Some("prompt") Some("invalid_value"): `prompt` holds 4000000, which is no token id of cl100k_base: send the text instead."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": "a", "n": 2}),
            expect![[
                r#"400 Some("n") Some("unsupported_value"): An agent gives one answer to a message: `n` can only be 1."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": "a", "best_of": 2}),
            expect![[
                r#"400 Some("best_of") Some("unsupported_parameter"): An agent gives one answer to a prompt: `best_of` can only be 1."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": "a", "logprobs": 0}),
            expect![[
                r#"400 Some("logprobs") Some("unsupported_parameter"): `logprobs` is not supported: an agent's answer has no log probabilities."#
            ]],
        );
        check(
            &json!({"model": "a", "prompt": "a", "suffix": "z"}),
            expect![[
                r#"400 Some("suffix") Some("unsupported_parameter"): `suffix` is not supported: an agent answers a prompt and fills no gap."#
            ]],
        );
    }

    #[test]
    fn chunks_have_the_shape_of_the_older_dialect() {
        let head = Head { id: "cmpl-1".to_owned(), ..Head::of_text(RunId::random(), 7, "a".to_owned()) };
        let shown = |delta, echo| text_chunk(&head, delta, echo, false).map(Result::unwrap).unwrap_or_default();
        expect![[r#"{"id":"cmpl-1","object":"text_completion","created":7,"model":"a","choices":[{"text":"x","index":0,"logprobs":null,"finish_reason":null}],"system_fingerprint":null}"#]]
            .assert_eq(&shown(Delta::Content("x"), None));
        assert_eq!(shown(Delta::Role, None), "");
        assert!(shown(Delta::Role, Some("Once")).contains(r#""text":"Once""#));
        assert!(shown(Delta::Finish("stop"), None).contains(r#""finish_reason":"stop""#));
    }
}
