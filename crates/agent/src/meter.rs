//! Counts what a request will cost, remembers what it counted, and learns how vendors count.
//!
//! Shared by all runs. Most requests are not counted at all: the sum of their bytes fits the window, or the tokens of an
//! earlier request of the conversation (reported by the vendor, else counted here) and the bytes that are new since. A message is counted once: its count
//! is remembered by its id and by what is shown of it. What is learned is kept in memory only and learned again after a
//! restart.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::seams::chat_model::ToolSpec;
use domain::{ConversationId, Message, MessageId, ModelHandle, Role};
use prompt::budget::{Budget, Ratio};
use prompt::history::HistoryOptions;
use prompt::tokens::{self, Family};

use crate::overflow::Overflow;

/// Counts that are remembered in each of two generations, about 10 MB together.
const MAX_COUNTS: usize = 100_000;
/// Conversations whose last request is remembered, in each of two generations.
const MAX_CONVERSATIONS: usize = 20_000;
/// Bytes a token, at most, of a report that is believed. Some vendors leave out what they had cached.
const MAX_TOKEN_BYTES: u64 = 8;
/// Models about which something is remembered.
const MAX_MODELS: usize = 1_000;

/// What a request is measured by.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) conversation: ConversationId,
    pub(crate) model: &'a ModelHandle,
    pub(crate) context: &'a [Arc<Message>],
    pub(crate) tools: &'a [ToolSpec],
    pub(crate) options: &'a HistoryOptions,
}

/// The bytes of a request, which are quickly found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    total: u64,
    /// Of the system message, the only one that is ever rewritten.
    system: u64,
}

/// The last request of a conversation whose tokens are known.
#[derive(Debug, Clone, Copy)]
struct Seen {
    messages: usize,
    last: MessageId,
    weight: Weight,
    tokens: u64,
    /// Whether the vendor counted them, and not we.
    is_report: bool,
}

/// Our count of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Of each message of the context.
    pub(crate) messages: Vec<u64>,
    /// Of the tools, and of what else a request has.
    pub(crate) rest: u64,
}

impl Measured {
    pub(crate) fn total(&self) -> u64 {
        self.messages.iter().sum::<u64>() + self.rest
    }
}

/// Which text was counted: whose, what is shown of it, and by which vocabulary.
type Key = (MessageId, u64);

/// Counts for all runs.
#[derive(Debug, Default)]
pub struct TokenMeter {
    counts: Mutex<Counts>,
    learned: Mutex<HashMap<ModelHandle, Learned>>,
    seen: Mutex<Generations<ConversationId, Seen>>,
}

/// What is remembered of texts.
#[derive(Debug, Default)]
struct Counts {
    messages: Generations<Key, u64>,
    tools: HashMap<u64, u64>,
}

/// Two generations: what was not asked for while the younger one filled up is forgotten.
#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

/// What calls have shown about a model.
#[derive(Debug, Clone, Copy, Default)]
struct Learned {
    ratio: Ratio,
    /// A window smaller than the one that the agent was told.
    window: Option<u32>,
}

impl TokenMeter {
    /// How far the vendor's count of this model is from ours.
    pub fn ratio(&self, model: &ModelHandle) -> Ratio {
        self.learned(model).ratio
    }

    /// The context window of a model: what the agent was told, or less where the vendor said so.
    pub fn window(&self, model: &ModelHandle, told: u32) -> u32 {
        self.learned(model).window.map_or(told, |window| window.min(told))
    }

    /// The bytes of a request.
    pub(crate) fn weigh(load: Load<'_>) -> Weight {
        let bytes = |message: &Arc<Message>| tokens::message_bytes(message, load.options);
        let system = load.context.first().filter(|message| message.role == Role::System).map_or(0, bytes);
        let messages: u64 = load.context.iter().map(bytes).sum();
        Weight { total: messages + tokens::tools_bytes(load.tools) + tokens::PER_REQUEST, system }
    }

    /// Whether a request fits, as far as that is found without counting.
    pub(crate) fn surely_fits(&self, load: Load<'_>, weight: Weight, budget: Budget) -> bool {
        let family = Family::of_model(load.model.model());
        if self.ratio(load.model).estimate(family.at_most(weight.total)) <= budget.trigger() {
            return true;
        }
        let Some(seen) = self.last_seen(load) else { return false };
        let grown = weight.total.saturating_sub(seen.weight.total);
        // A system message that was rewritten is as good as new.
        let rewritten = if weight.system == seen.weight.system { 0 } else { weight.system };
        seen.tokens + family.at_most(grown + rewritten) <= budget.trigger()
    }

    /// The conversation's last request, if this one goes on from it.
    fn last_seen(&self, load: Load<'_>) -> Option<Seen> {
        let seen = lock(&self.seen).get(&load.conversation, MAX_CONVERSATIONS)?;
        let last = load.context.get(seen.messages.checked_sub(1)?)?;
        (last.id == seen.last).then_some(seen)
    }

    /// Counts a request. What was not counted before is counted on a thread of its own: it takes milliseconds.
    pub(crate) async fn measure(&self, load: Load<'_>, weight: Weight) -> Measured {
        let family = Family::of_model(load.model.model());
        let keys: Vec<Key> = load.context.iter().map(|message| key(message, load.options, family)).collect();
        let mut found: Vec<Option<u64>> = {
            let mut counts = lock(&self.counts);
            keys.iter().map(|key| counts.messages.get(key, MAX_COUNTS)).collect()
        };
        let missing: Vec<usize> = (0..found.len()).filter(|index| found[*index].is_none()).collect();
        if !missing.is_empty() {
            let messages: Vec<Arc<Message>> = missing.iter().map(|index| load.context[*index].clone()).collect();
            let counted = count(messages, *load.options, family).await;
            let mut counts = lock(&self.counts);
            for (index, tokens) in missing.into_iter().zip(counted) {
                counts.messages.keep(keys[index], tokens, MAX_COUNTS);
                found[index] = Some(tokens);
            }
        }
        let measured = Measured {
            messages: found.into_iter().map(Option::unwrap_or_default).collect(),
            rest: self.tools(load.tools, family) + tokens::PER_REQUEST,
        };
        if let Some(seen) = self.last_seen(load).filter(|seen| seen.is_report) {
            let counted = measured.messages[..seen.messages].iter().sum::<u64>() + measured.rest;
            self.learn(load.model, |learned| learned.ratio = learned.ratio.after_report(counted, seen.tokens));
        }
        self.keep_seen(load, weight, self.ratio(load.model).estimate(measured.total()), false);
        measured
    }

    fn keep_seen(&self, load: Load<'_>, weight: Weight, tokens: u64, is_report: bool) {
        if let Some(last) = load.context.last() {
            let seen = Seen { messages: load.context.len(), last: last.id, weight, tokens, is_report };
            lock(&self.seen).keep(load.conversation, seen, MAX_CONVERSATIONS);
        }
    }

    fn tools(&self, tools: &[ToolSpec], family: Family) -> u64 {
        let mut hasher = DefaultHasher::new();
        family.hash(&mut hasher);
        for tool in tools {
            (&tool.name, &tool.description, tool.parameters.to_string()).hash(&mut hasher);
        }
        let key = hasher.finish();
        if let Some(count) = lock(&self.counts).tools.get(&key) {
            return *count;
        }
        let count = tokens::tools_tokens(tools, family);
        let mut counts = lock(&self.counts);
        if counts.tools.len() >= MAX_MODELS {
            counts.tools.clear();
        }
        counts.tools.insert(key, count);
        count
    }

    /// The vendor reported `prompt_tokens` for a request.
    pub(crate) fn reported(&self, load: Load<'_>, weight: Weight, measured: Option<&Measured>, prompt_tokens: u64) {
        if prompt_tokens == 0 {
            return;
        }
        if let Some(measured) = measured {
            self.learn(load.model, |learned| {
                learned.ratio = learned.ratio.after_report(measured.total(), prompt_tokens);
            });
        }
        if prompt_tokens * MAX_TOKEN_BYTES >= weight.total {
            self.keep_seen(load, weight, prompt_tokens, true);
        }
    }

    /// The vendor refused what we counted.
    pub(crate) fn refused(&self, model: &ModelHandle, measured: &Measured, budget: Budget, detail: &str) {
        let Overflow { used, window } = Overflow::read(detail);
        let window = window.and_then(|window| u32::try_from(window).ok());
        let counted = measured.total();
        self.learn(model, |learned| {
            let smaller = window.filter(|window| u64::from(*window) < budget.window());
            learned.window = smaller.or(learned.window);
            // A window that is smaller than we thought explains the refusal; our count may well be right.
            let explained = smaller.is_some_and(|window| u64::from(window) < learned.ratio.estimate(counted));
            if used.is_some() || !explained {
                learned.ratio = learned.ratio.after_refusal(counted, used.unwrap_or(budget.trigger()));
            }
        });
    }

    fn learned(&self, model: &ModelHandle) -> Learned {
        lock(&self.learned).get(model).copied().unwrap_or_default()
    }

    fn learn(&self, model: &ModelHandle, change: impl FnOnce(&mut Learned)) {
        let mut all = lock(&self.learned);
        if all.len() >= MAX_MODELS && !all.contains_key(model) {
            all.clear();
        }
        change(all.entry(model.clone()).or_default());
    }
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash, V: Copy> Generations<K, V> {
    fn get(&mut self, key: &K, capacity: usize) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(*value);
        }
        let value = *self.old.get(key)?;
        self.keep(*key, value, capacity);
        Some(value)
    }

    fn keep(&mut self, key: K, value: V, capacity: usize) {
        if self.young.len() >= capacity && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tokens of each message.
async fn count(messages: Vec<Arc<Message>>, options: HistoryOptions, family: Family) -> Vec<u64> {
    let bytes: Vec<u64> = messages.iter().map(|message| tokens::message_bytes(message, &options)).collect();
    let counting = tokio::task::spawn_blocking(move || {
        messages.iter().map(|message| tokens::message_tokens(message, &options, family)).collect()
    });
    // Counting has no way to fail; were it to, bytes are a count that is never too low.
    counting.await.unwrap_or(bytes)
}

/// What a count is remembered by. Only the system message is ever rewritten, so only its text is looked at.
fn key(message: &Message, options: &HistoryOptions, family: Family) -> Key {
    let mut hasher = DefaultHasher::new();
    family.hash(&mut hasher);
    options.max_return_chars.hash(&mut hasher);
    tokens::message_bytes(message, options).hash(&mut hasher);
    if message.role == Role::System {
        message.first_text().hash(&mut hasher);
    }
    (message.id, hasher.finish())
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
