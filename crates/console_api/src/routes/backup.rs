//! `GET /console/v1/backup`: the whole store as one file, of the moment at which it was asked for.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;

use crate::ConsoleApi;
use crate::error::ConsoleError;

/// The header that carries the hash of the body.
const SHA256: HeaderName = HeaderName::from_static("x-librarian-sha256");

pub(crate) async fn download(State(door): State<ConsoleApi>) -> Result<Response, ConsoleError> {
    let backup = door.dispatcher.store().back_up().await?;
    let (bytes, sha256) = (backup.bytes, HeaderValue::try_from(&backup.sha256));
    let pieces = stream::unfold(backup, |mut backup| async move {
        let piece = backup.next().await?;
        Some((piece.map(Bytes::from), backup))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/vnd.sqlite3"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    if let Ok(sha256) = sha256 {
        headers.insert(SHA256, sha256);
    }
    Ok(response)
}
