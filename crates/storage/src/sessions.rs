//! Sessions of the OpenAI gateway: which conversation a client's chat is.
//!
//! What names a session is kept as a digest only, so nobody can read a client's keys out of the store.

use domain::{AgentId, ConversationId, Digest, Identity, OrganizationId, Session};

use crate::apply::Scope;
use crate::dialect::{Columns, micros, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::{owners, texts};

macro_rules! session_columns {
    () => {
        "s.organization_id, s.agent_id, s.key, s.conversation_id, s.origin, s.label, s.overlay, s.preface, \
         s.created_at, s.last_used_at"
    };
}

/// A session and the person whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonalSession {
    pub session: Session,
    pub identity: Option<Identity>,
}

impl Store {
    /// The session of an agent with this key.
    pub async fn session(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        key: Digest,
    ) -> Result<Option<Session>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            session_columns!(),
            " from session s where s.agent_id = $1 and s.key = $2 and s.organization_id = $3"
        );
        self.read(move |db| db.first(SQL, params![agent.as_bytes(), key.as_bytes(), owner.as_bytes()], read)).await
    }

    /// The sessions that were used last, newest use first: at most `limit`.
    pub async fn sessions(&self, owner: OrganizationId, limit: u32) -> Result<Vec<PersonalSession>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            session_columns!(),
            ", i.id is not null, i.id, i.organization_id, i.key, i.name, i.kind, i.created_at from session s \
             join conversation c on c.id = s.conversation_id \
             left join identity i on i.id = c.identity_id and i.organization_id = s.organization_id \
             where s.organization_id = $1 order by s.last_used_at desc, s.conversation_id limit $2"
        );
        self.read(move |db| {
            db.all(SQL, params![owner.as_bytes(), limit], |row| {
                let session = read(row)?;
                let has_person: bool = row.get()?;
                let identity = has_person.then(|| owners::read_identity(row)).transpose()?;
                Ok(PersonalSession { session, identity })
            })
        })
        .await
    }
}

fn read(row: &mut Columns<'_>) -> Result<Session, StoreError> {
    Ok(Session {
        organization: row.id()?,
        agent: row.id()?,
        key: row.digest()?,
        conversation: row.id()?,
        origin: row.text()?,
        label: row.text()?,
        overlay: row.optional_digest()?,
        preface: row.optional_digest()?,
        created_at: row.time()?,
        last_used_at: row.time()?,
    })
}

pub(crate) fn insert(scope: &Scope<'_>, session: &Session) -> Result<(), StoreError> {
    const SQL: &str = "insert into session (organization_id, agent_id, key, conversation_id, origin, label, overlay, \
                       preface, created_at, last_used_at) select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 \
                       where exists (select 1 from conversation c where c.id = $4 and c.agent_id = $2 \
                       and c.organization_id = $1)";
    scope.check_owner("session", session.organization)?;
    texts::check("a session's origin", &session.origin)?;
    texts::check("a session's label", &session.label)?;
    let inserted = scope.db.execute(
        SQL,
        params![
            session.organization.as_bytes(),
            session.agent.as_bytes(),
            session.key.as_bytes(),
            session.conversation.as_bytes(),
            session.origin,
            session.label,
            session.overlay.as_ref().map(Digest::as_bytes),
            session.preface.as_ref().map(Digest::as_bytes),
            micros(session.created_at),
            micros(session.last_used_at),
        ],
    );
    match Scope::named(inserted, "session", session.key)? {
        0 => Err(StoreError::not_found("conversation", session.conversation)),
        _ => Ok(()),
    }
}

/// Says which of the client's system texts the conversation has now.
pub(crate) fn update(
    scope: &Scope<'_>,
    conversation: ConversationId,
    overlay: Option<Digest>,
    preface: Option<Digest>,
) -> Result<(), StoreError> {
    const SQL: &str = "update session set overlay = $1, preface = $2, last_used_at = $3 \
                       where conversation_id = $4 and organization_id = $5";
    let values = params![
        overlay.as_ref().map(Digest::as_bytes),
        preface.as_ref().map(Digest::as_bytes),
        micros(scope.at),
        conversation.as_bytes(),
        scope.owner_bytes(),
    ];
    match scope.db.execute(SQL, values)? {
        0 => Err(StoreError::not_found("session", conversation)),
        _ => Ok(()),
    }
}

/// Says that a conversation was used, if it is a session.
pub(crate) fn touch(scope: &Scope<'_>, conversation: ConversationId) -> Result<(), StoreError> {
    const SQL: &str = "update session set last_used_at = $1 where conversation_id = $2 and organization_id = $3";
    scope.db.execute(SQL, params![micros(scope.at), conversation.as_bytes(), scope.owner_bytes()]).map(drop)
}
