//! The request body of `POST /v1/chat/completions`.

use domain::seams::chat_model::Sampling;
use serde_json::{Map, Value};

use super::chat_messages::{ClientMessage, messages};
use super::chat_tools::{RequestTools, tools};
use super::sampling::{refuse_unsupported, sampling};
use super::{fields, flag, model, optional_flag, wrong_type};
use crate::error::ApiError;

/// Characters of a name for a person, a session or a key that are taken.
const MAX_NAME: usize = 512;
/// Results in `tool_results`.
const MAX_RESULTS: usize = 128;

/// A result of a client's tool outside of the messages, as some clients send it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LooseResult {
    pub(crate) tool_call_id: String,
    pub(crate) text: String,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatRequest {
    pub(crate) model: String,
    pub(crate) messages: Vec<ClientMessage>,
    pub(crate) results: Vec<LooseResult>,
    pub(crate) tools: RequestTools,
    pub(crate) sampling: Sampling,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    /// `user`, else `safety_identifier`.
    pub(crate) person: Option<String>,
    /// `metadata.session_id`.
    pub(crate) session_id: Option<String>,
    pub(crate) prompt_cache_key: Option<String>,
    /// `store: false` or `metadata.ephemeral`: nothing of it is to be kept.
    pub(crate) ephemeral: bool,
    pub(crate) metadata: Map<String, Value>,
}

impl ChatRequest {
    /// Reads a body, or says what is wrong with it and where.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        Self::read(&fields(body)?)
    }

    /// Reads the fields of a body.
    pub(super) fn read(fields: &Map<String, Value>) -> Result<Self, ApiError> {
        let model = model(fields)?;
        refuse_unsupported(fields)?;
        let metadata = match fields.get("metadata") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(metadata)) => metadata.clone(),
            Some(_) => return Err(wrong_type("metadata", "an object")),
        };
        let ephemeral = optional_flag(fields, "store")? == Some(false)
            || metadata.get("ephemeral").is_some_and(|value| *value == Value::Bool(true) || value == "true");
        let person = match name(fields, "user")? {
            None => name(fields, "safety_identifier")?,
            given => given,
        };
        let options = fields.get("stream_options").and_then(Value::as_object);
        Ok(Self {
            model,
            messages: messages(fields)?,
            results: results(fields)?,
            tools: tools(fields)?,
            sampling: sampling(fields)?,
            stream: flag(fields, "stream")?,
            include_usage: options.and_then(|options| options.get("include_usage")) == Some(&Value::Bool(true)),
            person,
            session_id: session_id(&metadata)?,
            prompt_cache_key: name(fields, "prompt_cache_key")?,
            ephemeral,
            metadata,
        })
    }
}

/// A name that says something.
fn named(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.len() <= MAX_NAME && !text.contains('\0')).then(|| text.to_owned())
}

/// A name that can't be taken must not be passed over: the chat would be mixed with others.
fn session_id(metadata: &Map<String, Value>) -> Result<Option<String>, ApiError> {
    match metadata.get("session_id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_NAME && !text.contains('\0') => Ok(named(text)),
        Some(_) => {
            let text = format!("`metadata.session_id` must be a string of at most {MAX_NAME} bytes without NUL.");
            Err(ApiError::invalid(text, Some("metadata"), Some("invalid_value")))
        }
    }
}

fn name(fields: &Map<String, Value>, param: &'static str) -> Result<Option<String>, ApiError> {
    match fields.get(param) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() > MAX_NAME || text.contains('\0') => {
            let text = format!("`{param}` must have at most {MAX_NAME} bytes and no NUL.");
            Err(ApiError::invalid(text, Some(param), Some("string_above_max_length")))
        }
        Some(Value::String(text)) => Ok(named(text)),
        Some(_) => Err(wrong_type(param, "a string")),
    }
}

fn results(fields: &Map<String, Value>) -> Result<Vec<LooseResult>, ApiError> {
    let wrong = || wrong_type("tool_results", "an array of objects with `tool_call_id` and `result`");
    let listed = match fields.get("tool_results") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(listed)) if listed.len() <= MAX_RESULTS => listed,
        Some(_) => return Err(wrong()),
    };
    listed
        .iter()
        .map(|entry| {
            let id = entry.get("tool_call_id").and_then(Value::as_str).ok_or_else(wrong)?;
            let text = match entry.get("result") {
                Some(Value::String(text)) => text.replace('\0', ""),
                Some(result) => result.to_string(),
                None => return Err(wrong()),
            };
            Ok(LooseResult { tool_call_id: id.to_owned(), text })
        })
        .collect()
}
