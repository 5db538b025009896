//! Tells the model its tool rules, one sentence each, in the section `<tool_usage_rules>`.
//!
//! The rules are enforced elsewhere; this text only keeps the model from running into them. The order is that of the
//! rules, and a sentence that was said is not said again.

use domain::ToolRule;
use serde_json::{Map, Value};

const INTRODUCTION: &str = "Your tools are subject to the rules below. Keep to every one of them: a call that breaks a rule is refused, and a run that breaks one is made to go on.";

/// The section `<tool_usage_rules>`; None where there are no rules.
pub fn compile(rules: &[ToolRule]) -> Option<String> {
    if rules.is_empty() {
        return None;
    }
    let mut entries: Vec<String> = Vec::with_capacity(rules.len());
    for rule in rules {
        let entry = entry(rule);
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    let entries = entries.join("\n");
    Some(format!("<tool_usage_rules>\n{INTRODUCTION}\n\n{entries}\n</tool_usage_rules>"))
}

/// Clients that write templates often bring the tag along.
fn entry(rule: &ToolRule) -> String {
    let text = match rule.prompt_template() {
        Some(template) => fill_template(template, rule.tool_name()),
        None => sentence(rule),
    };
    let text = text.trim();
    if text.starts_with("<tool_rule>") { text.to_owned() } else { format!("<tool_rule>\n{text}\n</tool_rule>") }
}

/// One pass, so that a tool's name is never taken for a part of the template.
fn fill_template(template: &str, tool: &str) -> String {
    let mut filled = String::with_capacity(template.len() + tool.len());
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let after = &rest[start + 2..];
        let name = after.find("}}").map(|end| (after[..end].trim(), &after[end + 2..]));
        if let Some(("tool_name", tail)) = name {
            filled.push_str(&rest[..start]);
            filled.push_str(tool);
            rest = tail;
        } else {
            filled.push_str(&rest[..start + 2]);
            rest = after;
        }
    }
    filled.push_str(rest);
    filled
}

fn sentence(rule: &ToolRule) -> String {
    let tool = rule.tool_name();
    match rule {
        ToolRule::RunFirst { .. } => {
            format!("`{tool}` is an opening tool: the first call of a run must go to an opening tool.")
        }
        ToolRule::ExitLoop { .. } => format!("A call of `{tool}` ends your run, so make it your last."),
        ToolRule::ContinueLoop { .. } => format!("After `{tool}` your run goes on: take another step."),
        ToolRule::Conditional { default_child, child_output_mapping, require_output_mapping, .. } => {
            let otherwise = otherwise(default_child.as_deref(), *require_output_mapping);
            let branches = branches(child_output_mapping);
            format!("What `{tool}` returns decides which tool comes next: {branches}{otherwise}.")
        }
        ToolRule::ConstrainChildTools { children, .. } => {
            format!("Straight after `{tool}` you may call only: {}.", list(children))
        }
        ToolRule::MaxCountPerStep { max_count_limit: 1, .. } => {
            format!("`{tool}` may be called once in a run.")
        }
        ToolRule::MaxCountPerStep { max_count_limit, .. } => {
            format!("`{tool}` may be called at most {max_count_limit} times in a run.")
        }
        ToolRule::ParentLastTool { children, .. } => {
            format!("These tools may be called only straight after `{tool}`: {}.", list(children))
        }
        ToolRule::RequiredBeforeExit { .. } => format!("`{tool}` must have been called before your run can end."),
        ToolRule::RequiresApproval { .. } => format!("A call of `{tool}` waits until a person has approved it."),
    }
}

fn branches(mapping: &Map<String, Value>) -> String {
    let branches = mapping.iter().map(|(output, child)| {
        let child = child.as_str().map_or_else(|| child.to_string(), str::to_owned);
        format!("`{output}` leads to `{child}`, ")
    });
    branches.collect()
}

fn otherwise(default_child: Option<&str>, required: bool) -> String {
    match (default_child, required) {
        (_, true) => "anything else allows no tool at all".to_owned(),
        (Some(child), false) => format!("anything else leads to `{child}`"),
        (None, false) => "anything else leaves the choice to you".to_owned(),
    }
}

fn list(tools: &[String]) -> String {
    if tools.is_empty() {
        return "none".to_owned();
    }
    let tools: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    tools.join(", ")
}

#[cfg(test)]
#[path = "rule_text_tests.rs"]
mod tests;
