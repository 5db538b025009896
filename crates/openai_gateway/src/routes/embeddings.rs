//! `POST /v1/embeddings`: texts to vectors, by the built-in model or one of the configured endpoints'.

use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use domain::{Actor, ModelHandle, RequestNote, Usage};
use retrieval::embed::normalise;

use crate::OpenAiGateway;
use crate::error::ApiError;
use crate::wire::embeddings::{Embeddings, EmbeddingsRequest};

pub(crate) async fn create(
    State(door): State<OpenAiGateway>,
    Extension(_): Extension<Actor>,
    Extension(note): Extension<RequestNote>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let request = EmbeddingsRequest::parse(&body?)?;
    note.asked_for(&request.model);
    let handle = ModelHandle::parse(&request.model).map_err(|_| ApiError::unknown_embedding(&request.model, None))?;
    let model = door.embedders.named(&handle).await?;
    let most = model.config().dimensions as usize;
    let dimensions = request.dimensions.unwrap_or(most);
    if dimensions > most {
        let text = format!("`dimensions` is {dimensions}, and vectors of this model have {most}.");
        return Err(ApiError::invalid(text, Some("dimensions"), Some("invalid_value")));
    }
    let mut vectors = model.embed(&request.texts).await?;
    if dimensions < most {
        for vector in &mut vectors {
            vector.truncate(dimensions);
            normalise(vector);
        }
    }
    // Vendors' counts don't come through the seam; for those, ours is near enough.
    let tokens: usize = request.texts.iter().map(|text| door.embedders.builtin().tokens(text).count()).sum();
    let usage = Usage { prompt_tokens: tokens as u64, ..Usage::default() };
    door.dispatcher.tally().count_tokens(&handle, usage);
    note.took(usage.prompt_tokens, 0);
    Ok(Json(Embeddings::new(&request.model, vectors, request.encoding, tokens)).into_response())
}
