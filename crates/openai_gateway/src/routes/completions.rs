//! `POST /v1/completions`: the older dialect. A prompt is one message to the agent, in the same sessions as its chats.

use axum::Extension;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use domain::{Actor, Caller, RequestNote};
use providers::RawCall;

use super::chat_completions::opening;
use crate::OpenAiGateway;
use crate::answer::{stream, whole};
use crate::error::ApiError;
use crate::wire::text_completion::TextRequest;

pub(crate) async fn create(
    State(door): State<OpenAiGateway>,
    Extension(actor): Extension<Actor>,
    Extension(caller): Extension<Caller>,
    Extension(note): Extension<RequestNote>,
    (headers, body): (HeaderMap, Result<Bytes, BytesRejection>),
) -> Result<Response, ApiError> {
    let body = body?;
    if let Some(answer) = door.pass_through((actor, &caller, &note), RawCall::Completions, &body).await? {
        return Ok(answer);
    }
    let TextRequest { chat, echo } = TextRequest::parse(&body)?;
    note.asked_for(&chat.model);
    let created = (door.clock)().as_second();
    let (model, is_streamed, include_usage) = (chat.model.clone(), chat.stream, chat.include_usage);
    let opening = opening(door, actor, (&caller, &headers), (chat, &body), note).await?;
    drop(body);
    if is_streamed {
        let shape = stream::Shape::Text { echo };
        return stream::answer(opening, stream::Form { shape, model, created, include_usage }).await;
    }
    let (source, teller) = opening.await?;
    whole::answer_text(source, teller, (model, created), echo).await
}
