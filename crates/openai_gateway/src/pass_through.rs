//! Models asked directly, where the operator allows it: the client's body goes to the vendor and the vendor's answer
//! comes back, neither taken apart. Only the count of tokens in an answer is read, for figures and limits.
//!
//! Nothing is kept and no agent is involved. Only requests for a model behind an endpoint that speaks OpenAI's dialect
//! go this way; what names an agent, or a model of another kind, is read and answered by the other rooms.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dispatch::Dispatcher;
use domain::seams::chat_model::ModelError;
use domain::{Actor, Caller, ModelHandle, RequestNote, Usage};
use providers::{RawAnswer, RawBody, RawCall, RawError, RawEvents};

use crate::OpenAiGateway;
use crate::answer::stream::{FIRST_EVENT, KEEP_ALIVE, KEEP_ALIVE_LINE, SSE_HEADERS};
use crate::error::ApiError;
use crate::who::Who;

/// Fields that only agents understand: a vendor would ignore them, and the client would not know.
const FOR_AGENTS: [&str; 1] = ["tool_results"];

impl OpenAiGateway {
    /// The vendor's answer; none if the request is not for a model that can be asked in its own words.
    pub(crate) async fn pass_through(
        &self,
        (actor, caller, note): (Actor, &Caller, &RequestNote),
        call: RawCall,
        body: &[u8],
    ) -> Result<Option<Response>, ApiError> {
        if !self.config.pass_through {
            return Ok(None);
        }
        // Whatever is wrong with a body is told by those who read all of it.
        let Some(body) = RawBody::look(body) else { return Ok(None) };
        let Some(model) = body.model().filter(|model| model.contains('/')) else { return Ok(None) };
        let Who::Model(handle) = self.who(actor, caller, &model).await? else { return Ok(None) };
        note.asked_for(handle.as_str());
        let raw = self.dispatcher.models().raw(&handle);
        let Some(raw) = raw.map_err(|error| ApiError::unknown_handle(&error.to_string()))? else { return Ok(None) };
        refuse_what_is_for_agents(&body)?;
        let answer = raw.forward(call, &body).await?;
        let count = Count { dispatcher: self.dispatcher.clone(), handle, note: note.clone() };
        match answer {
            RawAnswer::Whole { json, usage } => {
                if let Some(usage) = usage {
                    count.took(usage);
                }
                Ok(Some(([(header::CONTENT_TYPE, "application/json")], json).into_response()))
            }
            RawAnswer::Events(events) => relay(Counted { events, count }).await.map(Some),
        }
    }
}

fn refuse_what_is_for_agents(body: &RawBody<'_>) -> Result<(), ApiError> {
    match FOR_AGENTS.into_iter().find(|field| body.get(field).is_some_and(|value| !matches!(value, "null" | "[]"))) {
        None => Ok(()),
        Some(field) => {
            let text =
                format!("`{field}` is for agents: a model that is asked directly takes messages of role `tool`.");
            Err(ApiError::invalid(text, Some(field), Some("unsupported_parameter")))
        }
    }
}

/// Where it is counted what an answer took.
struct Count {
    dispatcher: Dispatcher,
    handle: ModelHandle,
    note: RequestNote,
}

impl Count {
    fn took(&self, usage: Usage) {
        self.dispatcher.tally().count_tokens(&self.handle, usage);
        self.note.took(usage.prompt_tokens, usage.completion_tokens);
    }
}

/// A vendor's stream that is counted when it is over, however it ends.
struct Counted {
    events: RawEvents,
    count: Count,
}

impl Drop for Counted {
    fn drop(&mut self) {
        match self.events.usage() {
            Some(usage) => self.count.took(usage),
            None => self.count.note.came_in(self.events.events()),
        }
    }
}

/// Passes a stream on. What fails before its first event is answered by a status of its own.
async fn relay(mut stream: Counted) -> Result<Response, ApiError> {
    let first = match tokio::time::timeout(FIRST_EVENT, stream.events.next()).await {
        Ok(Some(first)) => Some(first.map_err(RawError::from)?),
        Ok(None) => Some(Bytes::new()),
        Err(_) => None,
    };
    let body = futures_util::stream::unfold(Stage::First(first, stream), |stage| async { stage.next().await });
    Ok((SSE_HEADERS, Body::from_stream(body)).into_response())
}

/// A stream that is being passed on. Dropping it closes the connection to the vendor.
enum Stage {
    /// The first event, if it came in time.
    First(Option<Bytes>, Counted),
    Next(Counted),
    Over,
}

impl Stage {
    async fn next(self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let mut stream = match self {
            Self::First(Some(first), stream) => return Some((Ok(first), Self::Next(stream))),
            Self::First(None, stream) | Self::Next(stream) => stream,
            Self::Over => return None,
        };
        match tokio::time::timeout(KEEP_ALIVE, stream.events.next()).await {
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Self::Next(stream))),
            Ok(Some(Err(error))) => Some((Ok(told(error)), Self::Over)),
            Ok(None) => None,
            Err(_) => Some((Ok(Bytes::from_static(KEEP_ALIVE_LINE.as_bytes())), Self::Next(stream))),
        }
    }
}

/// A failure as an event, after which nothing comes: a stream that ends so is not taken for a whole one.
fn told(error: ModelError) -> Bytes {
    let error = ApiError::from(RawError::from(error));
    Bytes::from(format!("data: {}\n\n", error.body()))
}
