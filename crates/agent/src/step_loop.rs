//! The pure machine behind a run: it decides, and never does.
//!
//! V2 and V3 are one machine with two policies (blueprint 0.5). It sees tool names, schemas, replies and returns; it
//! holds no IO, no clock and no message. The driver asks [`StepLoop::decide`], does what it says, and tells the
//! machine what came of it. Nothing counts until [`StepLoop::step_committed`], so that a step whose commit
//! conflicted can run its tools again.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::agent::LoopPolicy;
use domain::seams::chat_model::{FinishReason, ToolChoice};
use domain::{StopReason, Tool, ToolStatus};
use tools::rules::{CallRecord, Prefilled, RuleSolver};

use crate::input::{ClientToolChoice, ClientTools};
use crate::plan::{Plan, PlannedCall, RawCall, Refusal, Verdict, for_client};

/// Steps that a run may take unless its caller says otherwise.
pub const DEFAULT_MAX_STEPS: u32 = 50;

/// What the driver has to do next.
#[derive(Debug, PartialEq)]
pub enum Next {
    CallModel(Ask),
    RunTools(Vec<PlannedCall>),
    /// These calls need somebody outside before they may run.
    AskClient(Vec<PlannedCall>),
    /// Store the step as it is.
    CloseStep(StepClose),
    Finish(StopReason),
}

/// What the model may be offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The agent's own tools.
    pub allowed: Vec<String>,
    /// Whether the client's tools are offered too.
    pub offers_client: bool,
    pub choice: ToolChoice,
}

/// How a step ends.
#[derive(Debug, Clone, PartialEq)]
pub struct StepClose {
    /// A heartbeat for the model, where the run goes on by one.
    pub heartbeat: Option<Heartbeat>,
    /// None means that the run goes on.
    pub stop: Option<StopReason>,
}

/// Why the model is woken again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heartbeat {
    /// The call asked for it.
    Requested,
    /// The tool failed, and the model should see that.
    ToolFailed,
    /// The call was not allowed.
    RuleViolated,
    ContinueRule,
    ChildRule,
    /// These tools must be called before the run may end.
    RequiredBeforeExit(Vec<String>),
}

/// What came of one planned call.
#[derive(Debug, Clone, PartialEq)]
pub struct Returned {
    pub status: ToolStatus,
    pub text: Arc<str>,
}

/// What the model said, as far as the machine needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub calls: Vec<RawCall>,
    pub finish: FinishReason,
}

/// One run's decisions.
#[derive(Debug)]
pub struct StepLoop {
    policy: LoopPolicy,
    rules: RuleSolver,
    client: ClientTools,
    max_steps: u32,
    steps: u32,
    history: Vec<CallRecord>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Ready,
    Asked { ask: Ask, prefilled: BTreeMap<String, Prefilled> },
    Planned { calls: Vec<PlannedCall>, finish: FinishReason },
    Returned { calls: Vec<PlannedCall>, finish: FinishReason, returns: Vec<Returned> },
    Done(StopReason),
}

impl StepLoop {
    /// A run that has not begun.
    pub fn new(policy: LoopPolicy, rules: RuleSolver, max_steps: u32) -> Self {
        let client = ClientTools::default();
        Self { policy, rules, client, max_steps: max_steps.max(1), steps: 0, history: Vec::new(), phase: Phase::Ready }
    }

    /// The same run with tools that the client runs.
    #[must_use]
    pub fn with_client_tools(self, client: ClientTools) -> Self {
        Self { client, ..self }
    }

    /// Steps committed so far.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Why the run is over, if it is.
    pub fn stopped(&self) -> Option<StopReason> {
        match self.phase {
            Phase::Done(reason) => Some(reason),
            Phase::Ready | Phase::Asked { .. } | Phase::Planned { .. } | Phase::Returned { .. } => None,
        }
    }

    /// Whether the rules say that this tool ends a run.
    pub fn is_terminal(&self, tool: &str) -> bool {
        self.rules.is_terminal(tool)
    }

    /// Whether a call of `tool` in the answer that is waited for will run just as the model writes it.
    pub fn runs_as_written(&self, tool: &str) -> bool {
        match &self.phase {
            Phase::Asked { ask, prefilled } => {
                ask.allowed.iter().any(|name| name == tool)
                    && !prefilled.contains_key(tool)
                    && !self.rules.requires_approval(tool)
            }
            Phase::Ready | Phase::Planned { .. } | Phase::Returned { .. } | Phase::Done(_) => false,
        }
    }

    /// What to do next, given the tools that the agent has now.
    pub fn decide(&mut self, tools: &[Arc<Tool>]) -> Next {
        match &self.phase {
            Phase::Ready => self.ask(tools),
            Phase::Asked { ask, .. } => Next::CallModel(ask.clone()),
            Phase::Planned { calls, .. } if calls.iter().any(|call| call.verdict == Verdict::NeedsApproval) => {
                Next::AskClient(calls.clone())
            }
            Phase::Planned { calls, .. } if !calls.is_empty() => Next::RunTools(calls.clone()),
            Phase::Planned { finish, .. } => Next::CloseStep(self.close(&[], &[], *finish)),
            Phase::Returned { calls, finish, returns } => Next::CloseStep(self.close(calls, returns, *finish)),
            Phase::Done(reason) => Next::Finish(*reason),
        }
    }

    /// The model answered; gives the calls as they will be stored.
    pub fn model_replied(&mut self, reply: Reply, tools: &[Arc<Tool>]) -> Vec<PlannedCall> {
        let (ask, prefilled) = match std::mem::replace(&mut self.phase, Phase::Ready) {
            Phase::Asked { ask, prefilled } => (ask, prefilled),
            other => {
                self.phase = other;
                return Vec::new();
            }
        };
        let mut raw = reply.calls;
        let client = |name: &str| self.client.spec(name).filter(|_| ask.offers_client);
        if self.policy == LoopPolicy::V2 {
            // V2 runs one call per step; what a model adds is dropped whole, so that no call is stored without a return.
            // The client's calls are none that we run.
            let mut taken = false;
            raw.retain(|call| client(&call.name).is_some() || !std::mem::replace(&mut taken, true));
        }
        let plan = Plan { allowed: &ask.allowed, prefilled: &prefilled, rules: &self.rules, tools };
        let judged = raw.into_iter().map(|call| match client(&call.name) {
            Some(spec) => for_client(call, &spec.parameters),
            None => plan.call(call),
        });
        let mut calls: Vec<PlannedCall> = judged.collect();
        if self.client.parallel == Some(false) {
            // A client that takes one call is given one; what a model adds is dropped whole.
            let mut taken = false;
            calls.retain(|call| call.is_own() || !std::mem::replace(&mut taken, true));
        }
        if self.rules.orders_calls() {
            // Each was judged by what came before the reply, so only the first is sure to keep the rules.
            calls.iter_mut().filter(|call| call.is_own()).skip(1).for_each(PlannedCall::refuse_as_second);
        }
        self.phase = Phase::Planned { calls: calls.clone(), finish: reply.finish };
        calls
    }

    /// Every planned call that is ours has its return, in the same order. May be said again if the step's commit conflicted.
    pub fn tools_returned(&mut self, returned: Vec<Returned>) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Ready) {
            Phase::Planned { calls, finish } | Phase::Returned { calls, finish, .. } => {
                Phase::Returned { calls, finish, returns: returned }
            }
            other => other,
        };
    }

    /// The step is stored.
    pub fn step_committed(&mut self, close: &StepClose) {
        if let Phase::Returned { calls, returns, .. } = &self.phase {
            let records = records(calls, returns);
            self.history.extend(records);
        }
        self.steps += 1;
        self.phase = close.stop.map_or(Phase::Ready, Phase::Done);
    }

    fn ask(&mut self, tools: &[Arc<Tool>]) -> Next {
        if self.steps >= self.max_steps {
            return Next::Finish(StopReason::MaxSteps);
        }
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let allowed = self.rules.allowed(&self.history, &names);
        let ask = self.offer(allowed.names);
        self.phase = Phase::Asked { ask: ask.clone(), prefilled: allowed.prefilled };
        Next::CallModel(ask)
    }

    /// What is offered. The agent's rules come first: where they demand a tool now, the client's have to wait. A client
    /// that demands one of its tools gets a call of it at once, so that nothing else is offered.
    fn offer(&self, allowed: Vec<String>) -> Ask {
        let ruled = self.rules.must_call_tool(&self.history);
        let forced = ruled || self.policy == LoopPolicy::V2;
        let own = |allowed: Vec<String>| {
            let choice = match allowed.as_slice() {
                [only] if forced => ToolChoice::Function(only.as_str().into()),
                [_, ..] if forced => ToolChoice::Required,
                _ => ToolChoice::Auto,
            };
            Ask { allowed, offers_client: false, choice }
        };
        let demanded = |choice| Ask { allowed: Vec::new(), offers_client: true, choice };
        match (&self.client.choice, &*self.client.specs) {
            (_, []) | (ClientToolChoice::None, _) => own(allowed),
            _ if ruled => own(allowed),
            (ClientToolChoice::Auto, _) => {
                let choice = if forced { ToolChoice::Required } else { ToolChoice::Auto };
                Ask { allowed, offers_client: true, choice }
            }
            (ClientToolChoice::Required, [only]) => demanded(ToolChoice::Function(only.name.clone())),
            (ClientToolChoice::Required, _) => demanded(ToolChoice::Required),
            (ClientToolChoice::Function(name), _) => demanded(ToolChoice::Function(name.clone())),
        }
    }

    fn is_last_step(&self) -> bool {
        self.steps + 1 >= self.max_steps
    }

    fn close(&self, calls: &[PlannedCall], returns: &[Returned], finish: FinishReason) -> StepClose {
        if calls.iter().any(|call| matches!(call.verdict, Verdict::Refused(Refusal::BadPrefill(_)))) {
            return stop(StopReason::InvalidToolCall);
        }
        if calls.iter().any(|call| call.verdict == Verdict::ForClient) {
            // An answer that was cut in the middle of a call is not one that the client can act on.
            return stop(match finish {
                FinishReason::Length => StopReason::MaxTokensExceeded,
                FinishReason::Stop | FinishReason::ToolCalls | FinishReason::ContentFilter => {
                    StopReason::RequiresApproval
                }
            });
        }
        let mut called = self.history.clone();
        called.extend(records(calls, returns));
        let wanted = match self.policy {
            LoopPolicy::V2 => self.close_v2(calls, returns, finish),
            LoopPolicy::V3 => self.close_v3(calls, returns, finish),
        };
        self.hold_to_limits(wanted, &called)
    }

    /// The last step ends the run whatever was wanted, and a run may not end before its required tools were called.
    fn hold_to_limits(&self, wanted: StepClose, called: &[CallRecord]) -> StepClose {
        match wanted.stop {
            None if self.is_last_step() => stop(StopReason::MaxSteps),
            Some(StopReason::EndTurn | StopReason::ToolRule) => {
                let missing = self.rules.missing_before_exit(called);
                match (missing.is_empty(), self.is_last_step()) {
                    (true, _) => wanted,
                    (false, true) => stop(StopReason::MaxSteps),
                    (false, false) => go_on(Some(Heartbeat::RequiredBeforeExit(missing))),
                }
            }
            _ => wanted,
        }
    }

    fn close_v2(&self, calls: &[PlannedCall], returns: &[Returned], finish: FinishReason) -> StepClose {
        let (Some(call), Some(returned)) = (calls.first(), returns.first()) else {
            return stop(if finish == FinishReason::Length {
                StopReason::MaxTokensExceeded
            } else {
                StopReason::NoToolCall
            });
        };
        let name = &call.call.name;
        if matches!(call.verdict, Verdict::Refused(Refusal::NotAllowed(_))) {
            return go_on(Some(Heartbeat::RuleViolated));
        }
        if call.verdict != Verdict::Run {
            return go_on(Some(Heartbeat::ToolFailed));
        }
        let failed = returned.status == ToolStatus::Error;
        if self.rules.is_terminal(name) && !failed {
            return stop(if call.request_heartbeat { StopReason::ToolRule } else { StopReason::EndTurn });
        }
        if self.rules.has_children(name) {
            return go_on(Some(Heartbeat::ChildRule));
        }
        if self.rules.is_continue(name) {
            return go_on(Some(Heartbeat::ContinueRule));
        }
        if failed {
            return go_on(Some(Heartbeat::ToolFailed));
        }
        if call.request_heartbeat { go_on(Some(Heartbeat::Requested)) } else { stop(StopReason::EndTurn) }
    }

    fn close_v3(&self, calls: &[PlannedCall], returns: &[Returned], finish: FinishReason) -> StepClose {
        if calls.is_empty() {
            return stop(if finish == FinishReason::Length {
                StopReason::MaxTokensExceeded
            } else {
                StopReason::EndTurn
            });
        }
        let ended = calls.iter().zip(returns).any(|(call, returned)| {
            call.verdict == Verdict::Run
                && returned.status == ToolStatus::Success
                && self.rules.is_terminal(&call.call.name)
        });
        if ended { stop(StopReason::ToolRule) } else { go_on(None) }
    }
}

fn stop(reason: StopReason) -> StepClose {
    StepClose { heartbeat: None, stop: Some(reason) }
}

fn go_on(heartbeat: Option<Heartbeat>) -> StepClose {
    StepClose { heartbeat, stop: None }
}

/// The calls that count for the rules: those that ran. One that was refused can be made again.
fn records(calls: &[PlannedCall], returns: &[Returned]) -> Vec<CallRecord> {
    calls
        .iter()
        .filter(|call| call.is_own())
        .zip(returns)
        .filter(|(call, _)| call.verdict == Verdict::Run)
        .map(|(call, returned)| CallRecord { name: call.call.name.clone(), returned: returned.text.clone() })
        .collect()
}

#[cfg(test)]
#[path = "step_loop_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "client_calls_tests.rs"]
mod client_calls_tests;
