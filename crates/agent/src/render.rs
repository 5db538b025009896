//! From a snapshot to what a model is shown: the system message, the history and the tools of one step.

use std::sync::Arc;

use domain::agent::LoopPolicy;
use domain::seams::chat_model::{ModelRequest, Sampling};
use domain::{AgentSnapshot, ContentPart, LlmConfig, Message, ResponseFormat, Role, StepId, Timestamp};
use prompt::history::{HistoryOptions, chat_messages};
use prompt::system::{Metadata, SystemInput};
use prompt::tool_specs::{SpecOptions, specs};

use crate::input::RunOptions;
use crate::step_loop::{Ask, StepLoop};

/// Characters of a tool's return that a model is always shown.
const MIN_RETURN_CHARS: usize = 5_000;

/// The system message of one step.
#[derive(Debug)]
pub(crate) enum SystemMessage {
    /// As it is stored.
    Stored,
    /// The memory section changed: the stored message gets this text.
    Rewritten(Arc<Message>),
    /// The conversation has no system message yet.
    Missing(String),
}

/// What has to become of the system message before the model sees it.
pub(crate) fn system_message(snapshot: &AgentSnapshot, now: Timestamp) -> SystemMessage {
    let stored = snapshot.context.first().filter(|message| message.role == Role::System);
    match stored {
        None => SystemMessage::Missing(system_text(snapshot, now)),
        Some(stored)
            if !prompt::system::needs_rebuild(stored.first_text(), &system_input(snapshot), &snapshot.archival) =>
        {
            SystemMessage::Stored
        }
        Some(stored) => {
            let mut message = Message::clone(stored);
            message.content = Arc::new([ContentPart::text(system_text(snapshot, now))]);
            SystemMessage::Rewritten(Arc::new(message))
        }
    }
}

/// The text of the system message, rendered anew.
pub fn system_text(snapshot: &AgentSnapshot, now: Timestamp) -> String {
    let agent = &snapshot.agent;
    let blocks = snapshot.memory.blocks();
    let modified = blocks.iter().map(|block| block.updated_at).max().unwrap_or(agent.created_at);
    let metadata = Metadata {
        now,
        zone: &agent.timezone,
        memory_modified_at: modified,
        previous_messages: snapshot.message_count.saturating_sub(snapshot.context.len() as u64),
        archival_memories: snapshot.archival.passages,
        archival_tags: &snapshot.archival.tags,
    };
    prompt::system::render(&system_input(snapshot), &metadata)
}

/// All that the system message depends on.
pub(crate) fn system_input(snapshot: &AgentSnapshot) -> SystemInput<'_> {
    let agent = &snapshot.agent;
    SystemInput {
        base: &agent.system,
        kind: agent.kind,
        memory: &snapshot.memory,
        tool_rules: &agent.tool_rules,
        directories: None,
        line_numbers: agent.llm_config.numbers_memory_lines(),
    }
}

/// How the history is shown to a model: tools' returns are cut at 20% of the window, at four characters a token.
/// `sees`: whether the model may be shown images.
pub(crate) fn history_options(config: &LlmConfig, sees: bool) -> HistoryOptions {
    HistoryOptions {
        images: sees,
        inner_thoughts: config.put_inner_thoughts_in_kwargs,
        max_return_chars: Some(MIN_RETURN_CHARS.max(config.context_window as usize * 4 / 5)),
    }
}

/// Whether there are images in the context, and none among the `new` messages at its end.
pub(crate) fn only_earlier_images(context: &[Arc<Message>], new: usize) -> bool {
    let (earlier, new) = context.split_at(context.len().saturating_sub(new));
    let shows = |messages: &[Arc<Message>]| messages.iter().any(|message| message.images().next().is_some());
    shows(earlier) && !shows(new)
}

/// The request of one step.
pub(crate) fn model_request(
    snapshot: &AgentSnapshot,
    (context, history): (&[Arc<Message>], &HistoryOptions),
    ask: &Ask,
    (steps, options): (&StepLoop, &RunOptions),
    step: StepId,
) -> ModelRequest {
    let agent = &snapshot.agent;
    let config = &agent.llm_config;
    let policy = agent.kind.loop_policy();
    let is_v2 = policy == LoopPolicy::V2;
    let terminal = |name: &str| steps.is_terminal(name);
    let sampling = sampling(snapshot, options);
    let wanted_format = wanted_format(snapshot, options);
    let spec_options = SpecOptions {
        inner_thoughts: config.put_inner_thoughts_in_kwargs,
        request_heartbeat: is_v2,
        terminal: &terminal,
        response_format: wanted_format,
    };
    let offered = snapshot.tools.iter().filter(|tool| ask.allowed.iter().any(|name| **name == *tool.name));
    let mut tools = specs(offered, &spec_options);
    if ask.offers_client {
        tools = tools.iter().chain(&*options.client_tools.specs).cloned().collect();
    }
    ModelRequest {
        conversation: snapshot.conversation,
        step,
        model: config.handle.model().into(),
        messages: chat_messages(context, history),
        tools,
        tool_choice: ask.choice.clone(),
        parallel_tool_calls: !is_v2
            && match ask.offers_client {
                // As OpenAI's clients are used to.
                true => options.client_tools.parallel.unwrap_or(true),
                // Rules speak about what follows what, which calls side by side would break.
                false => config.parallel_tool_calls && agent.tool_rules.is_empty(),
            },
        sampling,
    }
}

/// The shape that the answer must have.
pub(crate) fn wanted_format<'a>(snapshot: &'a AgentSnapshot, options: &'a RunOptions) -> Option<&'a ResponseFormat> {
    options.sampling.response_format.as_ref().or(snapshot.agent.response_format.as_ref())
}

/// How the model is asked in one run. Agents that speak by a tool have the shape of their words in its schema, and no
/// vendor can stop an answer inside of a call.
fn sampling(snapshot: &AgentSnapshot, options: &RunOptions) -> Sampling {
    let agent = &snapshot.agent;
    let mut sampling = options
        .sampling
        .over(Sampling { response_format: agent.response_format.clone(), ..own_sampling(&agent.llm_config) });
    if agent.kind.loop_policy() == LoopPolicy::V2 {
        sampling.response_format = None;
        sampling.stop.clear();
    }
    sampling
}

/// How an agent's model is asked unless a request says otherwise.
pub fn own_sampling(config: &LlmConfig) -> Sampling {
    Sampling {
        temperature: config.temperature,
        max_output_tokens: config.max_tokens,
        frequency_penalty: config.frequency_penalty,
        reasoning_effort: config.reasoning_effort.clone(),
        ..Sampling::default()
    }
}
