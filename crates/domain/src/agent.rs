//! Agents: a model with a memory, tools and rules.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::conversation::Conversation;
use crate::ids::{AgentId, ConversationId, OrganizationId, UserId};
use crate::model_config::{LlmConfig, ResponseFormat};
use crate::owner::Actor;
use crate::run::StopReason;
use crate::tool_rule::ToolRule;

/// What kind of agent it is; decides prompt, loop and creation defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentType {
    Memgpt,
    MemgptV2,
    LettaV1,
    React,
    Workflow,
    SplitThread,
    Sleeptime,
    VoiceConvo,
    VoiceSleeptime,
}

impl AgentType {
    /// Every type, in Letta's order.
    pub const ALL: [Self; 9] = [
        Self::Memgpt,
        Self::MemgptV2,
        Self::LettaV1,
        Self::React,
        Self::Workflow,
        Self::SplitThread,
        Self::Sleeptime,
        Self::VoiceConvo,
        Self::VoiceSleeptime,
    ];

    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memgpt => "memgpt_agent",
            Self::MemgptV2 => "memgpt_v2_agent",
            Self::LettaV1 => "letta_v1_agent",
            Self::React => "react_agent",
            Self::Workflow => "workflow_agent",
            Self::SplitThread => "split_thread_agent",
            Self::Sleeptime => "sleeptime_agent",
            Self::VoiceConvo => "voice_convo_agent",
            Self::VoiceSleeptime => "voice_sleeptime_agent",
        }
    }

    /// The type of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Which loop runs it (blueprint 9.2).
    pub fn loop_policy(self) -> LoopPolicy {
        match self {
            Self::LettaV1 | Self::Sleeptime => LoopPolicy::V3,
            Self::Memgpt
            | Self::MemgptV2
            | Self::React
            | Self::Workflow
            | Self::SplitThread
            | Self::VoiceConvo
            | Self::VoiceSleeptime => LoopPolicy::V2,
        }
    }
}

/// The two ways a run goes on after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopPolicy {
    /// Every step must call one tool; `request_heartbeat` or a rule continues the run.
    V2,
    /// A plain answer ends the run, tool calls continue it; several calls in one reply.
    V3,
}

/// An agent's own settings. Its blocks, tools and messages are kept beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub id: AgentId,
    pub organization: OrganizationId,
    pub created_by: UserId,
    pub name: String,
    pub description: Option<String>,
    pub kind: AgentType,
    /// The base system prompt, before memory is rendered into it.
    pub system: String,
    pub llm_config: LlmConfig,
    /// Handle of the embedding model, as the client named it.
    pub embedding: Option<String>,
    pub response_format: Option<ResponseFormat>,
    /// As the client wrote them; [`crate::CompactionSettings`] is their meaning.
    pub compaction_settings: Option<Value>,
    pub tool_rules: Vec<ToolRule>,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
    /// An IANA time zone.
    pub timezone: String,
    pub message_buffer_autoclear: bool,
    pub max_files_open: u32,
    pub per_file_view_window_char_limit: u32,
    pub hidden: bool,
    /// The conversation that the classic API acts on.
    pub default_conversation: ConversationId,
    pub last_run_completion: Option<Timestamp>,
    pub last_stop_reason: Option<StopReason>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Agent {
    /// An agent that answers in plain words, with nothing but a name and a model, and its default conversation.
    pub fn plain(owner: Actor, name: impl Into<String>, llm_config: LlmConfig, at: Timestamp) -> (Self, Conversation) {
        let (id, default_conversation) = (AgentId::random(), ConversationId::random());
        let agent = Self {
            id,
            organization: owner.organization,
            created_by: owner.user,
            name: name.into(),
            description: None,
            kind: AgentType::LettaV1,
            system: String::new(),
            llm_config,
            embedding: None,
            response_format: None,
            compaction_settings: None,
            tool_rules: Vec::new(),
            tags: Vec::new(),
            metadata: Map::new(),
            timezone: "UTC".to_owned(),
            message_buffer_autoclear: false,
            max_files_open: 5,
            per_file_view_window_char_limit: 50_000,
            hidden: false,
            default_conversation,
            last_run_completion: None,
            last_stop_reason: None,
            created_at: at,
            updated_at: at,
        };
        let conversation = Conversation {
            id: default_conversation,
            organization: owner.organization,
            agent: id,
            identity: None,
            summary: None,
            created_at: at,
            updated_at: at,
        };
        (agent, conversation)
    }
}
