//! The answers of `POST /v1/chat/completions`: one object, or chunks.

use domain::{Message, Role, RunId, StopReason, Usage};
use serde::Serialize;

/// What all parts of one answer have in common.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) created: i64,
    pub(crate) model: String,
}

impl Head {
    /// The head of the answer that `run` gives.
    pub(crate) fn new(run: RunId, created: i64, model: String) -> Self {
        Self { id: format!("chatcmpl-{}", run.uuid().simple()), created, model }
    }
}

/// Why the answer ended, in OpenAI's words.
pub(crate) fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        // A run that was stopped before it was done must not look like one that had nothing more to say.
        StopReason::MaxTokensExceeded | StopReason::MaxSteps => "length",
        StopReason::EndTurn
        | StopReason::Error
        | StopReason::LlmApiError
        | StopReason::InvalidLlmResponse
        | StopReason::InvalidToolCall
        | StopReason::NoToolCall
        | StopReason::ToolRule
        | StopReason::Cancelled
        | StopReason::InsufficientCredits
        | StopReason::RequiresApproval
        | StopReason::ContextWindowOverflowInSystemPrompt => "stop",
    }
}

/// What an agent said in one message: its plain words and those that it sent by tool.
pub(crate) fn spoken(message: &Message) -> Option<String> {
    if message.role != Role::Assistant {
        return None;
    }
    let sent = message.tool_calls.iter().filter_map(domain::ToolCall::spoken);
    let words: Vec<String> = message.texts().map(str::to_owned).chain(sent).filter(|text| !text.is_empty()).collect();
    (!words.is_empty()).then(|| words.join("\n\n"))
}

#[derive(Serialize)]
pub(crate) struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: UsageWire,
    system_fingerprint: Option<()>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    message: AssistantMessage<'a>,
    logprobs: Option<()>,
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct AssistantMessage<'a> {
    role: &'static str,
    content: &'a str,
    refusal: Option<()>,
    annotations: [(); 0],
}

impl<'a> Completion<'a> {
    /// The whole answer.
    pub(crate) fn new(head: &'a Head, content: &'a str, reason: StopReason, usage: Usage) -> Self {
        let message = AssistantMessage { role: "assistant", content, refusal: None, annotations: [] };
        let choice = Choice { index: 0, message, logprobs: None, finish_reason: finish_reason(reason) };
        Self {
            id: &head.id,
            object: "chat.completion",
            created: head.created,
            model: &head.model,
            choices: [choice],
            usage: usage.into(),
            system_fingerprint: None,
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct UsageWire {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl From<Usage> for UsageWire {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: usage.total_tokens,
            prompt_tokens_details: PromptDetails { cached_tokens: usage.cached_input_tokens },
            completion_tokens_details: CompletionDetails { reasoning_tokens: usage.reasoning_tokens },
        }
    }
}

/// What one chunk adds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Delta<'a> {
    Role,
    Content(&'a str),
    Finish(StopReason),
    /// The extra chunk that a client asks for by `include_usage`.
    Usage(UsageWire),
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: Vec<ChunkChoice<'a>>,
    // Present (null, or the numbers in the last chunk) only where the client asked for usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<UsageWire>>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u8,
    delta: DeltaWire<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct DeltaWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

/// One chunk as JSON text.
pub(crate) fn chunk(head: &Head, delta: Delta<'_>, include_usage: bool) -> Result<String, serde_json::Error> {
    let choice = |delta, finish_reason| vec![ChunkChoice { index: 0, delta, logprobs: None, finish_reason }];
    let (choices, usage) = match delta {
        Delta::Role => (choice(DeltaWire { role: Some("assistant"), content: Some("") }, None), None),
        Delta::Content(text) => (choice(DeltaWire { role: None, content: Some(text) }, None), None),
        Delta::Finish(reason) => (choice(DeltaWire::default(), Some(finish_reason(reason))), None),
        Delta::Usage(usage) => (Vec::new(), Some(usage)),
    };
    let usage = include_usage.then_some(usage);
    serde_json::to_string(&Chunk {
        id: &head.id,
        object: "chat.completion.chunk",
        created: head.created,
        model: &head.model,
        choices,
        usage,
    })
}
