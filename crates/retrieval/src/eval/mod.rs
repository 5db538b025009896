//! Measures how well search finds what answers a question, with no model involved.
//!
//! A set of conversations is stored as an agent's messages, and each question is asked through the same code as
//! `conversation_search`. What counts is the share of the turns that answer a question among the first results.

mod moment;
mod set;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::model_config::DEFAULT_CONTEXT_WINDOW;
use domain::{
    Actor, Agent, AgentId, ContentPart, Conversation, ConversationId, LlmConfig, Message, MessageId, ModelHandle,
    OrganizationId, Role, Timestamp,
};
use storage::{Change, Commit, SearchScope, Store, StoreError};

pub use set::{Question, Sample, SetError, Turn, read};

use crate::indexer::IndexError;
use crate::search::{RecallQuery, Search};

/// Results that are looked at.
const RESULTS: usize = 10;
/// Messages of one commit.
const AT_ONCE: usize = 500;

/// Evidence recall over a number of questions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Recall {
    pub questions: usize,
    at_5: f64,
    at_10: f64,
}

impl Recall {
    /// The mean share of evidence among the first five results.
    pub fn at_5(&self) -> f64 {
        self.at_5 / self.questions.max(1) as f64
    }

    /// The mean share of evidence among the first ten results.
    pub fn at_10(&self) -> f64 {
        self.at_10 / self.questions.max(1) as f64
    }

    fn add(&mut self, at_5: f64, at_10: f64) {
        self.questions += 1;
        self.at_5 += at_5;
        self.at_10 += at_10;
    }
}

/// What a measurement gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    pub samples: usize,
    pub turns: usize,
    pub all: Recall,
    pub by_category: BTreeMap<String, Recall>,
}

/// Samples as they are stored.
pub struct Stored<'a> {
    owner: OrganizationId,
    samples: Vec<(&'a Sample, AgentId, Vec<u64>)>,
}

/// Stores each sample as the messages of an agent of its own, to be embedded with that model. `done` hears of every
/// commit.
pub async fn store<'a>(
    store: &Store,
    samples: &'a [Sample],
    embedding: Option<&str>,
    mut done: impl FnMut(usize),
) -> Result<Stored<'a>, StoreError> {
    let actor = Actor::default_user();
    let mut stored = Vec::with_capacity(samples.len());
    for sample in samples {
        let (mut agent, conversation) = agent(actor, sample);
        agent.embedding = embedding.map(str::to_owned);
        let (id, at) = (agent.id, conversation.id);
        let commit = Commit::new(actor, Timestamp::UNIX_EPOCH)
            .with(Change::InsertAgent(Box::new(agent)))
            .with(Change::InsertConversation(Box::new(conversation)));
        store.commit(commit).await?;
        let mut numbers = Vec::with_capacity(sample.turns.len());
        for turns in sample.turns.chunks(AT_ONCE) {
            let messages = turns.iter().map(|turn| Arc::new(message(actor, id, at, turn))).collect();
            let commit = Commit::new(actor, Timestamp::UNIX_EPOCH).with(Change::InsertMessages(messages));
            numbers.extend(store.commit(commit).await?.sequence_ids);
            done(turns.len());
        }
        stored.push((sample, id, numbers));
    }
    Ok(Stored { owner: actor.organization, samples: stored })
}

/// Asks every question that has evidence. `done` hears of each.
pub async fn measure(search: &Search, stored: &Stored<'_>, mut done: impl FnMut()) -> Result<Report, IndexError> {
    let mut report = Report { samples: stored.samples.len(), ..Report::default() };
    for (sample, agent, numbers) in &stored.samples {
        report.turns += sample.turns.len();
        search.index(stored.owner, SearchScope::Recall(*agent), &mut |_| true).await?;
        for question in &sample.questions {
            let mut query = RecallQuery::new(*agent, question.text.as_str(), RESULTS);
            query.before = question.before.map(|turn| numbers[turn]);
            let found = search.recall(stored.owner, &query).await?;
            let results: Vec<u64> = found.hits.iter().map(|hit| hit.row.sequence_id).collect();
            let share = |first: usize| {
                let results = &results[..first.min(results.len())];
                let hits = question.evidence.iter().flatten().filter(|turn| results.contains(&numbers[**turn]));
                hits.count() as f64 / question.evidence.len() as f64
            };
            let (at_5, at_10) = (share(5), share(RESULTS));
            report.all.add(at_5, at_10);
            report.by_category.entry(question.category.clone()).or_default().add(at_5, at_10);
            done();
        }
        // One sample is searched at a time, so its index can go.
        search.forget(SearchScope::Recall(*agent));
    }
    Ok(report)
}

fn agent(actor: Actor, sample: &Sample) -> (Agent, Conversation) {
    let at = sample.turns.first().map_or(Timestamp::UNIX_EPOCH, |turn| turn.at);
    let model = LlmConfig::new(ModelHandle::builtin("guide"), "guide", DEFAULT_CONTEXT_WINDOW);
    Agent::plain(actor, sample.name.as_str(), model, at)
}

fn message(actor: Actor, agent: AgentId, conversation: ConversationId, turn: &Turn) -> Message {
    Message {
        id: MessageId::random(),
        organization: actor.organization,
        agent,
        conversation,
        identity: None,
        sequence_id: 0,
        role: if turn.is_assistant { Role::Assistant } else { Role::User },
        content: Arc::new([ContentPart::text(turn.text.replace('\0', " "))]),
        tool_calls: Arc::new([]),
        tool_returns: Arc::new([]),
        name: turn.speaker.as_deref().map(Into::into),
        model: None,
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: turn.at,
    }
}
