//! Conversations and their context lists.
//!
//! A context list holds the conversation's own messages by their numbers; the database refuses any other.

use std::sync::Arc;

use domain::{Conversation, ConversationId, Message, MessageId, OrganizationId};

use crate::apply::Scope;
use crate::dialect::{Db, micros, params, whole};
use crate::error::StoreError;
use crate::messages;
use crate::store::Store;
use crate::texts;

impl Store {
    /// One conversation.
    pub async fn conversation(
        &self,
        owner: OrganizationId,
        conversation: ConversationId,
    ) -> Result<Conversation, StoreError> {
        self.read(move |db| load(db, owner, conversation)).await
    }

    /// The context list; the first is the system message.
    pub async fn context_ids(
        &self,
        owner: OrganizationId,
        conversation: ConversationId,
    ) -> Result<Vec<MessageId>, StoreError> {
        const SQL: &str = "select m.id from context_entry e join message m on m.sequence_id = e.sequence_id \
                           where e.conversation_id = $1 and m.organization_id = $2 order by e.position";
        if let Some(warm) = self.cache().context_ids(owner, conversation) {
            return Ok(warm);
        }
        self.read(move |db| {
            db.consistently(|db| {
                load(db, owner, conversation)?;
                db.all(SQL, params![conversation.as_bytes(), owner.as_bytes()], |row| row.id())
            })
        })
        .await
    }
}

pub(crate) fn load(db: &Db, owner: OrganizationId, conversation: ConversationId) -> Result<Conversation, StoreError> {
    const SQL: &str = "select id, organization_id, agent_id, identity_id, summary, created_at, updated_at \
                       from conversation where id = $1 and organization_id = $2";
    let found = db.first(SQL, params![conversation.as_bytes(), owner.as_bytes()], |row| {
        Ok(Conversation {
            id: row.id()?,
            organization: row.id()?,
            agent: row.id()?,
            identity: row.optional_id()?,
            summary: row.get()?,
            created_at: row.time()?,
            updated_at: row.time()?,
        })
    })?;
    found.ok_or_else(|| StoreError::not_found("conversation", conversation))
}

/// The messages of the context list, in order.
pub(crate) fn load_context(
    db: &Db,
    owner: OrganizationId,
    conversation: ConversationId,
) -> Result<Vec<Arc<Message>>, StoreError> {
    db.all(messages::CONTEXT_SQL, params![conversation.as_bytes(), owner.as_bytes()], messages::read)
}

pub(crate) fn insert(scope: &Scope<'_>, conversation: &Conversation) -> Result<(), StoreError> {
    const SQL: &str = "insert into conversation (id, organization_id, agent_id, identity_id, summary, message_count, \
                       created_at, updated_at) values ($1, $2, $3, $4, $5, 0, $6, $7)";
    const IDENTITY: &str = "select 1 from identity where id = $1 and organization_id = $2";
    scope.check_owner("conversation", conversation.organization)?;
    crate::agents::check(scope, conversation.agent)?;
    texts::check_optional("a conversation's summary", conversation.summary.as_deref())?;
    if let Some(identity) = conversation.identity
        && !scope.db.exists(IDENTITY, params![identity.as_bytes(), scope.owner_bytes()])?
    {
        return Err(StoreError::not_found("identity", identity));
    }
    let inserted = scope.db.execute(
        SQL,
        params![
            conversation.id.as_bytes(),
            conversation.organization.as_bytes(),
            conversation.agent.as_bytes(),
            conversation.identity.as_ref().map(|identity| identity.as_bytes()),
            conversation.summary,
            micros(conversation.created_at),
            micros(conversation.updated_at),
        ],
    );
    Scope::named(inserted, "conversation", conversation.id).map(drop)
}

/// Counts new messages, which also proves that the conversation is the owner's and the agent's.
pub(crate) fn count(
    scope: &Scope<'_>,
    conversation: ConversationId,
    agent: domain::AgentId,
    new: u64,
) -> Result<(), StoreError> {
    const SQL: &str = "update conversation set message_count = message_count + $1, updated_at = $2 \
                       where id = $3 and agent_id = $4 and organization_id = $5";
    let changed = scope.db.execute(
        SQL,
        params![whole(new), micros(scope.at), conversation.as_bytes(), agent.as_bytes(), scope.owner_bytes()],
    )?;
    if changed == 0 { Err(StoreError::not_found("conversation", conversation)) } else { Ok(()) }
}

/// Fails where the owner has no such conversation.
pub(crate) fn check(scope: &Scope<'_>, conversation: ConversationId) -> Result<(), StoreError> {
    const SQL: &str = "select 1 from conversation where id = $1 and organization_id = $2";
    if scope.db.exists(SQL, params![conversation.as_bytes(), scope.owner_bytes()])? {
        return Ok(());
    }
    Err(StoreError::not_found("conversation", conversation))
}

/// Adds messages, given by their numbers, to the end of a list that [`check`] has let pass.
pub(crate) fn append(scope: &Scope<'_>, conversation: ConversationId, numbers: &[u64]) -> Result<(), StoreError> {
    const NEXT: &str = "select coalesce(max(position) + 1, 0) from context_entry where conversation_id = $1";
    let next = scope.db.first(NEXT, params![conversation.as_bytes()], |row| row.get::<i64>())?.unwrap_or_default();
    write(scope, conversation, next, numbers)
}

/// Replaces a list that [`check`] has let pass. What the two lists begin with alike stays untouched.
pub(crate) fn replace(scope: &Scope<'_>, conversation: ConversationId, numbers: &[u64]) -> Result<(), StoreError> {
    const OLD: &str = "select sequence_id from context_entry where conversation_id = $1 order by position";
    const CUT: &str = "delete from context_entry where conversation_id = $1 and position >= $2";
    let old = scope.db.all(OLD, params![conversation.as_bytes()], |row| row.whole())?;
    let same = old.iter().zip(numbers).take_while(|(old, new)| old == new).count();
    let start = whole(same as u64);
    scope.db.execute(CUT, params![conversation.as_bytes(), start])?;
    write(scope, conversation, start, &numbers[same..])
}

fn write(scope: &Scope<'_>, conversation: ConversationId, start: i64, numbers: &[u64]) -> Result<(), StoreError> {
    const SQL: &str = "insert into context_entry (conversation_id, position, sequence_id) values ($1, $2, $3)";
    for (position, number) in (start..).zip(numbers) {
        scope.db.execute(SQL, params![conversation.as_bytes(), position, whole(*number)])?;
    }
    Ok(())
}
