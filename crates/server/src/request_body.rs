//! Reads a request's body whole, within limits of size, time and memory, before a door sees it.
//!
//! Doors take JSON only, so nothing is gained by streaming bodies in, and here every limit is told in one way.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::body_room::{BodyRoom, SMALL};
use crate::dialect::Refusal;

/// What the operator counts bodies in.
pub(crate) const MIB: usize = 1024 * 1024;
/// Bytes that a body may have unless the operator says otherwise.
pub(crate) const USUAL_LIMIT: usize = 32 * MIB;
/// MiB that the operator may allow.
pub(crate) const MAX_BODY_MIB: usize = 256;
/// How long a body may take to arrive, once it has its place.
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

/// The whole body, of at most `limit` bytes. It waits for its place in `room`.
pub(crate) async fn read(
    mut body: Body,
    expectation: Expectation,
    limit: usize,
    room: &BodyRoom,
) -> Result<Bytes, Refusal> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let announced = body.size_hint();
    if usize::try_from(announced.lower()).is_ok_and(|least| least <= limit) {
        let whole = match announced.exact().and_then(|length| usize::try_from(length).ok()) {
            Some(length) if length <= SMALL => read_small(&mut body).await?,
            Some(length) => read_announced(&mut body, length, room).await?,
            None => read_growing(&mut body, limit, room).await?,
        };
        if let Some(whole) = whole {
            return Ok(whole);
        }
    } else if expectation == Expectation::Continue {
        return Err(Refusal::TooLarge { limit });
    }
    drain(body).await;
    Err(Refusal::TooLarge { limit })
}

/// A body that said that it is small.
async fn read_small(body: &mut Body) -> Result<Option<Bytes>, Refusal> {
    match tokio::time::timeout(MAX_BODY_TIME, Limited::new(body, SMALL).collect()).await {
        Ok(Ok(collected)) => Ok(Some(collected.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Ok(None),
        Ok(Err(_)) => Err(Refusal::CutBody),
        Err(_) => Err(Refusal::TooSlow),
    }
}

/// A body that said how long it is. Nothing of it is asked for before it has its place.
async fn read_announced(body: &mut Body, length: usize, room: &BodyRoom) -> Result<Option<Bytes>, Refusal> {
    let place = room.take(length).await;
    let mut read = Vec::with_capacity(length);
    let fill = fill(body, &mut read, length).await?;
    Ok((fill == Fill::Whole).then(|| place.hold(read)))
}

/// A body that did not say how long it is. When it turns out not to be small, it takes the place of the largest body, as
/// no body may wait for more while it has a place; what it did not need is given back.
async fn read_growing(body: &mut Body, limit: usize, room: &BodyRoom) -> Result<Option<Bytes>, Refusal> {
    let mut read = Vec::new();
    if fill(body, &mut read, SMALL.min(limit)).await? == Fill::Whole {
        return Ok(Some(Bytes::from(read)));
    }
    let mut place = room.take(limit).await;
    if fill(body, &mut read, limit).await? == Fill::More {
        return Ok(None);
    }
    read.shrink_to_fit();
    place.shrink(read.len());
    Ok(Some(place.hold(read)))
}

/// How much of a body was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    Whole,
    /// There are more bytes than were wanted.
    More,
}

/// Reads a body to its end, or until there are more than `most` bytes.
async fn fill(body: &mut Body, read: &mut Vec<u8>, most: usize) -> Result<Fill, Refusal> {
    let reading = async {
        while read.len() <= most {
            match body.frame().await {
                None => return Ok(Fill::Whole),
                Some(Err(_)) => return Err(Refusal::CutBody),
                // Trailers say nothing that a door knows of.
                Some(Ok(frame)) => read.extend_from_slice(&frame.into_data().unwrap_or_default()),
            }
        }
        Ok(Fill::More)
    };
    tokio::time::timeout(MAX_BODY_TIME, reading).await.unwrap_or(Err(Refusal::TooSlow))
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
    use futures_util::FutureExt;

    use super::*;

    async fn size(bytes: usize, limit: usize) -> Result<usize, Refusal> {
        let room = BodyRoom::default();
        read(Body::from(vec![b'x'; bytes]), Expectation::None, limit, &room).await.map(|bytes| bytes.len())
    }

    #[tokio::test]
    async fn the_limit_is_exact() {
        for limit in [SMALL - 1, SMALL, SMALL + 1, MIB, USUAL_LIMIT] {
            assert_eq!(size(0, limit).await, Ok(0));
            assert_eq!(size(limit, limit).await, Ok(limit));
            assert_eq!(size(limit + 1, limit).await, Err(Refusal::TooLarge { limit }));
        }
    }

    fn chunks(count: usize) -> Body {
        let chunk = Bytes::from(vec![b'x'; SMALL]);
        Body::from_stream(futures_util::stream::iter((0..count).map(move |_| Ok::<_, std::io::Error>(chunk.clone()))))
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_has_the_same_limit() {
        let room = BodyRoom::default();
        for (count, limit, expected) in [
            (1, MIB, Ok(SMALL)),
            (2, MIB, Ok(2 * SMALL)),
            (16, MIB, Ok(MIB)),
            (17, MIB, Err(Refusal::TooLarge { limit: MIB })),
        ] {
            let read = read(chunks(count), Expectation::None, limit, &room).await;
            assert_eq!(read.map(|bytes| bytes.len()), expected, "{count} chunks");
        }
        assert!(room.take(MAX_BODY_MIB * 2 * MIB).now_or_never().is_some(), "no place is left taken");
    }

    #[tokio::test]
    async fn a_cut_body_is_told_apart() {
        for length in [1, SMALL + 1] {
            let cut =
                futures_util::stream::iter([Ok(Bytes::from(vec![b'x'; length])), Err(std::io::Error::other("cut"))]);
            let read = read(Body::from_stream(cut), Expectation::None, MIB, &BodyRoom::default()).await;
            assert_eq!(read, Err(Refusal::CutBody));
        }
    }

    #[tokio::test]
    async fn bodies_wait_for_room_and_small_ones_do_not() {
        let room = BodyRoom::of(4 * MIB);
        let read = |body: Body| read(body, Expectation::None, 3 * MIB, &room);
        let body = |bytes: usize| Body::from(vec![b'x'; bytes]);
        let first = read(body(2 * MIB)).await.unwrap();
        let mut second = Box::pin(read(body(3 * MIB)));
        assert!((&mut second).now_or_never().is_none());
        let mut growing = Box::pin(read(chunks(2)));
        assert!((&mut growing).now_or_never().is_none());
        for small in [body(SMALL), chunks(1)] {
            assert_eq!(read(small).now_or_never().unwrap().map(|bytes| bytes.len()), Ok(SMALL));
        }
        drop(first);
        let second = second.now_or_never().unwrap().unwrap();
        assert_eq!(second.len(), 3 * MIB);
        assert!((&mut growing).now_or_never().is_none());
        drop(second);
        // It took as much as it may have, and gave back what it did not need.
        let grown = growing.now_or_never().unwrap().unwrap();
        assert_eq!(grown.len(), 2 * SMALL);
        assert!(room.take(4 * MIB - 2 * SMALL).now_or_never().is_some());
        assert!(room.take(4 * MIB - 2 * SMALL + 1).now_or_never().is_none());
    }
}
