//! What fills a context window, as Letta tells it. Its messages are shown as they are stored, each as one.

use dispatch::{ContextOverview, Section};
use domain::seams::chat_model::ToolSpec;
use domain::{AgentId, ContentPart, Message, MessageId, RunId, StepId, ToolCall, ToolReturn};
use serde::Serialize;
use serde_json::Value;

use super::images::Source;
use super::times::ResourceTime;

/// Everything in a context window, with its tokens.
#[derive(Debug, Serialize)]
pub(crate) struct ContextWindowOverview<'a> {
    context_window_size_max: u32,
    context_window_size_current: u64,
    num_messages: usize,
    num_archival_memory: u64,
    num_recall_memory: u64,
    num_tokens_external_memory_summary: u64,
    external_memory_summary: &'a str,
    num_tokens_system: u64,
    system_prompt: &'a str,
    num_tokens_core_memory: u64,
    core_memory: &'a str,
    num_tokens_memory_filesystem: u64,
    memory_filesystem: (),
    num_tokens_tool_usage_rules: u64,
    tool_usage_rules: Option<&'a str>,
    num_tokens_directories: u64,
    directories: Option<&'a str>,
    num_tokens_summary_memory: u64,
    summary_memory: Option<&'a str>,
    num_tokens_functions_definitions: u64,
    functions_definitions: Vec<FunctionTool<'a>>,
    num_tokens_messages: u64,
    messages: Vec<StoredMessage<'a>>,
}

#[derive(Debug, Serialize)]
struct FunctionTool<'a> {
    function: Function<'a>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: (),
}

/// A message as it is stored. What this server doesn't keep is null.
#[derive(Debug, Serialize)]
struct StoredMessage<'a> {
    created_by_id: (),
    last_updated_by_id: (),
    created_at: ResourceTime,
    updated_at: (),
    id: MessageId,
    agent_id: AgentId,
    model: Option<&'a str>,
    role: &'static str,
    content: Vec<Part<'a>>,
    name: Option<&'a str>,
    tool_calls: Option<Vec<Call<'a>>>,
    tool_call_id: Option<&'a str>,
    step_id: Option<StepId>,
    run_id: Option<RunId>,
    otid: Option<&'a str>,
    tool_returns: Vec<Return<'a>>,
    group_id: (),
    sender_id: (),
    batch_item_id: (),
    is_err: (),
    approval_request_id: (),
    approve: (),
    denial_reason: (),
    approvals: [(); 0],
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str, signature: () },
    Reasoning { is_native: bool, reasoning: &'a str, signature: Option<&'a str> },
    Image { source: Source<'a> },
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: &'a str,
    function: CalledFunction<'a>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct CalledFunction<'a> {
    arguments: &'a str,
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct Return<'a> {
    tool_call_id: &'a str,
    status: &'static str,
    stdout: (),
    stderr: (),
    func_response: &'a str,
}

impl<'a> From<&'a ContextOverview> for ContextWindowOverview<'a> {
    fn from(overview: &'a ContextOverview) -> Self {
        let tokens = |section: &Option<Section>| section.as_ref().map_or(0, |section| section.tokens);
        let ContextOverview { system, blocks, tool_rules, directories, metadata, summary, .. } = overview;
        Self {
            context_window_size_max: overview.window,
            context_window_size_current: overview.total(),
            num_messages: overview.messages.len(),
            num_archival_memory: overview.passages,
            num_recall_memory: overview.message_count,
            num_tokens_external_memory_summary: metadata.tokens,
            external_memory_summary: &metadata.text,
            num_tokens_system: system.tokens,
            system_prompt: &system.text,
            num_tokens_core_memory: blocks.tokens,
            core_memory: &blocks.text,
            num_tokens_memory_filesystem: 0,
            memory_filesystem: (),
            num_tokens_tool_usage_rules: tokens(tool_rules),
            tool_usage_rules: text(tool_rules),
            num_tokens_directories: tokens(directories),
            directories: text(directories),
            num_tokens_summary_memory: tokens(summary),
            summary_memory: text(summary),
            num_tokens_functions_definitions: overview.tools_tokens,
            functions_definitions: overview.tools.iter().map(function).collect(),
            num_tokens_messages: overview.messages_tokens,
            messages: overview.messages.iter().map(|message| stored(message)).collect(),
        }
    }
}

fn text(section: &Option<Section>) -> Option<&str> {
    section.as_ref().map(|section| section.text.as_str())
}

fn function(tool: &ToolSpec) -> FunctionTool<'_> {
    let function =
        Function { name: &tool.name, description: &tool.description, parameters: &tool.parameters, strict: () };
    FunctionTool { function, kind: "function" }
}

fn stored(message: &Message) -> StoredMessage<'_> {
    StoredMessage {
        created_by_id: (),
        last_updated_by_id: (),
        created_at: ResourceTime(message.created_at),
        updated_at: (),
        id: message.id,
        agent_id: message.agent,
        // Letta names the model without its provider here.
        model: message.model.as_deref().map(|handle| handle.split_once('/').map_or(handle, |(_, model)| model)),
        role: message.role.as_str(),
        content: message.content.iter().map(part).collect(),
        name: message.name.as_deref(),
        tool_calls: (!message.tool_calls.is_empty()).then(|| message.tool_calls.iter().map(call).collect()),
        tool_call_id: message.tool_returns.first().map(|one| &*one.call_id),
        step_id: message.step,
        run_id: message.run,
        otid: message.otid.as_deref(),
        tool_returns: message
            .tool_returns
            .iter()
            .enumerate()
            .map(|(index, one)| returned(message, index, one))
            .collect(),
        group_id: (),
        sender_id: (),
        batch_item_id: (),
        is_err: (),
        approval_request_id: (),
        approve: (),
        denial_reason: (),
        approvals: [],
    }
}

fn part(part: &ContentPart) -> Part<'_> {
    match part {
        ContentPart::Text { text } => Part::Text { text, signature: () },
        ContentPart::Reasoning { text, is_native, signature } => {
            Part::Reasoning { is_native: *is_native, reasoning: text, signature: signature.as_deref() }
        }
        ContentPart::Image(image) => Part::Image { source: image.into() },
    }
}

fn call(call: &ToolCall) -> Call<'_> {
    let function = CalledFunction { arguments: &call.arguments, name: &call.name };
    Call { id: &call.id, function, kind: "function" }
}

fn returned<'a>(message: &'a Message, index: usize, one: &'a ToolReturn) -> Return<'a> {
    let packed = message.content.get(index).and_then(ContentPart::as_text);
    Return {
        tool_call_id: &one.call_id,
        status: one.status.as_str(),
        stdout: (),
        stderr: (),
        func_response: packed.unwrap_or(&one.text),
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
