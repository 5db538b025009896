//! What must hold after a crash, for every agent, message, run and block.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use domain::{Actor, Agent, Message, OrganizationId, Role, RunStatus, Timestamp};
use serde_json::Value;
use storage::{AgentFilter, MessageFilter, Store, StoreConfig};
use testkit::RecordedRequest;

use super::clients::Sent;

const ALL: u32 = 100_000;

/// How much of one exchange is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// The message, the tool call and its return.
    FirstStep,
    /// And the answer.
    Everything,
}

/// Opens the store that the dead server left and looks at all of it.
pub(crate) async fn check(data_dir: &Path, sent: &[Sent], seen: &[Arc<RecordedRequest>]) -> Result<()> {
    let store = Store::open(&StoreConfig::at(data_dir.join("librarian.db")), Timestamp::now())?;
    let owner = Actor::default_user().organization;
    let report = store.check().await?;
    ensure!(report.problems.is_empty(), "{:?}", report.problems);
    ensure!(store.close_open_runs(Timestamp::now(), "test").await? == 0, "a run was left running");
    let filter = AgentFilter { limit: ALL, ..AgentFilter::default() };
    let mut kept = BTreeMap::new();
    for agent in store.agents(owner, &filter).await? {
        let exchanges = check_agent(&store, owner, &agent).await.with_context(|| format!("agent {}", agent.name))?;
        kept.insert(agent.id.to_string(), exchanges);
    }
    store.close().await;
    for message in sent {
        let exchanges = kept.get(&message.agent).with_context(|| format!("{} was made and is gone", message.agent))?;
        let found = exchanges.get(&message.mark);
        ensure!(!message.acknowledged || found == Some(&Kept::Everything), "{} was lost: {found:?}", message.mark);
    }
    check_vendor(sent, &kept, seen)
}

type Exchanges = BTreeMap<String, Kept>;

/// One agent's messages, context, runs and block, against each other.
async fn check_agent(store: &Store, owner: OrganizationId, agent: &Arc<Agent>) -> Result<Exchanges> {
    let filter = MessageFilter { ascending: true, ..MessageFilter::newest(agent.id, ALL) };
    let messages = store.messages(owner, &filter).await?;
    ensure!(messages.windows(2).all(|pair| pair[0].sequence_id < pair[1].sequence_id), "out of order");
    check_runs(store, owner, &messages).await?;
    let mut found = Exchanges::new();
    // A chat through OpenAI's door is a conversation of its own.
    let conversations: BTreeSet<_> = messages.iter().map(|message| message.conversation).collect();
    for conversation in conversations {
        let said: Vec<_> = messages.iter().filter(|message| message.conversation == conversation).cloned().collect();
        let snapshot = store.snapshot(owner, agent.id, conversation).await?;
        let context: Vec<_> = snapshot.context.iter().map(|message| message.id).collect();
        let all: Vec<_> = said.iter().map(|message| message.id).collect();
        ensure!(context == all, "the context list and the messages differ");
        ensure!(said.first().is_some_and(|message| message.role == Role::System), "no system message");
        for (mark, kept) in exchanges(&said[1..])? {
            ensure!(found.insert(mark.clone(), kept).is_none(), "{mark} is stored twice");
        }
    }
    let exchanges = found;
    let snapshot = store.snapshot(owner, agent.id, agent.default_conversation).await?;
    if let Some(human) = snapshot.memory.by_label("human") {
        let notes: Vec<&str> = human.value().lines().filter_map(|line| line.strip_prefix("note ")).collect();
        let wanted: BTreeSet<&str> = exchanges.keys().map(String::as_str).collect();
        ensure!(notes.len() == wanted.len(), "{} notes for {} exchanges", notes.len(), wanted.len());
        ensure!(notes.iter().copied().collect::<BTreeSet<_>>() == wanted, "the block and the messages differ");
        let versions = store.block_history(owner, human.id).await?.len();
        ensure!(versions == wanted.len() + 1, "{versions} versions after {} edits", wanted.len());
    }
    Ok(exchanges)
}

/// Every run is over, and its steps are those of its messages.
async fn check_runs(store: &Store, owner: OrganizationId, messages: &[Arc<Message>]) -> Result<()> {
    let mut steps: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for message in messages {
        if let (Some(run), Some(step)) = (message.run, message.step) {
            steps.entry(run).or_default().insert(step);
        }
    }
    for (run, steps) in steps {
        let row = store.run(owner, run).await?;
        ensure!(!matches!(row.status, RunStatus::Running | RunStatus::Created), "{run} is {:?}", row.status);
        let stored: BTreeSet<_> = store.steps_of_run(owner, run).await?.iter().map(|step| step.id).collect();
        ensure!(stored == steps, "{run} has steps {stored:?} but messages of {steps:?}");
    }
    Ok(())
}

/// Splits messages into exchanges; anything between a whole first step and a whole exchange is an error.
fn exchanges(messages: &[Arc<Message>]) -> Result<Exchanges> {
    let mut found = Exchanges::new();
    let mut rest = messages;
    while let [question, call, returned, after @ ..] = rest {
        let mark = mark_of(question.first_text()).context("a message that nobody sent")?;
        ensure!(question.role == Role::User && call.role == Role::Assistant && returned.role == Role::Tool);
        let ids: Vec<_> = call.tool_calls.iter().map(|call| &call.id).collect();
        let answered: Vec<_> = returned.tool_returns.iter().map(|one| &one.call_id).collect();
        ensure!(!ids.is_empty() && ids == answered, "a call without its return after {mark}");
        let heard = after.first().filter(|message| message.role == Role::Assistant);
        if let Some(heard) = heard {
            ensure!(heard.first_text() == format!("heard {mark}"), "{mark} got the answer {}", heard.first_text());
        }
        let kept = if heard.is_some() { Kept::Everything } else { Kept::FirstStep };
        ensure!(found.insert(mark.to_owned(), kept).is_none(), "{mark} is stored twice");
        rest = &after[usize::from(heard.is_some())..];
    }
    if !rest.is_empty() {
        bail!("half a step is left: {:?}", rest.iter().map(|message| message.role).collect::<Vec<_>>());
    }
    Ok(found)
}

fn mark_of(text: &str) -> Option<&str> {
    text.rsplit_once(" mark ").map(|(_, mark)| mark)
}

/// The model never saw a past that is not stored, and nobody was answered without it.
fn check_vendor(sent: &[Sent], kept: &BTreeMap<String, Exchanges>, seen: &[Arc<RecordedRequest>]) -> Result<()> {
    let agents: BTreeMap<&str, &str> = sent.iter().map(|one| (one.mark.as_str(), one.agent.as_str())).collect();
    let stored = |mark: &str| kept.get(agents.get(mark).copied().unwrap_or_default())?.get(mark).copied();
    let mut asked: BTreeMap<&str, u32> = BTreeMap::new();
    for request in seen {
        let messages = request.body["messages"].as_array().context("a request without messages")?;
        let marks: Vec<&str> = messages.iter().filter_map(user_mark).collect();
        let (now, past) = marks.split_last().context("a request about nothing")?;
        *asked.entry(now).or_default() += 1;
        for mark in past {
            ensure!(stored(mark).is_some(), "the model was shown {mark}, which is not stored");
        }
        let second = messages.last().is_some_and(|message| message["role"] == "tool");
        ensure!(!second || stored(now).is_some(), "the model was shown a return of {now}, which is not stored");
    }
    for message in sent.iter().filter(|message| message.acknowledged) {
        let times = asked.get(message.mark.as_str()).copied().unwrap_or_default();
        ensure!(times >= 2, "{} was answered after {times} calls of the model", message.mark);
    }
    Ok(())
}

fn user_mark(message: &Value) -> Option<&str> {
    (message["role"] == "user").then(|| message["content"].as_str().and_then(mark_of)).flatten()
}
