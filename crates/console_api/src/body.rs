//! JSON bodies that may be left out.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::error::ConsoleError;

/// What a JSON body says; an empty body says nothing. A field that is not known is refused, because whoever sent it
/// meant something by it.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = ConsoleError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ConsoleError> {
        let bytes = Bytes::from_request(request, state).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(T::default()));
        }
        let wrong = |error: serde_json::Error| ConsoleError::invalid(format!("the body can't be read: {error}"));
        serde_json::from_slice(&bytes).map(Self).map_err(wrong)
    }
}
