//! Requests that are sent again: what was answered is given once more, and never done twice.
//!
//! A client that sends an `Idempotency-Key` gets the answer of that key for as long as it is stored. SDKs that repeat a
//! request by themselves say so (`x-stainless-retry-count`); such a request is matched by session and body for ten
//! minutes. Requests of one session wait for each other, so a repetition of a running request finds it finished.

use std::sync::Arc;

use dispatch::events::Finished;
use domain::{Actor, Caller, ConversationId, Digest, Message, MessageId, RunStatus, SessionRequest, Timestamp};
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
        let mut found = None;
        if let Some(key) = self.idempotency
            && let Some(known) = store.session_request_by_idempotency(owner, key).await?
        {
            if known.body != Some(self.body) {
                return Err(ApiError::other_body());
            }
            found = Some(known);
        }
        if found.is_none() && !self.is_repetition {
            return Ok(Earlier::New);
        }
        let since = match found {
            Some(_) => Timestamp::UNIX_EPOCH,
            None => crate::ask::since(self.now, MINUTES),
        };
        // A request that was cut and done again is known by its body.
        let again = store.session_request_by_body(owner, conversation, self.body, since).await?;
        for request in again.into_iter().chain(found) {
            match outcome(store, actor, &request).await? {
                Earlier::New => {}
                outcome => return Ok(outcome),
            }
        }
        Ok(Earlier::New)
    }
}

async fn outcome(store: &Store, actor: Actor, request: &SessionRequest) -> Result<Earlier, ApiError> {
    let owner = actor.organization;
    let Some(id) = request.run else { return Ok(Earlier::New) };
    let run = store.run(owner, id).await?;
    match run.status {
        RunStatus::Completed => {
            let messages = store.messages_of_run(owner, request.conversation, id).await?;
            let finished = Finished {
                run: id,
                stop_reason: run.stop_reason.unwrap_or(domain::StopReason::EndTurn),
                failure: None,
                usage: run.usage,
                step_count: run.step_count,
            };
            Ok(Earlier::Answered { messages, finished })
        }
        RunStatus::Created | RunStatus::Running | RunStatus::Failed | RunStatus::Cancelled => {
            Ok(Earlier::Cut { request: request.message })
        }
    }
}
