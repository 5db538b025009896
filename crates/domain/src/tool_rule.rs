//! Tool rules: what may, must or must not be called, and what a call does to the run.
//!
//! The JSON shape is Letta's own, so that a rule read from a client is stored and shown as it came.

use serde_json::{Map, Value};

/// A prefilled call of a child tool.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ToolCallNode {
    pub name: String,
    /// Arguments that override what the model writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
}

/// One rule. `prompt_template` replaces the rule's own sentence in the system message; `{{ tool_name }}` stands for
/// the tool's name.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolRule {
    /// Must be called first.
    RunFirst {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Map<String, Value>>,
    },
    /// Ends the run when called.
    ExitLoop {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
    },
    /// Continues the run when called.
    ContinueLoop {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
    },
    /// The tool's return decides which tool comes next.
    Conditional {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
        /// Next tool where the return matches none of the mapping; none means that any tool may follow.
        #[serde(default)]
        default_child: Option<String>,
        /// Return text to next tool.
        child_output_mapping: Map<String, Value>,
        /// Whether a return outside the mapping is an error instead of the default child.
        #[serde(default)]
        require_output_mapping: bool,
    },
    /// Only these tools may follow.
    ConstrainChildTools {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
        children: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child_arg_nodes: Option<Vec<ToolCallNode>>,
    },
    /// May be called so many times in one run.
    MaxCountPerStep {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
        max_count_limit: u32,
    },
    /// The children may be called only straight after this tool.
    ParentLastTool {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
        children: Vec<String>,
    },
    /// Must have been called before the run may end.
    RequiredBeforeExit {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
    },
    /// Needs a person's approval.
    RequiresApproval {
        tool_name: String,
        #[serde(default)]
        prompt_template: Option<String>,
    },
}

impl ToolRule {
    /// The tool that the rule is about.
    pub fn tool_name(&self) -> &str {
        match self {
            Self::RunFirst { tool_name, .. }
            | Self::ExitLoop { tool_name, .. }
            | Self::ContinueLoop { tool_name, .. }
            | Self::Conditional { tool_name, .. }
            | Self::ConstrainChildTools { tool_name, .. }
            | Self::MaxCountPerStep { tool_name, .. }
            | Self::ParentLastTool { tool_name, .. }
            | Self::RequiredBeforeExit { tool_name, .. }
            | Self::RequiresApproval { tool_name, .. } => tool_name,
        }
    }

    /// The client's own sentence for it, where there is one.
    pub fn prompt_template(&self) -> Option<&str> {
        match self {
            Self::RunFirst { prompt_template, .. }
            | Self::ExitLoop { prompt_template, .. }
            | Self::ContinueLoop { prompt_template, .. }
            | Self::Conditional { prompt_template, .. }
            | Self::ConstrainChildTools { prompt_template, .. }
            | Self::MaxCountPerStep { prompt_template, .. }
            | Self::ParentLastTool { prompt_template, .. }
            | Self::RequiredBeforeExit { prompt_template, .. }
            | Self::RequiresApproval { prompt_template, .. } => prompt_template.as_deref(),
        }
    }
}
