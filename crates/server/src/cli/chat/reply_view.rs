//! How an answer looks while it comes in. Pure: events in, text for the terminal out.
//!
//! Words come as they are, one piece after the other. What happens to the memory stands in lines of its own, dimmed;
//! private reasoning is shown only to whoever asked for it.

use serde_json::Value;

use super::memory_edit;
use super::stream_event::StreamEvent;
use crate::cli::output::{Style, clean, one_line};

/// What to show, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) style: Style,
    pub(crate) reasoning: bool,
}

/// An answer that is coming in.
#[derive(Debug)]
pub(crate) struct ReplyView {
    look: Look,
    /// Calls whose return has not come yet.
    calls: Vec<OpenCall>,
    /// Which text the cursor stands behind; none at the start of a line.
    behind: Option<Text>,
    stop_reason: String,
    failure: Option<String>,
    done: bool,
}

#[derive(Debug)]
struct OpenCall {
    id: String,
    name: String,
    arguments: String,
}

/// A text that is being written: its message, and whether it is reasoning.
#[derive(Debug, PartialEq, Eq)]
struct Text {
    message: String,
    reasoning: bool,
}

/// How an answer ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// What is left to show.
    pub(crate) text: String,
    /// What went wrong, where something did.
    pub(crate) failure: Option<String>,
}

impl ReplyView {
    /// An answer of which nothing came yet.
    pub(crate) fn new(look: Look) -> Self {
        Self { look, calls: Vec::new(), behind: None, stop_reason: String::new(), failure: None, done: false }
    }

    /// Whether the answer is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// What to show for one more event.
    pub(crate) fn hear(&mut self, event: StreamEvent) -> String {
        match event {
            StreamEvent::Answer { message, text } => self.write(Text { message, reasoning: false }, &text),
            StreamEvent::Reasoning { message, text } if self.look.reasoning => {
                self.write(Text { message, reasoning: true }, &text)
            }
            StreamEvent::Reasoning { .. } => String::new(),
            StreamEvent::Call { id, name, arguments } => {
                self.called(id, &name, &arguments);
                String::new()
            }
            StreamEvent::Return { id, name, succeeded, text } => {
                let call = self.calls.iter().position(|call| call.id == id).map(|index| self.calls.remove(index));
                let call = call.unwrap_or(OpenCall { id, name, arguments: String::new() });
                self.returned(&call, succeeded, &text)
            }
            StreamEvent::Stopped(reason) => {
                self.stop_reason = reason;
                String::new()
            }
            StreamEvent::Failed(text) => {
                self.failure = Some(text);
                String::new()
            }
            StreamEvent::Done => {
                self.done = true;
                String::new()
            }
        }
    }

    /// The answer came to its end.
    pub(crate) fn end(mut self) -> Ending {
        let mut text = self.new_line();
        if self.failure.is_none()
            && let Some(note) = stop_note(&self.stop_reason)
        {
            text.push_str(&self.aside(&note));
        }
        Ending { text, failure: self.failure }
    }

    /// The answer was cut off.
    pub(crate) fn cut(mut self, failure: String) -> Ending {
        Ending { text: self.new_line(), failure: Some(failure) }
    }

    /// The person stopped the answer, and the terminal may have shown the key for that.
    pub(crate) fn interrupted(self) -> Ending {
        Ending { text: format!("\n{}", self.aside("stopped")), failure: None }
    }

    fn write(&mut self, text: Text, words: &str) -> String {
        if words.is_empty() {
            return String::new();
        }
        let style = self.look.style;
        let mut shown =
            if self.behind.as_ref().is_some_and(|behind| *behind != text) { self.new_line() } else { String::new() };
        shown.push_str(&if text.reasoning { style.dim(words) } else { clean(words).into_owned() });
        self.behind = (!words.ends_with('\n')).then_some(text);
        shown
    }

    fn called(&mut self, id: String, name: &str, arguments: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.name.push_str(name);
            call.arguments.push_str(arguments);
        } else {
            self.calls.push(OpenCall { id, name: name.to_owned(), arguments: arguments.to_owned() });
        }
    }

    fn returned(&mut self, call: &OpenCall, succeeded: bool, text: &str) -> String {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let lines = match memory_edit::describe(&call.name, &arguments) {
            Some(edit) if succeeded => edit.lines.iter().map(|line| aside("memory", &edit.label, line)).collect(),
            Some(edit) => vec![aside("memory", &edit.label, &format!("not changed: {}", one_line(text)))],
            None if succeeded => vec![aside("tool", &call.name, "done")],
            None => vec![aside("tool", &call.name, &format!("failed: {}", one_line(text)))],
        };
        if lines.is_empty() {
            return String::new();
        }
        let lines: String = lines.iter().map(|line| self.aside(line)).collect();
        format!("{}{lines}", self.new_line())
    }

    fn aside(&self, text: &str) -> String {
        format!("  {}\n", self.look.style.dim(text))
    }

    /// What brings the cursor to the start of a line.
    fn new_line(&mut self) -> String {
        if self.behind.take().is_some() { "\n".to_owned() } else { String::new() }
    }
}

fn aside(kind: &str, subject: &str, text: &str) -> String {
    let subject = one_line(subject);
    let colon = if subject.is_empty() { "" } else { ": " };
    format!("{kind:6}  {subject}{colon}{text}")
}

/// What to say about an end that a person would not expect.
fn stop_note(reason: &str) -> Option<String> {
    let note = match reason {
        "" | "end_turn" | "tool_rule" => return None,
        "max_steps" => "stopped after the most steps that one answer may take: ask it to go on",
        "max_tokens_exceeded" => "stopped at the most tokens that the model may write: ask it to go on",
        "requires_approval" => "waits for an approval, which a chat can't give yet",
        "cancelled" => "stopped",
        other => return Some(format!("stopped: {}", other.replace('_', " "))),
    };
    Some(note.to_owned())
}

#[cfg(test)]
#[path = "reply_view_tests.rs"]
mod tests;
