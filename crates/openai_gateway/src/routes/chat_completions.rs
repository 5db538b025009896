//! `POST /v1/chat/completions`: what is new goes to the agent, its words come back.

use axum::Extension;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use domain::{Actor, Caller, RequestNote};
use providers::RawCall;

use crate::OpenAiGateway;
use crate::answer::{stream, whole};
use crate::ask::Ask;
use crate::config::MemoryScope;
use crate::delta;
use crate::error::ApiError;
use crate::once::Once;
use crate::retry::Repeatable;
use crate::session_name::{Hints, person, person_name, session_name};
use crate::who::{Answerer, Who};
use crate::wire::chat_request::ChatRequest;

pub(crate) async fn create(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
    Extension(caller): Extension<Caller>,
    Extension(note): Extension<RequestNote>,
    (headers, body): (HeaderMap, Result<Bytes, BytesRejection>),
) -> Result<Response, ApiError> {
    let body = body?;
    if let Some(answer) = door.pass_through((actor, &caller, &note), RawCall::ChatCompletions, &body).await? {
        return Ok(answer);
    }
    let request = ChatRequest::parse(&body)?;
    note.asked_for(&request.model);
    let created = (door.clock)().as_second();
    let (model, is_streamed, include_usage) = (request.model.clone(), request.stream, request.include_usage);
    let opening = opening(door, actor, (&caller, &headers), (request, &body), note).await?;
    drop(body);
    if is_streamed {
        let shape = stream::Shape::Chat;
        return stream::answer(opening, stream::Form { shape, model, created, include_usage }).await;
    }
    let (source, teller) = opening.await?;
    whole::answer(source, teller, model, created).await
}

/// Finds whom a request means, and prepares the answer.
pub(super) async fn opening(
    door: OpenAiGateway,
    actor: Actor,
    (caller, headers): (&Caller, &HeaderMap),
    (request, body): (ChatRequest, &[u8]),
    note: RequestNote,
) -> Result<stream::Opening, ApiError> {
    let opening: stream::Opening = match door.who(actor, caller, &request.model).await? {
        Who::Model(handle) => Box::pin(Once::of_model(door, actor, handle, request).begin()),
        Who::Agent(answerer) => {
            note.answered_by(answerer.agent.id);
            let ask = understand(door, actor, (caller, headers), answerer, (request, body))?;
            let is_task = crate::task::is_task(&ask.request);
            if is_task || ask.request.ephemeral {
                Box::pin(Once::of_agent(ask, is_task).begin())
            } else {
                Box::pin(ask.begin())
            }
        }
    };
    Ok(stream::noted(opening, note))
}

/// Whose request it is, and which session it belongs to.
fn understand(
    door: OpenAiGateway,
    actor: Actor,
    (caller, headers): (&Caller, &HeaderMap),
    answerer: Box<Answerer>,
    (request, body): (ChatRequest, &[u8]),
) -> Result<Ask, ApiError> {
    let system = delta::system_text(&request.messages);
    let hints = Hints {
        metadata_session: request.session_id.as_deref(),
        prompt_cache_key: request.prompt_cache_key.as_deref(),
        trust_cache_key: answerer.trust_cache_key,
        shares_memory: answerer.memory == MemoryScope::Shared,
        person: request.person.as_deref(),
        system: &system,
    };
    let name = session_name(caller, headers, &hints)?;
    let person = person(caller, headers, person_name(headers, &hints)?);
    let repeatable = Repeatable::of(caller, headers, &name, body, (door.clock)())?;
    Ok(Ask { door, actor, answerer, name, person, repeatable, request })
}
