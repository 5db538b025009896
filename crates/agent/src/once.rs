//! One model call of which nothing is kept: no run, no step, no message, and no tool of any agent.
//!
//! It tells its watchers the same things as a run does, so that doors need to know one stream only.

use std::sync::Arc;

use domain::agent::LoopPolicy;
use domain::seams::chat_model::{ChatModel, FinishReason, ModelError, ModelRequest, Sampling};
use domain::{
    Actor, AgentId, AgentSnapshot, ConversationId, Message, MessageId, ModelHandle, Role, RunId, StepId, StopReason,
    Timestamp, Usage,
};
use prompt::history::{HistoryOptions, chat_messages};
use tokio_util::sync::CancellationToken;
use tools::rules::RuleSolver;

use crate::ask_model::{Answer, ask_model};
use crate::drive::{Stop, stop_reason};
use crate::events::{Finished, RunEvent, RunFailure};
use crate::input::{Opening, PastMessage, RunInput, RunOptions};
use crate::listener::{EventSink, Hearing, Listener};
use crate::open_step::name_calls;
use crate::render::{SystemMessage, system_message};
use crate::shaping::{Judged, Shaping};
use crate::step_loop::{Next, Reply, StepLoop};
use crate::step_messages::StepFrame;

/// What is asked.
#[derive(Debug, Clone)]
pub struct OnceInput {
    pub run: RunId,
    pub actor: Actor,
    pub model: ModelHandle,
    /// How the model is asked unless the options say otherwise.
    pub sampling: Sampling,
    /// What stands before the messages.
    pub system: Option<String>,
    pub messages: Vec<PastMessage>,
    pub options: RunOptions,
}

/// What a question needs from outside.
pub struct OncePorts {
    pub model: Arc<dyn ChatModel>,
    pub clock: fn() -> Timestamp,
    /// The client left.
    pub cancel: CancellationToken,
    /// The server stops: there is nothing to keep of an answer, so it is not waited for.
    pub stopping: CancellationToken,
}

/// The text of the system message that the next step of this conversation would show.
pub fn system_shown(snapshot: &AgentSnapshot, now: Timestamp) -> String {
    match system_message(snapshot, now) {
        SystemMessage::Stored => {
            snapshot.context.first().map(|stored| stored.first_text().to_owned()).unwrap_or_default()
        }
        SystemMessage::Rewritten(message) => message.first_text().to_owned(),
        SystemMessage::Missing(text) => text,
    }
}

/// Asks once and tells `sink` about it. The last event is sent by the caller.
pub async fn answer_once(input: OnceInput, ports: &OncePorts, sink: &EventSink) -> Finished {
    let run = input.run;
    let answered = tokio::select! {
        biased;
        () = ports.cancel.cancelled() => Err(Stop::Cancelled),
        () = ports.stopping.cancelled() => Err(Stop::Failed(RunFailure::Stopping)),
        answered = ask(input, ports, sink) => answered,
    };
    let (stop_reason, failure, usage) = match answered {
        Ok((reason, usage)) => (reason, None, usage),
        Err(Stop::Cancelled) => (StopReason::Cancelled, None, Usage::default()),
        Err(Stop::Failed(failure)) => (stop_reason(&failure), Some(failure), Usage::default()),
    };
    Finished { run, stop_reason, failure, usage, step_count: u32::from(usage != Usage::default()) }
}

async fn ask(input: OnceInput, ports: &OncePorts, sink: &EventSink) -> Result<(StopReason, Usage), Stop> {
    let at = (ports.clock)();
    let client = &input.options.client_tools;
    let mut steps = StepLoop::new(LoopPolicy::V3, RuleSolver::new(Vec::new()), 1).with_client_tools(client.clone());
    let Next::CallModel(ask) = steps.decide(&[]) else {
        return Err(Stop::Failed(RunFailure::BadReply("the question lost its place".into())));
    };
    let step = StepId::at(at);
    let message = MessageId::at(at);
    let nowhere = nowhere(&input);
    let frame = StepFrame { input: &nowhere, step, zone: "UTC", at };
    let request = ModelRequest {
        conversation: nowhere.conversation,
        step,
        model: input.model.model().into(),
        messages: shown(&input, &frame, ports.model.sees(input.model.model())),
        tools: if ask.offers_client { client.specs.clone() } else { Arc::default() },
        tool_choice: ask.choice.clone(),
        parallel_tool_calls: ask.offers_client && client.parallel.unwrap_or(true),
        sampling: input.options.sampling.over(input.sampling.clone()),
    };
    let hearing = Hearing { offers_client: ask.offers_client, ..Hearing::plain(sink, (message, step), at, client) };
    let answer = shaped(&*ports.model, request, hearing).await?;
    if answer.is_empty() && answer.finish != FinishReason::Length {
        return Err(ModelError::Broken { detail: "the model answered with nothing".to_owned() }.into());
    }
    let reply = Reply { calls: answer.calls.clone(), finish: answer.finish };
    let calls = steps.model_replied(reply, &[]);
    let reason = match answer.finish {
        FinishReason::Length => StopReason::MaxTokensExceeded,
        _ if calls.iter().any(|call| !call.is_own()) => StopReason::RequiresApproval,
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::ContentFilter => StopReason::EndTurn,
    };
    let usage = answer.usage;
    let said = frame
        .assistant(message, &answer, &calls, false)
        .map(|said| Arc::new(Message { model: Some(input.model.as_str().into()), ..said }));
    sink.send(RunEvent::StepCommitted { step, messages: said.into_iter().collect() }).await;
    Ok((reason, usage))
}

/// An answer of the wanted shape.
async fn shaped(model: &dyn ChatModel, mut request: ModelRequest, hearing: Hearing<'_>) -> Result<Answer, Stop> {
    let mut shaping =
        Shaping::new(model, LoopPolicy::V3, request.sampling.response_format.as_ref()).map_err(Stop::Failed)?;
    let bare = request.messages.len();
    let mut listener = Listener::new(Hearing { holds: shaping.holds(), ..hearing });
    loop {
        request.messages.truncate(bare);
        request.messages.extend_from_slice(shaping.shown());
        let mut answer = ask_model(model, Arc::new(request.clone()), &mut listener).await?;
        name_calls(&mut answer);
        if let Judged::Taken(answer) = shaping.judge(answer).map_err(Stop::Failed)? {
            return Ok(*answer);
        }
    }
}

/// The messages as the model sees them. `sees`: whether it may be shown images.
fn shown(input: &OnceInput, frame: &StepFrame<'_>, sees: bool) -> Vec<domain::seams::chat_model::ChatMessage> {
    let system = input.system.as_ref().map(|text| Arc::new(frame.system(text.clone())));
    let said = input.messages.iter().map(|past| {
        let mut message = frame.past(past);
        if past.role == Role::Tool {
            // A return without an envelope is shown as it is.
            message.content = Arc::default();
        }
        Arc::new(message)
    });
    let context: Vec<Arc<Message>> = system.into_iter().chain(said).collect();
    chat_messages(&context, &HistoryOptions { inner_thoughts: false, max_return_chars: None, images: sees })
}

/// A run that belongs to no agent and no conversation: models that keep state must not mix it with the agent's.
fn nowhere(input: &OnceInput) -> RunInput {
    RunInput {
        run: input.run,
        actor: input.actor,
        agent: AgentId::random(),
        conversation: ConversationId::random(),
        identity: None,
        opening: Opening::default(),
        options: input.options.clone(),
        background: false,
    }
}
