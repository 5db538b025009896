//! Counts what a request will cost, remembers what it counted, and learns how vendors count.
//!
//! Shared by all runs. A message is counted once: its count is remembered by its id and by what is shown of it. Most
//! requests are not counted at all, because the sum of their bytes already fits the window. What is learned is kept in
//! memory only and learned again after a restart.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::seams::chat_model::ToolSpec;
use domain::{Message, MessageId, ModelHandle, Role};
use prompt::budget::{Budget, Ratio};
use prompt::history::HistoryOptions;
use prompt::tokens::{self, Family};

use crate::overflow::Overflow;

/// Counts that are remembered in each of two generations, about 10 MB together.
const MAX_COUNTS: usize = 100_000;
/// Models about which something is remembered.
const MAX_MODELS: usize = 1_000;

/// What a request is measured by.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) model: &'a ModelHandle,
    pub(crate) context: &'a [Arc<Message>],
    pub(crate) tools: &'a [ToolSpec],
    pub(crate) options: &'a HistoryOptions,
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
}

/// Two generations: what was not asked for while the younger one filled up is forgotten.
#[derive(Debug, Default)]
struct Counts {
    young: HashMap<Key, u64>,
    old: HashMap<Key, u64>,
    tools: HashMap<u64, u64>,
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

    /// Whether a request fits without a doubt, which is found without counting.
    pub(crate) fn surely_fits(&self, load: Load<'_>, budget: Budget) -> bool {
        let messages: u64 = load.context.iter().map(|message| tokens::message_bytes(message, load.options)).sum();
        let bytes = messages + tokens::tools_bytes(load.tools) + tokens::PER_REQUEST;
        let family = Family::of_model(load.model.model());
        self.ratio(load.model).estimate(family.at_most(bytes)) <= budget.trigger()
    }

    /// Counts a request. What was not counted before is counted on a thread of its own: it takes milliseconds.
    pub(crate) async fn measure(&self, load: Load<'_>) -> Measured {
        let family = Family::of_model(load.model.model());
        let keys: Vec<Key> = load.context.iter().map(|message| key(message, load.options, family)).collect();
        let mut found = self.counts().find(&keys);
        let missing: Vec<usize> = (0..found.len()).filter(|index| found[*index].is_none()).collect();
        if !missing.is_empty() {
            let messages: Vec<Arc<Message>> = missing.iter().map(|index| load.context[*index].clone()).collect();
            let counted = count(messages, *load.options, family).await;
            let mut counts = self.counts();
            for (index, tokens) in missing.into_iter().zip(counted) {
                counts.keep(keys[index], tokens);
                found[index] = Some(tokens);
            }
        }
        Measured {
            messages: found.into_iter().map(Option::unwrap_or_default).collect(),
            rest: self.tools(load.tools, family) + tokens::PER_REQUEST,
        }
    }

    fn tools(&self, tools: &[ToolSpec], family: Family) -> u64 {
        let mut hasher = DefaultHasher::new();
        family.hash(&mut hasher);
        for tool in tools {
            (&tool.name, &tool.description, tool.parameters.to_string()).hash(&mut hasher);
        }
        let key = hasher.finish();
        if let Some(count) = self.counts().tools.get(&key) {
            return *count;
        }
        let count = tokens::tools_tokens(tools, family);
        let mut counts = self.counts();
        if counts.tools.len() >= MAX_MODELS {
            counts.tools.clear();
        }
        counts.tools.insert(key, count);
        count
    }

    /// The vendor reported `prompt_tokens` for what we counted.
    pub(crate) fn reported(&self, model: &ModelHandle, measured: &Measured, prompt_tokens: u64) {
        if prompt_tokens > 0 {
            self.learn(model, |learned| learned.ratio = learned.ratio.after_report(measured.total(), prompt_tokens));
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
        self.learned.lock().unwrap_or_else(PoisonError::into_inner).get(model).copied().unwrap_or_default()
    }

    fn learn(&self, model: &ModelHandle, change: impl FnOnce(&mut Learned)) {
        let mut all = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_MODELS && !all.contains_key(model) {
            all.clear();
        }
        change(all.entry(model.clone()).or_default());
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn find(&mut self, keys: &[Key]) -> Vec<Option<u64>> {
        keys.iter().map(|key| self.young.get(key).copied().or_else(|| self.revive(key))).collect()
    }

    fn revive(&mut self, key: &Key) -> Option<u64> {
        let count = *self.old.get(key)?;
        self.keep(*key, count);
        Some(count)
    }

    fn keep(&mut self, key: Key, count: u64) {
        if self.young.len() >= MAX_COUNTS {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, count);
    }
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
