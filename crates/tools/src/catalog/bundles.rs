//! Which tools an agent is born with, and which rules come with them.
//!
//! The bundles hold every name that Letta gives them. Names that the catalog does not know yet are left out of what is
//! offered, so that adding a tool to the catalog adds it here too.

use domain::{AgentType, Tool, ToolRule};

/// Speaking, and searching what is outside of the context.
pub const BASE_TOOLS: [&str; 4] =
    ["send_message", "conversation_search", "archival_memory_insert", "archival_memory_search"];
/// The first generation of memory tools, and those that can do everything.
pub const BASE_MEMORY_TOOLS: [&str; 4] = ["core_memory_append", "core_memory_replace", "memory", "memory_apply_patch"];
/// The memory tools of today's chat agents.
pub const BASE_MEMORY_TOOLS_V2: [&str; 2] = ["memory_replace", "memory_insert"];
/// The one memory tool of models that were trained on it.
pub const BASE_MEMORY_TOOLS_V3: [&str; 1] = ["memory"];
/// What a chat agent keeps when another agent looks after its memory.
pub const BASE_SLEEPTIME_CHAT_TOOLS: [&str; 3] = ["send_message", "conversation_search", "archival_memory_search"];
/// What an agent that looks after memory has.
pub const BASE_SLEEPTIME_TOOLS: [&str; 4] =
    ["memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"];
/// Messages between agents.
pub const MULTI_AGENT_TOOLS: [&str; 3] =
    ["send_message_to_agent_and_wait_for_reply", "send_message_to_agents_matching_tags", "send_message_to_agent_async"];
/// Code and the web.
pub const BUILTIN_TOOLS: [&str; 4] = ["run_code", "run_code_with_tools", "web_search", "fetch_webpage"];
/// Attached files.
pub const FILES_TOOLS: [&str; 3] = ["open_files", "grep_files", "semantic_search_files"];

const SEND_MESSAGE: &str = "send_message";
const TERMINAL_TOOLS: [&str; 3] = [SEND_MESSAGE, "send_message_to_agent_async", "memory_finish_edits"];
/// The two memory tools that the first generation of agents was prompted for; the others would only compete with them.
const CLASSIC_MEMORY_TOOLS: [&str; 2] = ["core_memory_append", "core_memory_replace"];

/// Which memory tools suit a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryVariant {
    /// One small tool per kind of edit.
    Separate,
    /// One tool with commands.
    Omni,
}

impl MemoryVariant {
    /// The variant for a wire dialect, as [`domain::LlmConfig`] names it.
    pub fn for_endpoint_type(endpoint_type: &str) -> Self {
        if endpoint_type == "anthropic" { Self::Omni } else { Self::Separate }
    }

    fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Separate => &BASE_MEMORY_TOOLS_V2,
            Self::Omni => &BASE_MEMORY_TOOLS_V3,
        }
    }
}

/// The tools that a new agent gets unless its creator says otherwise. Voice agents get theirs elsewhere.
pub fn base_tools(kind: AgentType, enable_sleeptime: bool, memory: MemoryVariant) -> Vec<&'static str> {
    let bundles: [&[&'static str]; 2] = match kind {
        AgentType::Sleeptime => [&BASE_SLEEPTIME_TOOLS, &[]],
        AgentType::React | AgentType::Workflow | AgentType::VoiceConvo | AgentType::VoiceSleeptime => [&[], &[]],
        _ if enable_sleeptime => [&BASE_SLEEPTIME_CHAT_TOOLS, &[]],
        // These share the classic prompt, which names the classic tools.
        AgentType::Memgpt | AgentType::SplitThread => [&BASE_TOOLS, &CLASSIC_MEMORY_TOOLS],
        AgentType::MemgptV2 => [&BASE_TOOLS, memory.tools()],
        // It answers in plain text, so a tool for speaking would give it two ways to do the same.
        AgentType::LettaV1 => [&BASE_TOOLS[1..], memory.tools()],
    };
    bundles.concat().into_iter().filter(|name| super::by_name(name).is_some()).collect()
}

/// The rules that built-in tools come with: some end the run, all others continue it. Other tools come with none.
pub fn default_rules(names: &[&str]) -> Vec<ToolRule> {
    names.iter().copied().filter_map(default_rule).collect()
}

/// The rules of tools whose owner wants every call approved.
pub fn approval_rules<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Vec<ToolRule> {
    let gated = tools.into_iter().filter(|tool| tool.default_requires_approval);
    gated.map(|tool| ToolRule::RequiresApproval { tool_name: tool.name.to_string(), prompt_template: None }).collect()
}

fn default_rule(name: &str) -> Option<ToolRule> {
    let tool_name = name.to_owned();
    if TERMINAL_TOOLS.contains(&name) {
        return Some(ToolRule::ExitLoop { tool_name, prompt_template: None });
    }
    let bundles: [&[&str]; 4] = [&BASE_TOOLS, &BASE_MEMORY_TOOLS, &BASE_MEMORY_TOOLS_V2, &BASE_SLEEPTIME_TOOLS];
    let is_base = bundles.iter().any(|bundle| bundle.contains(&name));
    is_base.then_some(ToolRule::ContinueLoop { tool_name, prompt_template: None })
}
