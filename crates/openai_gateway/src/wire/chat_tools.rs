//! The tools that a client brings, in today's form (`tools`) and in the old one (`functions`).

use serde_json::{Map, Value, json};

use super::wrong_type;
use crate::error::ApiError;

/// Tools that one request may bring.
const MAX_TOOLS: usize = 128;
/// Characters that a tool's name may have.
const MAX_NAME: usize = 64;

/// A tool as the client describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestTool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// JSON Schema of the arguments, exactly as the client wrote it.
    pub(crate) parameters: Value,
    pub(crate) strict: Option<bool>,
}

/// What the client says about calling its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestChoice {
    Auto,
    None,
    Required,
    Function(String),
}

/// All that a request says about tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestTools {
    pub(crate) tools: Vec<RequestTool>,
    pub(crate) choice: RequestChoice,
    pub(crate) parallel: Option<bool>,
    /// The client speaks of `functions`, and is answered in the same words.
    pub(crate) legacy: bool,
}

/// Reads what a body says about tools.
pub(super) fn tools(fields: &Map<String, Value>) -> Result<RequestTools, ApiError> {
    let (listed, legacy) = match (array(fields, "tools")?, array(fields, "functions")?) {
        (Some(_), Some(_)) => {
            let text = "Send either `tools` or `functions`, not both.";
            return Err(ApiError::invalid(text, Some("functions"), Some("invalid_value")));
        }
        (tools, None) => (tools.unwrap_or(&[]), false),
        (None, Some(functions)) => (functions, true),
    };
    let param = if legacy { "functions" } else { "tools" };
    if listed.len() > MAX_TOOLS {
        let text = format!("`{param}` holds more than {MAX_TOOLS} tools.");
        return Err(ApiError::invalid(text, Some(param), Some("array_above_max_length")));
    }
    let mut tools: Vec<RequestTool> = Vec::with_capacity(listed.len());
    for (index, listed) in listed.iter().enumerate() {
        let tool = if legacy { function(listed, index, param)? } else { tool(listed, index)? };
        if tools.iter().any(|other| other.name == tool.name) {
            let text = format!("Two of the `{param}` are named `{}`.", tool.name);
            return Err(ApiError::invalid(text, Some(param), Some("invalid_value")));
        }
        tools.push(tool);
    }
    let mut read = RequestTools {
        tools,
        choice: RequestChoice::Auto,
        // An answer of the old kind has room for one call.
        parallel: if legacy { Some(false) } else { super::optional_flag(fields, "parallel_tool_calls")? },
        legacy,
    };
    read.choose(fields, if legacy { "function_call" } else { "tool_choice" })?;
    Ok(read)
}

impl RequestTools {
    /// Takes in what `param` says; `allowed_tools` also takes tools away.
    fn choose(&mut self, fields: &Map<String, Value>, param: &'static str) -> Result<(), ApiError> {
        let wrong = |text: String| ApiError::invalid(text, Some(param), Some("invalid_value"));
        self.choice = match fields.get(param) {
            None | Some(Value::Null) => RequestChoice::Auto,
            Some(Value::String(word)) => word_choice(word)
                .ok_or_else(|| wrong(format!("`{param}` can be none, auto, required or one function.")))?,
            Some(Value::Object(choice)) => match choice.get("type").and_then(Value::as_str) {
                Some("allowed_tools") => self.allow(choice)?,
                Some("function") | None => {
                    let name = choice.get("function").and_then(|function| function.get("name"));
                    let name = name.or(choice.get("name")).and_then(Value::as_str);
                    let name = name.ok_or_else(|| wrong(format!("`{param}` names no function.")))?;
                    RequestChoice::Function(name.to_owned())
                }
                Some(other) => {
                    let shown: String = other.chars().take(40).collect();
                    return Err(wrong(format!("`{param}` of type `{shown}` is not supported by this server.")));
                }
            },
            Some(_) => return Err(wrong_type(param, "a word or an object")),
        };
        match &self.choice {
            RequestChoice::Function(name) if !self.tools.iter().any(|tool| tool.name == *name) => {
                Err(wrong(format!("`{param}` names the function `{name}`, which the request does not bring.")))
            }
            RequestChoice::Required if self.tools.is_empty() => {
                Err(wrong(format!("`{param}` is `required`, and the request brings no tools.")))
            }
            _ => Ok(()),
        }
    }

    fn allow(&mut self, choice: &Map<String, Value>) -> Result<RequestChoice, ApiError> {
        let wrong = |text: &str| ApiError::invalid(text, Some("tool_choice"), Some("invalid_value"));
        let inner = choice.get("allowed_tools").and_then(Value::as_object).unwrap_or(choice);
        let listed = inner.get("tools").and_then(Value::as_array);
        let listed = listed.ok_or_else(|| wrong("`tool_choice.allowed_tools` has no `tools`."))?;
        let names: Vec<&str> = listed
            .iter()
            .filter_map(|tool| tool.get("function").unwrap_or(tool).get("name").and_then(Value::as_str))
            .collect();
        if let Some(unknown) = names.iter().find(|name| !self.tools.iter().any(|tool| tool.name == **name)) {
            let shown: String = unknown.chars().take(MAX_NAME).collect();
            return Err(wrong(&format!("`tool_choice` allows `{shown}`, which the request does not bring.")));
        }
        self.tools.retain(|tool| names.contains(&tool.name.as_str()));
        match inner.get("mode").and_then(Value::as_str) {
            None | Some("auto") => Ok(RequestChoice::Auto),
            Some("required") => Ok(RequestChoice::Required),
            Some(_) => Err(wrong("The mode of `allowed_tools` can be auto or required.")),
        }
    }
}

fn word_choice(word: &str) -> Option<RequestChoice> {
    match word {
        "auto" => Some(RequestChoice::Auto),
        "none" => Some(RequestChoice::None),
        // Some clients say `any`, as Mistral does.
        "required" | "any" => Some(RequestChoice::Required),
        _ => None,
    }
}

fn array<'a>(fields: &'a Map<String, Value>, param: &'static str) -> Result<Option<&'a [Value]>, ApiError> {
    match fields.get(param) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(listed)) => Ok(Some(listed)),
        Some(_) => Err(wrong_type(param, "an array")),
    }
}

fn tool(listed: &Value, index: usize) -> Result<RequestTool, ApiError> {
    match (listed.get("type").and_then(Value::as_str), listed.get("function")) {
        (Some("function") | None, Some(inner)) => function(inner, index, "tools"),
        (Some("function") | None, None) => {
            let text = format!("`tools[{index}]` has no `function`: that is where its name and parameters stand.");
            Err(ApiError::invalid(text, Some("tools"), Some("missing_required_parameter")))
        }
        (kind, _) => {
            let kind: String = kind.unwrap_or("nothing").chars().take(40).collect();
            let text = format!("`tools[{index}]` is of type `{kind}`; this server takes tools of type `function`.");
            Err(ApiError::invalid(text, Some("tools"), Some("unsupported_value")))
        }
    }
}

fn function(listed: &Value, index: usize, param: &'static str) -> Result<RequestTool, ApiError> {
    let wrong = |text: String| ApiError::invalid(text, Some(param), Some("invalid_value"));
    let name = listed.get("name").and_then(Value::as_str).unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
        let text = format!("`{param}[{index}]` needs a name of 1 to {MAX_NAME} letters, digits, `_`, `-` or `.`.");
        return Err(wrong(text));
    }
    let parameters = match listed.get("parameters") {
        None | Some(Value::Null) => json!({"type": "object", "properties": {}}),
        Some(Value::Object(schema)) => Value::Object(schema.clone()),
        Some(_) => return Err(wrong(format!("The parameters of `{name}` must be a JSON Schema object."))),
    };
    let description = match listed.get("description") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.replace('\0', ""),
        Some(_) => return Err(wrong(format!("The description of `{name}` must be a string."))),
    };
    let strict = listed.get("strict").and_then(Value::as_bool);
    Ok(RequestTool { name: name.to_owned(), description, parameters, strict })
}
