//! Stored messages as a model is shown them.
//!
//! Vendors refuse a tool message that answers no call and a call that nothing answers, so neither ever leaves here,
//! whatever a context was cut to. This runs in every step over the whole context: the common message costs a few
//! reference counts and no allocation.

use std::sync::Arc;

use domain::image::IMAGE_MARK;
use domain::seams::chat_model::ChatMessage;
use domain::{ContentPart, Message, Role, ToolCall, ToolReturn};
use serde_json::{Map, Value};

use crate::packaging::pretty;
use crate::tool_specs::THINKING;

/// Bytes of base64 text and addresses that the images of one request may have; vendors refuse requests of 50 MB.
const MAX_IMAGE_BYTES: usize = 24 * 1024 * 1024;

/// How the history is shown.
#[derive(Debug, Clone, Copy)]
pub struct HistoryOptions {
    /// Whether thoughts are shown as the argument `thinking` of tool calls, which is how the model wrote them.
    pub inner_thoughts: bool,
    /// Characters of a tool's return that are shown; None means all.
    pub max_return_chars: Option<usize>,
    /// Whether images are shown; else [`IMAGE_MARK`] stands for each. The oldest are never shown where all together are
    /// more than vendors take.
    pub images: bool,
}

/// The context, system message first, as a request carries it.
pub fn chat_messages(context: &[Arc<Message>], options: &HistoryOptions) -> Vec<ChatMessage> {
    let mut history = History {
        options: *options,
        shown: Vec::with_capacity(context.len() + 4),
        calls_at: None,
        answered: Vec::new(),
        no_calls: Arc::default(),
    };
    let images_from = if options.images { images_from(context) } else { context.len() };
    for (index, message) in context.iter().enumerate() {
        history.add(message, index >= images_from);
    }
    history.drop_unanswered_calls();
    history.shown
}

/// The first message whose images are shown.
fn images_from(context: &[Arc<Message>]) -> usize {
    let mut bytes = 0;
    let too_old = context.iter().rposition(|message| {
        bytes += message.images().map(|image| image.source.size()).sum::<usize>();
        bytes > MAX_IMAGE_BYTES
    });
    too_old.map_or(0, |index| index + 1)
}

struct History {
    options: HistoryOptions,
    shown: Vec<ChatMessage>,
    /// Where the calls stand that tool messages may answer now.
    calls_at: Option<usize>,
    /// Which of those calls have their return.
    answered: Vec<bool>,
    no_calls: Arc<[ToolCall]>,
}

impl History {
    fn add(&mut self, message: &Message, sees: bool) {
        match message.role {
            Role::System | Role::User => {
                self.drop_unanswered_calls();
                self.push(message.role, seen(&message.content, sees));
            }
            Role::Assistant => self.add_assistant(message),
            // A request for approval holds the calls; the answer to it is for the runtime, not for the model.
            Role::Approval if message.tool_calls.is_empty() => {}
            Role::Approval => self.add_assistant(message),
            Role::Tool => self.add_returns(message),
        }
    }

    fn add_assistant(&mut self, message: &Message) {
        self.drop_unanswered_calls();
        let mut content = message.content.clone();
        let mut calls = message.tool_calls.clone();
        if content.iter().any(|part| written_thought(part).is_some()) {
            let thought = self.options.inner_thoughts.then(|| joined_thoughts(&content));
            if let Some(first) = thought.and_then(|thought| with_thought(calls.first()?, thought)) {
                calls = std::iter::once(first).chain(calls.iter().skip(1).cloned()).collect();
            }
            content = content.iter().filter(|part| written_thought(part).is_none()).cloned().collect();
        }
        if content.is_empty() && calls.is_empty() {
            return;
        }
        if !calls.is_empty() {
            self.calls_at = Some(self.shown.len());
            self.answered.clear();
            self.answered.resize(calls.len(), false);
        }
        self.shown.push(ChatMessage { role: Role::Assistant, content, tool_calls: calls, tool_call_id: None });
    }

    fn add_returns(&mut self, message: &Message) {
        for (index, returned) in message.tool_returns.iter().enumerate() {
            if !self.answers_call(&returned.call_id) {
                continue;
            }
            let content = return_content(message, index, returned, self.options.max_return_chars);
            self.push(Role::Tool, content);
            if let Some(shown) = self.shown.last_mut() {
                shown.tool_call_id = Some(returned.call_id.clone());
            }
        }
    }

    /// Whether a call with that id waits for its return; from now on it doesn't.
    fn answers_call(&mut self, id: &str) -> bool {
        let Some(assistant) = self.calls_at.and_then(|at| self.shown.get(at)) else {
            return false;
        };
        let mut waiting = assistant.tool_calls.iter().zip(&mut self.answered);
        match waiting.find(|(call, answered)| !**answered && *call.id == *id) {
            Some((_, answered)) => {
                *answered = true;
                true
            }
            None => false,
        }
    }

    fn drop_unanswered_calls(&mut self) {
        let Some(at) = self.calls_at.take() else {
            return;
        };
        let Some(assistant) = self.shown.get_mut(at).filter(|_| self.answered.contains(&false)) else {
            return;
        };
        let calls = assistant.tool_calls.iter().zip(&self.answered);
        assistant.tool_calls = calls.filter(|(_, answered)| **answered).map(|(call, _)| call.clone()).collect();
        if assistant.tool_calls.is_empty() && assistant.content.is_empty() {
            self.shown.remove(at);
        }
    }

    fn push(&mut self, role: Role, content: Arc<[ContentPart]>) {
        let tool_calls = self.no_calls.clone();
        self.shown.push(ChatMessage { role, content, tool_calls, tool_call_id: None });
    }
}

/// The content as far as the model sees it.
fn seen(content: &Arc<[ContentPart]>, sees: bool) -> Arc<[ContentPart]> {
    if sees || content.iter().all(|part| part.as_image().is_none()) {
        return content.clone();
    }
    let mark: Arc<str> = IMAGE_MARK.into();
    let marked = |part: &ContentPart| match part {
        ContentPart::Image(_) => ContentPart::Text { text: mark.clone() },
        ContentPart::Text { .. } | ContentPart::Reasoning { .. } => part.clone(),
    };
    content.iter().map(marked).collect()
}

/// The text of a thought that the model wrote as an argument, or that the runtime took for one.
fn written_thought(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Reasoning { text, is_native: false, .. } => Some(text),
        ContentPart::Reasoning { is_native: true, .. } | ContentPart::Text { .. } | ContentPart::Image(_) => None,
    }
}

fn joined_thoughts(content: &[ContentPart]) -> String {
    let thoughts: Vec<&str> = content.iter().filter_map(written_thought).collect();
    thoughts.join("\n")
}

/// The call as the model wrote it, with its thought as the first argument; None where the arguments are no object,
/// because there is no place for a thought in broken JSON.
fn with_thought(call: &ToolCall, thought: String) -> Option<ToolCall> {
    let written: Map<String, Value> = serde_json::from_str(&call.arguments).ok()?;
    let mut arguments = Map::with_capacity(written.len() + 1);
    arguments.insert(THINKING.to_owned(), thought.into());
    arguments.extend(written.into_iter().filter(|(name, _)| name != THINKING));
    let arguments = pretty(&Value::Object(arguments)).into();
    Some(ToolCall { id: call.id.clone(), name: call.name.clone(), arguments })
}

/// The content of one return. A message with one return is that content already.
fn return_content(
    message: &Message,
    index: usize,
    returned: &ToolReturn,
    max_chars: Option<usize>,
) -> Arc<[ContentPart]> {
    let part = message.content.get(index);
    if let Some(limit) = max_chars
        && let Some(short) = cut(&returned.text, limit)
    {
        let packed = part.and_then(ContentPart::as_text).unwrap_or_default();
        return Arc::new([ContentPart::text(repack(packed, short))]);
    }
    match part {
        Some(_) if message.content.len() == 1 => message.content.clone(),
        Some(part) => Arc::new([part.clone()]),
        None => Arc::new([ContentPart::Text { text: returned.text.clone() }]),
    }
}

/// The first `limit` characters with a note on the rest; None where all of `text` fits.
pub(crate) fn cut(text: &str, limit: usize) -> Option<String> {
    // A text has no more characters than bytes, which spares nearly all texts the counting.
    if text.len() <= limit {
        return None;
    }
    let (end, _) = text.char_indices().nth(limit)?;
    let left_out = text[end..].chars().count();
    Some(format!("{}… [cut here: {left_out} more characters are not shown]", &text[..end]))
}

/// `short` in the envelope of the whole return, or bare where there is no envelope.
fn repack(packed: &str, short: String) -> String {
    match serde_json::from_str(packed) {
        Ok(Value::Object(mut envelope)) if envelope.contains_key("message") => {
            envelope.insert("message".to_owned(), short.into());
            pretty(&Value::Object(envelope))
        }
        _ => short,
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
