//! What was asked in a session, request by request: its transcript as its client sees it.
//!
//! Texts and bodies are digests, enough to recognise a client's history and a repeated request.

use domain::{ConversationId, Digest, OrganizationId, RunId, SessionRequest, Timestamp};

use crate::apply::Scope;
use crate::dialect::{Columns, micros, params, whole};
use crate::error::StoreError;
use crate::messages;
use crate::store::Store;

/// The most requests that a transcript is read with; a client that sends longer histories is compared by its newest.
const MAX_TRANSCRIPT: u32 = 10_000;

macro_rules! request_columns {
    () => {
        "r.conversation_id, r.message_id, r.text_digest, r.run_id, r.body_digest, r.idempotency, r.apart, r.created_at"
    };
}

impl Store {
    /// The requests of a conversation that were not superseded, oldest first: the newest 10,000.
    pub async fn session_requests(
        &self,
        owner: OrganizationId,
        conversation: ConversationId,
    ) -> Result<Vec<SessionRequest>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            request_columns!(),
            " from session_request r where r.conversation_id = $1 and r.organization_id = $2 and not r.superseded \
             order by r.ordinal desc limit $3"
        );
        self.read(move |db| {
            let mut found = db.all(SQL, params![conversation.as_bytes(), owner.as_bytes(), MAX_TRANSCRIPT], read)?;
            found.reverse();
            Ok(found)
        })
        .await
    }

    /// The request that came with an `Idempotency-Key`, superseded or not.
    pub async fn session_request_by_idempotency(
        &self,
        owner: OrganizationId,
        idempotency: Digest,
    ) -> Result<Option<SessionRequest>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            request_columns!(),
            " from session_request r where r.organization_id = $1 and r.idempotency = $2"
        );
        self.read(move |db| db.first(SQL, params![owner.as_bytes(), idempotency.as_bytes()], read)).await
    }

    /// The newest request of a conversation with this body since then that was not superseded.
    pub async fn session_request_by_body(
        &self,
        owner: OrganizationId,
        conversation: ConversationId,
        body: Digest,
        since: Timestamp,
    ) -> Result<Option<SessionRequest>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            request_columns!(),
            " from session_request r where r.conversation_id = $1 and r.organization_id = $2 \
             and r.body_digest = $3 and r.created_at >= $4 and not r.superseded order by r.ordinal desc limit 1"
        );
        self.read(move |db| {
            let values = params![conversation.as_bytes(), owner.as_bytes(), body.as_bytes(), micros(since)];
            db.first(SQL, values, read)
        })
        .await
    }
}

fn read(row: &mut Columns<'_>) -> Result<SessionRequest, StoreError> {
    Ok(SessionRequest {
        conversation: row.id()?,
        message: row.id()?,
        text: row.optional_digest()?,
        run: row.optional_id()?,
        body: row.optional_digest()?,
        idempotency: row.optional_digest()?,
        apart: row.get()?,
        created_at: row.time()?,
    })
}

/// Adds a request. Its message must be there already. The same request done again takes its key over, so that the key
/// leads to what was done last.
pub(crate) fn insert(scope: &Scope<'_>, request: &SessionRequest) -> Result<(), StoreError> {
    const FREE_KEY: &str = "update session_request set idempotency = null where organization_id = $1 \
                            and idempotency = $2 and body_digest = $3";
    const SQL: &str = "insert into session_request (organization_id, conversation_id, message_id, text_digest, \
                       run_id, body_digest, idempotency, apart, superseded, created_at) \
                       select $1, $2, $3, $4, $5, $6, $7, $8, m.standing = 'superseded', $9 from message m \
                       where m.id = $3 and m.conversation_id = $2 and m.organization_id = $1";
    if let (Some(key), Some(body)) = (&request.idempotency, &request.body) {
        scope.db.execute(FREE_KEY, params![scope.owner_bytes(), key.as_bytes(), body.as_bytes()])?;
    }
    let inserted = scope.db.execute(
        SQL,
        params![
            scope.owner_bytes(),
            request.conversation.as_bytes(),
            request.message.as_bytes(),
            request.text.as_ref().map(Digest::as_bytes),
            request.run.as_ref().map(RunId::as_bytes),
            request.body.as_ref().map(Digest::as_bytes),
            request.idempotency.as_ref().map(Digest::as_bytes),
            request.apart,
            micros(request.created_at),
        ],
    );
    match (inserted, &request.idempotency) {
        (Ok(0), _) => Err(StoreError::not_found("message", request.message)),
        (Err(StoreError::Conflict { .. }), Some(taken)) => {
            Err(StoreError::conflict("idempotency", taken, "belongs to an earlier request"))
        }
        (other, _) => other.map(drop),
    }
}

/// Sets aside a conversation's messages from this number on, with the requests that they came of, and tells search.
/// Examples and system messages stay what they are.
pub(crate) fn supersede(scope: &Scope<'_>, conversation: ConversationId, from: u64) -> Result<(), StoreError> {
    const REQUESTS: &str = "update session_request set superseded = true where conversation_id = $1 \
                            and organization_id = $2 and not superseded and message_id in (select m.id \
                            from message m where m.conversation_id = $1 and m.organization_id = $2 \
                            and m.sequence_id >= $3 and m.standing = 'superseded')";
    if messages::supersede(scope, conversation, from)? == 0 {
        return Ok(());
    }
    scope.db.execute(REQUESTS, params![conversation.as_bytes(), scope.owner_bytes(), whole(from)]).map(drop)
}
