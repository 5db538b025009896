//! Decides which tools may be called next, and what a call does to the run.
//!
//! Pure: the same rules and the same calls always give the same answer, in the order in which the tools were attached.
//! Nothing here runs a tool or ends a run; the loop asks and acts.

mod conditional;
mod prefill;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ToolRule;
use domain::tool_rule::ToolCallNode;
use serde_json::{Map, Value};

pub use prefill::{PrefillError, merge_prefilled};

/// One call of the present run that was let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The tool's name.
    pub name: Arc<str>,
    /// The bare return, without its envelope.
    pub returned: Arc<str>,
}

/// Arguments that a rule sets, whatever the model writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefilled {
    /// Argument names and values.
    pub args: Map<String, Value>,
    /// Which rule set them, for people who look for the cause.
    pub provenance: String,
}

/// What may be called now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Allowed {
    /// Tools in attach order.
    pub names: Vec<String>,
    /// Prefilled arguments by tool; only of tools that are allowed.
    pub prefilled: BTreeMap<String, Prefilled>,
}

impl Allowed {
    /// The only tool that may be called, where there is just one.
    pub fn only(&self) -> Option<&str> {
        match self.names.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// An agent's rules, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct RuleSolver {
    rules: Arc<[ToolRule]>,
}

impl RuleSolver {
    /// A solver for these rules; no rules allow everything.
    pub fn new(rules: impl Into<Arc<[ToolRule]>>) -> Self {
        Self { rules: rules.into() }
    }

    /// The tools of `available` that may be called after `history`, the calls of this run in order.
    ///
    /// The answer can be empty: rules may contradict each other, or name tools that the agent does not have.
    pub fn allowed(&self, history: &[CallRecord], available: &[&str]) -> Allowed {
        let is_allowed = |name: &&str| match history.last() {
            None if self.has_first_tools() => self.runs_first(name),
            last => self.rules.iter().all(|rule| permits(rule, name, last, history)),
        };
        let names: Vec<String> = available.iter().copied().filter(is_allowed).map(str::to_owned).collect();
        let mut prefilled = self.prefilled_after(history.last());
        prefilled.retain(|name, _| names.contains(name));
        Allowed { names, prefilled }
    }

    /// Whether a call of `name` ends the run.
    pub fn is_terminal(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| matches!(rule, ToolRule::ExitLoop { tool_name, .. } if tool_name == name))
    }

    /// Whether a call of `name` continues the run.
    pub fn is_continue(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| matches!(rule, ToolRule::ContinueLoop { tool_name, .. } if tool_name == name))
    }

    /// Whether another tool is to follow `name`, so that the run goes on after it.
    pub fn has_children(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| match rule {
            ToolRule::ConstrainChildTools { tool_name, children, .. } => tool_name == name && !children.is_empty(),
            ToolRule::Conditional { tool_name, .. } => tool_name == name,
            _ => false,
        })
    }

    /// Whether a person must approve a call of `name`.
    pub fn requires_approval(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| matches!(rule, ToolRule::RequiresApproval { tool_name, .. } if tool_name == name))
    }

    /// The tools that must still be called before the run may end, each once, in the order of the rules. One that needs
    /// approval is none of them: nobody can be asked for it inside a run.
    pub fn missing_before_exit(&self, history: &[CallRecord]) -> Vec<String> {
        let mut missing = Vec::new();
        for rule in self.rules.iter() {
            if let ToolRule::RequiredBeforeExit { tool_name, .. } = rule
                && !history.iter().any(|call| *call.name == **tool_name)
                && !self.requires_approval(tool_name)
                && !missing.contains(tool_name)
            {
                missing.push(tool_name.clone());
            }
        }
        missing
    }

    /// Whether the next step must call a tool, so that a plain answer would break a rule.
    pub fn must_call_tool(&self, history: &[CallRecord]) -> bool {
        let Some(last) = history.last() else {
            return self.has_first_tools() || !self.missing_before_exit(history).is_empty();
        };
        self.narrows_after(last) || !self.missing_before_exit(history).is_empty()
    }

    /// Whether some rule speaks about what comes after what, or how often, which calls side by side would get past.
    pub fn orders_calls(&self) -> bool {
        self.rules.iter().any(|rule| match rule {
            ToolRule::RunFirst { .. }
            | ToolRule::Conditional { .. }
            | ToolRule::ConstrainChildTools { .. }
            | ToolRule::MaxCountPerStep { .. }
            | ToolRule::ParentLastTool { .. } => true,
            ToolRule::ExitLoop { .. }
            | ToolRule::ContinueLoop { .. }
            | ToolRule::RequiredBeforeExit { .. }
            | ToolRule::RequiresApproval { .. } => false,
        })
    }

    fn has_first_tools(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, ToolRule::RunFirst { .. }))
    }

    fn runs_first(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| matches!(rule, ToolRule::RunFirst { tool_name, .. } if tool_name == name))
    }

    /// Whether some rule says which tool comes after `last`. A conditional rule that leaves the choice open does not.
    fn narrows_after(&self, last: &CallRecord) -> bool {
        self.rules.iter().any(|rule| match rule {
            ToolRule::ConstrainChildTools { tool_name, children, .. } => {
                **tool_name == *last.name && !children.is_empty()
            }
            ToolRule::Conditional { tool_name, .. } => {
                **tool_name == *last.name
                    && matches!(conditional::next(rule, &last.returned), conditional::Next::Only(_))
            }
            _ => false,
        })
    }

    /// Prefilled arguments for the next step. Where two rules set the same tool's arguments, both count and the later
    /// rule wins for an argument that both set.
    fn prefilled_after(&self, last: Option<&CallRecord>) -> BTreeMap<String, Prefilled> {
        let mut found = BTreeMap::new();
        for rule in self.rules.iter() {
            match (rule, last) {
                (ToolRule::RunFirst { tool_name, args: Some(args), .. }, None) => {
                    add_prefilled(&mut found, tool_name, args, format!("InitToolRule({tool_name})"));
                }
                (ToolRule::ConstrainChildTools { tool_name, child_arg_nodes: Some(nodes), .. }, Some(last))
                    if **tool_name == *last.name =>
                {
                    add_children(&mut found, tool_name, nodes);
                }
                _ => {}
            }
        }
        found
    }
}

fn add_children(found: &mut BTreeMap<String, Prefilled>, parent: &str, nodes: &[ToolCallNode]) {
    for node in nodes {
        let Some(args) = &node.args else { continue };
        add_prefilled(found, &node.name, args, format!("ChildToolRule({parent}->{})", node.name));
    }
}

/// Whether one rule lets `name` follow. Rules about the end of the run or about approval forbid no call.
fn permits(rule: &ToolRule, name: &str, last: Option<&CallRecord>, history: &[CallRecord]) -> bool {
    let comes_after = |tool: &str| last.is_some_and(|call| *call.name == *tool);
    match rule {
        ToolRule::ConstrainChildTools { tool_name, children, .. } => {
            !comes_after(tool_name) || children.iter().any(|child| child == name)
        }
        // Straight after the parent only its children may follow, and they may follow nothing else.
        ToolRule::ParentLastTool { tool_name, children, .. } => {
            comes_after(tool_name) == children.iter().any(|child| child == name)
        }
        ToolRule::Conditional { tool_name, .. } => match last {
            Some(call) if *call.name == **tool_name => match conditional::next(rule, &call.returned) {
                conditional::Next::Only(child) => child == name,
                conditional::Next::Any => true,
                conditional::Next::Nothing => false,
            },
            _ => true,
        },
        ToolRule::MaxCountPerStep { tool_name, max_count_limit, .. } => {
            tool_name != name || history.iter().filter(|call| *call.name == *name).count() < *max_count_limit as usize
        }
        ToolRule::RunFirst { .. }
        | ToolRule::ExitLoop { .. }
        | ToolRule::ContinueLoop { .. }
        | ToolRule::RequiredBeforeExit { .. }
        | ToolRule::RequiresApproval { .. } => true,
    }
}

fn add_prefilled(found: &mut BTreeMap<String, Prefilled>, tool: &str, args: &Map<String, Value>, provenance: String) {
    if args.is_empty() {
        return;
    }
    match found.get_mut(tool) {
        Some(earlier) => {
            earlier.args.extend(args.clone());
            earlier.provenance.push_str(", ");
            earlier.provenance.push_str(&provenance);
        }
        None => {
            found.insert(tool.to_owned(), Prefilled { args: args.clone(), provenance });
        }
    }
}

#[cfg(test)]
#[path = "solver_tests.rs"]
mod tests;
