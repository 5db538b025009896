//! Why the model is run again: the reasons inside heartbeat messages.
//!
//! [`crate::packaging::heartbeat`] wraps them. Each says what happened and what the model may do now.

/// The model asked for it.
pub const REQUESTED: &str = "Function called using request_heartbeat=true, returning control";
/// A tool failed, so the model may recover.
pub const TOOL_FAILED: &str =
    "Your last tool call failed, so control is back with you: read its error, then correct the call or go another way.";
/// The model called what its rules don't allow.
pub const RULE_VIOLATED: &str =
    "Your last tool call broke a tool rule and was not run: choose a tool that is allowed now.";
/// A rule says that the run goes on after this tool.
pub const CONTINUE_RULE: &str = "A tool rule lets your run go on after this tool: take the next step.";
/// A rule says which tools may follow this one.
pub const CHILD_RULE: &str =
    "A tool rule says which tools may follow this one, so your run goes on: call one of them now.";

/// The run wanted to end before these tools were called.
pub fn required_before_exit(tools: &[&str]) -> String {
    let names: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    let names = names.join(", ");
    format!("Your run can't end yet. A tool rule wants these called first: {names}.")
}
