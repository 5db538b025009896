//! Puts the pieces of a streamed answer in order: the dialect's events in, [`ModelEvent`]s out.
//!
//! Pure, and the one place that knows how compatible servers stray from the dialect: tool calls without an index or an
//! id, whole calls in one piece, names that are repeated, a missing `[DONE]`. Usage and the end are told last and
//! once, whatever the order in which they came.

use std::collections::VecDeque;

use domain::seams::chat_model::{FinishReason, ModelError, ModelEvent};
use domain::{StepId, Usage};

use super::failure::Failure;
use super::response::{Answer, CallDelta, Choice, Delta, finish_reason};

/// The data of the event that ends a stream.
const DONE: &str = "[DONE]";
/// Tool calls in one answer; more is a model gone wild.
const CALL_CAP: usize = 128;

/// Follows one answer from its first piece to its end.
#[derive(Debug)]
pub(crate) struct Assembler {
    /// Makes ids for calls that come without one: unique in all conversations, the same if the step is asked again.
    step: StepId,
    calls: Vec<OpenCall>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    has_choice: bool,
    ended: bool,
}

/// A call whose pieces are arriving.
#[derive(Debug)]
struct OpenCall {
    wire_index: Option<u64>,
    id: Option<String>,
    name: String,
    /// Argument text that came before the name.
    early: String,
    balance: Balance,
}

impl Assembler {
    pub(crate) fn new(step: StepId) -> Self {
        Self { step, calls: Vec::new(), usage: None, finish: None, has_choice: false, ended: false }
    }

    /// Whether the server has said that nothing more follows.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the data of one event of a stream.
    pub(crate) fn accept(
        &mut self,
        data: &str,
        key: Option<&str>,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if self.ended {
            return Ok(());
        }
        if data.trim() == DONE {
            return self.end(out);
        }
        let answer: Answer = serde_json::from_str(data).map_err(|error| malformed("an event", &error))?;
        self.take(answer, key, out)
    }

    /// Takes an answer that came whole.
    pub(crate) fn accept_whole(
        &mut self,
        body: &[u8],
        key: Option<&str>,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| malformed("the answer", &error))?;
        self.take(answer, key, out)?;
        self.end(out)
    }

    /// Takes the end of the stream, said by the server or found by the reader.
    pub(crate) fn end(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        if !self.has_choice {
            return Err(broken("the stream ended before an answer began"));
        }
        if self.calls.iter().any(|call| call.name.is_empty()) {
            return Err(broken("a tool call has no name"));
        }
        // Several servers say `stop` after tool calls.
        let reason = match self.finish {
            Some(FinishReason::Stop) | None if !self.calls.is_empty() => FinishReason::ToolCalls,
            Some(reason) => reason,
            None => FinishReason::Stop,
        };
        out.extend(self.usage.take().map(ModelEvent::Usage));
        out.push_back(ModelEvent::Finished(reason));
        Ok(())
    }

    /// Takes the end of the bytes. Without a reason for the end, the answer was cut.
    pub(crate) fn cut(&mut self, why: &str, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if !self.ended && self.finish.is_none() {
            self.ended = true;
            return Err(broken(why));
        }
        self.end(out)
    }

    fn take(
        &mut self,
        mut answer: Answer,
        key: Option<&str>,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if let Some(error) = answer.take_error() {
            return Err(Failure::from_value(&error).into_error(key));
        }
        if let Some(usage) = answer.usage {
            self.usage = Some(usage.into());
        }
        // One answer was asked for; what a server sends of others is dropped.
        for choice in answer.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.take_choice(choice, key, out)?;
        }
        Ok(())
    }

    fn take_choice(
        &mut self,
        choice: Choice,
        key: Option<&str>,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if let Some(error) = choice.error.filter(|error| !error.is_null()) {
            return Err(Failure::from_value(&error).into_error(key));
        }
        self.has_choice = true;
        self.take_delta(choice.delta.or(choice.message).unwrap_or_default(), out)?;
        if let Some(word) = choice.finish_reason.filter(|word| !word.is_empty()) {
            self.finish = Some(finish_reason(&word));
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: Delta, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        // Servers that are changing from one name to the other send the same words under both.
        let reasoning = delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning);
        let not_empty = |text: &String| !text.is_empty();
        out.extend(reasoning.filter(not_empty).map(ModelEvent::Reasoning));
        // A refusal is the model's own answer, in its own words.
        for text in [delta.content, delta.refusal] {
            out.extend(text.filter(not_empty).map(ModelEvent::Text));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.take_call(call, out)?;
        }
        Ok(())
    }

    fn take_call(&mut self, delta: CallDelta, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.filter(|id| !id.is_empty());
        let name = function.name.unwrap_or_default();
        let index = match self.find(delta.index, id.as_deref(), &name) {
            Some(index) => index,
            None => self.open(delta.index)?,
        };
        let fragment = function.arguments.unwrap_or_default();
        let step = self.step;
        let call = &mut self.calls[index];
        call.balance.follow(&fragment);
        if call.id.is_none() {
            call.id = id;
        }
        if !call.name.is_empty() {
            if !fragment.is_empty() {
                out.push_back(ModelEvent::ToolCallArguments { index, fragment });
            }
            return Ok(());
        }
        call.early.push_str(&fragment);
        if name.is_empty() {
            return Ok(());
        }
        call.name.clone_from(&name);
        let id = call.id.get_or_insert_with(|| made_up_id(step, index)).clone();
        out.push_back(ModelEvent::ToolCallStarted { index, id, name });
        let fragment = std::mem::take(&mut call.early);
        if !fragment.is_empty() {
            out.push_back(ModelEvent::ToolCallArguments { index, fragment });
        }
        Ok(())
    }

    /// The open call that a piece belongs to, or none if it begins a new one.
    fn find(&self, wire_index: Option<u64>, id: Option<&str>, name: &str) -> Option<usize> {
        if wire_index.is_some() {
            let position = self.calls.iter().rposition(|call| call.wire_index == wire_index)?;
            // Some servers number every call 0: another id with a name of its own is another call.
            let other_id = id.is_some_and(|id| self.calls[position].id.as_deref().is_some_and(|known| known != id));
            return (!other_id || name.is_empty()).then_some(position);
        }
        if let Some(id) = id {
            return self.calls.iter().rposition(|call| call.id.as_deref() == Some(id));
        }
        let last = self.calls.last()?;
        let goes_on = name.is_empty() || last.name.is_empty() || (last.name == name && !last.balance.is_complete());
        goes_on.then(|| self.calls.len() - 1)
    }

    fn open(&mut self, wire_index: Option<u64>) -> Result<usize, ModelError> {
        if self.calls.len() == CALL_CAP {
            return Err(broken(&format!("the answer holds more than {CALL_CAP} tool calls")));
        }
        self.calls.push(OpenCall {
            wire_index,
            id: None,
            name: String::new(),
            early: String::new(),
            balance: Balance::default(),
        });
        Ok(self.calls.len() - 1)
    }
}

/// Vendors take ids of up to 40 characters.
fn made_up_id(step: StepId, index: usize) -> String {
    let hex = step.uuid().simple().to_string();
    format!("call_{}x{index}", &hex[..24])
}

fn broken(detail: &str) -> ModelError {
    ModelError::Broken { detail: detail.to_owned() }
}

/// The words of the JSON reader name lines and columns, never the text itself.
fn malformed(what: &str, error: &serde_json::Error) -> ModelError {
    broken(&format!("{what} is not the JSON of this dialect: {error}"))
}

/// Follows the brackets of a JSON text that arrives in pieces, to know when it is whole.
#[derive(Debug, Default)]
struct Balance {
    depth: usize,
    in_string: bool,
    escaped: bool,
    opened: bool,
}

impl Balance {
    fn follow(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    self.depth += 1;
                    self.opened = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.opened && self.depth == 0
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
