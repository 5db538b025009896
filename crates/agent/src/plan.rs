//! From what a model wrote to what may run: parses arguments, takes out what the runtime injected, and judges each call.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{Tool, ToolCall};
use prompt::tool_specs::{REQUEST_HEARTBEAT, THINKING};
use serde_json::{Map, Value, json};
use tools::arguments::{parse_arguments, strip_injected};
use tools::rules::{Prefilled, RuleSolver, merge_prefilled};

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// A tool call that was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// As it is stored and shown: without the thought, with what rules prefilled.
    pub call: ToolCall,
    /// What the tool is given: without anything injected.
    pub arguments: Map<String, Value>,
    pub thinking: Option<String>,
    pub request_heartbeat: bool,
    pub verdict: Verdict,
}

impl PlannedCall {
    /// Whether it is ours to run, or to refuse.
    pub(crate) fn is_own(&self) -> bool {
        self.verdict != Verdict::ForClient
    }

    /// Refuses a call that stands beside another, where rules speak about the order of calls.
    pub(crate) fn refuse_as_second(&mut self) {
        self.verdict = Verdict::Refused(Refusal::NotAllowed(format!(
            "The tool rules allow one call at a time, so `{}` was not run. Look at the first return, then call it again \
             if it is still needed.",
            self.call.name
        )));
    }
}

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Run,
    /// The client runs it; the call waits for its result.
    ForClient,
    NeedsApproval,
    Refused(Refusal),
}

/// Why a call does not run; the text is for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Unknown, or forbidden by a rule at this point.
    NotAllowed(String),
    BadArguments(String),
    /// A rule prefills arguments that the tool does not take: only a person can mend that.
    BadPrefill(String),
}

impl Refusal {
    /// What the model is told.
    pub fn text(&self) -> &str {
        match self {
            Self::NotAllowed(text) | Self::BadArguments(text) | Self::BadPrefill(text) => text,
        }
    }
}

/// What calls of one step are judged by.
pub(crate) struct Plan<'a> {
    pub(crate) allowed: &'a [String],
    pub(crate) prefilled: &'a BTreeMap<String, Prefilled>,
    pub(crate) rules: &'a RuleSolver,
    pub(crate) tools: &'a [Arc<Tool>],
}

/// A call of a client's tool, for the client to run. What the runtime asks of its own tools is no part of the client's
/// schema; a model that adds it out of habit must not be heard thinking by the client.
pub(crate) fn for_client(raw: RawCall, schema: &Value) -> PlannedCall {
    let own = |name: &str| schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
    let (mut arguments, is_broken) = match parse_arguments(&raw.arguments) {
        Ok(arguments) => (arguments, false),
        Err(_) => (kept_as_written(&raw.arguments), true),
    };
    let mut thinking = None;
    let mut changed = is_broken || !raw.arguments.trim_start().starts_with('{');
    if !own(THINKING)
        && let Some(thought) = arguments.shift_remove(THINKING)
    {
        thinking = thought.as_str().map(str::to_owned);
        changed = true;
    }
    if !own(REQUEST_HEARTBEAT) {
        changed |= arguments.shift_remove(REQUEST_HEARTBEAT).is_some();
    }
    let text = if changed { Value::Object(arguments.clone()).to_string() } else { raw.arguments };
    PlannedCall {
        call: ToolCall { id: raw.id.into(), name: raw.name.into(), arguments: text.into() },
        arguments,
        thinking,
        request_heartbeat: false,
        verdict: Verdict::ForClient,
    }
}

/// Vendors refuse a history with broken JSON in it, so what the model wrote is kept as a value.
fn kept_as_written(arguments: &str) -> Map<String, Value> {
    Map::from_iter([("invalid_arguments".to_owned(), json!(arguments))])
}

impl Plan<'_> {
    /// Judges one call.
    pub(crate) fn call(&self, raw: RawCall) -> PlannedCall {
        let (mut arguments, parse_error) = match parse_arguments(&raw.arguments) {
            Ok(arguments) => (arguments, None),
            Err(error) => (kept_as_written(&raw.arguments), Some(error.to_string())),
        };
        let stored_as_written = parse_error.is_none() && raw.arguments.trim_start().starts_with('{');
        let written = raw.arguments;
        let before = arguments.clone();
        let injected = strip_injected(&mut arguments);
        let mut shown = before;
        shown.shift_remove(THINKING);
        let mut verdict = self.verdict(&raw.name, parse_error);
        let mut changed = injected.thinking.is_some();
        if verdict == Verdict::Run
            && let Some(prefilled) = self.prefilled.get(&raw.name)
        {
            match self.merge(&raw.name, arguments.clone(), prefilled) {
                Ok(merged) => {
                    shown.extend(prefilled.args.clone());
                    arguments = merged;
                    changed = true;
                }
                Err(text) => verdict = Verdict::Refused(Refusal::BadPrefill(text)),
            }
        }
        if verdict == Verdict::Run && self.rules.requires_approval(&raw.name) {
            verdict = Verdict::NeedsApproval;
        }
        let text = if stored_as_written && !changed { written } else { Value::Object(shown).to_string() };
        PlannedCall {
            call: ToolCall { id: raw.id.into(), name: raw.name.into(), arguments: text.into() },
            arguments,
            thinking: injected.thinking,
            request_heartbeat: injected.request_heartbeat.unwrap_or(false),
            verdict,
        }
    }

    fn verdict(&self, name: &str, parse_error: Option<String>) -> Verdict {
        if !self.allowed.iter().any(|allowed| allowed == name) {
            let known = self.tools.iter().any(|tool| &*tool.name == name);
            let why = if known { "is not allowed at this point by the tool rules" } else { "does not exist" };
            let choices = if self.allowed.is_empty() { "none".to_owned() } else { self.allowed.join(", ") };
            return Verdict::Refused(Refusal::NotAllowed(format!(
                "The tool `{name}` {why}, so nothing was run. Tools that may be called now: {choices}."
            )));
        }
        match parse_error {
            Some(error) => Verdict::Refused(Refusal::BadArguments(format!(
                "The arguments of `{name}` could not be read, so nothing was run: {error}. Call it again with one valid JSON object."
            ))),
            None => Verdict::Run,
        }
    }

    fn merge(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        prefilled: &Prefilled,
    ) -> Result<Map<String, Value>, String> {
        let schema = self.tools.iter().find(|tool| &*tool.name == name).map(|tool| tool.parameters.clone());
        let schema = schema.unwrap_or_else(|| Arc::new(Value::Null));
        merge_prefilled(arguments, prefilled, &schema).map_err(|error| {
            format!("A tool rule prefills arguments that `{name}` does not take ({error}), so nothing was run.")
        })
    }
}
