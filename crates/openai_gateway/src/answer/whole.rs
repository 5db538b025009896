//! An answer as one object.

use axum::Json;
use axum::response::{IntoResponse, Response};
use dispatch::events::{Finished, RunEvent};
use domain::{RunId, StepId, StopReason, Usage};

use super::teller::Said;
use super::{Finish, Source, Teller, finish};
use crate::config::ReasoningShown;
use crate::error::ApiError;
use crate::wire::chat_response::{Completion, Head, ReasoningField, ShownCall, Told};
use crate::wire::text_completion::TextCompletion;

/// Waits for the run and tells all that it said.
pub(crate) async fn answer(source: Source, teller: Teller, model: String, created: i64) -> Result<Response, ApiError> {
    let (run, told) = told(source, teller).await?;
    Ok(Json(Completion::new(&Head::new(run, created, model), &told)).into_response())
}

/// The same in the older dialect, where the prompt may stand before the answer.
pub(crate) async fn answer_text(
    source: Source,
    teller: Teller,
    (model, created): (String, i64),
    echo: Option<String>,
) -> Result<Response, ApiError> {
    let (run, told) = told(source, teller).await?;
    let text = echo.unwrap_or_default() + &told.content;
    Ok(Json(TextCompletion::new(&Head::of_text(run, created, model), &text, &told)).into_response())
}

/// All that a source says, and the run that said it.
pub(crate) async fn told(source: Source, mut teller: Teller) -> Result<(RunId, Told), ApiError> {
    let mut said = Vec::new();
    let finished = match source {
        Source::Nothing => nothing(),
        Source::Earlier { messages, finished } => {
            said.extend(teller.hear(&RunEvent::StepCommitted { step: StepId::random(), messages }));
            finished
        }
        Source::Run { mut handle, first } => {
            let mut next = first;
            loop {
                let event = match next.take() {
                    Some(event) => event,
                    None => handle.events.recv().await.ok_or_else(ApiError::internal)?,
                };
                if let RunEvent::Finished(finished) = event {
                    break finished;
                }
                said.extend(teller.hear(&event));
            }
        }
    };
    said.extend(teller.end());
    let finish = finish(&finished, teller.spoke())?;
    Ok((finished.run, collected(said, &teller, finish, finished.usage)))
}

/// The end of a run that never was.
pub(super) fn nothing() -> Finished {
    Finished {
        run: RunId::random(),
        stop_reason: StopReason::EndTurn,
        failure: None,
        usage: Usage::default(),
        step_count: 0,
    }
}

fn collected(said: Vec<Said>, teller: &Teller, finish: Finish, usage: Usage) -> Told {
    let (mut content, mut thoughts) = (String::new(), String::new());
    let mut calls: Vec<ShownCall> = Vec::new();
    for piece in said {
        match piece {
            Said::Words(words) => content.push_str(&words),
            Said::Thought(text) => thoughts.push_str(&text),
            Said::Call { id, name, .. } => calls.push(ShownCall { id, name, arguments: String::new() }),
            Said::Arguments { index, fragment } => {
                if let Some(call) = calls.get_mut(index) {
                    call.arguments.push_str(&fragment);
                }
            }
        }
    }
    let field = reasoning_field(teller.manner().reasoning).filter(|_| !thoughts.is_empty());
    let reasoning = field.map(|field| (field, thoughts));
    Told { content, reasoning, calls, legacy: teller.manner().legacy, finish, usage }
}

/// Under which name thoughts are shown beside the content, if they are.
pub(super) fn reasoning_field(shown: ReasoningShown) -> Option<ReasoningField> {
    match shown {
        ReasoningShown::ReasoningContent => Some(ReasoningField::ReasoningContent),
        ReasoningShown::Reasoning => Some(ReasoningField::Reasoning),
        ReasoningShown::Off | ReasoningShown::ThinkTags => None,
    }
}
