//! Asks a model, shows its answer as it arrives, and asks again where that can help.
//!
//! A failed call is repeated with jittered back-off, honouring the vendor's Retry-After, but only while nothing of
//! the answer was shown to anybody.

use std::sync::Arc;
use std::time::Duration;

use domain::Usage;
use domain::seams::chat_model::{ChatModel, FinishReason, ModelError, ModelEvent, ModelRequest};
use futures_util::StreamExt;

use crate::listener::Listener;
use crate::plan::RawCall;

/// Calls for one answer, the first included.
const MAX_ATTEMPTS: u32 = 4;
const FIRST_DELAY: Duration = Duration::from_millis(250);
const MAX_DELAY: Duration = Duration::from_secs(8);
/// A vendor that asks for a longer pause is taken at its word: the caller is told instead of kept waiting.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(20);
/// Bytes of one answer. A model that writes more is out of hand.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Tool calls of one answer.
const MAX_CALLS: usize = 128;

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub reasoning: String,
    pub signature: Option<String>,
    pub calls: Vec<RawCall>,
    pub usage: Usage,
    pub finish: FinishReason,
}

impl Answer {
    /// Nothing yet.
    pub(crate) fn empty() -> Self {
        Self {
            text: String::new(),
            reasoning: String::new(),
            signature: None,
            calls: Vec::new(),
            usage: Usage::default(),
            finish: FinishReason::Stop,
        }
    }

    /// Whether the model said nothing at all.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty()
    }
}

/// One complete answer to `request`.
pub async fn ask_model(
    model: &dyn ChatModel,
    request: Arc<ModelRequest>,
    listener: &mut Listener<'_>,
) -> Result<Answer, ModelError> {
    let mut attempt = 1;
    loop {
        let error = match ask_once(model, request.clone(), listener).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let Some(delay) = retry_delay(&error, attempt) else { return Err(error) };
        if attempt >= MAX_ATTEMPTS || listener.has_shown() {
            return Err(error);
        }
        tracing::warn!(attempt, delay_ms = delay.as_millis() as u64, kind = kind(&error), "asking the model again");
        tokio::time::sleep(delay).await;
        attempt += 1;
    }
}

/// How long to wait before asking again; None means that it would not help.
fn retry_delay(error: &ModelError, attempt: u32) -> Option<Duration> {
    if !error.is_transient() {
        return None;
    }
    if let ModelError::RateLimited { retry_after: Some(wanted), .. } = error {
        return (*wanted <= MAX_RETRY_AFTER).then_some(*wanted);
    }
    let full = FIRST_DELAY.saturating_mul(1 << attempt.min(10).saturating_sub(1)).min(MAX_DELAY);
    // Half fixed and half random, so that callers that failed together do not come back together.
    Some(full.mul_f64(0.5 + rand::random::<f64>() / 2.0))
}

/// A name for the log that holds nothing of what was said.
fn kind(error: &ModelError) -> &'static str {
    match error {
        ModelError::RateLimited { .. } => "rate_limited",
        ModelError::ContextTooLong { .. } => "context_too_long",
        ModelError::Refused { .. } => "refused",
        ModelError::Filtered => "filtered",
        ModelError::Unauthorized { .. } => "unauthorized",
        ModelError::Rejected { .. } => "rejected",
        ModelError::Unavailable { .. } => "unavailable",
        ModelError::Broken { .. } => "broken",
    }
}

async fn ask_once(
    model: &dyn ChatModel,
    request: Arc<ModelRequest>,
    listener: &mut Listener<'_>,
) -> Result<Answer, ModelError> {
    listener.begin();
    let mut stream = model.stream(request).await?;
    let mut answer = Answer::empty();
    let mut finished = None;
    let mut size = 0;
    while let Some(event) = stream.next().await {
        let event = event?;
        size += event_size(&event);
        if size > MAX_ANSWER_BYTES {
            return Err(ModelError::Rejected { detail: format!("the answer is longer than {MAX_ANSWER_BYTES} bytes") });
        }
        if let ModelEvent::Finished(reason) = &event {
            finished = Some(*reason);
        }
        listener.hear(&event).await;
        take(&mut answer, event)?;
    }
    let Some(finish) = finished else {
        return Err(ModelError::Broken { detail: "the answer ended before it was complete".into() });
    };
    if finish == FinishReason::ContentFilter {
        return Err(ModelError::Filtered);
    }
    answer.finish = finish;
    listener.end(&answer).await;
    Ok(answer)
}

fn event_size(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text) | ModelEvent::Reasoning(text) | ModelEvent::ReasoningSignature(text) => text.len(),
        ModelEvent::ToolCallStarted { id, name, .. } => id.len() + name.len(),
        ModelEvent::ToolCallArguments { fragment, .. } => fragment.len(),
        ModelEvent::Usage(_) | ModelEvent::Finished(_) => 0,
    }
}

fn take(answer: &mut Answer, event: ModelEvent) -> Result<(), ModelError> {
    match event {
        ModelEvent::Text(text) => answer.text.push_str(&text),
        ModelEvent::Reasoning(text) => answer.reasoning.push_str(&text),
        ModelEvent::ReasoningSignature(text) => answer.signature.get_or_insert_default().push_str(&text),
        ModelEvent::ToolCallStarted { index, id, name } => {
            if index != answer.calls.len() || index >= MAX_CALLS {
                return Err(ModelError::Broken { detail: "tool calls out of order".into() });
            }
            answer.calls.push(RawCall { id, name, arguments: String::new() });
        }
        ModelEvent::ToolCallArguments { index, fragment } => match answer.calls.get_mut(index) {
            Some(call) => call.arguments.push_str(&fragment),
            None => return Err(ModelError::Broken { detail: "arguments of a call that did not begin".into() }),
        },
        ModelEvent::Usage(usage) => answer.usage = usage,
        ModelEvent::Finished(_) => {}
    }
    Ok(())
}
