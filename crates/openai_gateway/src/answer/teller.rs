//! Decides what of a run an OpenAI client is told. Pure: events in, pieces of an answer out.

use std::sync::Arc;

use dispatch::events::{PieceKind, RunEvent};
use domain::{ContentPart, Message, MessageId, RequestNote, Role, ToolCall};

use super::{BETWEEN, Manner};
use crate::config::{ReasoningShown, Unescape};
use crate::unescape::Unescaper;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Words(String),
    Thought(String),
    /// A call of a client's tool begins, under the client's name.
    Call {
        index: usize,
        id: String,
        name: String,
    },
    Arguments {
        index: usize,
        fragment: String,
    },
}

/// Listens to one run.
pub(crate) struct Teller {
    manner: Manner,
    unescaper: Unescaper,
    /// The message whose words were told last.
    spoke: Option<MessageId>,
    /// The message whose thoughts were told last.
    thought: Option<MessageId>,
    /// Ids of the client's calls in the order in which they were told, and whether they are complete.
    calls: Vec<Arc<str>>,
    /// Whether think tags are open.
    thinking: bool,
    /// Where it is noted what became of escapes.
    note: Option<RequestNote>,
}

/// A stream whose client leaves is noted like one that ends.
impl Drop for Teller {
    fn drop(&mut self) {
        if let Some(note) = self.note.take().filter(|_| self.manner.unescape != Unescape::Off) {
            note.unescaped(self.unescaper.count());
        }
    }
}

impl Teller {
    /// A teller that has heard nothing.
    pub(crate) fn new(manner: Manner) -> Self {
        let unescaper = Unescaper::new(manner.unescape);
        Self { manner, unescaper, spoke: None, thought: None, calls: Vec::new(), thinking: false, note: None }
    }

    /// Notes what becomes of escapes when the answer is over.
    pub(crate) fn noting(&mut self, note: RequestNote) {
        self.note = Some(note);
    }

    /// How the answer is told.
    pub(crate) fn manner(&self) -> &Manner {
        &self.manner
    }

    /// Whether the agent said anything.
    pub(crate) fn spoke(&self) -> bool {
        self.spoke.is_some()
    }

    /// Whether words are held back that a timer should let go.
    pub(crate) fn holds(&self) -> bool {
        self.unescaper.is_holding()
    }

    /// What `event` adds to the answer. The end of a run adds nothing; see [`Teller::end`].
    pub(crate) fn hear(&mut self, event: &RunEvent) -> Vec<Said> {
        let mut said = Vec::new();
        match event {
            RunEvent::Piece(piece) => match &piece.kind {
                PieceKind::Text(text) => self.speak(piece.message, text, &mut said),
                PieceKind::Reasoning { text, .. } => self.think(piece.message, text, &mut said),
                PieceKind::ToolCallStarted { call_id, name } => self.call(call_id, name, &mut said),
                PieceKind::ToolCallArguments { call_id, fragment } => self.arguments(call_id, fragment, &mut said),
            },
            RunEvent::StepCommitted { messages, .. } => {
                for (index, message) in messages.iter().enumerate() {
                    self.committed(message, &messages[index + 1..], &mut said);
                }
            }
            RunEvent::Finished(_) => {}
        }
        said
    }

    /// Words that were held back for longer than they may be.
    pub(crate) fn let_go(&mut self) -> Vec<Said> {
        let rest = self.unescaper.flush();
        if rest.is_empty() { Vec::new() } else { vec![Said::Words(rest)] }
    }

    /// The answer is over: nothing is held back, nothing stays open.
    pub(crate) fn end(&mut self) -> Vec<Said> {
        let mut said = self.let_go();
        self.close_thinking(&mut said);
        said
    }

    /// What a stored message says that no piece has said. `later`: what is stored behind it.
    fn committed(&mut self, message: &Message, later: &[Arc<Message>], said: &mut Vec<Said>) {
        match message.role {
            Role::Assistant => {
                if self.thought != Some(message.id) {
                    message.content.iter().filter_map(thought).for_each(|text| self.think(message.id, text, said));
                }
                if self.spoke != Some(message.id)
                    && let Some(words) = spoken(message)
                {
                    self.speak(message.id, &words, said);
                }
                message.tool_calls.iter().filter(|call| !is_over(call, later)).for_each(|c| self.whole_call(c, said));
            }
            Role::Tool => self.progress(message, said),
            Role::User | Role::System | Role::Approval => {}
        }
    }

    /// Words of one message; those of another one stand apart from what was said before.
    fn speak(&mut self, message: MessageId, text: &str, said: &mut Vec<Said>) {
        self.close_thinking(said);
        if self.spoke.is_some_and(|before| before != message) {
            said.extend(self.let_go());
            said.push(Said::Words(BETWEEN.to_owned()));
        }
        self.spoke = Some(message);
        let words = self.unescaper.push(text);
        if !words.is_empty() {
            said.push(Said::Words(words.into_owned()));
        }
    }

    fn think(&mut self, message: MessageId, text: &str, said: &mut Vec<Said>) {
        let is_other = self.thought.is_some_and(|before| before != message);
        self.thought = Some(message);
        match self.manner.reasoning {
            ReasoningShown::Off => {}
            ReasoningShown::ReasoningContent | ReasoningShown::Reasoning => {
                if is_other {
                    said.push(Said::Thought(BETWEEN.to_owned()));
                }
                said.push(Said::Thought(text.to_owned()));
            }
            ReasoningShown::ThinkTags => {
                self.open_thinking(said);
                said.push(Said::Words(text.to_owned()));
            }
        }
    }

    fn open_thinking(&mut self, said: &mut Vec<Said>) {
        if !self.thinking {
            self.thinking = true;
            said.extend(self.let_go());
            let apart = if self.spoke.is_some() { BETWEEN } else { "" };
            said.push(Said::Words(format!("{apart}<think>\n")));
        }
    }

    fn close_thinking(&mut self, said: &mut Vec<Said>) {
        if self.thinking {
            self.thinking = false;
            said.push(Said::Words("\n</think>\n\n".to_owned()));
        }
    }

    /// What the agent's own tools did, for clients that show progress.
    fn progress(&mut self, message: &Message, said: &mut Vec<Said>) {
        if self.manner.reasoning != ReasoningShown::ThinkTags {
            return;
        }
        let own =
            message.tool_returns.iter().filter(|returned| self.manner.bridge.client_name(&returned.name).is_none());
        let lines: Vec<String> = own
            .filter(|returned| &*returned.name != domain::message::SEND_MESSAGE)
            .map(|returned| {
                let length = returned.text.chars().count();
                format!("\n- {}: {}, {length} characters", returned.name, returned.status.as_str())
            })
            .collect();
        for line in lines {
            self.open_thinking(said);
            said.push(Said::Words(line));
        }
    }

    fn call(&mut self, id: &Arc<str>, name: &str, said: &mut Vec<Said>) {
        let Some(client_name) = self.manner.bridge.client_name(name) else { return };
        if self.manner.one_call && !self.calls.is_empty() {
            return;
        }
        let call = Said::Call { index: self.calls.len(), id: id.to_string(), name: client_name.to_owned() };
        self.close_thinking(said);
        said.extend(self.let_go());
        self.calls.push(id.clone());
        said.push(call);
    }

    fn arguments(&mut self, id: &str, fragment: &str, said: &mut Vec<Said>) {
        if let Some(index) = self.calls.iter().position(|call| **call == *id) {
            said.push(Said::Arguments { index, fragment: fragment.to_owned() });
        }
    }

    /// A call of which no piece was told.
    fn whole_call(&mut self, call: &ToolCall, said: &mut Vec<Said>) {
        if self.calls.contains(&call.id) {
            return;
        }
        self.call(&call.id, &call.name, said);
        self.arguments(&call.id, &call.arguments, said);
    }
}

/// Whether a call has its return already. One of a client's tool was refused then: it was not offered at that point.
fn is_over(call: &ToolCall, later: &[Arc<Message>]) -> bool {
    // Vendors may use an id again in their next answer.
    let until_next = later.iter().take_while(|message| message.role != Role::Assistant);
    until_next.flat_map(|message| message.tool_returns.iter()).any(|given| given.call_id == call.id)
}

fn thought(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Reasoning { text, .. } => Some(text),
        ContentPart::Text { .. } | ContentPart::Image(_) => None,
    }
}

/// What an agent said in one message: its plain words and those that it sent by tool.
fn spoken(message: &Message) -> Option<String> {
    let sent = message.tool_calls.iter().filter_map(ToolCall::spoken);
    let words: Vec<String> = message.texts().map(str::to_owned).chain(sent).filter(|text| !text.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(BETWEEN))
}
