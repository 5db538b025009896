//! Messages: kept for ever, in the order of the numbers that the store gives them.

use std::sync::Arc;

use domain::{
    AgentId, ContentPart, ConversationId, IdentityId, ImageSource, Message, MessageId, OrganizationId, Role, RunId,
    Standing,
};

use crate::apply::Scope;
use crate::dialect::{Columns, Db, Query, json, json_unless_empty, micros, params, stored_time, whole};
use crate::error::StoreError;
use crate::store::Store;
use crate::{search_index, texts};

macro_rules! message_columns {
    () => {
        "m.id, m.organization_id, m.agent_id, m.conversation_id, m.identity_id, m.sequence_id, m.role, m.content, \
         m.tool_calls, m.tool_returns, m.name, m.model, m.otid, m.run_id, m.step_id, m.standing, m.created_at"
    };
}

/// Which messages to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFilter {
    pub agent: AgentId,
    /// None means all conversations of the agent.
    pub conversation: Option<ConversationId>,
    /// Only messages older than this one.
    pub before: Option<MessageId>,
    /// Only messages newer than this one.
    pub after: Option<MessageId>,
    pub limit: u32,
    /// Oldest first.
    pub ascending: bool,
}

impl MessageFilter {
    /// The newest `limit` messages of an agent, newest first.
    pub fn newest(agent: AgentId, limit: u32) -> Self {
        Self { agent, conversation: None, before: None, after: None, limit, ascending: false }
    }
}

impl Store {
    /// One message.
    pub async fn message(&self, owner: OrganizationId, message: MessageId) -> Result<Arc<Message>, StoreError> {
        const SQL: &str =
            concat!("select ", message_columns!(), " from message m where m.id = $1 and m.organization_id = $2");
        self.read(move |db| {
            db.first(SQL, params![message.as_bytes(), owner.as_bytes()], read)?
                .ok_or_else(|| StoreError::not_found("message", message))
        })
        .await
    }

    /// Messages in the order of their numbers.
    pub async fn messages(
        &self,
        owner: OrganizationId,
        filter: &MessageFilter,
    ) -> Result<Vec<Arc<Message>>, StoreError> {
        let filter = filter.clone();
        self.read(move |db| db.consistently(|db| list(db, owner, &filter))).await
    }
}

impl Store {
    /// Messages of an agent with numbers above `after`, whatever their conversation, oldest first.
    pub async fn messages_after(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Arc<Message>>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            message_columns!(),
            " from message m where m.agent_id = $1 and m.sequence_id > $2 and m.organization_id = $3 \
             order by m.sequence_id limit $4"
        );
        self.read(move |db| {
            db.all(SQL, params![agent.as_bytes(), whole(after), owner.as_bytes(), i64::from(limit)], read)
        })
        .await
    }

    /// The messages of an agent with these numbers, in no particular order.
    pub async fn messages_by_number(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        numbers: &[u64],
    ) -> Result<Vec<Arc<Message>>, StoreError> {
        let numbers = numbers.to_vec();
        self.read(move |db| {
            let mut query =
                Query::new(concat!("select ", message_columns!(), " from message m where m.organization_id = "));
            query.bind_id(owner.as_bytes()).push(" and m.agent_id = ").bind_id(agent.as_bytes());
            query.push(" and m.sequence_id in (").bind_list(&numbers).push(")");
            query.all(db, read)
        })
        .await
    }
}

impl Store {
    /// The messages of one run, in order.
    pub async fn messages_of_run(
        &self,
        owner: OrganizationId,
        conversation: ConversationId,
        run: RunId,
    ) -> Result<Vec<Arc<Message>>, StoreError> {
        // A session's request knows where its run begins, so that a long conversation is not read from its start.
        const SQL: &str = concat!(
            "select ",
            message_columns!(),
            " from message m where m.conversation_id = $1 and m.organization_id = $2 and m.run_id = $3 \
             and m.sequence_id >= coalesce((select min(f.sequence_id) from session_request r \
             join message f on f.id = r.message_id where r.conversation_id = $1 and r.run_id = $3), 0) \
             order by m.sequence_id"
        );
        self.read(move |db| db.all(SQL, params![conversation.as_bytes(), owner.as_bytes(), run.as_bytes()], read)).await
    }

    /// What was said in a conversation before a message and not superseded, oldest first: the newest `limit`, without
    /// system messages.
    pub async fn conversation_messages_before(
        &self,
        owner: OrganizationId,
        conversation: ConversationId,
        message: MessageId,
        limit: u32,
    ) -> Result<Vec<Arc<Message>>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            message_columns!(),
            " from message m where m.conversation_id = $1 and m.organization_id = $2 and m.sequence_id < $3 \
             and m.standing <> 'superseded' and m.role <> 'system' order by m.sequence_id desc limit $4"
        );
        self.read(move |db| {
            db.consistently(|db| {
                let before = number_of(db, owner, message, conversation)?;
                let before = before.ok_or_else(|| StoreError::not_found("message", message))?;
                let bounds = params![conversation.as_bytes(), owner.as_bytes(), whole(before), limit];
                let mut found = db.all(SQL, bounds, read)?;
                found.reverse();
                Ok(found)
            })
        })
        .await
    }

    /// The people whose messages an agent has.
    pub async fn message_people(&self, owner: OrganizationId, agent: AgentId) -> Result<Vec<IdentityId>, StoreError> {
        const SQL: &str = "select distinct identity_id from message where agent_id = $1 and organization_id = $2 \
                           and identity_id is not null order by identity_id";
        self.read(move |db| db.all(SQL, params![agent.as_bytes(), owner.as_bytes()], |row| row.id())).await
    }
}

/// A stretch of a conversation's messages, for [`read`].
pub(crate) const STRETCH_SQL: &str = concat!(
    "select ",
    message_columns!(),
    " from message m where m.conversation_id = $1 and m.sequence_id between $2 and $3 \
     and m.organization_id = $4 order by m.sequence_id"
);

pub(crate) fn read(row: &mut Columns<'_>) -> Result<Arc<Message>, StoreError> {
    Ok(Arc::new(Message {
        id: row.id()?,
        organization: row.id()?,
        agent: row.id()?,
        conversation: row.id()?,
        identity: row.optional_id()?,
        sequence_id: row.whole()?,
        role: row.word(Role::parse)?,
        content: row.list()?,
        tool_calls: row.list()?,
        tool_returns: row.list()?,
        name: row.get()?,
        model: row.get()?,
        otid: row.get()?,
        run: row.optional_id()?,
        step: row.optional_id()?,
        standing: row.word(Standing::parse)?,
        created_at: row.time()?,
    }))
}

fn list(db: &Db, owner: OrganizationId, filter: &MessageFilter) -> Result<Vec<Arc<Message>>, StoreError> {
    crate::agents::require(db, owner, filter.agent)?;
    let mut query = Query::new(concat!("select ", message_columns!(), " from message m where m.organization_id = "));
    query.bind_id(owner.as_bytes());
    match filter.conversation {
        // A conversation is one agent's only, so its own index is all that is needed.
        Some(conversation) => {
            if crate::conversations::load(db, owner, conversation)?.agent != filter.agent {
                return Err(StoreError::not_found("conversation", conversation));
            }
            query.push(" and m.conversation_id = ").bind_id(conversation.as_bytes());
        }
        None => {
            query.push(" and m.agent_id = ").bind_id(filter.agent.as_bytes());
        }
    }
    for (cursor, comparison) in [(filter.after, " and m.sequence_id > "), (filter.before, " and m.sequence_id < ")] {
        let Some(cursor) = cursor else { continue };
        let number = number(db, owner, cursor)?.ok_or_else(|| StoreError::not_found("message", cursor))?;
        query.push(comparison).bind(whole(number));
    }
    let direction = if filter.ascending { "asc" } else { "desc" };
    query.push(&format!(" order by m.sequence_id {direction} limit ")).bind(i64::from(filter.limit));
    query.all(db, read)
}

/// The number of a message.
pub(crate) fn number(db: &Db, owner: OrganizationId, message: MessageId) -> Result<Option<u64>, StoreError> {
    const SQL: &str = "select sequence_id from message where id = $1 and organization_id = $2";
    db.first(SQL, params![message.as_bytes(), owner.as_bytes()], |row| row.whole())
}

/// The number of a message of this conversation.
pub(crate) fn number_in(
    scope: &Scope<'_>,
    message: MessageId,
    conversation: ConversationId,
) -> Result<Option<u64>, StoreError> {
    number_of(scope.db, scope.owner(), message, conversation)
}

fn number_of(
    db: &Db,
    owner: OrganizationId,
    message: MessageId,
    conversation: ConversationId,
) -> Result<Option<u64>, StoreError> {
    const SQL: &str = "select sequence_id from message where id = $1 and conversation_id = $2 and organization_id = $3";
    db.first(SQL, params![message.as_bytes(), conversation.as_bytes(), owner.as_bytes()], |row| row.whole())
}

/// The number that the next message gets. Numbers go up and are never given twice.
pub(crate) fn next_number(scope: &Scope<'_>) -> Result<u64, StoreError> {
    const SQL: &str = "select max(n) + 1 from (select max(sequence_id) as n from message \
                       union all select value as n from message_floor) as numbers";
    Ok(scope.db.first(SQL, [], |row| row.whole())?.unwrap_or(1))
}

/// Remembers the largest number before messages are deleted.
pub(crate) fn keep_numbers(scope: &Scope<'_>) -> Result<(), StoreError> {
    const SQL: &str = "update message_floor set value = (select max(sequence_id) from message) \
                       where value < (select max(sequence_id) from message)";
    scope.db.execute(SQL, []).map(drop)
}

/// Inserts one message and gives it as it is stored. Its conversation was checked before; `person` is whose that is,
/// and what is said there is theirs unless the message says otherwise.
pub(crate) fn insert(
    scope: &Scope<'_>,
    message: &Message,
    number: u64,
    person: Option<IdentityId>,
) -> Result<Arc<Message>, StoreError> {
    const SQL: &str = "insert into message (sequence_id, id, organization_id, agent_id, conversation_id, identity_id, role, \
                       content, tool_calls, tool_returns, name, model, otid, run_id, step_id, standing, \
                       created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    scope.check_owner("message", message.organization)?;
    check_texts(message)?;
    let identity = message.identity.or(person);
    let inserted = scope.db.execute(
        SQL,
        params![
            whole(number),
            message.id.as_bytes(),
            message.organization.as_bytes(),
            message.agent.as_bytes(),
            message.conversation.as_bytes(),
            identity.as_ref().map(IdentityId::as_bytes),
            message.role.as_str(),
            json(&message.content[..])?,
            json_unless_empty(&message.tool_calls)?,
            json_unless_empty(&message.tool_returns)?,
            message.name,
            message.model,
            message.otid,
            message.run.as_ref().map(|run| run.as_bytes()),
            message.step.as_ref().map(|step| step.as_bytes()),
            message.standing.as_str(),
            micros(message.created_at),
        ],
    );
    Scope::named(inserted, "message", message.id)?;
    if message.standing == Standing::Superseded {
        search_index::forget(scope, message.agent.as_bytes(), number)?;
    }
    let created_at = stored_time(message.created_at);
    Ok(Arc::new(Message { sequence_id: number, identity, created_at, ..message.clone() }))
}

/// Whether going back to before message number `from` of its conversation sets a message aside.
pub(crate) fn is_superseded_from(message: &Message, from: u64) -> bool {
    message.sequence_id >= from && message.standing == Standing::Kept && message.role != Role::System
}

/// `stored` after it was set aside.
pub(crate) fn superseded(stored: &Message) -> Arc<Message> {
    Arc::new(Message { standing: Standing::Superseded, ..stored.clone() })
}

/// Sets aside what [`is_superseded_from`] names, tells whoever has it in a search index, and says how many there were.
pub(crate) fn supersede(scope: &Scope<'_>, conversation: ConversationId, from: u64) -> Result<usize, StoreError> {
    const FORGET: &str = "insert into search_gone (scope_id, organization_id, number) \
                          select agent_id, organization_id, sequence_id from message where conversation_id = $1 \
                          and sequence_id >= $2 and organization_id = $3 and standing = 'kept' and role <> 'system' \
                          order by sequence_id";
    const SQL: &str = "update message set standing = 'superseded' where conversation_id = $1 and sequence_id >= $2 \
                       and organization_id = $3 and standing = 'kept' and role <> 'system'";
    let bounds = params![conversation.as_bytes(), whole(from), scope.owner_bytes()];
    scope.db.execute(FORGET, bounds)?;
    scope.db.execute(SQL, bounds)
}

/// Replaces what the message says; who said it, where and when stays.
pub(crate) fn rewrite(scope: &Scope<'_>, message: &Message) -> Result<(), StoreError> {
    const SQL: &str = "update message set content = $1, tool_calls = $2, tool_returns = $3 \
                       where id = $4 and conversation_id = $5 and organization_id = $6";
    check_texts(message)?;
    let changed = scope.db.execute(
        SQL,
        params![
            json(&message.content[..])?,
            json_unless_empty(&message.tool_calls)?,
            json_unless_empty(&message.tool_returns)?,
            message.id.as_bytes(),
            message.conversation.as_bytes(),
            scope.owner_bytes(),
        ],
    )?;
    if changed == 0 { Err(StoreError::not_found("message", message.id)) } else { Ok(()) }
}

/// `stored` after [`rewrite`] was called with `new`.
pub(crate) fn rewritten(stored: &Message, new: &Message) -> Arc<Message> {
    Arc::new(Message {
        content: new.content.clone(),
        tool_calls: new.tool_calls.clone(),
        tool_returns: new.tool_returns.clone(),
        ..stored.clone()
    })
}

fn check_texts(message: &Message) -> Result<(), StoreError> {
    const WHAT: &str = "a message";
    for part in message.content.iter() {
        match part {
            ContentPart::Text { text } => texts::check(WHAT, text)?,
            ContentPart::Reasoning { text, signature, .. } => {
                texts::check(WHAT, text)?;
                texts::check_optional(WHAT, signature.as_deref())?;
            }
            ContentPart::Image(image) => match &image.source {
                ImageSource::Url { url: text } | ImageSource::Base64 { data: text, .. } => texts::check(WHAT, text)?,
            },
        }
    }
    for call in message.tool_calls.iter() {
        [&call.id, &call.name, &call.arguments].into_iter().try_for_each(|text| texts::check("a tool call", text))?;
    }
    for answer in message.tool_returns.iter() {
        [&answer.call_id, &answer.name, &answer.text]
            .into_iter()
            .try_for_each(|text| texts::check("a tool return", text))?;
    }
    [&message.name, &message.model, &message.otid]
        .into_iter()
        .try_for_each(|text| texts::check_optional(WHAT, text.as_deref()))
}
