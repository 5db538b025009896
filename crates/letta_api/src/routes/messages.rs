//! `/v1/agents/{id}/messages`: sending messages to an agent, and reading what was said.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use dispatch::events::{Finished, RunEvent};
use dispatch::request::{Detail, Lifetime, Opening, RunHandle, RunOptions, RunRequest};
use domain::{Actor, AgentId, Message, RequestNote};
use serde::Serialize;
use storage::{MessageFilter, Store};

use crate::LettaApi;
use crate::body::Fields;
use crate::error::ApiError;
use crate::path::AgentPath;
use crate::query::Query;
use crate::sse;
use crate::wire::message_requests::{MessageRequest, Streaming, parse_types};
use crate::wire::messages::{LettaMessage, Shown, all_letta_messages};
use crate::wire::stream::{EventWriter, StopReasonState, UsageState};

const DEFAULT_LIMIT: u32 = 100;

/// A whole answer.
#[derive(Serialize)]
struct LettaResponse<'a> {
    messages: Vec<LettaMessage<'a>>,
    stop_reason: StopReasonState,
    usage: UsageState,
}

pub(crate) async fn create(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    Extension(note): Extension<RequestNote>,
    AgentPath(agent): AgentPath,
    fields: Fields,
) -> Result<Response, ApiError> {
    answer(&door, actor, agent, (MessageRequest::read(fields, false)?, &note)).await
}

pub(crate) async fn stream(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    Extension(note): Extension<RequestNote>,
    AgentPath(agent): AgentPath,
    fields: Fields,
) -> Result<Response, ApiError> {
    answer(&door, actor, agent, (MessageRequest::read(fields, true)?, &note)).await
}

async fn answer(
    door: &LettaApi,
    actor: Actor,
    agent: AgentId,
    (request, note): (MessageRequest, &RequestNote),
) -> Result<Response, ApiError> {
    note.answered_by(agent);
    let MessageRequest { input, max_steps, shown, streaming, include_pings } = request;
    let run = RunRequest {
        actor,
        agent,
        conversation: None,
        identity: None,
        opening: Opening::messages(input),
        options: RunOptions { max_steps, ..RunOptions::default() },
        lifetime: Lifetime::Foreground,
        detail: if streaming == Streaming::Tokens { Detail::Pieces } else { Detail::Steps },
    };
    let handle = door.dispatcher.submit(run).await?;
    note.answered_in(handle.note.clone());
    if streaming == Streaming::No {
        return whole(handle, &shown).await;
    }
    let writer = EventWriter::new(handle.run, shown, streaming);
    Ok(sse::respond(handle, writer, include_pings, door.clock))
}

async fn whole(mut handle: RunHandle, shown: &Shown) -> Result<Response, ApiError> {
    let mut messages: Vec<Arc<Message>> = Vec::new();
    while let Some(event) = handle.events.recv().await {
        match event {
            RunEvent::Piece(_) => {}
            RunEvent::StepCommitted { messages: new, .. } => messages.extend(new),
            RunEvent::Finished(Finished { failure: Some(failure), .. }) => {
                let error = ApiError::from(&failure);
                return Err(if messages.is_empty() { error } else { error.not_to_be_repeated() });
            }
            RunEvent::Finished(finished) => {
                let answer = LettaResponse {
                    messages: all_letta_messages(&messages, shown),
                    stop_reason: finished.stop_reason.into(),
                    usage: UsageState::new(finished.usage, finished.step_count),
                };
                return Ok(Json(answer).into_response());
            }
        }
    }
    Err(ApiError::internal())
}

/// A page is always in the order in which things were said; `order=desc` only says that the newest are wanted. Without a
/// conversation it holds those of all, as Letta's does: chats that came through OpenAI's door are the owner's to read.
pub(crate) async fn list(
    State(door): State<LettaApi>,
    Extension(actor): Extension<Actor>,
    AgentPath(agent): AgentPath,
    query: Query,
) -> Result<Response, ApiError> {
    let agent = door.dispatcher.agent_or_not_found(actor, agent).await?;
    let types = query.all("include_return_message_types");
    let types = (!types.is_empty()).then(|| parse_types(&types, &["query", "include_return_message_types"]));
    let shown = Shown { use_assistant_message: query.flag("use_assistant_message", true)?, types: types.transpose()? };
    let filter = MessageFilter {
        agent: agent.id,
        conversation: match query.text("conversation_id") {
            Some("default") => Some(agent.default_conversation),
            _ => query.id("conversation_id")?,
        },
        before: query.id("before")?,
        after: query.id("after")?,
        limit: query.limit(DEFAULT_LIMIT)?,
        ascending: query.ascending(false)?,
    };
    let messages = visible_page(door.dispatcher.store(), actor, filter, &shown).await?;
    Ok(Json(all_letta_messages(&messages, &shown)).into_response())
}

/// One page with something to see in it. SDKs take an empty page for the end, so one of hidden messages is passed over.
async fn visible_page(
    store: &Store,
    actor: Actor,
    mut filter: MessageFilter,
    shown: &Shown,
) -> Result<Vec<Arc<Message>>, ApiError> {
    loop {
        let mut page = store.messages(actor.organization, &filter).await?;
        let Some(last) = page.last().map(|message| message.id) else { return Ok(page) };
        let is_last = page.len() < filter.limit as usize;
        if !filter.ascending {
            page.reverse();
        }
        if is_last || !all_letta_messages(&page, shown).is_empty() {
            return Ok(page);
        }
        if filter.ascending {
            filter.after = Some(last);
        } else {
            filter.before = Some(last);
        }
    }
}
