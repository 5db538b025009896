//! API keys as rows: made, revoked and listed. Which of them are live is kept in memory by [`crate::LiveKeys`].

use std::sync::Arc;

use domain::{AgentId, ApiKey, ApiKeyId, Digest, KeyScope, OrganizationId, Timestamp};

use crate::apply::Scope;
use crate::dialect::{Columns, Db, micros, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::{agents, texts};

/// Keys of an organisation that may be live at once: all of them are in memory.
const MAX_LIVE_KEYS: u64 = 1_000;
/// Keys that a listing gives at most, so that all that are live and as many of the newest revoked ones are in it.
const MAX_LISTED: u64 = 2 * MAX_LIVE_KEYS;

macro_rules! key_columns {
    () => {
        "k.id, k.organization_id, k.created_by, k.name, k.digest, k.beginning, k.scope, k.created_at, k.revoked_at, \
         k.last_used_at"
    };
}

impl Store {
    /// The keys of an organisation, newest first: those that are live, then the newest that were revoked.
    pub async fn api_keys(&self, owner: OrganizationId) -> Result<Vec<ApiKey>, StoreError> {
        const SQL: &str = concat!(
            "select ",
            key_columns!(),
            " from api_key k where k.organization_id = $1 \
             order by k.revoked_at is not null, k.created_at desc, k.id limit $2"
        );
        let mut keys = self
            .read(move |db| {
                db.consistently(|db| {
                    let found = db.all(SQL, params![owner.as_bytes(), MAX_LISTED.cast_signed()], read)?;
                    found.into_iter().map(|row| row.with_agents(db)).collect::<Result<Vec<_>, _>>()
                })
            })
            .await?;
        for key in &mut keys {
            key.last_used_at = key.last_used_at.max(self.live_keys().last_use(key.id));
        }
        Ok(keys)
    }

    /// One key of an organisation.
    pub async fn api_key(&self, owner: OrganizationId, id: ApiKeyId) -> Result<ApiKey, StoreError> {
        let key = self.read(move |db| db.consistently(|db| load(db, owner, id))).await?;
        Ok(ApiKey { last_used_at: key.last_used_at.max(self.live_keys().last_use(id)), ..key })
    }
}

/// A row, and the word for what the key opens.
struct KeyRow {
    key: ApiKey,
    is_limited: bool,
}

impl KeyRow {
    /// The key, with its agents where it is limited to some.
    fn with_agents(self, db: &Db) -> Result<ApiKey, StoreError> {
        const SQL: &str = "select agent_id from api_key_agent where api_key_id = $1 order by position";
        let Self { mut key, is_limited } = self;
        if is_limited {
            let agents: Vec<AgentId> = db.all(SQL, params![key.id.as_bytes()], |row| row.id())?;
            key.scope = KeyScope::Agents(agents.into());
        }
        Ok(key)
    }
}

fn read(row: &mut Columns<'_>) -> Result<KeyRow, StoreError> {
    let (id, organization, created_by) = (row.id()?, row.id()?, row.id()?);
    let (name, digest, beginning) = (row.text()?, row.digest()?, row.text()?);
    let scope = row.word(scope_of_word)?;
    let is_limited = matches!(scope, KeyScope::Agents(_));
    let (created_at, revoked_at, last_used_at) = (row.time()?, row.optional_time()?, row.optional_time()?);
    let key =
        ApiKey { id, organization, created_by, name, digest, beginning, scope, created_at, revoked_at, last_used_at };
    Ok(KeyRow { key, is_limited })
}

fn word_of_scope(scope: &KeyScope) -> &'static str {
    match scope {
        KeyScope::Agents(_) => "agents",
        KeyScope::AllAgents => "all_agents",
        KeyScope::Letta => "letta",
    }
}

/// What a key opens; the agents themselves are rows of their own.
fn scope_of_word(word: &str) -> Option<KeyScope> {
    match word {
        "agents" => Some(KeyScope::Agents(Arc::from([]))),
        "all_agents" => Some(KeyScope::AllAgents),
        "letta" => Some(KeyScope::Letta),
        _ => None,
    }
}

/// Every key of every organisation that is not revoked, to be held in memory.
pub(crate) fn live(db: &Db) -> Result<Vec<ApiKey>, StoreError> {
    const SQL: &str = concat!("select ", key_columns!(), " from api_key k where k.revoked_at is null");
    let found = db.all(SQL, [], read)?;
    found.into_iter().map(|row| row.with_agents(db)).collect()
}

fn load(db: &Db, owner: OrganizationId, id: ApiKeyId) -> Result<ApiKey, StoreError> {
    const SQL: &str = concat!("select ", key_columns!(), " from api_key k where k.id = $1 and k.organization_id = $2");
    let found = db.first(SQL, params![id.as_bytes(), owner.as_bytes()], read)?;
    found.ok_or_else(|| StoreError::not_found("API key", id))?.with_agents(db)
}

/// Stores a new key, and gives it as it will be read back.
pub(crate) fn insert(scope: &Scope<'_>, key: &ApiKey) -> Result<ApiKey, StoreError> {
    const COUNT: &str = "select count(*) from api_key where organization_id = $1 and revoked_at is null";
    const SQL: &str = "insert into api_key (id, organization_id, created_by, name, digest, beginning, scope, created_at) \
                       values ($1, $2, $3, $4, $5, $6, $7, $8)";
    scope.check_owner("API key", key.organization)?;
    texts::check("the name of an API key", &key.name)?;
    let live = scope.db.first(COUNT, params![scope.owner_bytes()], |row| row.whole())?.unwrap_or_default();
    if live >= MAX_LIVE_KEYS {
        return Err(StoreError::Invalid(format!("there can be {MAX_LIVE_KEYS} API keys: revoke one first")));
    }
    let inserted = scope.db.execute(
        SQL,
        params![
            key.id.as_bytes(),
            key.organization.as_bytes(),
            key.created_by.as_bytes(),
            key.name,
            key.digest.as_bytes(),
            key.beginning,
            word_of_scope(&key.scope),
            micros(key.created_at),
        ],
    );
    Scope::named(inserted, "API key", &key.name)?;
    insert_agents(scope, key)?;
    load(scope.db, scope.owner(), key.id)
}

fn insert_agents(scope: &Scope<'_>, key: &ApiKey) -> Result<(), StoreError> {
    const SQL: &str = "insert into api_key_agent (api_key_id, agent_id, position) values ($1, $2, $3)";
    let agents = key.scope.agents().map(|agents| agents.iter()).unwrap_or_default();
    for (position, agent) in (0_i64..).zip(agents) {
        agents::check(scope, *agent)?;
        let inserted = scope.db.execute(SQL, params![key.id.as_bytes(), agent.as_bytes(), position]);
        Scope::named(inserted, "agent", agent)?;
    }
    Ok(())
}

/// Revokes a key for good. One that was revoked before stays as it was.
pub(crate) fn revoke(scope: &Scope<'_>, id: ApiKeyId) -> Result<(), StoreError> {
    const SQL: &str = "update api_key set revoked_at = coalesce(revoked_at, $1) where id = $2 and organization_id = $3";
    match scope.db.execute(SQL, params![micros(scope.at), id.as_bytes(), scope.owner_bytes()])? {
        0 => Err(StoreError::not_found("API key", id)),
        _ => Ok(()),
    }
}

/// Writes down when keys were last used. A key that is not there any more was used all the same.
pub(crate) fn note_uses(scope: &Scope<'_>, uses: &[(ApiKeyId, Timestamp)]) -> Result<(), StoreError> {
    const SQL: &str = "update api_key set last_used_at = $1 where id = $2 and organization_id = $3 \
                       and (last_used_at is null or last_used_at < $1)";
    uses.iter().try_for_each(|(id, at)| {
        scope.db.execute(SQL, params![micros(*at), id.as_bytes(), scope.owner_bytes()]).map(drop)
    })
}

/// The digest by which a key's text is known.
pub fn key_digest(text: &[u8]) -> Digest {
    use sha2::Digest as _;
    Digest(sha2::Sha256::digest(text).into())
}
