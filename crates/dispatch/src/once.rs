//! One answer that nothing is kept of: for requests about a chat that are no part of it, such as a title for it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agent::EventSink;
use agent::events::{Finished, RunEvent, RunFailure};
use agent::once::{OnceInput, OncePorts, answer_once, system_shown};
use domain::seams::chat_model::Sampling;
use domain::{Actor, AgentId, ConversationId, ModelHandle, RunId, RunNote};
use futures_util::FutureExt;
use storage::StoreError;
use tokio_util::sync::CancellationToken;

use crate::check::{check_history, check_options};
use crate::dispatcher::{Dispatcher, Inner};
use crate::open_run::{Watch, failed, panicked};
use crate::request::{Detail, Lifetime, PastMessage, RunHandle, RunOptions, SubmitError};

/// Who answers once.
#[derive(Debug, Clone)]
pub enum OnceModel {
    /// A model, with the messages given and nothing else.
    Handle(ModelHandle),
    /// An agent's model. In a conversation it sees the agent's system message as that conversation has it; without one
    /// it sees nothing of the agent.
    Agent { agent: AgentId, conversation: Option<ConversationId> },
}

/// One question of which nothing is kept.
#[derive(Debug, Clone)]
pub struct OnceRequest {
    pub actor: Actor,
    pub who: OnceModel,
    /// All that was said, oldest first.
    pub messages: Vec<PastMessage>,
    pub options: RunOptions,
    pub detail: Detail,
}

impl Dispatcher {
    /// Asks a model once. Nothing is stored and nobody has to wait in a line; dropping the handle ends it.
    pub async fn answer_once(&self, request: OnceRequest) -> Result<RunHandle, SubmitError> {
        if request.messages.is_empty() {
            return Err(SubmitError::BadInput("there is no message to answer".to_owned()));
        }
        check_history(&request.messages)?;
        check_options(&request.options)?;
        if self.inner.stopping.is_cancelled() {
            return Err(SubmitError::ShuttingDown);
        }
        if let OnceModel::Agent { agent, conversation } = &request.who {
            self.placed(request.actor, *agent, *conversation).await?;
        }
        let open = self.inner.lines.enter()?;
        let run = RunId::at((self.inner.clock)());
        let note = match request.who {
            OnceModel::Handle(_) => RunNote::new(run, None, None),
            OnceModel::Agent { agent, conversation } => RunNote::new(run, Some(agent), conversation),
        };
        let Watch { handle, sink, cancel } = Watch::new(note, Lifetime::Foreground, request.detail);
        let (inner, note) = (self.inner.clone(), handle.note.clone());
        self.inner.tasks.spawn(async move {
            let answered = AssertUnwindSafe(answer(&inner, run, request, (&sink, cancel))).catch_unwind().await;
            drop(open);
            let finished = answered.unwrap_or_else(|_| panicked(run));
            inner.tally.count_run(finished.stop_reason);
            note.end(finished.stop_reason, finished.usage);
            sink.send(RunEvent::Finished(finished)).await;
        });
        Ok(handle)
    }
}

async fn answer(
    inner: &Arc<Inner>,
    run: RunId,
    request: OnceRequest,
    (sink, cancel): (&EventSink, CancellationToken),
) -> Finished {
    let OnceRequest { actor, who, messages, options, .. } = request;
    let asked = match asked(inner, actor, who).await {
        Ok(asked) => asked,
        Err(failure) => return failed(run, failure),
    };
    let model = match inner.models.chat_model(&asked.model) {
        Ok(model) => model,
        Err(error) => return failed(run, RunFailure::NoModel(error.to_string())),
    };
    let Asked { model: handle, sampling, system } = asked;
    let counted = handle.clone();
    let input = OnceInput { run, actor, model: handle, sampling, system, messages, options };
    let ports = OncePorts { model, clock: inner.clock, cancel, stopping: inner.stopping.clone() };
    let finished = answer_once(input, &ports, sink).await;
    inner.tally.count_tokens(&counted, finished.usage);
    finished
}

/// Whom to ask, and what stands before the messages.
struct Asked {
    model: ModelHandle,
    sampling: Sampling,
    system: Option<String>,
}

async fn asked(inner: &Inner, actor: Actor, who: OnceModel) -> Result<Asked, RunFailure> {
    let gone = |error: StoreError| match error {
        StoreError::NotFound { .. } => RunFailure::AgentGone,
        error => {
            tracing::error!(error = &error as &dyn std::error::Error, "the store failed a question");
            RunFailure::Store
        }
    };
    match who {
        OnceModel::Handle(model) => Ok(Asked { model, sampling: Sampling::default(), system: None }),
        OnceModel::Agent { agent, conversation: None } => {
            let agent = inner.store.agent(actor.organization, agent).await.map_err(gone)?;
            let config = &agent.llm_config;
            Ok(Asked { model: config.handle.clone(), sampling: agent::own_sampling(config), system: None })
        }
        OnceModel::Agent { agent, conversation: Some(conversation) } => {
            let snapshot = inner.store.snapshot(actor.organization, agent, conversation).await.map_err(gone)?;
            let config = &snapshot.agent.llm_config;
            let system = Some(system_shown(&snapshot, (inner.clock)()));
            Ok(Asked { model: config.handle.clone(), sampling: agent::own_sampling(config), system })
        }
    }
}
