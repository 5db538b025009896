//! Snapshots in memory, kept in step with commits, so that a step does not read its context from disk.
//!
//! The writer announces what it is about to make durable ([`Cache::announce`]), commits, and then either applies the
//! effects ([`Cache::apply_announced`]) or forgets them. A reader that fills the cache holds a [`Ticket`]; an
//! announcement that touches what it reads makes the ticket worthless, because nobody can say which side of the commit
//! its rows come from. So an entry is always either absent or exactly what the database holds.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{
    Agent, AgentId, AgentSnapshot, Archival, ConversationId, IdentityId, Memory, Message, MessageId, OrganizationId,
    Tool,
};

use crate::agents::AgentFilter;
use crate::apply::Effect;
use crate::scoped_blocks::ScopedBlocks;
use crate::snapshots::Loaded;

/// Listings of agents that are remembered at most; they are small, and doors ask for few different ones.
const MAX_LISTINGS: usize = 1_024;

/// Bytes of images that warm contexts may have together. Texts need no such limit, for they fit a model's window.
const MAX_IMAGE_BYTES: usize = 256 * 1024 * 1024;

/// A listing of agents, by its owner and its filter.
pub(crate) type Lookup = (OrganizationId, AgentFilter);

/// What all conversations of an agent share.
pub(crate) struct AgentEntry {
    pub(crate) agent: Arc<Agent>,
    pub(crate) memory: Memory,
    pub(crate) tools: Arc<[Arc<Tool>]>,
    pub(crate) message_count: u64,
    pub(crate) archival: Archival,
    pub(crate) used: u64,
}

/// What a conversation has of its own.
pub(crate) struct ConversationEntry {
    pub(crate) owner: OrganizationId,
    pub(crate) agent: AgentId,
    /// Whose conversation it is.
    pub(crate) identity: Option<IdentityId>,
    /// The blocks of its person and its own.
    pub(crate) blocks: ScopedBlocks,
    pub(crate) context: Arc<Vec<Arc<Message>>>,
    pub(crate) used: u64,
}

/// All that is held, for one thread at a time.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) agents: HashMap<AgentId, AgentEntry>,
    pub(crate) conversations: HashMap<ConversationId, ConversationEntry>,
    listings: HashMap<Lookup, Vec<AgentId>>,
    /// Counts announcements that change which agents a listing finds.
    listings_age: u64,
    /// What the writer is making durable right now.
    announced: Vec<Effect>,
    loads: HashMap<u64, Load>,
    /// Counts uses and tickets.
    clock: u64,
}

/// A read that is under way and means to fill the cache.
struct Load {
    agent: AgentId,
    conversation: ConversationId,
    worthless: bool,
}

/// The cache. Every call takes its lock for a few microseconds and never across IO.
pub(crate) struct Cache {
    entries: Mutex<Entries>,
    capacity: usize,
}

/// The right to fill the cache with what is read from now on.
pub(crate) struct Ticket {
    cache: Arc<Cache>,
    number: u64,
}

impl Cache {
    /// A cache for so many conversations, and as many agents.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: Mutex::new(Entries::default()), capacity }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The snapshot, if it is warm.
    pub(crate) fn snapshot(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        conversation: ConversationId,
    ) -> Option<AgentSnapshot> {
        let mut entries = self.lock();
        let now = entries.tick();
        let Entries { agents, conversations, .. } = &mut *entries;
        let shared = agents.get_mut(&agent).filter(|entry| entry.agent.organization == owner)?;
        let own = conversations.get_mut(&conversation).filter(|entry| entry.agent == agent)?;
        shared.used = now;
        own.used = now;
        Some(AgentSnapshot {
            agent: shared.agent.clone(),
            conversation,
            identity: own.identity,
            memory: own.blocks.shown_with(&shared.memory, own.identity),
            tools: shared.tools.clone(),
            context: own.context.clone(),
            message_count: shared.message_count,
            archival: shared.archival.clone(),
        })
    }

    /// Something of an agent, if it is warm.
    pub(crate) fn agent<T>(
        &self,
        owner: OrganizationId,
        agent: AgentId,
        take: impl FnOnce(&AgentEntry) -> T,
    ) -> Option<T> {
        let entries = self.lock();
        entries.agents.get(&agent).filter(|entry| entry.agent.organization == owner).map(take)
    }

    /// The ids of a context list, if it is warm.
    pub(crate) fn context_ids(&self, owner: OrganizationId, conversation: ConversationId) -> Option<Vec<MessageId>> {
        let entries = self.lock();
        let entry = entries.conversations.get(&conversation).filter(|entry| entry.owner == owner)?;
        Some(entry.context.iter().map(|message| message.id).collect())
    }

    /// The agents that a listing found last time, if all of them are warm.
    pub(crate) fn listing(&self, lookup: &Lookup) -> Option<Vec<Arc<Agent>>> {
        let entries = self.lock();
        let found = entries.listings.get(lookup)?;
        found.iter().map(|id| entries.agents.get(id).map(|entry| entry.agent.clone())).collect()
    }

    /// A proof of when a listing began, or none while agents are being changed.
    pub(crate) fn listing_token(&self) -> Option<u64> {
        let entries = self.lock();
        let unsettled = entries.announced.iter().any(Effect::changes_listings);
        (!unsettled).then_some(entries.listings_age)
    }

    /// Remembers a listing, unless agents were changed since `token` was given.
    pub(crate) fn keep_listing(&self, token: u64, lookup: Lookup, found: Vec<AgentId>) {
        let mut entries = self.lock();
        if entries.listings_age != token {
            return;
        }
        if entries.listings.len() >= MAX_LISTINGS {
            entries.listings.clear();
        }
        entries.listings.insert(lookup, found);
    }

    /// Begins a load. It must be asked for before the first row is read.
    pub(crate) fn ticket(self: &Arc<Self>, agent: AgentId, conversation: ConversationId) -> Ticket {
        let mut entries = self.lock();
        let number = entries.tick();
        let worthless = entries.announced.iter().any(|effect| effect.touches(agent, conversation));
        entries.loads.insert(number, Load { agent, conversation, worthless });
        Ticket { cache: self.clone(), number }
    }

    /// Says what is about to become durable. From here until it is applied or forgotten nobody may fill in what it
    /// touches.
    pub(crate) fn announce(&self, effects: Vec<Effect>) {
        let mut entries = self.lock();
        for load in entries.loads.values_mut().collect::<Vec<_>>() {
            load.worthless |= effects.iter().any(|effect| effect.touches(load.agent, load.conversation));
        }
        if effects.iter().any(Effect::changes_listings) {
            entries.listings_age += 1;
            entries.listings.clear();
        }
        entries.announced = effects;
    }

    /// What was announced is durable.
    pub(crate) fn apply_announced(&self) {
        let mut entries = self.lock();
        for effect in std::mem::take(&mut entries.announced) {
            entries.apply(effect);
        }
    }

    /// What was announced was rolled back.
    pub(crate) fn forget_announced(&self) {
        self.lock().announced.clear();
    }

    fn fill(&self, entries: &mut Entries, Loaded { snapshot, memory, own }: &Loaded) {
        let used = entries.tick();
        if let Entry::Vacant(vacant) = entries.agents.entry(snapshot.agent.id) {
            vacant.insert(AgentEntry {
                agent: snapshot.agent.clone(),
                memory: memory.clone(),
                tools: snapshot.tools.clone(),
                message_count: snapshot.message_count,
                archival: snapshot.archival.clone(),
                used,
            });
        }
        entries.conversations.insert(
            snapshot.conversation,
            ConversationEntry {
                owner: snapshot.agent.organization,
                agent: snapshot.agent.id,
                identity: snapshot.identity,
                blocks: own.clone(),
                context: snapshot.context.clone(),
                used,
            },
        );
        evict(&mut entries.agents, self.capacity, |entry| entry.used);
        evict(&mut entries.conversations, self.capacity, |entry| entry.used);
        if image_bytes(&snapshot.context) > 0 {
            entries.evict_images(MAX_IMAGE_BYTES);
        }
    }
}

/// Drops the entry that was not used for longest where there is one too many.
fn evict<K: Copy + Eq + std::hash::Hash, V>(entries: &mut HashMap<K, V>, capacity: usize, used: impl Fn(&V) -> u64) {
    while entries.len() > capacity {
        // A scan of a few hundred entries is nothing beside the load that has just filled one of them.
        let Some(oldest) = entries.iter().min_by_key(|(_, entry)| used(entry)).map(|(key, _)| *key) else { return };
        entries.remove(&oldest);
    }
}

impl Ticket {
    /// Fills in what was read, unless a commit came in between.
    pub(crate) fn fill(self, loaded: &Loaded) {
        let mut entries = self.cache.lock();
        if entries.loads.get(&self.number).is_some_and(|load| !load.worthless) {
            self.cache.fill(&mut entries, loaded);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cache.lock().loads.remove(&self.number);
    }
}

impl Entries {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Drops the contexts with images that were not used for longest, until the others' fit; the newest always stays.
    fn evict_images(&mut self, limit: usize) {
        let sizes = self.conversations.iter().map(|(id, entry)| (entry.used, *id, image_bytes(&entry.context)));
        let mut heavy: Vec<_> = sizes.filter(|(_, _, bytes)| *bytes > 0).collect();
        let mut held: usize = heavy.iter().map(|(_, _, bytes)| bytes).sum();
        heavy.sort_unstable_by_key(|(used, _, _)| *used);
        heavy.pop();
        for (_, id, bytes) in heavy {
            if held <= limit {
                break;
            }
            self.conversations.remove(&id);
            held -= bytes;
        }
    }

    /// A context got these messages.
    pub(crate) fn after_growth(&mut self, new: &[Arc<Message>]) {
        if image_bytes(new) > 0 {
            self.evict_images(MAX_IMAGE_BYTES);
        }
    }
}

fn image_bytes(messages: &[Arc<Message>]) -> usize {
    messages.iter().flat_map(|message| message.images()).map(|image| image.source.size()).sum()
}

#[cfg(test)]
mod tests {
    use domain::{Actor, ContentPart, Image, ImageSource, Role, Standing, Timestamp};

    use super::*;

    fn entry(used: u64, bytes: usize) -> ConversationEntry {
        let (agent, owner) = (AgentId::random(), Actor::default_user().organization);
        let source = (bytes > 0).then(|| ImageSource::from_base64("image/png", &"A".repeat(bytes)).unwrap());
        let message = Message {
            id: MessageId::random(),
            organization: owner,
            agent,
            conversation: ConversationId::random(),
            identity: None,
            sequence_id: 1,
            role: Role::User,
            content: source.map(|source| ContentPart::Image(Image { source, detail: None })).into_iter().collect(),
            tool_calls: Arc::new([]),
            tool_returns: Arc::new([]),
            name: None,
            model: None,
            otid: None,
            run: None,
            step: None,
            standing: Standing::Kept,
            created_at: Timestamp::UNIX_EPOCH,
        };
        let context = Arc::new(vec![Arc::new(message)]);
        ConversationEntry { owner, agent, identity: None, blocks: ScopedBlocks::default(), context, used }
    }

    #[test]
    fn contexts_with_images_leave_the_cache_where_they_are_too_large_together() {
        let mut entries = Entries::default();
        for (used, bytes) in [(1, 0), (2, 400), (3, 400), (4, 400), (5, 0)] {
            entries.conversations.insert(ConversationId::random(), entry(used, bytes));
        }
        let left = |entries: &mut Entries, limit| {
            entries.evict_images(limit);
            let mut left: Vec<u64> = entries.conversations.values().map(|entry| entry.used).collect();
            left.sort_unstable();
            left
        };
        assert_eq!(left(&mut entries, 1_200), [1, 2, 3, 4, 5]);
        assert_eq!(left(&mut entries, 1_199), [1, 3, 4, 5]);
        assert_eq!(left(&mut entries, 0), [1, 4, 5]);
    }
}
