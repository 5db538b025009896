//! The memory that the bodies of all requests may take together, whichever listener they come in by.
//!
//! A body has its place from before it is read until nobody holds its bytes any more. Where there is no room, requests
//! wait in the order in which they came: a large one is not passed by those that came after it. Whoever has a place
//! never waits for more, so that those who have one can't stop each other.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::request_body::{MAX_BODY_MIB, MIB};

/// Bytes of all bodies that are not small.
const ROOM: usize = 512 * MIB;
/// Bytes up to which a body is small. Such bodies take no place: connections are counted, and so bound them. They are
/// what nearly all requests have, and don't wait behind large ones.
pub(crate) const SMALL: usize = 64 * 1024;

/// A body of the largest size that the operator can allow gets its turn.
const _: () = assert!(MAX_BODY_MIB * MIB <= ROOM && ROOM <= u32::MAX as usize);

/// Room for bodies. Clones are the same room.
#[derive(Debug, Clone)]
pub(crate) struct BodyRoom {
    free: Arc<Semaphore>,
    whole: usize,
}

/// A part of the room, taken until it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Option<OwnedSemaphorePermit>);

impl Default for BodyRoom {
    fn default() -> Self {
        Self::of(ROOM)
    }
}

impl BodyRoom {
    /// A room of so many bytes.
    pub(crate) fn of(whole: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(whole)), whole }
    }

    /// Waits for a place of `bytes`, or for the whole room if that is less.
    pub(crate) async fn take(&self, bytes: usize) -> Place {
        let wanted = u32::try_from(bytes.min(self.whole)).unwrap_or(u32::MAX);
        // A room is never closed, so there always is a place in the end.
        Place(Arc::clone(&self.free).acquire_many_owned(wanted).await.ok())
    }
}

impl Place {
    /// Gives back all but `bytes`.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        if let Some(permit) = &mut self.0 {
            drop(permit.split(permit.num_permits().saturating_sub(bytes)));
        }
    }

    /// `body`, which has the place for as long as anybody holds its bytes.
    pub(crate) fn hold(self, body: Vec<u8>) -> Bytes {
        Bytes::from_owner(Held { body, _place: self })
    }
}

/// A body and its place.
struct Held {
    body: Vec<u8>,
    _place: Place,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_place_is_free_again_when_nobody_holds_the_bytes() {
        let room = BodyRoom::of(10);
        let body = room.take(6).await.hold(b"abcdef".to_vec());
        let part = body.slice(2..4);
        drop(body);
        assert!(room.take(5).now_or_never().is_none(), "a part of the bytes is still held");
        assert_eq!(&part[..], b"cd");
        drop(part);
        assert!(room.take(10).now_or_never().is_some());
    }

    #[tokio::test]
    async fn whoever_came_first_is_first() {
        let room = BodyRoom::of(10);
        let first = room.take(6).await;
        let mut large = Box::pin(room.take(10));
        assert!((&mut large).now_or_never().is_none());
        let mut little = Box::pin(room.take(1));
        assert!((&mut little).now_or_never().is_none(), "there are 4, and they are for the large one");
        drop(first);
        assert!((&mut little).now_or_never().is_none());
        let large = large.now_or_never().unwrap();
        drop(large);
        assert!(little.now_or_never().is_some());
    }

    #[tokio::test]
    async fn whoever_stops_waiting_is_in_nobodys_way() {
        let room = BodyRoom::of(10);
        let _first = room.take(6).await;
        let mut large = Box::pin(room.take(10));
        assert!((&mut large).now_or_never().is_none());
        drop(large);
        assert!(room.take(4).now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_is_not_needed_is_given_back() {
        let room = BodyRoom::of(10);
        let mut place = room.take(1_000).await;
        place.shrink(3);
        assert!(room.take(8).now_or_never().is_none());
        assert!(room.take(7).now_or_never().is_some());
    }
}
