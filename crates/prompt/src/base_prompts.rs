//! The base system prompts that ship with the house, one text file per key.
//!
//! A base prompt says what an agent is and how its memory works; [`crate::system`] adds the memory itself. The keys
//! are those that clients know, and `librarian`, which is ours. Overrides from the data directory are read by the server, not here.

use domain::AgentType;

/// Which base prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromptKey {
    MemgptV2Chat,
    SleeptimeV2,
    LettaV1,
    React,
    Workflow,
    SummarySystemPrompt,
    VoiceChat,
    VoiceSleeptime,
    MemgptChat,
    SleeptimeDocIngest,
    MemgptGenerateTool,
    /// What the first agent of a house is made with.
    Librarian,
}

impl PromptKey {
    /// Every key.
    pub const ALL: [Self; 12] = [
        Self::MemgptV2Chat,
        Self::SleeptimeV2,
        Self::LettaV1,
        Self::React,
        Self::Workflow,
        Self::SummarySystemPrompt,
        Self::VoiceChat,
        Self::VoiceSleeptime,
        Self::MemgptChat,
        Self::SleeptimeDocIngest,
        Self::MemgptGenerateTool,
        Self::Librarian,
    ];

    /// The prompt that an agent of that type is made with.
    pub fn for_agent(kind: AgentType) -> Self {
        match kind {
            AgentType::Memgpt | AgentType::SplitThread => Self::MemgptChat,
            AgentType::MemgptV2 => Self::MemgptV2Chat,
            AgentType::LettaV1 => Self::LettaV1,
            AgentType::React => Self::React,
            AgentType::Workflow => Self::Workflow,
            AgentType::Sleeptime => Self::SleeptimeV2,
            AgentType::VoiceConvo => Self::VoiceChat,
            AgentType::VoiceSleeptime => Self::VoiceSleeptime,
        }
    }

    /// The key as clients and override files write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MemgptV2Chat => "memgpt_v2_chat",
            Self::SleeptimeV2 => "sleeptime_v2",
            Self::LettaV1 => "letta_v1",
            Self::React => "react",
            Self::Workflow => "workflow",
            Self::SummarySystemPrompt => "summary_system_prompt",
            Self::VoiceChat => "voice_chat",
            Self::VoiceSleeptime => "voice_sleeptime",
            Self::MemgptChat => "memgpt_chat",
            Self::SleeptimeDocIngest => "sleeptime_doc_ingest",
            Self::MemgptGenerateTool => "memgpt_generate_tool",
            Self::Librarian => "librarian",
        }
    }

    /// The key of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The prompt, without a line break at its end.
    pub fn text(self) -> &'static str {
        match self {
            Self::MemgptV2Chat => include_str!("../base_prompts/memgpt_v2_chat.txt"),
            Self::SleeptimeV2 => include_str!("../base_prompts/sleeptime_v2.txt"),
            Self::LettaV1 => include_str!("../base_prompts/letta_v1.txt"),
            Self::React => include_str!("../base_prompts/react.txt"),
            Self::Workflow => include_str!("../base_prompts/workflow.txt"),
            Self::SummarySystemPrompt => include_str!("../base_prompts/summary_system_prompt.txt"),
            Self::VoiceChat => include_str!("../base_prompts/voice_chat.txt"),
            Self::VoiceSleeptime => include_str!("../base_prompts/voice_sleeptime.txt"),
            Self::MemgptChat => include_str!("../base_prompts/memgpt_chat.txt"),
            Self::SleeptimeDocIngest => include_str!("../base_prompts/sleeptime_doc_ingest.txt"),
            Self::MemgptGenerateTool => include_str!("../base_prompts/memgpt_generate_tool.txt"),
            Self::Librarian => include_str!("../base_prompts/librarian.txt"),
        }
        .trim_end()
    }
}

#[cfg(test)]
#[path = "base_prompts_tests.rs"]
mod tests;
