//! Conversations and their context lists.
//!
//! A context list holds the conversation's own messages; how it is kept is told in `context`.

use std::sync::Arc;

use domain::{AgentId, Conversation, ConversationId, IdentityId, Message, MessageId, OrganizationId, Standing};

use crate::apply::Scope;
use crate::context::ContextList;
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
        if let Some(warm) = self.cache().context_ids(owner, conversation) {
            return Ok(warm);
        }
        self.read(move |db| {
            db.consistently(|db| {
                load(db, owner, conversation)?;
                Ok(load_context(db, owner, conversation)?.iter().map(|message| message.id).collect())
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
    const SQL: &str = "select context from conversation where id = $1 and organization_id = $2";
    let list =
        db.first(SQL, params![conversation.as_bytes(), owner.as_bytes()], |row| ContextList::parse(&row.text()?))?;
    let mut found = Vec::new();
    for (first, last) in list.unwrap_or_default().stretches() {
        let bounds = params![conversation.as_bytes(), whole(*first), whole(*last), owner.as_bytes()];
        found.extend(db.all(messages::STRETCH_SQL, bounds, messages::read)?);
    }
    Ok(found)
}

pub(crate) fn insert(scope: &Scope<'_>, conversation: &Conversation) -> Result<(), StoreError> {
    const SQL: &str = "insert into conversation (id, organization_id, agent_id, identity_id, summary, message_count, \
                       created_at, updated_at) values ($1, $2, $3, $4, $5, 0, $6, $7)";
    scope.check_owner("conversation", conversation.organization)?;
    crate::agents::check(scope, conversation.agent)?;
    texts::check_optional("a conversation's summary", conversation.summary.as_deref())?;
    if let Some(identity) = conversation.identity {
        crate::owners::check_identity(scope, identity)?;
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

/// A conversation that a commit adds to. It is read once and written once, when the commit ends.
pub(crate) struct OpenConversation {
    pub(crate) id: ConversationId,
    pub(crate) agent: AgentId,
    /// Whose conversation it is.
    pub(crate) identity: Option<IdentityId>,
    context: ContextList,
    new_messages: u64,
    /// The newest numbers of the conversation in order: the last before this commit, then those of this commit.
    newest: Vec<u64>,
    changed: bool,
}

impl OpenConversation {
    /// Reads a conversation of the owner.
    pub(crate) fn load(scope: &Scope<'_>, id: ConversationId) -> Result<Self, StoreError> {
        const SQL: &str = "select c.agent_id, c.identity_id, c.context, \
                           (select max(m.sequence_id) from message m where m.conversation_id = c.id) \
                           from conversation c where c.id = $1 and c.organization_id = $2";
        let found = scope.db.first(SQL, params![id.as_bytes(), scope.owner_bytes()], |row| {
            let (agent, identity, context) = (row.id()?, row.optional_id()?, ContextList::parse(&row.text()?)?);
            let newest = row.get::<Option<i64>>()?.and_then(|last| u64::try_from(last).ok());
            let newest = newest.into_iter().collect();
            Ok(Self { id, agent, identity, context, new_messages: 0, newest, changed: false })
        })?;
        found.ok_or_else(|| StoreError::not_found("conversation", id))
    }

    /// A message was inserted. Examples are nothing that was said, so they are not counted.
    pub(crate) fn count(&mut self, number: u64, standing: Standing) {
        self.new_messages += u64::from(standing != Standing::Example);
        self.newest.push(number);
        self.changed = true;
    }

    /// Adds messages of the conversation, given by their numbers, to the end of its list.
    pub(crate) fn append(&mut self, scope: &Scope<'_>, numbers: &[u64]) -> Result<(), StoreError> {
        self.changed = true;
        for number in numbers {
            let follows = match self.context.last() {
                Some(last) => self.follows(scope, last, *number)?,
                None => false,
            };
            self.context.push(*number, follows);
        }
        Ok(())
    }

    /// Replaces the list.
    pub(crate) fn replace(&mut self, scope: &Scope<'_>, numbers: &[u64]) -> Result<(), StoreError> {
        self.context = ContextList::default();
        self.append(scope, numbers)
    }

    /// Whether the conversation has `number` right after `last`.
    fn follows(&self, scope: &Scope<'_>, last: u64, number: u64) -> Result<bool, StoreError> {
        const BETWEEN: &str =
            "select 1 from message where conversation_id = $1 and sequence_id > $2 and sequence_id < $3";
        if number <= last {
            return Ok(false);
        }
        if let Some(place) = self.newest.iter().position(|newest| *newest == last) {
            return Ok(self.newest.get(place + 1) == Some(&number));
        }
        Ok(!scope.db.exists(BETWEEN, params![self.id.as_bytes(), whole(last), whole(number)])?)
    }

    /// Writes what changed.
    pub(crate) fn write(&self, scope: &Scope<'_>) -> Result<(), StoreError> {
        const SQL: &str = "update conversation set message_count = message_count + $1, context = $2, updated_at = $3 \
                           where id = $4 and organization_id = $5";
        if !self.changed {
            return Ok(());
        }
        let values = params![
            whole(self.new_messages),
            self.context.to_text(),
            micros(scope.at),
            self.id.as_bytes(),
            scope.owner_bytes()
        ];
        scope.db.execute(SQL, values).map(drop)
    }
}
