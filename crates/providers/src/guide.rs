//! The rule-based model that ships inside the binary, so that a fresh house without a key shows everything working.
//!
//! It sees what any model sees, the messages and the tool schemas, and acts only by tool calls. It keeps nothing
//! between requests, never invents, and says that it is not a language model.

mod answer;
mod calls;
mod claims;
mod clause;
mod corrections;
mod dates;
mod decide;
mod evidence;
mod facts;
mod kinship;
mod languages;
mod reading;
mod recall;
mod replay;
mod reply;
mod searching;
mod shapes;
mod small_talk;
mod speech;
mod splitting;
mod stems;
mod supersede;
mod topics;
mod words;

use std::sync::Arc;

use domain::Usage;
use domain::seams::BoxFuture;
use domain::seams::chat_model::{ChatModel, FinishReason, ModelError, ModelEvent, ModelRequest, ModelStream};
use serde_json::Value;

use decide::Move;

/// The model `builtin/guide`.
#[derive(Debug, Default)]
pub struct Guide;

impl Guide {
    /// The guide; there is nothing to set.
    pub fn new() -> Self {
        Self
    }
}

impl ChatModel for Guide {
    fn stream(&self, request: Arc<ModelRequest>) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            // A long text takes a while to read, and nobody else should have to wait for that.
            let thought = tokio::task::spawn_blocking(move || events(&request, decide::next_move(&request))).await;
            let events =
                thought.map_err(|error| ModelError::Broken { detail: format!("the guide failed: {error}") })?;
            let stream: ModelStream = Box::pin(futures_util::stream::iter(events.into_iter().map(Ok)));
            Ok(stream)
        })
    }

    fn sees(&self, _model: &str) -> bool {
        false
    }
}

fn events(request: &ModelRequest, next: Move) -> Vec<ModelEvent> {
    let mut events: Vec<ModelEvent> = Vec::new();
    let (written, finish) = match next {
        Move::Say(words) => {
            // Word by word, as watchers of other models see it.
            events.extend(words.split_inclusive(' ').map(|piece| ModelEvent::Text(piece.to_owned())));
            (words.len(), FinishReason::Stop)
        }
        Move::Call(call) => {
            let fragment = Value::Object(call.arguments).to_string();
            let written = fragment.len();
            events.push(ModelEvent::ToolCallStarted { index: 0, id: call_id(request), name: call.name });
            events.push(ModelEvent::ToolCallArguments { index: 0, fragment });
            (written, FinishReason::ToolCalls)
        }
    };
    events.push(ModelEvent::Usage(usage(request, written)));
    events.push(ModelEvent::Finished(finish));
    events
}

/// One call per step, so the step's id makes the call's; vendors take at most 29 characters.
fn call_id(request: &ModelRequest) -> String {
    let step: String = request.step.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    format!("call_{}", &step[step.len().saturating_sub(24)..])
}

/// An estimate, four bytes to a token, so that budgets and statistics have something to count.
fn usage(request: &ModelRequest, written: usize) -> Usage {
    let texts = request.messages.iter().flat_map(|message| message.content.iter());
    let read: usize = texts.filter_map(|part| part.as_text()).map(str::len).sum();
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
    let (prompt_tokens, completion_tokens) = (tokens(read), tokens(written));
    let total_tokens = prompt_tokens.saturating_add(completion_tokens);
    Usage { prompt_tokens, completion_tokens, total_tokens, ..Usage::default() }
}
