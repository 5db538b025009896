//! Messages that were written before. A conversation sends its whole history with every call, and all but the end of
//! it was sent by the call before: that part is copied instead of written anew.
//!
//! Only bytes are saved here. What stands in them is decided in `request`, and a message is taken for the same only if
//! it is the same value in memory, so that a changed message is always written again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ConversationId;
use domain::seams::chat_model::ChatMessage;

use super::request::write_message;
use crate::profile::ReasoningField;

/// Bytes of JSON that are held for all conversations together.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The newest JSON of each conversation's messages.
#[derive(Default)]
pub(crate) struct RenderedMessages {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    conversations: HashMap<ConversationId, Entry>,
    bytes: usize,
    /// Counts uses, to find what was not used for longest.
    uses: u64,
}

#[derive(Default)]
struct Entry {
    messages: Vec<ChatMessage>,
    /// Where each message ends in `json`.
    ends: Vec<usize>,
    /// The messages, with commas between them.
    json: Vec<u8>,
    used: u64,
}

impl RenderedMessages {
    /// Writes `messages` of `conversation`, with commas between them, to the end of `body`.
    pub(crate) fn write(
        &self,
        conversation: ConversationId,
        messages: &[ChatMessage],
        reasoning: Option<ReasoningField>,
        body: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        // The entry is taken out while it is worked on: two calls of one conversation at once only lose the saving.
        let mut entry = self.take(conversation);
        entry.keep_common(messages);
        entry.add(&messages[entry.messages.len()..], reasoning)?;
        body.extend_from_slice(&entry.json);
        self.put(conversation, entry);
        Ok(())
    }

    fn take(&self, conversation: ConversationId) -> Entry {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = state.conversations.remove(&conversation).unwrap_or_default();
        state.bytes -= entry.json.len();
        entry
    }

    fn put(&self, conversation: ConversationId, mut entry: Entry) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.uses += 1;
        entry.used = state.uses;
        state.bytes += entry.json.len();
        if let Some(old) = state.conversations.insert(conversation, entry) {
            state.bytes -= old.json.len();
        }
        while state.bytes > MAX_BYTES {
            state.forget_oldest();
        }
    }
}

impl State {
    fn forget_oldest(&mut self) {
        let oldest = self.conversations.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| *id);
        match oldest.and_then(|id| self.conversations.remove(&id)) {
            Some(entry) => self.bytes -= entry.json.len(),
            None => self.bytes = 0,
        }
    }
}

impl Entry {
    /// Drops everything from the first message on that is not in `messages` at the same place.
    fn keep_common(&mut self, messages: &[ChatMessage]) {
        let common = self.messages.iter().zip(messages).take_while(|(old, new)| is_same(old, new)).count();
        self.messages.truncate(common);
        self.ends.truncate(common);
        self.json.truncate(self.ends.last().copied().unwrap_or_default());
    }

    fn add(&mut self, new: &[ChatMessage], reasoning: Option<ReasoningField>) -> Result<(), serde_json::Error> {
        for message in new {
            if !self.json.is_empty() {
                self.json.push(b',');
            }
            write_message(message, reasoning, &mut self.json)?;
            self.ends.push(self.json.len());
            self.messages.push(message.clone());
        }
        Ok(())
    }
}

/// Whether both are the same value in memory, which costs no look at the texts.
fn is_same(old: &ChatMessage, new: &ChatMessage) -> bool {
    let same_call = match (&old.tool_call_id, &new.tool_call_id) {
        (None, None) => true,
        (Some(old), Some(new)) => Arc::ptr_eq(old, new) || old == new,
        (None, Some(_)) | (Some(_), None) => false,
    };
    let no_calls = old.tool_calls.is_empty() && new.tool_calls.is_empty();
    old.role == new.role
        && same_call
        && Arc::ptr_eq(&old.content, &new.content)
        && (no_calls || Arc::ptr_eq(&old.tool_calls, &new.tool_calls))
}

#[cfg(test)]
mod tests {
    use domain::message::{ContentPart, Role, ToolCall};

    use super::*;

    fn say(role: Role, text: &str) -> ChatMessage {
        let content: Arc<[ContentPart]> = Arc::new([ContentPart::text(text)]);
        ChatMessage { role, content, tool_calls: Arc::new([]), tool_call_id: None }
    }

    fn write(rendered: &RenderedMessages, conversation: ConversationId, messages: &[ChatMessage]) -> String {
        let mut body = Vec::new();
        rendered.write(conversation, messages, None, &mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn every_change_gives_the_bytes_of_a_fresh_writer() {
        let (rendered, conversation) = (RenderedMessages::default(), ConversationId::random());
        let call = ToolCall { id: "c1".into(), name: "f".into(), arguments: "{\"a\":\"é\\n\"}".into() };
        let mut messages = vec![say(Role::System, "rules\n\"quoted\""), say(Role::User, "hello")];
        for turn in 0..8 {
            match turn {
                1 => messages.push(say(Role::Assistant, "hi")),
                2 => messages[0] = say(Role::System, "other rules"),
                3 => messages.push(ChatMessage { tool_calls: Arc::new([call.clone()]), ..say(Role::Assistant, "") }),
                4 => messages.push(ChatMessage { tool_call_id: Some("c1".into()), ..say(Role::Tool, "done") }),
                5 => drop(messages.remove(1)),
                6 => messages.truncate(1),
                7 => messages.extend([say(Role::User, "a"), say(Role::User, "b")]),
                _ => {}
            }
            let fresh = write(&RenderedMessages::default(), conversation, &messages);
            assert_eq!(write(&rendered, conversation, &messages), fresh, "turn {turn}");
            assert_eq!(write(&rendered, conversation, &messages), fresh, "turn {turn} again");
        }
    }

    #[test]
    fn conversations_do_not_mix() {
        let rendered = RenderedMessages::default();
        let (one, other) = (ConversationId::random(), ConversationId::random());
        let (first, second) = ([say(Role::User, "one")], [say(Role::User, "other")]);
        write(&rendered, one, &first);
        assert!(write(&rendered, other, &second).contains("other"));
        assert!(write(&rendered, one, &first).contains("one"));
    }

    #[test]
    fn what_was_not_used_for_longest_is_forgotten() {
        let rendered = RenderedMessages::default();
        let large = [say(Role::User, &"x".repeat(MAX_BYTES / 3))];
        for _ in 0..10 {
            write(&rendered, ConversationId::random(), &large);
        }
        let state = rendered.state.lock().unwrap();
        assert!(state.conversations.len() == 2 && state.bytes <= MAX_BYTES);
        assert_eq!(state.bytes, state.conversations.values().map(|entry| entry.json.len()).sum::<usize>());
    }
}
