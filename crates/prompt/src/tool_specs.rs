//! Tools as a model is shown them, with the arguments that the runtime adds.
//!
//! The order of properties is part of the prompt: a thought comes first, so that the model thinks before it fills in
//! the rest, and the wish to go on comes last. Tools without additions share their stored schema.

use std::sync::Arc;

use domain::seams::chat_model::ToolSpec;
use domain::{ResponseFormat, Tool};
use serde_json::{Map, Value, json};

/// The argument that holds the model's thought.
pub const THINKING: &str = "thinking";
/// The argument by which the model asks to be run again.
pub const REQUEST_HEARTBEAT: &str = "request_heartbeat";
/// The tool that speaks to the user.
pub const SEND_MESSAGE: &str = "send_message";

const THINKING_DESCRIPTION: &str = "Your thoughts on what to do and why. Private: nobody but you reads them.";
const HEARTBEAT_DESCRIPTION: &str = "Whether you want to be run again as soon as this tool has finished. It must be `true` if you mean to call another tool or to send a message afterwards; with `false` your run ends after this call.";
const JSON_MESSAGE_DESCRIPTION: &str = "What to tell the user, as a JSON object.";

/// What is added to the tools.
#[derive(Clone, Copy)]
pub struct SpecOptions<'a> {
    /// Whether every tool takes a thought.
    pub inner_thoughts: bool,
    /// Whether tools take the wish to go on.
    pub request_heartbeat: bool,
    /// Tools that end the run, which therefore can't take that wish.
    pub terminal: &'a dyn Fn(&str) -> bool,
    /// The shape that the message of `send_message` must have.
    pub response_format: Option<&'a ResponseFormat>,
}

/// The specs of `tools`, in their order.
pub fn specs<'a>(tools: impl Iterator<Item = &'a Arc<Tool>>, options: &SpecOptions<'_>) -> Arc<[ToolSpec]> {
    let specs = tools.map(|tool| ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: parameters(tool, options),
        strict: None,
    });
    specs.collect()
}

fn parameters(tool: &Tool, options: &SpecOptions<'_>) -> Arc<Value> {
    let heartbeat = options.request_heartbeat && !(options.terminal)(&tool.name);
    let message = options.response_format.filter(|_| *tool.name == *SEND_MESSAGE).and_then(message_schema);
    if !options.inner_thoughts && !heartbeat && message.is_none() {
        return tool.parameters.clone();
    }
    let mut schema = Schema::read(&tool.parameters);
    if let Some(message) = message {
        schema.properties.insert("message".to_owned(), message);
    }
    if options.inner_thoughts {
        schema.put_first(THINKING, json!({ "type": "string", "description": THINKING_DESCRIPTION }));
    }
    if heartbeat {
        schema.put_last(REQUEST_HEARTBEAT, json!({ "type": "boolean", "description": HEARTBEAT_DESCRIPTION }));
    }
    Arc::new(schema.write())
}

/// What replaces the schema of `send_message`'s message; None for free text.
fn message_schema(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(json!({
            "type": "object",
            "description": JSON_MESSAGE_DESCRIPTION,
            "properties": {},
            "additionalProperties": true,
        })),
        // Some clients give the bare schema instead of the object around it.
        ResponseFormat::JsonSchema { json_schema } => Some(json_schema.get("schema").unwrap_or(json_schema).clone()),
    }
}

/// A schema taken apart. Keys that it doesn't know stay where they are.
struct Schema {
    whole: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Schema {
    fn read(parameters: &Value) -> Self {
        let mut whole = match parameters {
            Value::Object(whole) => whole.clone(),
            _ => Map::new(),
        };
        if !whole.contains_key("type") {
            whole.insert("type".to_owned(), "object".into());
        }
        let properties = match whole.get_mut("properties").map(Value::take) {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        let required = match whole.get_mut("required").map(Value::take) {
            Some(Value::Array(required)) => required,
            _ => Vec::new(),
        };
        Self { whole, properties, required }
    }

    fn put_first(&mut self, name: &str, schema: Value) {
        self.remove(name);
        self.properties.shift_insert(0, name.to_owned(), schema);
        self.required.insert(0, name.into());
    }

    fn put_last(&mut self, name: &str, schema: Value) {
        self.remove(name);
        self.properties.insert(name.to_owned(), schema);
        self.required.push(name.into());
    }

    /// A tool's own argument of that name would never reach it: the runtime takes the argument away.
    fn remove(&mut self, name: &str) {
        self.properties.shift_remove(name);
        self.required.retain(|required| required != name);
    }

    fn write(mut self) -> Value {
        self.whole.insert("properties".to_owned(), Value::Object(self.properties));
        self.whole.insert("required".to_owned(), Value::Array(self.required));
        Value::Object(self.whole)
    }
}

#[cfg(test)]
#[path = "tool_specs_tests.rs"]
mod tests;
