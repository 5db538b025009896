//! An agent as clients see it, with its blocks, tools and model.

use std::sync::Arc;

use domain::model_config::LlmConfig;
use domain::{Agent, AgentId, Block, MessageId, ResponseFormat, StopReason, Tool, ToolRule, UserId};
use serde::Serialize;
use serde_json::{Map, Value};

use super::blocks::BlockState;
use super::times::ResourceTime;
use super::tools::ToolState;

/// Everything that an agent's state is made of.
#[derive(Debug)]
pub(crate) struct AgentParts {
    pub(crate) agent: Arc<Agent>,
    pub(crate) message_ids: Vec<MessageId>,
    pub(crate) blocks: Vec<Arc<Block>>,
    pub(crate) tools: Vec<Arc<Tool>>,
    /// The address of the model's provider.
    pub(crate) endpoint: Option<String>,
}

/// An agent.
#[derive(Debug, Serialize)]
pub(crate) struct AgentState<'a> {
    created_by_id: UserId,
    last_updated_by_id: UserId,
    created_at: ResourceTime,
    updated_at: ResourceTime,
    id: AgentId,
    name: &'a str,
    tool_rules: &'a [ToolRule],
    message_ids: &'a [MessageId],
    system: &'a str,
    agent_type: &'static str,
    llm_config: LlmConfigState<'a>,
    embedding_config: (),
    model: &'a str,
    embedding: Option<&'a str>,
    model_settings: ModelSettingsState<'a>,
    compaction_settings: Option<&'a Value>,
    response_format: Option<&'a ResponseFormat>,
    description: Option<&'a str>,
    metadata: Option<&'a Map<String, Value>>,
    memory: MemoryState<'a>,
    blocks: Vec<BlockState<'a>>,
    tools: Vec<ToolState<'a>>,
    sources: [(); 0],
    tags: &'a [String],
    tool_exec_environment_variables: [(); 0],
    secrets: [(); 0],
    project_id: (),
    template_id: (),
    base_template_id: (),
    deployment_id: (),
    entity_id: (),
    identity_ids: [(); 0],
    identities: [(); 0],
    message_buffer_autoclear: bool,
    enable_sleeptime: (),
    multi_agent_group: (),
    managed_group: (),
    last_run_completion: Option<ResourceTime>,
    last_run_duration_ms: (),
    last_stop_reason: Option<&'static str>,
    timezone: &'a str,
    max_files_open: u32,
    per_file_view_window_char_limit: u32,
    hidden: Option<bool>,
}

/// How the agent's model is asked, in the older of Letta's two shapes.
#[derive(Debug, Serialize)]
struct LlmConfigState<'a> {
    model: &'a str,
    display_name: (),
    model_endpoint_type: &'a str,
    model_endpoint: Option<&'a str>,
    provider_name: &'a str,
    provider_category: &'static str,
    model_wrapper: (),
    context_window: u32,
    put_inner_thoughts_in_kwargs: bool,
    handle: &'a str,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    enable_reasoner: bool,
    reasoning_effort: Option<&'a str>,
    max_reasoning_tokens: u32,
    effort: (),
    frequency_penalty: Option<f64>,
    compatibility_type: (),
    verbosity: (),
    tier: (),
    parallel_tool_calls: bool,
    response_format: Option<&'a ResponseFormat>,
}

/// The same in the newer shape.
#[derive(Debug, Serialize)]
struct ModelSettingsState<'a> {
    max_output_tokens: Option<u32>,
    parallel_tool_calls: bool,
    provider_type: &'static str,
    temperature: Option<f64>,
    reasoning: Reasoning<'a>,
    response_format: Option<&'a ResponseFormat>,
}

#[derive(Debug, Serialize)]
struct Reasoning<'a> {
    reasoning_effort: &'a str,
}

#[derive(Debug, Serialize)]
struct MemoryState<'a> {
    agent_type: &'static str,
    blocks: Vec<BlockState<'a>>,
    file_blocks: [(); 0],
    prompt_template: &'static str,
}

impl<'a> From<&'a AgentParts> for AgentState<'a> {
    fn from(parts: &'a AgentParts) -> Self {
        let agent = &*parts.agent;
        let blocks = || parts.blocks.iter().map(|block| BlockState::from(&**block)).collect();
        let agent_type = agent.kind.as_str();
        Self {
            created_by_id: agent.created_by,
            last_updated_by_id: agent.created_by,
            created_at: ResourceTime(agent.created_at),
            updated_at: ResourceTime(agent.updated_at),
            id: agent.id,
            name: &agent.name,
            tool_rules: &agent.tool_rules,
            message_ids: &parts.message_ids,
            system: &agent.system,
            agent_type,
            llm_config: llm_config(agent, parts.endpoint.as_deref()),
            embedding_config: (),
            model: agent.llm_config.handle.as_str(),
            embedding: agent.embedding.as_deref(),
            model_settings: model_settings(&agent.llm_config, agent.response_format.as_ref()),
            compaction_settings: agent.compaction_settings.as_ref(),
            response_format: agent.response_format.as_ref(),
            description: agent.description.as_deref(),
            metadata: Some(&agent.metadata).filter(|metadata| !metadata.is_empty()),
            memory: MemoryState { agent_type, blocks: blocks(), file_blocks: [], prompt_template: "" },
            blocks: blocks(),
            tools: parts.tools.iter().map(|tool| ToolState::from(&**tool)).collect(),
            sources: [],
            tags: &agent.tags,
            tool_exec_environment_variables: [],
            secrets: [],
            project_id: (),
            template_id: (),
            base_template_id: (),
            deployment_id: (),
            entity_id: (),
            identity_ids: [],
            identities: [],
            message_buffer_autoclear: agent.message_buffer_autoclear,
            enable_sleeptime: (),
            multi_agent_group: (),
            managed_group: (),
            last_run_completion: agent.last_run_completion.map(ResourceTime),
            last_run_duration_ms: (),
            last_stop_reason: agent.last_stop_reason.map(StopReason::as_str),
            timezone: &agent.timezone,
            max_files_open: agent.max_files_open,
            per_file_view_window_char_limit: agent.per_file_view_window_char_limit,
            hidden: agent.hidden.then_some(true),
        }
    }
}

fn llm_config<'a>(agent: &'a Agent, endpoint: Option<&'a str>) -> LlmConfigState<'a> {
    let config = &agent.llm_config;
    LlmConfigState {
        model: config.handle.model(),
        display_name: (),
        model_endpoint_type: &config.model_endpoint_type,
        model_endpoint: endpoint,
        provider_name: config.handle.provider(),
        provider_category: "base",
        model_wrapper: (),
        context_window: config.context_window,
        put_inner_thoughts_in_kwargs: config.put_inner_thoughts_in_kwargs,
        handle: config.handle.as_str(),
        temperature: config.temperature,
        max_tokens: config.max_tokens,
        enable_reasoner: config.enable_reasoner,
        reasoning_effort: config.reasoning_effort.as_deref(),
        max_reasoning_tokens: config.max_reasoning_tokens,
        effort: (),
        frequency_penalty: config.frequency_penalty,
        compatibility_type: (),
        verbosity: (),
        tier: (),
        parallel_tool_calls: config.parallel_tool_calls,
        response_format: agent.response_format.as_ref(),
    }
}

fn model_settings<'a>(config: &'a LlmConfig, response_format: Option<&'a ResponseFormat>) -> ModelSettingsState<'a> {
    ModelSettingsState {
        max_output_tokens: config.max_tokens,
        parallel_tool_calls: config.parallel_tool_calls,
        // Clients tell the shape by this word, and this is the shape of the dialect that we speak.
        provider_type: "openai",
        temperature: config.temperature,
        reasoning: Reasoning { reasoning_effort: config.reasoning_effort.as_deref().unwrap_or("minimal") },
        response_format,
    }
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
