//! A chat request as the vendor looks at it. Reading only: [`super::strict`] decides whether it is acceptable.

use serde_json::Value;

use super::defaults::sample;

/// A request that passed the strict check.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChatRequest<'a> {
    body: &'a Value,
}

/// The newest message of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastUser {
    /// Where it stands in the list of messages.
    pub(super) index: usize,
    /// Its words, unpacked.
    pub(super) text: String,
}

/// Whether a tool must be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice<'a> {
    Free,
    Required,
    Function(&'a str),
    Never,
}

impl<'a> ChatRequest<'a> {
    pub(super) fn new(body: &'a Value) -> Self {
        Self { body }
    }

    pub(super) fn model(self) -> &'a str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub(super) fn messages(self) -> &'a [Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The functions of the tools, in order.
    pub(super) fn functions(self) -> impl Iterator<Item = &'a Value> {
        self.body["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"])
    }

    /// The tool of that name, if the request offers it.
    pub(super) fn function(self, name: &str) -> Option<&'a Value> {
        self.functions().find(|function| function["name"] == name)
    }

    pub(super) fn choice(self) -> Choice<'a> {
        let choice = &self.body["tool_choice"];
        if self.functions().next().is_none() || choice == "none" {
            return Choice::Never;
        }
        match choice["function"]["name"].as_str() {
            Some(name) => Choice::Function(name),
            None if choice == "required" => Choice::Required,
            None => Choice::Free,
        }
    }

    /// The most that the answer may have, if the request says so.
    pub(super) fn max_tokens(self) -> Option<u64> {
        ["max_completion_tokens", "max_tokens"].iter().find_map(|name| self.body[*name].as_u64())
    }

    pub(super) fn streams(self) -> bool {
        self.body["stream"] == true
    }

    /// An answer in the JSON that the request asks for, if it does: an honest model has one whatever it is told.
    pub(super) fn sample(self) -> Option<String> {
        let format = &self.body["response_format"];
        match format["type"].as_str()? {
            "json_schema" => Some(sample(&format["json_schema"]["schema"]).to_string()),
            "json_object" => Some("{}".to_owned()),
            _ => None,
        }
    }

    pub(super) fn wants_usage(self) -> bool {
        self.body["stream_options"]["include_usage"] == true
    }

    /// The newest message of a person; what the agent's own machinery says in the user role is passed over.
    pub(super) fn last_user(self) -> Option<LastUser> {
        let users = self.messages().iter().enumerate().rev().filter(|(_, message)| message["role"] == "user");
        users.map(|(index, message)| (index, text_of(&message["content"]))).find_map(|(index, text)| {
            let text = unpacked(text)?;
            Some(LastUser { index, text })
        })
    }

    /// The names of the calls that were answered after message `index`, in the order of their answers.
    pub(super) fn answered_after(self, index: usize) -> Vec<&'a str> {
        let later = self.messages().get(index + 1..).unwrap_or_default();
        let calls: Vec<&Value> =
            later.iter().filter_map(|message| message["tool_calls"].as_array()).flatten().collect();
        let answers = later.iter().filter(|message| message["role"] == "tool");
        answers
            .filter_map(|answer| calls.iter().rev().find(|call| call["id"] == answer["tool_call_id"]))
            .filter_map(|call| call["function"]["name"].as_str())
            .collect()
    }
}

/// The words of a message's content, be it a text or a list of parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// What a person said in `text`, or nothing if it is a heartbeat, a login or an alert in its JSON envelope.
fn unpacked(text: String) -> Option<String> {
    let Ok(Value::Object(envelope)) = serde_json::from_str(&text) else {
        // Heartbeats may carry a prefix before their envelope.
        let is_heartbeat = text.contains("\"type\": \"heartbeat\"") && text.trim_end().ends_with('}');
        return (!is_heartbeat).then_some(text);
    };
    match envelope.get("type").and_then(Value::as_str) {
        Some("heartbeat" | "login" | "system_alert") => None,
        Some("user_message") => envelope.get("message").and_then(Value::as_str).map(str::to_owned),
        _ => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn last_user(messages: Value) -> Option<(usize, String)> {
        ChatRequest::new(&json!({ "messages": messages })).last_user().map(|last| (last.index, last.text))
    }

    #[test]
    fn the_last_user_message_is_a_persons() {
        let user = |content: Value| json!({"role": "user", "content": content});
        let heartbeat = "{\n  \"type\": \"heartbeat\",\n  \"reason\": \"x\"\n}";
        let said = |index: usize, text: &str| Some((index, text.to_owned()));
        assert_eq!(last_user(json!([user(json!("a")), user(json!("b"))])), said(1, "b"));
        assert_eq!(last_user(json!([user(json!("a")), user(json!(heartbeat))])), said(0, "a"));
        assert_eq!(last_user(json!([user(json!("a")), user(json!(format!("[prefix] {heartbeat}")))])), said(0, "a"));
        assert_eq!(last_user(json!([user(json!([{"type": "text", "text": "p"}]))])), said(0, "p"));
        assert_eq!(
            last_user(json!([user(json!(r#"{"type":"user_message","message":"[[cut]]"}"#))])),
            said(0, "[[cut]]")
        );
        assert_eq!(last_user(json!([{"role": "system", "content": "s"}])), None);
    }

    #[test]
    fn who_asks_for_json_gets_a_sample_of_it() {
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"]});
        let sample = |format: Value| ChatRequest::new(&json!({ "response_format": format })).sample();
        let wanted = json!({"type": "json_schema", "json_schema": {"name": "trip", "schema": schema}});
        assert_eq!(sample(wanted).as_deref(), Some(r#"{"city":"text","days":0}"#));
        assert_eq!(sample(json!({"type": "json_object"})).as_deref(), Some("{}"));
        assert_eq!(sample(json!({"type": "text"})), None);
        assert_eq!(sample(Value::Null), None);
    }
}
