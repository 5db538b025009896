//! What clients say about agents that they make or change.

use dispatch::agent_spec::{AgentPatch, AgentSpec, BlockSpec, ModelSettings};
use domain::{AgentType, CompactionSettings, ResponseFormat, Role};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::message_requests::{MessageBody, Roles};
use crate::body::Fields;
use crate::error::ApiError;

/// What this server can't give an agent yet. A client that asks for one of these must not be told that it has it.
const NOT_OFFERED: &[&str] = &[
    "source_ids",
    "folder_ids",
    "identity_ids",
    "from_template",
    "template",
    "memory_variables",
    "include_multi_agent_tools",
    "include_default_source",
    "tool_exec_environment_variables",
    "secrets",
];

#[derive(Deserialize)]
struct BlockBody {
    label: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    read_only: Option<bool>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

impl From<BlockBody> for BlockSpec {
    fn from(body: BlockBody) -> Self {
        Self {
            label: body.label,
            value: body.value.unwrap_or_default(),
            limit: body.limit,
            description: body.description,
            read_only: body.read_only.unwrap_or(false),
            metadata: body.metadata.unwrap_or_default(),
        }
    }
}

/// The older shape of a model's configuration. Its endpoint is not read: clients never choose an upstream host.
#[derive(Default, Deserialize)]
struct LlmConfigBody {
    handle: Option<String>,
    model: Option<String>,
    provider_name: Option<String>,
    model_endpoint_type: Option<String>,
    context_window: Option<u32>,
    put_inner_thoughts_in_kwargs: Option<bool>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    enable_reasoner: Option<bool>,
    reasoning_effort: Option<String>,
    max_reasoning_tokens: Option<u32>,
    frequency_penalty: Option<f64>,
    parallel_tool_calls: Option<bool>,
}

impl LlmConfigBody {
    fn handle(&self) -> Option<String> {
        let provider = self.provider_name.as_deref().or(self.model_endpoint_type.as_deref());
        self.handle.clone().or_else(|| Some(format!("{}/{}", provider?, self.model.as_deref()?)))
    }
}

/// The newer shape.
#[derive(Default, Deserialize)]
struct ModelSettingsBody {
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    parallel_tool_calls: Option<bool>,
    reasoning: Option<ReasoningBody>,
    response_format: Option<ResponseFormat>,
}

#[derive(Default, Deserialize)]
struct ReasoningBody {
    reasoning_effort: Option<String>,
}

/// The model and how to ask it, from all the places where clients may say so.
struct ModelWish {
    model: Option<String>,
    settings: ModelSettings,
    response_format: Option<Option<ResponseFormat>>,
}

impl ModelWish {
    fn read(fields: &mut Fields) -> Result<Self, ApiError> {
        let config: LlmConfigBody = fields.take("llm_config")?.unwrap_or_default();
        let newer: ModelSettingsBody = fields.take("model_settings")?.unwrap_or_default();
        let effort = newer.reasoning.and_then(|reasoning| reasoning.reasoning_effort);
        let parallel = fields.take("parallel_tool_calls")?.or(newer.parallel_tool_calls);
        let settings = ModelSettings {
            context_window: fields.take("context_window_limit")?.or(config.context_window),
            temperature: newer.temperature.or(config.temperature),
            max_tokens: fields.take("max_tokens")?.or(newer.max_output_tokens).or(config.max_tokens),
            frequency_penalty: config.frequency_penalty,
            put_inner_thoughts_in_kwargs: config.put_inner_thoughts_in_kwargs,
            enable_reasoner: fields.take("enable_reasoner")?.or(fields.take("reasoning")?).or(config.enable_reasoner),
            reasoning_effort: effort.or_else(|| config.reasoning_effort.clone()),
            max_reasoning_tokens: fields.take("max_reasoning_tokens")?.or(config.max_reasoning_tokens),
            parallel_tool_calls: parallel.or(config.parallel_tool_calls),
            thinks_in_calls: None,
        };
        let response_format = fields.take_nullable("response_format")?.or(newer.response_format.map(Some));
        Ok(Self { model: fields.take("model")?.or_else(|| config.handle()), settings, response_format })
    }
}

/// Reads the body of a POST.
pub(crate) fn read_spec(mut fields: Fields) -> Result<AgentSpec, ApiError> {
    fields.refuse(NOT_OFFERED)?;
    let wish = ModelWish::read(&mut fields)?;
    let blocks: Vec<BlockBody> = fields.take("memory_blocks")?.unwrap_or_default();
    let first: Option<Vec<MessageBody>> = fields.take("initial_message_sequence")?;
    let first = first.map(|bodies| bodies.into_iter().map(|body| body.into_input(INITIAL)).collect());
    Ok(AgentSpec {
        name: fields.take("name")?,
        kind: kind(&mut fields)?,
        description: fields.take("description")?,
        model: wish.model,
        model_settings: wish.settings,
        embedding: embedding(&mut fields)?.flatten(),
        memory_blocks: blocks.into_iter().map(BlockSpec::from).collect(),
        block_ids: fields.take("block_ids")?.unwrap_or_default(),
        tools: fields.take("tools")?.unwrap_or_default(),
        tool_ids: fields.take("tool_ids")?.unwrap_or_default(),
        tool_rules: fields.take("tool_rules")?,
        include_base_tools: fields.take("include_base_tools")?,
        include_base_tool_rules: fields.take("include_base_tool_rules")?,
        system: fields.take("system")?,
        base_prompt: None,
        tags: fields.take("tags")?.unwrap_or_default(),
        metadata: fields.take("metadata")?.unwrap_or_default(),
        timezone: fields.take("timezone")?,
        initial_message_sequence: first.transpose()?,
        message_buffer_autoclear: fields.take("message_buffer_autoclear")?,
        enable_sleeptime: fields.take("enable_sleeptime")?,
        response_format: wish.response_format.flatten(),
        compaction_settings: compaction(fields.take("compaction_settings")?)?,
        max_files_open: fields.take("max_files_open")?,
        per_file_view_window_char_limit: fields.take("per_file_view_window_char_limit")?,
        hidden: fields.take("hidden")?,
    })
}

/// Reads the body of a PATCH.
pub(crate) fn read_patch(mut fields: Fields) -> Result<AgentPatch, ApiError> {
    fields.refuse(NOT_OFFERED)?;
    fields.refuse(&["message_ids"])?;
    let wish = ModelWish::read(&mut fields)?;
    Ok(AgentPatch {
        name: fields.take("name")?,
        description: fields.take_nullable("description")?,
        model: wish.model,
        model_settings: wish.settings,
        embedding: embedding(&mut fields)?,
        block_ids: fields.take("block_ids")?,
        tool_ids: fields.take("tool_ids")?,
        tool_rules: fields.take("tool_rules")?,
        system: fields.take("system")?,
        tags: fields.take("tags")?,
        metadata: fields.take("metadata")?,
        timezone: fields.take("timezone")?,
        message_buffer_autoclear: fields.take("message_buffer_autoclear")?,
        enable_sleeptime: fields.take("enable_sleeptime")?,
        response_format: wish.response_format,
        compaction_settings: fields.take_nullable("compaction_settings")?.map(compaction).transpose()?,
        max_files_open: fields.take("max_files_open")?,
        per_file_view_window_char_limit: fields.take("per_file_view_window_char_limit")?,
        hidden: fields.take("hidden")?,
    })
}

/// Who may speak in an agent's first messages.
const INITIAL: Roles =
    Roles { place: "initial_message_sequence", allowed: &[Role::User, Role::System, Role::Assistant] };

fn kind(fields: &mut Fields) -> Result<Option<AgentType>, ApiError> {
    let Some(text) = fields.take::<String>("agent_type")? else { return Ok(None) };
    match AgentType::parse(&text) {
        Some(kind) => Ok(Some(kind)),
        None => {
            let known: Vec<&str> = AgentType::ALL.iter().map(|kind| kind.as_str()).collect();
            let text = format!("agent_type must be one of {}", known.join(", "));
            Err(ApiError::invalid("enum", &["body", "agent_type"], &text))
        }
    }
}

/// The settings as the client wrote them, if they make sense.
fn compaction(settings: Option<Value>) -> Result<Option<Value>, ApiError> {
    match settings.as_ref().map(CompactionSettings::parse) {
        Some(Err(error)) => {
            Err(ApiError::invalid("value_error", &["body", "compaction_settings", error.field], &error.to_string()))
        }
        None | Some(Ok(_)) => Ok(settings),
    }
}

fn embedding(fields: &mut Fields) -> Result<Option<Option<String>>, ApiError> {
    #[derive(Default, Deserialize)]
    struct EmbeddingConfigBody {
        handle: Option<String>,
    }
    let config: EmbeddingConfigBody = fields.take("embedding_config")?.unwrap_or_default();
    Ok(fields.take_nullable("embedding")?.or(config.handle.map(Some)))
}

#[cfg(test)]
#[path = "agent_requests_tests.rs"]
mod tests;
