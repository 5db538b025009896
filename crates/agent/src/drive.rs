//! Drives one run to its end. Every decision is in [`StepLoop`]; this file only does the IO.

use std::sync::Arc;

use domain::agent::LoopPolicy;
use domain::message::SEND_MESSAGE;
use domain::seams::chat_model::{ChatModel, FinishReason, ModelError, ModelRequest};
use domain::seams::tool_executor::{ToolExecutor, ToolInvocation};
use domain::{AgentSnapshot, LlmConfig, Memory, Message, StopReason, Timestamp, ToolStatus, Usage};
use prompt::history::HistoryOptions;
use storage::{Store, StoreError};
use tokio_util::sync::CancellationToken;
use tools::rules::RuleSolver;

use crate::ask_model::{Answer, ask_model};
use crate::compact::{Call, Compactor};
use crate::events::{Finished, RunEvent, RunFailure};
use crate::input::{RunInput, RunPermit};
use crate::listener::{EventSink, Hearing, Listener};
use crate::meter::TokenMeter;
use crate::open_step::{OpenStep, context, name_calls};
use crate::opening::{GoneBack, given, import, requests};
use crate::plan::{PlannedCall, Verdict};
use crate::render::{
    SystemMessage, history_options, model_request, only_earlier_images, system_message, wanted_format,
};
use crate::shaping::{Judged, Shaping};
use crate::step_commit::{RunRow, StepChanges, StepEdits, step_row};
use crate::step_loop::{Ask, DEFAULT_MAX_STEPS, Next, Reply, Returned, StepClose, StepLoop};
use crate::step_messages::StepFrame;
use crate::summarise::FindSummariser;

/// How often a step's tools run again because somebody else changed a block at the same time.
const MAX_CONFLICTS: u32 = 8;

/// What a run needs from outside.
pub struct RunPorts {
    pub store: Store,
    pub model: Arc<dyn ChatModel>,
    pub toolbox: Arc<dyn ToolExecutor>,
    /// Counts tokens, for all runs.
    pub meter: Arc<TokenMeter>,
    /// Finds who summarises what leaves a full context.
    pub summarisers: FindSummariser,
    pub clock: fn() -> Timestamp,
    /// The client left: stop at once and keep nothing of the open step.
    pub cancel: CancellationToken,
    /// The server stops: finish the open step and no more.
    pub stopping: CancellationToken,
}

impl RunPorts {
    /// How the history is shown to the model of `config`.
    pub(crate) fn history_options(&self, config: &LlmConfig) -> HistoryOptions {
        history_options(config, self.model.sees(config.handle.model()))
    }
}

/// Runs `input` to its end and tells `sink` about it. The last event is sent by the caller, after the permit is back.
pub async fn drive(input: RunInput, ports: &RunPorts, sink: &EventSink, _permit: &RunPermit) -> Finished {
    let now = (ports.clock)();
    let row = RunRow { stored: input.background, started_at: now, usage: Usage::default(), step_count: 0 };
    let mut driver = Driver { input, ports, sink, row, back: None };
    let stop = driver.run().await;
    let (stop_reason, failure) = match stop {
        Ok(reason) => (reason, None),
        Err(Stop::Cancelled) => {
            driver.close(StopReason::Cancelled, Some("the client left".to_owned())).await;
            (StopReason::Cancelled, None)
        }
        Err(Stop::Failed(failure)) => {
            let reason = stop_reason(&failure);
            driver.close(reason, Some(failure.to_string())).await;
            (reason, Some(failure))
        }
    };
    let RunRow { usage, step_count, .. } = driver.row;
    Finished { run: driver.input.run, stop_reason, failure, usage, step_count }
}

/// Why a run ended other than by its own decision.
pub(crate) enum Stop {
    Cancelled,
    Failed(RunFailure),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        if let StoreError::NotFound { noun: "agent", .. } = error {
            return Self::Failed(RunFailure::AgentGone);
        }
        tracing::error!(error = &error as &dyn std::error::Error, "the store failed a run");
        Self::Failed(if matches!(error, StoreError::Full) { RunFailure::Full } else { RunFailure::Store })
    }
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        Self::Failed(RunFailure::Model(error))
    }
}

pub(crate) fn stop_reason(failure: &RunFailure) -> StopReason {
    match failure {
        RunFailure::Model(_) => StopReason::LlmApiError,
        RunFailure::BadReply(_) | RunFailure::WrongShape(_) => StopReason::InvalidLlmResponse,
        RunFailure::SystemTooLong(_) => StopReason::ContextWindowOverflowInSystemPrompt,
        RunFailure::Stopping => StopReason::Cancelled,
        RunFailure::NoModel(_)
        | RunFailure::NoTool
        | RunFailure::AgentGone
        | RunFailure::Full
        | RunFailure::Store
        | RunFailure::BadShape(_) => StopReason::Error,
    }
}

struct Driver<'a> {
    input: RunInput,
    ports: &'a RunPorts,
    sink: &'a EventSink,
    row: RunRow,
    /// Where the run goes back to, until its first step is stored.
    back: Option<GoneBack>,
}

impl Driver<'_> {
    async fn run(&mut self) -> Result<StopReason, Stop> {
        let mut snapshot = self.open().await?;
        let agent = &snapshot.agent;
        let rules = RuleSolver::new(agent.tool_rules.clone());
        let options = &self.input.options;
        let max_steps = options.max_steps.unwrap_or(DEFAULT_MAX_STEPS);
        let mut steps =
            StepLoop::new(agent.kind.loop_policy(), rules, max_steps).with_client_tools(options.client_tools.clone());
        loop {
            let ask = match steps.decide(&snapshot.tools) {
                Next::CallModel(ask) => ask,
                Next::Finish(reason) => return Ok(reason),
                // The machine only speaks of tools and closing between a reply and its commit.
                Next::RunTools(_) | Next::AskClient(_) | Next::CloseStep(_) => {
                    return Err(Stop::Failed(RunFailure::BadReply("the run lost its place".into())));
                }
            };
            let open = self.ask(&mut snapshot, &mut steps, ask).await?;
            self.finish_step(snapshot, &mut steps, open).await?;
            if let Some(reason) = steps.stopped() {
                return Ok(reason);
            }
            if self.ports.stopping.is_cancelled() {
                return Err(Stop::Failed(RunFailure::Stopping));
            }
            snapshot = self.snapshot().await?;
        }
    }

    /// The context that the run begins with.
    async fn open(&mut self) -> Result<AgentSnapshot, Stop> {
        let mut snapshot = self.snapshot().await?;
        if let Some(to) = self.input.opening.rewind {
            let back = GoneBack::find(&self.ports.store, &self.input, &snapshot, to).await?;
            back.show(&mut snapshot);
            self.back = Some(back);
        }
        if !self.input.opening.history.is_empty() {
            let at = (self.ports.clock)();
            self.ports.store.commit(import(&self.input, &snapshot, self.back.as_ref(), at)).await?;
            self.back = None;
            snapshot = self.snapshot().await?;
        }
        Ok(snapshot)
    }

    async fn snapshot(&self) -> Result<AgentSnapshot, Stop> {
        let RunInput { actor, agent, conversation, .. } = &self.input;
        let mut snapshot = self.ports.store.snapshot(actor.organization, *agent, *conversation).await?;
        if self.begins_anew(&snapshot) {
            snapshot.context = Arc::new(snapshot.context.iter().take(1).cloned().collect());
        } else if let Some(back) = &self.back {
            back.show(&mut snapshot);
        }
        Ok(snapshot)
    }

    /// Whether the run starts with nothing in its context but the system message. What was there stays in the store.
    fn begins_anew(&self, snapshot: &AgentSnapshot) -> bool {
        snapshot.agent.message_buffer_autoclear && self.row.step_count == 0
    }

    /// Shows the model what it may see and waits for its answer.
    async fn ask(&mut self, snapshot: &mut AgentSnapshot, steps: &mut StepLoop, ask: Ask) -> Result<OpenStep, Stop> {
        if snapshot.agent.kind.loop_policy() == LoopPolicy::V2 && ask.allowed.is_empty() && !ask.offers_client {
            return Err(Stop::Failed(RunFailure::NoTool));
        }
        let at = (self.ports.clock)();
        let mut open = OpenStep::new(at);
        if steps.steps() == 0 {
            let frame = StepFrame { input: &self.input, step: open.id, zone: &snapshot.agent.timezone, at };
            open.given = given(&frame, &snapshot.context);
            let spent = self.compactor().catch_up(snapshot).await?;
            self.compacted(snapshot, spent).await?;
        }
        open.answer = self.answer(snapshot, steps, &ask, &mut open).await?;
        self.row.usage += open.answer.usage;
        // A model may spend all that it was given on reasoning; that is no fault of the provider.
        if open.answer.is_empty() && open.answer.finish != FinishReason::Length && steps.steps() == 0 {
            let detail = "the model answered with nothing".to_owned();
            return Err(Stop::Failed(RunFailure::Model(ModelError::Broken { detail })));
        }
        name_calls(&mut open.answer);
        let reply = Reply { calls: open.answer.calls.clone(), finish: open.answer.finish };
        open.calls = steps.model_replied(reply, &snapshot.tools);
        Ok(open)
    }

    /// The model's answer. A context that is too long for it is compacted first: before the call, where we can tell,
    /// and after a refusal, where only the vendor could.
    async fn answer(
        &mut self,
        snapshot: &mut AgentSnapshot,
        steps: &StepLoop,
        ask: &Ask,
        open: &mut OpenStep,
    ) -> Result<Answer, Stop> {
        let (mut refusals, mut has_room, mut shows_images) = (0, false, true);
        let options = self.input.options.clone();
        let policy = snapshot.agent.kind.loop_policy();
        let format = wanted_format(snapshot, &options);
        let mut shaping = Shaping::new(&*self.ports.model, policy, format).map_err(Stop::Failed)?;
        loop {
            let context = self.lay_out(snapshot, open);
            let mut history = self.ports.history_options(&snapshot.agent.llm_config);
            history.images &= shows_images;
            let mut request = model_request(snapshot, (&context, &history), ask, (steps, &options), open.id);
            request.messages.extend_from_slice(shaping.shown());
            let request = Arc::new(request);
            let call = Call { snapshot, context: &context, request: &request, unstored: open.given.len() };
            let compactor = self.compactor();
            let (weight, measured) = compactor.measure(call).await;
            if let Some(measured) = measured.as_ref().filter(|it| !has_room && compactor.is_too_long(call, it)) {
                // Once is enough: what can't be taken out now can't be taken out a moment later either.
                has_room = true;
                let spent = compactor.compact(call, measured, 0).await?;
                self.compacted(snapshot, spent).await?;
                continue;
            }
            let hearing = self.hearing(snapshot, (steps, ask), open, shaping.holds());
            match self.ask_once(hearing, request.clone()).await? {
                Ok(answer) => {
                    compactor.answered(call, (weight, measured.as_ref()), answer.usage.prompt_tokens);
                    match shaping.judge(answer).map_err(Stop::Failed)? {
                        Judged::Taken(answer) => return Ok(*answer),
                        Judged::AskAgain => (),
                    }
                }
                Err(ModelError::ContextTooLong { detail }) => {
                    has_room = true;
                    refusals += 1;
                    let spent = compactor.after_refusal(call, detail, refusals).await?;
                    self.compacted(snapshot, Some(spent)).await?;
                }
                // What an address led to once may be gone, and that must not end the conversation.
                Err(ModelError::Rejected { .. } | ModelError::Refused { .. })
                    if history.images && only_earlier_images(&context, open.given.len()) =>
                {
                    tracing::warn!(agent = %self.input.agent, "a model is asked again without the earlier images");
                    shows_images = false;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What of an answer is shown while it comes.
    fn hearing(
        &self,
        snapshot: &AgentSnapshot,
        (steps, ask): (&StepLoop, &Ask),
        open: &OpenStep,
        holds: bool,
    ) -> Hearing<'_> {
        Hearing {
            sink: self.sink,
            message: open.message,
            step: open.id,
            at: open.at,
            policy: snapshot.agent.kind.loop_policy(),
            inner_thoughts: snapshot.agent.llm_config.put_inner_thoughts_in_kwargs,
            speaks: steps.runs_as_written(SEND_MESSAGE),
            holds,
            client: &self.input.options.client_tools,
            offers_client: ask.offers_client,
        }
    }

    /// One call, with what the model says shown as it comes.
    async fn ask_once(
        &self,
        hearing: Hearing<'_>,
        request: Arc<ModelRequest>,
    ) -> Result<Result<Answer, ModelError>, Stop> {
        let mut listener = Listener::new(hearing);
        tokio::select! {
            // A client that has left wants no answer, however fast it comes.
            biased;
            () = self.ports.cancel.cancelled() => Err(Stop::Cancelled),
            answer = ask_model(&*self.ports.model, request, &mut listener) => match answer {
                // What was shown can't be taken back, so the call is not made again.
                Err(error) if listener.has_shown() => Err(error.into()),
                answer => Ok(answer),
            },
        }
    }

    /// What the model is to be shown, with the system message as it has to be now.
    fn lay_out(&self, snapshot: &AgentSnapshot, open: &mut OpenStep) -> Vec<Arc<Message>> {
        let frame = StepFrame { input: &self.input, step: open.id, zone: &snapshot.agent.timezone, at: open.at };
        open.system = system_message(snapshot, open.at);
        open.new_system = match &open.system {
            SystemMessage::Missing(text) => Some(Arc::new(frame.system(text.clone()))),
            SystemMessage::Stored | SystemMessage::Rewritten(_) => None,
        };
        context(snapshot, &open.system, open.new_system.as_ref(), &open.given)
    }

    fn compactor(&self) -> Compactor<'_> {
        Compactor { ports: self.ports, input: &self.input, back: self.back.as_ref() }
    }

    /// Goes on with the context as it is after a compaction, if there was one.
    async fn compacted(&mut self, snapshot: &mut AgentSnapshot, spent: Option<Usage>) -> Result<(), Stop> {
        if let Some(spent) = spent {
            // What was stored is the context after going back.
            self.back = None;
            self.row.usage += spent;
            *snapshot = self.snapshot().await?;
        }
        Ok(())
    }

    /// Runs the step's tools and stores the step; runs them again where somebody else was faster with a block.
    async fn finish_step(
        &mut self,
        mut snapshot: AgentSnapshot,
        steps: &mut StepLoop,
        open: OpenStep,
    ) -> Result<(), Stop> {
        let mut conflicts = 0;
        loop {
            let (returns, edits) = self.run_tools(&snapshot, &open.calls).await?;
            if !open.calls.is_empty() {
                steps.tools_returned(returns.clone());
            }
            let close = Self::close_of(steps, &snapshot)?;
            let (commit, shown) = self.step_changes(&snapshot, &open, &returns, (&edits, &close));
            match self.ports.store.commit(commit).await {
                Ok(_) => {
                    self.row.stored = true;
                    self.row.step_count += 1;
                    self.back = None;
                    steps.step_committed(&close);
                    self.sink.send(RunEvent::StepCommitted { step: open.id, messages: shown }).await;
                    return Ok(());
                }
                // Somebody changed or deleted what the step saw. Where that was the agent, the next look says so.
                Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) if conflicts < MAX_CONFLICTS => {
                    conflicts += 1;
                    snapshot = self.snapshot().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn close_of(steps: &mut StepLoop, snapshot: &AgentSnapshot) -> Result<StepClose, Stop> {
        match steps.decide(&snapshot.tools) {
            Next::CloseStep(close) => Ok(close),
            Next::CallModel(_) | Next::RunTools(_) | Next::AskClient(_) | Next::Finish(_) => {
                Err(Stop::Failed(RunFailure::BadReply("the run lost its place".into())))
            }
        }
    }

    /// Runs the calls in order; a later one sees what an earlier one changed.
    async fn run_tools(
        &self,
        snapshot: &AgentSnapshot,
        calls: &[PlannedCall],
    ) -> Result<(Vec<Returned>, StepEdits), Stop> {
        let mut memory = snapshot.memory.clone();
        let (mut returns, mut edits) = (Vec::with_capacity(calls.len()), StepEdits::default());
        for call in calls.iter().filter(|call| call.is_own()) {
            let returned = tokio::select! {
                biased;
                () = self.ports.cancel.cancelled() => return Err(Stop::Cancelled),
                returned = self.run_tool(snapshot, call, &mut memory, &mut edits) => returned,
            };
            returns.push(returned);
        }
        Ok((returns, edits))
    }

    async fn run_tool(
        &self,
        snapshot: &AgentSnapshot,
        planned: &PlannedCall,
        memory: &mut Memory,
        edits: &mut StepEdits,
    ) -> Returned {
        let failed = |text: &str| Returned { status: ToolStatus::Error, text: text.into() };
        let tool = snapshot.tools.iter().find(|tool| tool.name == planned.call.name);
        let tool = match (&planned.verdict, tool) {
            (Verdict::Run, Some(tool)) => tool,
            (Verdict::Refused(refusal), _) => return failed(refusal.text()),
            (Verdict::NeedsApproval, _) => {
                return failed("This tool needs a person's approval, and none can be asked for here. It was not run.");
            }
            (Verdict::Run | Verdict::ForClient, _) => {
                return failed("The tool was taken away from the agent. It was not run.");
            }
        };
        let invocation = ToolInvocation {
            tool,
            arguments: &planned.arguments,
            memory,
            archival: &edits.archival,
            snapshot,
            run: self.input.run,
            set_aside_from: self.back.as_ref().map(|back| back.from),
            now: (self.ports.clock)(),
        };
        let outcome = self.ports.toolbox.execute(invocation).await;
        let mut tried = memory.clone();
        if let Some(error) = outcome.changes.iter().find_map(|change| tried.apply(change).err()) {
            return failed(&format!("The memory could not be changed: {error}."));
        }
        *memory = tried;
        edits.memory.extend(outcome.changes);
        edits.archival.extend(outcome.archival);
        Returned { status: outcome.status, text: outcome.text.into() }
    }

    /// The step as a commit, and the messages that watchers are shown.
    fn step_changes(
        &self,
        snapshot: &AgentSnapshot,
        open: &OpenStep,
        returns: &[Returned],
        (edits, close): (&StepEdits, &StepClose),
    ) -> (storage::Commit, Vec<Arc<Message>>) {
        let at = (self.ports.clock)();
        let agent = &snapshot.agent;
        let frame = StepFrame { input: &self.input, step: open.id, zone: &agent.timezone, at };
        let words_are_thoughts = agent.kind.loop_policy() == LoopPolicy::V2;
        let mut assistant = frame.assistant(open.message, &open.answer, &open.calls, words_are_thoughts);
        if let Some(message) = &mut assistant {
            message.model = Some(agent.llm_config.handle.as_str().into());
        }
        let mut shown: Vec<Arc<Message>> = assistant.into_iter().map(Arc::new).collect();
        shown.extend(frame.returns(&open.calls, returns).map(Arc::new));
        let heartbeat = close.heartbeat.as_ref().map(|heartbeat| Arc::new(frame.heartbeat(heartbeat)));
        let messages = open.given.iter().cloned().chain(shown.iter().cloned()).chain(heartbeat).collect();
        let mut step = step_row(&self.input, open.id, &agent.llm_config, at);
        step.usage = open.answer.usage;
        step.stop_reason = close.stop;
        let changes = StepChanges {
            input: &self.input,
            kind: agent.kind,
            system: &open.system,
            new_system: open.new_system.clone(),
            context: &snapshot.context,
            begins_anew: self.begins_anew(snapshot) || self.back.is_some(),
            superseded: self.back.as_ref().map(|back| back.to),
            requests: if self.row.step_count == 0 { requests(&self.input, &open.given, at) } else { Vec::new() },
            messages,
            before: &snapshot.memory,
            edits,
            step,
            run: &RunRow { step_count: self.row.step_count + 1, ..self.row },
            at,
        };
        (changes.into_commit(), shown)
    }

    /// Writes down how a run ended that did not end with a step.
    async fn close(&mut self, reason: StopReason, error: Option<String>) {
        let at = (self.ports.clock)();
        let change = self.row.change(&self.input, Some(reason), error, at);
        let commit = storage::Commit::new(self.input.actor, at).with(change);
        if let Err(error) = self.ports.store.commit(commit).await {
            // The next start closes what stays open here.
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, run = %self.input.run, "the end of a run could not be written down");
        }
    }
}
