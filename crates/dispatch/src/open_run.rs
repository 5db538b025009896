//! One run from its place in the line to its last event.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use agent::events::{Finished, RunEvent, RunFailure};
use agent::{EventSink, RunInput, RunPermit, RunPorts, drive};
use domain::{RunId, RunNote, StopReason, Usage};
use futures_util::FutureExt;
use storage::StoreError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::dispatcher::Inner;
use crate::permits::{Passed, Place};
use crate::request::{Detail, Lifetime, RunHandle};
use crate::summarisers::summarisers;

/// Events that a slow watcher may be behind before its run waits for it.
const EVENT_BUFFER: usize = 256;

/// How far a run has come on its way in.
pub(crate) enum Entry {
    Waiting(Place),
    Passed(Passed),
}

impl Entry {
    async fn pass(self) -> Option<Passed> {
        match self {
            Self::Waiting(place) => place.pass().await,
            Self::Passed(passed) => Some(passed),
        }
    }
}

/// A way for events to a watcher, and what ends a run.
pub(crate) struct Watch {
    pub(crate) handle: RunHandle,
    pub(crate) sink: EventSink,
    pub(crate) cancel: CancellationToken,
}

impl Watch {
    /// A watch over a run.
    pub(crate) fn new(note: RunNote, lifetime: Lifetime, detail: Detail) -> Self {
        let (sender, events) = mpsc::channel(EVENT_BUFFER);
        let cancel = CancellationToken::new();
        let guard = (lifetime == Lifetime::Foreground).then(|| cancel.clone().drop_guard());
        let sink = EventSink::new(sender, detail == Detail::Pieces);
        let (run, note) = (note.run, Arc::new(note));
        Self { handle: RunHandle { run, events, note, _cancel: guard }, sink, cancel }
    }
}

/// Sets a run going.
pub(crate) fn begin(
    inner: &Arc<Inner>,
    input: RunInput,
    entry: Entry,
    (lifetime, detail): (Lifetime, Detail),
) -> RunHandle {
    let note = RunNote::new(input.run, Some(input.agent), Some(input.conversation));
    let Watch { handle, sink, cancel } = Watch::new(note, lifetime, detail);
    let task = OpenRun { inner: inner.clone(), input, note: handle.note.clone(), sink, cancel, entry };
    inner.tasks.spawn(task.run());
    handle
}

/// A run that was taken on.
struct OpenRun {
    inner: Arc<Inner>,
    input: RunInput,
    note: Arc<RunNote>,
    sink: EventSink,
    cancel: CancellationToken,
    entry: Entry,
}

impl OpenRun {
    async fn run(self) {
        let Self { inner, input, note, sink, cancel, entry } = self;
        let (run, agent, arrived) = (input.run, input.agent, Instant::now());
        let passed = tokio::select! {
            passed = entry.pass() => passed,
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
        inner.tally.count_run(finished.stop_reason);
        note.end(finished.stop_reason, finished.usage);
        sink.send(RunEvent::Finished(finished)).await;
    }
}

/// The end of a run that panicked.
pub(crate) fn panicked(run: RunId) -> Finished {
    tracing::error!(%run, "a run panicked; this is a fault in Librarian");
    failed(run, RunFailure::BadReply("internal error".into()))
}

/// The end of a run that failed before it began.
pub(crate) fn failed(run: RunId, failure: RunFailure) -> Finished {
    Finished { run, stop_reason: StopReason::Error, failure: Some(failure), usage: Usage::default(), step_count: 0 }
}

async fn drive_run(
    inner: &Inner,
    input: RunInput,
    sink: &EventSink,
    cancel: CancellationToken,
    permit: &RunPermit,
) -> Finished {
    let run = input.run;
    let failed = |failure| failed(run, failure);
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
    let finished = drive(input, &ports, sink, permit).await;
    inner.tally.count_tokens(&agent.llm_config.handle, finished.usage);
    finished
}
