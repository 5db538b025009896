//! The waist of the house: every door asks here, and every run starts here.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::events::{Finished, RunEvent, RunFailure};
use agent::{EventSink, RunInput, RunPermit, RunPorts, TokenMeter, drive};
use domain::seams::tool_executor::ToolExecutor;
use domain::{Agent, RunId, StopReason, Timestamp, Usage};
use futures_util::FutureExt;
use providers::Registry;
use storage::{Store, StoreError};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::permits::{Lines, Place, QueueLimits};
use crate::request::{Detail, Lifetime, RunHandle, RunRequest, SubmitError};
use crate::summarisers::summarisers;

/// Events that a slow watcher may be behind before its run waits for it.
const EVENT_BUFFER: usize = 256;
/// The most steps that a caller may ask for.
const MAX_STEPS_CAP: u32 = 1_000;
/// The most messages that a caller may bring at once.
const MAX_INPUT_MESSAGES: usize = 1_000;

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
    toolbox: Arc<dyn ToolExecutor>,
    pub(crate) meter: Arc<TokenMeter>,
    /// Held by whoever looks at archives to decide what to change.
    pub(crate) archives_turn: Semaphore,
    lines: Lines,
    tasks: TaskTracker,
    stopping: CancellationToken,
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
        let lines = Lines::new(config.limits);
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        let (meter, archives_turn) = (Arc::default(), Semaphore::new(1));
        let inner = Inner { config, store, models, clock, toolbox, meter, archives_turn, lines, tasks, stopping };
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
        check(&request)?;
        if self.inner.stopping.is_cancelled() {
            return Err(SubmitError::ShuttingDown);
        }
        let agent = self.agent(&request).await?;
        let conversation = match request.conversation {
            None => agent.default_conversation,
            Some(conversation) => {
                let found = self.inner.store.conversation(request.actor.organization, conversation).await;
                match found {
                    Ok(found) if found.agent == request.agent => conversation,
                    Ok(_) | Err(StoreError::NotFound { .. }) => {
                        return Err(SubmitError::ConversationNotFound(conversation));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let place = self.inner.lines.join(conversation)?;
        let (sender, events) = mpsc::channel(EVENT_BUFFER);
        let run = RunId::at((self.inner.clock)());
        let cancel = CancellationToken::new();
        let guard = (request.lifetime == Lifetime::Foreground).then(|| cancel.clone().drop_guard());
        let input = RunInput {
            run,
            actor: request.actor,
            agent: request.agent,
            conversation,
            identity: request.identity,
            opening: request.opening,
            options: request.options,
            background: false,
        };
        let sink = EventSink::new(sender, request.detail == Detail::Pieces);
        let task = OpenRun { inner: self.inner.clone(), input, sink, cancel, place };
        self.inner.tasks.spawn(task.run());
        Ok(RunHandle { run, events, _cancel: guard })
    }

    async fn agent(&self, request: &RunRequest) -> Result<Arc<Agent>, SubmitError> {
        match self.inner.store.agent(request.actor.organization, request.agent).await {
            Ok(agent) => Ok(agent),
            Err(StoreError::NotFound { .. }) => Err(SubmitError::AgentNotFound(request.agent)),
            Err(error) => Err(error.into()),
        }
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

fn check(request: &RunRequest) -> Result<(), SubmitError> {
    let bad = |text: &str| Err(SubmitError::BadInput(text.to_owned()));
    if request.opening.messages.is_empty() {
        return bad("there is no message to answer");
    }
    if request.opening.messages.len() > MAX_INPUT_MESSAGES {
        return Err(SubmitError::BadInput(format!("more than {MAX_INPUT_MESSAGES} messages in one request")));
    }
    for message in &request.opening.messages {
        let mut texts = message.content.iter().filter_map(domain::ContentPart::as_text);
        if !texts.clone().any(|text| !text.trim().is_empty()) {
            return bad("a message has no text");
        }
        if texts.any(|text| text.contains('\0')) {
            return bad("a message can't hold NUL characters");
        }
    }
    match request.options.max_steps {
        Some(0) => bad("max_steps must be at least 1"),
        Some(steps) if steps > MAX_STEPS_CAP => {
            Err(SubmitError::BadInput(format!("max_steps can't be more than {MAX_STEPS_CAP}")))
        }
        _ => Ok(()),
    }
}

/// A run that was taken on.
struct OpenRun {
    inner: Arc<Inner>,
    input: RunInput,
    sink: EventSink,
    cancel: CancellationToken,
    place: Place,
}

impl OpenRun {
    async fn run(self) {
        let Self { inner, input, sink, cancel, place } = self;
        let (run, agent, arrived) = (input.run, input.agent, Instant::now());
        let passed = tokio::select! {
            passed = place.pass() => passed,
            () = cancel.cancelled() => None,
            () = inner.stopping.cancelled() => None,
        };
        let waited = arrived.elapsed();
        let finished = match passed {
            // Nothing was begun, so there is nothing to write down.
            None => Finished {
                run,
                stop_reason: StopReason::Cancelled,
                failure: inner.stopping.is_cancelled().then_some(RunFailure::Stopping),
                usage: Usage::default(),
                step_count: 0,
            },
            Some(passed) => {
                let permit = RunPermit::new(passed);
                let driven = AssertUnwindSafe(drive_run(&inner, input, &sink, cancel, &permit)).catch_unwind().await;
                drop(permit);
                driven.unwrap_or_else(|_| panicked(run))
            }
        };
        tracing::info!(
            %run, %agent,
            stop_reason = finished.stop_reason.as_str(),
            steps = finished.step_count,
            prompt_tokens = finished.usage.prompt_tokens,
            completion_tokens = finished.usage.completion_tokens,
            waited_ms = waited.as_millis() as u64,
            took_ms = (arrived.elapsed() - waited).as_millis() as u64,
            "run"
        );
        sink.send(RunEvent::Finished(finished)).await;
    }
}

fn panicked(run: RunId) -> Finished {
    tracing::error!(%run, "a run panicked; this is a fault in Librarian");
    Finished {
        run,
        stop_reason: StopReason::Error,
        failure: Some(RunFailure::BadReply("internal error".into())),
        usage: Usage::default(),
        step_count: 0,
    }
}

async fn drive_run(
    inner: &Inner,
    input: RunInput,
    sink: &EventSink,
    cancel: CancellationToken,
    permit: &RunPermit,
) -> Finished {
    let run = input.run;
    let failed = |failure| Finished {
        run,
        stop_reason: StopReason::Error,
        failure: Some(failure),
        usage: Usage::default(),
        step_count: 0,
    };
    // The model is looked up when the run's turn comes: it may have been changed while the run waited.
    let agent = match inner.store.agent(input.actor.organization, input.agent).await {
        Ok(agent) => agent,
        Err(StoreError::NotFound { .. }) => return failed(RunFailure::AgentGone),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, %run, "the store failed a run");
            return failed(RunFailure::Store);
        }
    };
    let model = match inner.models.chat_model(&agent.llm_config.handle) {
        Ok(model) => model,
        Err(error) => return failed(RunFailure::NoModel(error.to_string())),
    };
    let ports = RunPorts {
        store: inner.store.clone(),
        model,
        toolbox: inner.toolbox.clone(),
        meter: inner.meter.clone(),
        summarisers: summarisers(&inner.models, &inner.config),
        clock: inner.clock,
        cancel,
        stopping: inner.stopping.clone(),
    };
    drive(input, &ports, sink, permit).await
}
