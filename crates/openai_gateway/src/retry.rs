//! Requests that are sent again: what was answered is given once more, and never done twice.
//!
//! A client that sends an `Idempotency-Key` gets the answer of that key for as long as it is stored. SDKs that repeat a
//! request by themselves say so (`x-stainless-retry-count`); such a request is matched by session and body for ten
//! minutes. Requests of one session wait for each other, so a repetition of a running request finds it finished; that a
//! running request's key is not used for another one in another session is what [`Claims`] are for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dispatch::events::Finished;
use domain::{
    Actor, Caller, ConversationId, Digest, Message, MessageId, OrganizationId, RunStatus, SessionRequest, StopReason,
    Timestamp,
};
use http::HeaderMap;
use storage::Store;

use crate::error::ApiError;
use crate::session_name::{SessionName, bytes_digest, digest, header, scope};

/// The client's own name for a request.
const IDEMPOTENCY: [&str; 2] = ["idempotency-key", "x-idempotency-key"];
/// How often an SDK has sent the request before.
const RETRY_COUNT: &str = "x-stainless-retry-count";
/// How long a repetition by an SDK is known.
const MINUTES: i64 = 10;

/// By what a request is known if it comes again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeatable {
    pub(crate) body: Digest,
    pub(crate) idempotency: Option<Digest>,
    /// The SDK says that it has sent this request before.
    is_repetition: bool,
    now: Timestamp,
}

/// What came of the same request before.
pub(crate) enum Earlier {
    /// It is new.
    New,
    Answered {
        messages: Vec<Arc<Message>>,
        finished: Finished,
    },
    /// It was begun and cut off; this is its first message.
    Cut {
        request: MessageId,
    },
}

type Key = (OrganizationId, Digest);

/// The keys of requests that are being answered. What is not stored yet can't be found in the store.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// The body that a key stands for now, and how many requests hold it.
    open: Mutex<HashMap<Key, (Digest, usize)>>,
}

/// A key that stands for one body until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Arc<Claims>,
    key: Key,
}

impl Claims {
    /// Holds the request's key for its body. None where it has no key.
    pub(crate) fn claim(self: &Arc<Self>, actor: Actor, request: &Repeatable) -> Result<Option<Claim>, ApiError> {
        let Some(idempotency) = request.idempotency else { return Ok(None) };
        let key = (actor.organization, idempotency);
        let mut open = self.lock();
        let (body, holders) = open.entry(key).or_insert((request.body, 0));
        if *body != request.body {
            return Err(ApiError::other_body());
        }
        *holders += 1;
        Ok(Some(Claim { claims: self.clone(), key }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (Digest, usize)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut open = self.claims.lock();
        if let Some((_, holders)) = open.get_mut(&self.key) {
            *holders -= 1;
            if *holders == 0 {
                open.remove(&self.key);
            }
        }
    }
}

impl Repeatable {
    /// What a request's headers and body say.
    pub(crate) fn of(
        caller: &Caller,
        headers: &HeaderMap,
        session: &SessionName,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Self, ApiError> {
        let mut key = None;
        for name in IDEMPOTENCY {
            key = key.or(header(headers, name)?);
        }
        let repeated = header(headers, RETRY_COUNT)?.and_then(|count| count.parse::<u32>().ok());
        Ok(Self {
            // The session is part of it: the same words in another chat are another request.
            body: bytes_digest([session.key.as_bytes().as_slice(), body]),
            idempotency: key.map(|key| digest(&[&scope(caller.key), "idempotency", key])),
            is_repetition: repeated.is_some_and(|count| count > 0),
            now,
        })
    }

    /// What came of the same request before. To be asked under the conversation's permit.
    pub(crate) async fn earlier(
        &self,
        store: &Store,
        actor: Actor,
        conversation: ConversationId,
    ) -> Result<Earlier, ApiError> {
        let owner = actor.organization;
        let found = match self.idempotency {
            // Whoever names requests has given another one another name, however alike they are.
            Some(key) => match store.session_request_by_idempotency(owner, key).await? {
                Some(known) if known.body != Some(self.body) => return Err(ApiError::other_body()),
                known => known,
            },
            None if self.is_repetition => {
                let since = since(self.now, MINUTES);
                store.session_request_by_body(owner, conversation, self.body, since).await?
            }
            None => None,
        };
        match found {
            Some(request) => outcome(store, actor, &request).await,
            None => Ok(Earlier::New),
        }
    }
}

async fn outcome(store: &Store, actor: Actor, request: &SessionRequest) -> Result<Earlier, ApiError> {
    let owner = actor.organization;
    let Some(id) = request.run else { return Ok(Earlier::New) };
    let run = store.run(owner, id).await?;
    let stop_reason = run.stop_reason.unwrap_or(StopReason::EndTurn);
    match run.status {
        // Words where a tool should have been called are an answer all the same, and were given as one.
        RunStatus::Failed if stop_reason != StopReason::NoToolCall => Ok(Earlier::Cut { request: request.message }),
        RunStatus::Completed | RunStatus::Failed => {
            let messages = store.messages_of_run(owner, request.conversation, id).await?;
            let (usage, step_count) = (run.usage, run.step_count);
            let finished = Finished { run: id, stop_reason, failure: None, usage, step_count };
            Ok(Earlier::Answered { messages, finished })
        }
        RunStatus::Created | RunStatus::Running | RunStatus::Cancelled => Ok(Earlier::Cut { request: request.message }),
    }
}

/// The moment before which a repeated request is a new one.
fn since(now: Timestamp, minutes: i64) -> Timestamp {
    now.checked_sub(jiff::SignedDuration::from_mins(minutes)).unwrap_or(Timestamp::UNIX_EPOCH)
}
