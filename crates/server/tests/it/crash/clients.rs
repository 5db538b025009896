//! Clients that talk to agents until the server dies, and remember what they were told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::Client;
use tokio::task::JoinSet;

use crate::house::{VENDOR_MODEL, create_agent};

/// What happened to one message.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// A name that no other message has.
    pub(crate) mark: String,
    pub(crate) agent: String,
    /// Whether the client was told that it is done.
    pub(crate) acknowledged: bool,
}

/// By which door a client comes in.
#[derive(Debug, Clone, Copy)]
enum Door {
    Letta,
    LettaStream,
    OpenAiStream,
}

/// Clients at work.
pub(crate) struct Clients {
    tasks: JoinSet<Result<()>>,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    sent: Mutex<Vec<Sent>>,
    answered: AtomicUsize,
}

impl Log {
    fn begin(&self, sent: Sent) -> usize {
        let mut all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(sent);
        all.len() - 1
    }

    fn acknowledge(&self, index: usize) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)[index].acknowledged = true;
        self.answered.fetch_add(1, Ordering::Relaxed);
    }
}

impl Clients {
    /// Makes agents and starts clients: one agent for each door, and one that all of them share.
    pub(crate) async fn start(client: &Client, round: u32) -> Result<Self> {
        let log = Arc::new(Log::default());
        let mut tasks = JoinSet::new();
        let shared = create_agent(client, &format!("shared-{round}"), VENDOR_MODEL).await?;
        for (number, door) in [Door::Letta, Door::LettaStream, Door::OpenAiStream].into_iter().enumerate() {
            let own = create_agent(client, &format!("own-{round}-{number}"), VENDOR_MODEL).await?;
            let talk = Talk { client: client.clone(), door, agents: [own, shared.clone()], log: log.clone() };
            tasks.spawn(talk.go_on(format!("r{round}c{number}")));
        }
        Ok(Self { tasks, log })
    }

    /// Waits until so many messages were answered.
    pub(crate) async fn answered(&self, count: usize) {
        while self.log.answered.load(Ordering::Relaxed) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// What was sent and told until now.
    pub(crate) fn so_far(&self) -> Vec<Sent> {
        self.log.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was sent and told. The server must be dead: the clients stop when they notice.
    pub(crate) async fn finish(mut self) -> Vec<Sent> {
        while self.tasks.join_next().await.is_some() {}
        self.so_far()
    }
}

/// One client's conversation.
struct Talk {
    client: Client,
    door: Door,
    agents: [String; 2],
    log: Arc<Log>,
}

impl Talk {
    /// Sends one message after the other until an answer does not come.
    async fn go_on(self, name: String) -> Result<()> {
        for number in 0.. {
            let mark = format!("{name}m{number}");
            let agent = self.agents[number % 2].clone();
            let index = self.log.begin(Sent { mark: mark.clone(), agent: agent.clone(), acknowledged: false });
            self.send(&agent, &mark).await?;
            self.log.acknowledge(index);
        }
        Ok(())
    }

    async fn send(&self, agent: &str, mark: &str) -> Result<()> {
        let insert = json!({"label": "human", "new_str": format!("note {mark}")});
        let text = format!("[[tool:memory_insert {insert}]][[say:heard {mark}]] mark {mark}");
        let messages = json!([{"role": "user", "content": text}]);
        match self.door {
            Door::Letta => {
                let path = format!("/v1/agents/{agent}/messages");
                let answer = self.client.post(&path, &json!({"messages": messages})).await?.ok()?;
                ensure!(answer["stop_reason"]["stop_reason"] == "end_turn", "{answer}");
            }
            Door::LettaStream => {
                let body = json!({"messages": messages, "stream_tokens": true});
                let path = format!("/v1/agents/{agent}/messages/stream");
                let seen = self.events(&path, &body).await?;
                ensure!(seen.iter().any(|event| event["stop_reason"] == "end_turn"), "{seen:?}");
            }
            Door::OpenAiStream => {
                let body = json!({"model": agent, "messages": messages, "stream": true});
                let seen = self.events("/v1/chat/completions", &body).await?;
                ensure!(seen.iter().any(|event| event["choices"][0]["finish_reason"] == "stop"), "{seen:?}");
            }
        }
        Ok(())
    }

    /// All events of a stream that came to its proper end.
    async fn events(&self, path: &str, body: &Value) -> Result<Vec<Value>> {
        let mut events = self.client.post_sse(path, body).await?.rest().await?;
        let last = events.pop().context("an empty stream")?;
        ensure!(last.data == "[DONE]", "the stream was cut after {last:?}");
        events.iter().map(testkit::SseEvent::json).collect()
    }
}
