//! Makes agents: everything that a caller leaves out is decided here, by the agent's kind (blueprint 4.2).

use std::sync::Arc;

use domain::block::{BlockDraft, DEFAULT_BLOCK_LIMIT};
use domain::{
    Actor, Agent, AgentId, AgentSnapshot, AgentType, Archival, Block, BlockId, ContentPart, Conversation,
    ConversationId, Label, LlmConfig, Memory, Message, MessageId, Role, Timestamp, Tool, ToolRule,
};
use prompt::base_prompts::PromptKey;
use prompt::initial::{Boot, BootOrder, InitialMessage, initial_sequence};
use storage::{BlockEditor, Change, Commit};
use tools::catalog::{self, MemoryVariant};

use crate::agent_spec::{AgentError, AgentSpec, BlockSpec};
use crate::dispatcher::Dispatcher;
use crate::model_choice::{llm_config, settle_thoughts};
use crate::names::name_for;
use crate::request::InputMessage;

/// Characters that a name may have.
const MAX_NAME_CHARS: usize = 256;
/// Blocks or tools that one agent may be made with.
const MAX_PARTS: usize = 200;
/// Characters that a base system prompt may have.
const MAX_SYSTEM_CHARS: usize = 1_000_000;
const DEFAULT_MAX_FILES_OPEN: u32 = 5;
const DEFAULT_FILE_CHARS: u32 = 50_000;
/// Letta's name for LM Studio's dialect, whose models want a user message before any tool call.
const LM_STUDIO: &str = "lmstudio_openai";

impl Dispatcher {
    /// Makes an agent with its blocks, tools, rules and first messages, all in one commit.
    pub async fn create_agent(&self, actor: Actor, spec: AgentSpec) -> Result<AgentId, AgentError> {
        let kind = spec.kind.unwrap_or(AgentType::LettaV1);
        check_supported(kind, spec.enable_sleeptime)?;
        check_spec(&spec)?;
        self.check_compaction(spec.compaction_settings.as_ref())?;
        let now = (self.inner.clock)();
        let model =
            spec.model.as_deref().ok_or_else(|| invalid("Must specify either model or llm_config in request"))?;
        let mut config = llm_config(self.models(), model, &spec.model_settings).await?;
        settle_thoughts(&mut config, kind);
        let tools = self.tools_for(actor, kind, &spec, &config).await?;
        let blocks = self.blocks_for(actor, &spec, now).await?;
        let agent = self.agent_of(actor, kind, spec.clone(), (config, now));
        let agent = Agent { tool_rules: rules_for(kind, &spec, &tools), ..agent };
        let commit = Creation { actor, now, agent: Arc::new(agent), tools, blocks }.into_commit(&spec);
        let id = commit.1;
        self.inner.store.commit(commit.0).await?;
        Ok(id)
    }

    fn agent_of(&self, actor: Actor, kind: AgentType, spec: AgentSpec, made: (LlmConfig, Timestamp)) -> Agent {
        let (llm_config, now) = made;
        let id = AgentId::random();
        let key = spec.base_prompt.unwrap_or_else(|| PromptKey::for_agent(kind));
        let overridden = self.inner.config.system_prompts.get(key.name()).cloned();
        Agent {
            id,
            organization: actor.organization,
            created_by: actor.user,
            name: spec.name.unwrap_or_else(|| name_for(id)),
            description: spec.description,
            kind,
            system: spec.system.or(overridden).unwrap_or_else(|| key.text().to_owned()),
            llm_config,
            embedding: spec.embedding,
            response_format: spec.response_format,
            compaction_settings: spec.compaction_settings,
            tool_rules: Vec::new(),
            tags: spec.tags,
            metadata: spec.metadata,
            timezone: spec.timezone.unwrap_or_else(|| "UTC".to_owned()),
            message_buffer_autoclear: kind == AgentType::Workflow || spec.message_buffer_autoclear.unwrap_or(false),
            max_files_open: spec.max_files_open.unwrap_or(DEFAULT_MAX_FILES_OPEN),
            per_file_view_window_char_limit: spec.per_file_view_window_char_limit.unwrap_or(DEFAULT_FILE_CHARS),
            hidden: spec.hidden.unwrap_or(false),
            default_conversation: ConversationId::random(),
            last_run_completion: None,
            last_stop_reason: None,
            created_at: now,
            updated_at: now,
        }
    }

    async fn tools_for(
        &self,
        actor: Actor,
        kind: AgentType,
        spec: &AgentSpec,
        config: &LlmConfig,
    ) -> Result<Vec<Arc<Tool>>, AgentError> {
        let all = self.inner.store.tools(actor.organization).await?;
        let base = if spec.include_base_tools.unwrap_or(true) {
            catalog::base_tools(kind, false, MemoryVariant::for_endpoint_type(&config.model_endpoint_type))
        } else {
            Vec::new()
        };
        let mut chosen: Vec<Arc<Tool>> = Vec::new();
        for name in base.into_iter().chain(spec.tools.iter().map(String::as_str)) {
            let tool = all.iter().find(|tool| &*tool.name == name);
            let tool = tool.ok_or_else(|| invalid(unknown_tool(name)))?;
            push_tool(&mut chosen, tool);
        }
        for id in &spec.tool_ids {
            let tool = all.iter().find(|tool| tool.id == *id);
            push_tool(&mut chosen, tool.ok_or_else(|| invalid(format!("there is no tool `{id}`")))?);
        }
        Ok(chosen)
    }

    async fn blocks_for(&self, actor: Actor, spec: &AgentSpec, now: Timestamp) -> Result<Vec<NewBlock>, AgentError> {
        let mut blocks: Vec<NewBlock> = Vec::new();
        for block in &spec.memory_blocks {
            let block = Arc::new(Block::new(draft(actor, block, now)?)?);
            blocks.push(NewBlock { block, is_new: true });
        }
        for id in &spec.block_ids {
            let block = Arc::new(self.inner.store.block(actor.organization, *id).await?);
            blocks.push(NewBlock { block, is_new: false });
        }
        for (index, one) in blocks.iter().enumerate() {
            if blocks[..index].iter().any(|other| other.block.label == one.block.label) {
                return Err(invalid(format!("two blocks have the label `{}`", one.block.label)));
            }
        }
        Ok(blocks)
    }
}

struct NewBlock {
    block: Arc<Block>,
    is_new: bool,
}

/// Everything that a new agent consists of.
struct Creation {
    actor: Actor,
    now: Timestamp,
    agent: Arc<Agent>,
    tools: Vec<Arc<Tool>>,
    blocks: Vec<NewBlock>,
}

impl Creation {
    fn into_commit(self, spec: &AgentSpec) -> (Commit, AgentId) {
        let Self { actor, now, agent, tools, blocks } = self;
        let (id, conversation) = (agent.id, agent.default_conversation);
        let messages = first_messages(&agent, spec, &blocks, now);
        let mut commit = Commit::new(actor, now).with(Change::InsertAgent(Box::new(Agent::clone(&agent)))).with(
            Change::InsertConversation(Box::new(Conversation {
                id: conversation,
                organization: actor.organization,
                agent: id,
                identity: None,
                summary: None,
                created_at: now,
                updated_at: now,
            })),
        );
        for NewBlock { block, is_new } in blocks {
            let block_id = block.id;
            if is_new {
                let block = Box::new(Block::clone(&block));
                commit.changes.push(Change::InsertBlock { block, editor: BlockEditor::Api });
            }
            commit.changes.push(Change::AttachBlock { agent: id, block: block_id });
        }
        commit.changes.extend(tools.iter().map(|tool| Change::AttachTool { agent: id, tool: tool.id }));
        let ids = messages.iter().map(|message| message.id).collect();
        commit.changes.push(Change::InsertMessages(messages));
        commit.changes.push(Change::AppendContext { conversation, messages: ids });
        (commit, id)
    }
}

/// The system message and what comes before the first user message.
fn first_messages(agent: &Arc<Agent>, spec: &AgentSpec, blocks: &[NewBlock], now: Timestamp) -> Vec<Arc<Message>> {
    let memory = Memory::new(blocks.iter().map(|block| block.block.clone()).collect());
    let snapshot = AgentSnapshot {
        agent: agent.clone(),
        conversation: agent.default_conversation,
        identity: None,
        memory,
        tools: Arc::new([]),
        context: Arc::default(),
        message_count: 0,
        archival: Archival::default(),
    };
    let system = agent::system_text(&snapshot, now);
    let system = plain(Role::System, vec![ContentPart::text(system)], None);
    let call_id = MessageId::random().uuid().hyphenated().to_string();
    let order = boot_order(&agent.llm_config);
    let rest = match &spec.initial_message_sequence {
        Some(given) => given.iter().map(given_message).collect(),
        None => initial_sequence(&Boot { kind: agent.kind, order, call_id: &call_id, at: now, zone: &agent.timezone }),
    };
    std::iter::once(system).chain(rest).map(|message| Arc::new(stored(agent, message, now))).collect()
}

fn given_message(input: &InputMessage) -> InitialMessage {
    plain(input.role, input.content.to_vec(), input.name.clone())
}

fn plain(role: Role, content: Vec<ContentPart>, name: Option<Arc<str>>) -> InitialMessage {
    InitialMessage { role, content, tool_calls: Vec::new(), tool_returns: Vec::new(), name }
}

fn boot_order(config: &LlmConfig) -> BootOrder {
    if config.model_endpoint_type == LM_STUDIO { BootOrder::UserFirst } else { BootOrder::AssistantFirst }
}

fn stored(agent: &Agent, message: InitialMessage, now: Timestamp) -> Message {
    let by_model = message.role == Role::Assistant;
    Message {
        id: MessageId::at(now),
        organization: agent.organization,
        agent: agent.id,
        conversation: agent.default_conversation,
        identity: None,
        sequence_id: 0,
        role: message.role,
        content: message.content.into(),
        tool_calls: message.tool_calls.into(),
        tool_returns: message.tool_returns.into(),
        name: message.name,
        model: by_model.then(|| agent.llm_config.handle.as_str().into()),
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: now,
    }
}

fn rules_for(kind: AgentType, spec: &AgentSpec, tools: &[Arc<Tool>]) -> Vec<ToolRule> {
    let mut rules = spec.tool_rules.clone().unwrap_or_default();
    let wanted = spec.include_base_tool_rules.unwrap_or(kind != AgentType::LettaV1);
    if wanted {
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        for rule in catalog::default_rules(&names) {
            let known = rules.iter().any(|other| {
                other.tool_name() == rule.tool_name() && std::mem::discriminant(other) == std::mem::discriminant(&rule)
            });
            if !known {
                rules.push(rule);
            }
        }
    }
    rules.extend(catalog::approval_rules(tools.iter().map(|tool| &**tool)));
    rules
}

fn draft(actor: Actor, spec: &BlockSpec, now: Timestamp) -> Result<BlockDraft, AgentError> {
    let description = spec.description.clone().or_else(|| prompt::block_descriptions::default_description(&spec.label));
    Ok(BlockDraft {
        id: BlockId::random(),
        organization: actor.organization,
        created_by: actor.user,
        label: Label::new(spec.label.clone())?,
        value: spec.value.clone(),
        limit: spec.limit.unwrap_or(DEFAULT_BLOCK_LIMIT),
        description,
        read_only: spec.read_only,
        metadata: spec.metadata.clone(),
        created_at: now,
    })
}

/// Tools that Letta's users know and that come with later versions.
const NOT_YET: [&str; 4] = ["open_files", "grep_files", "semantic_search_files", "web_search"];

fn unknown_tool(name: &str) -> String {
    if NOT_YET.contains(&name) {
        return format!("the tool `{name}` is not offered by this version yet: leave it out");
    }
    format!("there is no tool named `{name}`")
}

fn push_tool(chosen: &mut Vec<Arc<Tool>>, tool: &Arc<Tool>) {
    if !chosen.iter().any(|other| other.id == tool.id) {
        chosen.push(tool.clone());
    }
}

/// Kinds that need groups, which this version has not.
pub(crate) fn check_supported(kind: AgentType, enable_sleeptime: Option<bool>) -> Result<(), AgentError> {
    let unsupported = |text: &str| Err(AgentError::Unsupported(text.to_owned()));
    if matches!(kind, AgentType::VoiceConvo | AgentType::VoiceSleeptime) {
        return unsupported("voice agents work in groups, which this version does not have yet; nothing was made");
    }
    if enable_sleeptime == Some(true) {
        return unsupported(
            "enable_sleeptime needs a second agent in a group, which this version does not have yet; nothing was changed",
        );
    }
    Ok(())
}

pub(crate) fn check_name(name: &str) -> Result<(), AgentError> {
    let printable = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if !printable || name.chars().count() > MAX_NAME_CHARS {
        return Err(invalid(format!(
            "an agent's name needs 1 to {MAX_NAME_CHARS} characters without control characters"
        )));
    }
    Ok(())
}

pub(crate) fn check_timezone(zone: &str) -> Result<(), AgentError> {
    match jiff::tz::TimeZone::get(zone) {
        Ok(_) => Ok(()),
        Err(_) => Err(invalid(format!("`{zone}` is not a time zone: use an IANA name such as `Europe/Berlin`"))),
    }
}

pub(crate) fn check_system(system: &str) -> Result<(), AgentError> {
    if system.contains('\0') || system.chars().count() > MAX_SYSTEM_CHARS {
        return Err(invalid(format!("a system prompt can have {MAX_SYSTEM_CHARS} characters at most, and no NUL")));
    }
    Ok(())
}

fn check_spec(spec: &AgentSpec) -> Result<(), AgentError> {
    spec.name.as_deref().map_or(Ok(()), check_name)?;
    spec.timezone.as_deref().map_or(Ok(()), check_timezone)?;
    spec.system.as_deref().map_or(Ok(()), check_system)?;
    let blocks = spec.memory_blocks.len() + spec.block_ids.len();
    let tools = spec.tools.len() + spec.tool_ids.len();
    if blocks > MAX_PARTS || tools > MAX_PARTS {
        return Err(invalid(format!("an agent can be made with {MAX_PARTS} blocks and {MAX_PARTS} tools at most")));
    }
    if spec.description.as_deref().is_some_and(|text| text.contains('\0')) {
        return Err(invalid("a description can't hold NUL characters"));
    }
    Ok(())
}

pub(crate) fn invalid(text: impl Into<String>) -> AgentError {
    AgentError::Invalid(text.into())
}
