//! Reads a request's body whole, within limits of size and time, before a door sees it.
//!
//! Doors take JSON only, so nothing is gained by streaming bodies in, and here every limit is told in one way.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::dialect::Refusal;

/// What the operator counts bodies in.
pub(crate) const MIB: usize = 1024 * 1024;
/// Bytes that a body may have unless the operator says otherwise.
pub(crate) const USUAL_LIMIT: usize = 8 * MIB;
/// How long a body may take to arrive.
const MAX_BODY_TIME: Duration = Duration::from_secs(60);
/// How much of a body that is too large is still taken in, and for how long.
const DRAINED_BYTES: usize = 64 * MIB;
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// Whether the client waits for our word before it sends its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    Continue,
    None,
}

/// The whole body, of at most `limit` bytes.
pub(crate) async fn read(mut body: Body, expectation: Expectation, limit: usize) -> Result<Bytes, Refusal> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if usize::try_from(body.size_hint().lower()).is_ok_and(|announced| announced <= limit) {
        let collected = tokio::time::timeout(MAX_BODY_TIME, Limited::new(&mut body, limit).collect()).await;
        match collected {
            Ok(Ok(collected)) => return Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {}
            Ok(Err(_)) => return Err(Refusal::CutBody),
            Err(_) => return Err(Refusal::TooSlow),
        }
    } else if expectation == Expectation::Continue {
        return Err(Refusal::TooLarge { limit });
    }
    drain(body).await;
    Err(Refusal::TooLarge { limit })
}

/// Takes in what is left of a body that is too large. Most clients look for an answer only after they sent all of
/// theirs, and would see a broken connection instead of the reason.
async fn drain(body: Body) {
    let mut body = Limited::new(body, DRAINED_BYTES);
    let all = async { while let Some(Ok(_)) = body.frame().await {} };
    // Whoever sends more or slower than this is told all the same, if the connection still stands.
    let _over = tokio::time::timeout(DRAIN_TIME, all).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn size(bytes: usize, limit: usize) -> Result<usize, Refusal> {
        read(Body::from(vec![b'x'; bytes]), Expectation::None, limit).await.map(|bytes| bytes.len())
    }

    #[tokio::test]
    async fn the_limit_is_exact() {
        for limit in [MIB, USUAL_LIMIT] {
            assert_eq!(size(0, limit).await, Ok(0));
            assert_eq!(size(limit, limit).await, Ok(limit));
            assert_eq!(size(limit + 1, limit).await, Err(Refusal::TooLarge { limit }));
        }
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_has_the_same_limit() {
        let chunk = Bytes::from(vec![b'x'; MIB]);
        let chunks =
            |count| futures_util::stream::iter((0..count).map(move |_| Ok::<_, std::io::Error>(chunk.clone())));
        let body = Body::from_stream(chunks(9));
        assert_eq!(read(body, Expectation::None, 8 * MIB).await, Err(Refusal::TooLarge { limit: 8 * MIB }));
    }

    #[tokio::test]
    async fn a_cut_body_is_told_apart() {
        let cut = futures_util::stream::iter([Ok(Bytes::from("{")), Err(std::io::Error::other("cut"))]);
        assert_eq!(read(Body::from_stream(cut), Expectation::None, MIB).await, Err(Refusal::CutBody));
    }
}
