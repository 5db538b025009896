//! The waist of the house: every door asks here, and every run starts here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::{RunInput, TokenMeter};
use domain::seams::tool_executor::ToolExecutor;
use domain::{Actor, AgentId, ConversationId, RunId, Timestamp};
use providers::Registry;
use storage::{Store, StoreError};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::check::{check, have_images};
use crate::open_run::{Entry, begin};
use crate::permits::{Lines, QueueLimits};
use crate::request::{RunHandle, RunRequest, SubmitError};
use crate::tally::Tally;

/// Settings of the dispatcher.
#[derive(Debug, Clone, Default)]
pub struct DispatchConfig {
    pub limits: QueueLimits,
    /// System prompts that replace the built-in ones, by key.
    pub system_prompts: BTreeMap<String, String>,
}

/// Takes on runs and keeps their order. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: DispatchConfig,
    pub(crate) store: Store,
    pub(crate) models: Registry,
    pub(crate) clock: fn() -> Timestamp,
    pub(crate) toolbox: Arc<dyn ToolExecutor>,
    pub(crate) meter: Arc<TokenMeter>,
    /// Held by whoever looks at archives to decide what to change.
    pub(crate) archives_turn: Semaphore,
    pub(crate) lines: Lines,
    pub(crate) tally: Arc<Tally>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl Dispatcher {
    /// A dispatcher over these rooms.
    pub fn new(
        config: DispatchConfig,
        store: Store,
        models: Registry,
        toolbox: Arc<dyn ToolExecutor>,
        clock: fn() -> Timestamp,
    ) -> Self {
        let tally = Arc::<Tally>::default();
        let lines = Lines::new(config.limits, tally.clone());
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        let (meter, archives_turn) = (Arc::default(), Semaphore::new(1));
        let inner =
            Inner { config, store, models, clock, toolbox, meter, archives_turn, lines, tally, tasks, stopping };
        Self { inner: Arc::new(inner) }
    }

    /// The store, to look at.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The models, to look at.
    pub fn models(&self) -> &Registry {
        &self.inner.models
    }

    /// What all runs added up to since the start.
    pub fn tally(&self) -> &Tally {
        &self.inner.tally
    }

    /// Runs that are open now, waiting ones included.
    pub fn open_runs(&self) -> usize {
        self.inner.lines.open_runs()
    }

    /// Closes what a crash left open and brings the built-in tools up to date, with the agents that are older than
    /// some of them. To be called once, before the doors open.
    pub async fn recover(&self) -> Result<(), StoreError> {
        let now = (self.inner.clock)();
        let closed = self.inner.store.close_open_runs(now, "the server stopped before this run was complete").await?;
        if closed > 0 {
            tracing::warn!(closed, "closed runs that a crash had left open");
        }
        crate::builtin_tools::bring_up_to_date(&self.inner.store, now).await?;
        crate::older_agents::bring_up_to_date(&self.inner.store, now).await
    }

    /// Takes on one run. It waits for earlier runs of its conversation; its events tell how it goes.
    pub async fn submit(&self, request: RunRequest) -> Result<RunHandle, SubmitError> {
        check(&request.opening, &request.options)?;
        if self.inner.stopping.is_cancelled() {
            return Err(SubmitError::ShuttingDown);
        }
        let RunRequest { actor, agent, conversation, .. } = request;
        let conversation = self.placed(actor, agent, conversation).await?;
        if have_images(&request.opening.messages) {
            self.check_sight(actor, agent).await?;
        }
        let place = self.inner.lines.join(conversation)?;
        let input = RunInput {
            run: RunId::at((self.inner.clock)()),
            actor,
            agent,
            conversation,
            identity: request.identity,
            opening: request.opening,
            options: request.options,
            background: false,
        };
        Ok(begin(&self.inner, input, Entry::Waiting(place), (request.lifetime, request.detail)))
    }

    /// The conversation that is meant, if the agent has it; the default one where none is named.
    pub(crate) async fn placed(
        &self,
        actor: Actor,
        id: AgentId,
        conversation: Option<ConversationId>,
    ) -> Result<ConversationId, SubmitError> {
        let store = &self.inner.store;
        let agent = match store.agent(actor.organization, id).await {
            Ok(agent) => agent,
            Err(StoreError::NotFound { .. }) => return Err(SubmitError::AgentNotFound(id)),
            Err(error) => return Err(error.into()),
        };
        let Some(conversation) = conversation else { return Ok(agent.default_conversation) };
        match store.conversation(actor.organization, conversation).await {
            Ok(found) if found.agent == id => Ok(conversation),
            Ok(_) | Err(StoreError::NotFound { .. }) => Err(SubmitError::ConversationNotFound(conversation)),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the agent's model may be shown images. A model that changes later is shown marks in their place.
    async fn check_sight(&self, actor: Actor, agent: AgentId) -> Result<(), SubmitError> {
        let agent = self.inner.store.agent(actor.organization, agent).await?;
        let handle = &agent.llm_config.handle;
        if self.inner.models.sees(handle) { Ok(()) } else { Err(SubmitError::Blind(handle.clone())) }
    }

    /// Refuses new runs, lets running ones finish their step, and waits for them, but not for ever.
    pub async fn shutdown(&self, patience: Duration) {
        self.inner.stopping.cancel();
        self.inner.tasks.close();
        if tokio::time::timeout(patience, self.inner.tasks.wait()).await.is_err() {
            tracing::warn!(open = self.inner.tasks.len(), "some runs did not finish their step in time");
        }
    }
}
