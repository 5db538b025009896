//! The API keys that open something now, in memory, so that no request waits for the database to be let in.
//!
//! Loaded when the store opens, and changed by the writer once a commit that makes or revokes a key is durable and
//! before whoever asked for it is answered: a request that begins after a revocation was acknowledged finds no key.
//! That one process writes is all that this rests on; where several share a database, each has to hear of the
//! others' effects and apply them here.
//!
//! A key is looked up by a digest of what a client brought, and the digests are compared in constant time. Its text
//! is never kept.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use domain::{Actor, AgentId, ApiKey, ApiKeyId, Digest, KeyScope, Timestamp};
use subtle::ConstantTimeEq;

use crate::api_keys::key_digest;
use crate::apply::Effect;
use crate::commit::{Change, Commit};
use crate::error::StoreError;
use crate::store::Store;

/// The keys. Cheap to clone: all clones are the same keys.
#[derive(Clone, Default)]
pub struct LiveKeys {
    table: Arc<RwLock<Table>>,
}

/// Keys by the first bytes of their digest. Those tell nothing about the text, so they may steer a lookup.
type Table = HashMap<[u8; 8], Vec<LiveKey>>;

struct LiveKey {
    key: Arc<ApiKey>,
    /// When it was last used, in microseconds; 0 is never since it was loaded.
    used: AtomicI64,
    /// How much of that was written down.
    written: AtomicI64,
}

impl fmt::Debug for LiveKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LiveKeys({})", self.read().values().flatten().count())
    }
}

impl LiveKeys {
    pub(crate) fn new(keys: Vec<ApiKey>) -> Self {
        let live = Self::default();
        keys.into_iter().for_each(|key| live.insert(Arc::new(key)));
        live
    }

    /// The live key with this text, which is used `now`.
    pub fn find(&self, text: &[u8], now: Timestamp) -> Option<Arc<ApiKey>> {
        let digest = key_digest(text);
        let table = self.read();
        let near = table.get(&place(digest))?;
        let found = near.iter().find(|live| bool::from(live.key.digest.as_bytes().ct_eq(digest.as_bytes())))?;
        found.used.fetch_max(now.as_microsecond(), Ordering::Relaxed);
        Some(found.key.clone())
    }

    /// When a live key was last used, if it was since the store was opened.
    pub(crate) fn last_use(&self, id: ApiKeyId) -> Option<Timestamp> {
        let table = self.read();
        let live = table.values().flatten().find(|live| live.key.id == id)?;
        used_at(live)
    }

    /// Applies what a durable commit did to keys.
    pub(crate) fn apply(&self, effect: &KeyEffect) {
        match effect {
            KeyEffect::Made(key) => self.insert(key.clone()),
            KeyEffect::Revoked(id) => {
                self.write().retain(|_, near| {
                    near.retain(|live| live.key.id != *id);
                    !near.is_empty()
                });
            }
            KeyEffect::AgentDeleted(agent) => self.part(*agent),
        }
    }

    fn insert(&self, key: Arc<ApiKey>) {
        let live = LiveKey { used: AtomicI64::new(0), written: AtomicI64::new(0), key };
        self.write().entry(place(live.key.digest)).or_default().push(live);
    }

    fn part(&self, agent: AgentId) {
        let opens = |live: &LiveKey| live.key.scope.agents().is_some_and(|agents| agents.contains(&agent));
        for live in self.write().values_mut().flatten().filter(|live| opens(live)) {
            let agents = live.key.scope.agents().map(|agents| agents.iter()).unwrap_or_default();
            let left = agents.copied().filter(|has| *has != agent).collect();
            Arc::make_mut(&mut live.key).scope = KeyScope::Agents(left);
        }
    }

    /// Keys that were used since that was last written down, by whose they are.
    fn unwritten(&self) -> HashMap<Actor, Vec<(ApiKeyId, Timestamp)>> {
        let mut uses: HashMap<Actor, Vec<_>> = HashMap::new();
        for live in self.read().values().flatten() {
            if live.used.load(Ordering::Relaxed) > live.written.load(Ordering::Relaxed)
                && let Some(at) = used_at(live)
            {
                uses.entry(live.key.actor()).or_default().push((live.key.id, at));
            }
        }
        uses
    }

    fn note_written(&self, uses: &[(ApiKeyId, Timestamp)]) {
        for live in self.read().values().flatten() {
            if let Some((_, at)) = uses.iter().find(|(id, _)| *id == live.key.id) {
                live.written.fetch_max(at.as_microsecond(), Ordering::Relaxed);
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// The keys that open something now.
    pub fn live_keys(&self) -> &LiveKeys {
        self.held_keys()
    }

    /// Writes down when keys were last used, unless that is known already. To be called now and then: no request
    /// waits for it.
    pub async fn write_key_uses(&self, now: Timestamp) -> Result<(), StoreError> {
        for (actor, uses) in self.live_keys().unwritten() {
            self.commit(Commit::new(actor, now).with(Change::NoteKeyUses(uses.clone()))).await?;
            self.live_keys().note_written(&uses);
        }
        Ok(())
    }
}

/// What a durable commit means for the keys in memory.
pub(crate) enum KeyEffect {
    Made(Arc<ApiKey>),
    Revoked(ApiKeyId),
    AgentDeleted(AgentId),
}

impl KeyEffect {
    /// What an effect means for keys; most mean nothing.
    pub(crate) fn of(effect: &Effect) -> Option<Self> {
        match effect {
            Effect::KeyMade(key) => Some(Self::Made(key.clone())),
            Effect::KeyRevoked(key) => Some(Self::Revoked(*key)),
            Effect::AgentDeleted(agent) => Some(Self::AgentDeleted(*agent)),
            _ => None,
        }
    }
}

fn place(digest: Digest) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = digest.0;
    [a, b, c, d, e, f, g, h]
}

fn used_at(live: &LiveKey) -> Option<Timestamp> {
    let micros = live.used.load(Ordering::Relaxed);
    (micros > 0).then(|| Timestamp::from_microsecond(micros).ok()).flatten()
}
