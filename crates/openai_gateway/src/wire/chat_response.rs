//! The answers of `POST /v1/chat/completions`: one object, or chunks.

use domain::{RunId, Usage};
use serde::Serialize;

use crate::answer::Finish;

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

    /// The same in the older dialect.
    pub(crate) fn of_text(run: RunId, created: i64, model: String) -> Self {
        Self { id: format!("cmpl-{}", run.uuid().simple()), created, model }
    }
}

/// Under which name reasoning is shown beside the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasoningField {
    ReasoningContent,
    Reasoning,
}

/// A call of a client's tool, under the client's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// All that an answer says.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) content: String,
    pub(crate) reasoning: Option<(ReasoningField, String)>,
    pub(crate) calls: Vec<ShownCall>,
    /// The client speaks of functions, not of tools.
    pub(crate) legacy: bool,
    pub(crate) finish: Finish,
    pub(crate) usage: Usage,
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
    content: Option<&'a str>,
    refusal: Option<()>,
    annotations: [(); 0],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionWire<'a>>,
}

#[derive(Serialize)]
struct CallWire<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionWire<'a>,
}

#[derive(Serialize)]
struct FunctionWire<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Completion<'a> {
    /// The whole answer.
    pub(crate) fn new(head: &'a Head, told: &'a Told) -> Self {
        let functions = told.calls.iter().map(|call| FunctionWire { name: &call.name, arguments: &call.arguments });
        let (function_call, tool_calls) = if told.legacy {
            (functions.take(1).next(), Vec::new())
        } else {
            let ids = told.calls.iter().map(|call| call.id.as_str());
            (None, ids.zip(functions).map(|(id, function)| CallWire { id, kind: "function", function }).collect())
        };
        let shown = |field| told.reasoning.as_ref().filter(|(as_field, _)| *as_field == field).map(|(_, text)| &**text);
        let is_call = !told.calls.is_empty();
        let message = AssistantMessage {
            role: "assistant",
            content: (!is_call || !told.content.is_empty()).then_some(told.content.as_str()),
            refusal: None,
            annotations: [],
            reasoning_content: shown(ReasoningField::ReasoningContent),
            reasoning: shown(ReasoningField::Reasoning),
            tool_calls,
            function_call,
        };
        let finish_reason = told.finish.as_str(told.legacy);
        Self {
            id: &head.id,
            object: "chat.completion",
            created: head.created,
            model: &head.model,
            choices: [Choice { index: 0, message, logprobs: None, finish_reason }],
            usage: told.usage.into(),
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
    Reasoning(ReasoningField, &'a str),
    /// A call begins; its id is sent once.
    Call {
        index: usize,
        id: &'a str,
        name: &'a str,
    },
    Arguments {
        index: usize,
        fragment: &'a str,
    },
    /// A call of the old kind begins, or goes on.
    Function {
        name: Option<&'a str>,
        fragment: &'a str,
    },
    Finish(&'static str),
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
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallDelta<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionDelta<'a>>,
}

#[derive(Serialize)]
struct CallDelta<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: FunctionDelta<'a>,
}

#[derive(Serialize)]
struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

/// One chunk as JSON text.
pub(crate) fn chunk(head: &Head, delta: Delta<'_>, include_usage: bool) -> Result<String, serde_json::Error> {
    let (choices, usage) = match delta {
        Delta::Usage(usage) => (Vec::new(), Some(usage)),
        Delta::Finish(reason) => (choice(DeltaWire::default(), Some(reason)), None),
        other => (choice(wire(other), None), None),
    };
    serde_json::to_string(&Chunk {
        id: &head.id,
        object: "chat.completion.chunk",
        created: head.created,
        model: &head.model,
        choices,
        usage: include_usage.then_some(usage),
    })
}

fn choice<'a>(delta: DeltaWire<'a>, finish_reason: Option<&'static str>) -> Vec<ChunkChoice<'a>> {
    vec![ChunkChoice { index: 0, delta, logprobs: None, finish_reason }]
}

fn wire(delta: Delta<'_>) -> DeltaWire<'_> {
    let empty = DeltaWire::default();
    match delta {
        Delta::Role => DeltaWire { role: Some("assistant"), content: Some(""), ..empty },
        Delta::Content(text) => DeltaWire { content: Some(text), ..empty },
        Delta::Reasoning(ReasoningField::ReasoningContent, text) => {
            DeltaWire { reasoning_content: Some(text), ..empty }
        }
        Delta::Reasoning(ReasoningField::Reasoning, text) => DeltaWire { reasoning: Some(text), ..empty },
        Delta::Call { index, id, name } => {
            let function = FunctionDelta { name: Some(name), arguments: "" };
            let call = CallDelta { index, id: Some(id), kind: Some("function"), function };
            DeltaWire { tool_calls: Some([call]), ..empty }
        }
        Delta::Arguments { index, fragment } => {
            let function = FunctionDelta { name: None, arguments: fragment };
            DeltaWire { tool_calls: Some([CallDelta { index, id: None, kind: None, function }]), ..empty }
        }
        Delta::Function { name, fragment } => {
            DeltaWire { function_call: Some(FunctionDelta { name, arguments: fragment }), ..empty }
        }
        // Those have no delta of their own.
        Delta::Finish(_) | Delta::Usage(_) => empty,
    }
}
