//! A `ChatModel` without a network: it plays prepared replies and keeps every request that it saw.
//!
//! It never decides anything by itself. A request for which no reply was prepared is rejected, so that a loop which
//! asks more often than the test expects fails loudly instead of going on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use domain::Usage;
use domain::seams::BoxFuture;
use domain::seams::chat_model::{ChatModel, FinishReason, ModelError, ModelEvent, ModelRequest, ModelStream};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::watch;

use crate::sync::{Gate, lock};

/// Characters in one streamed piece; small and odd, so that words and JSON escapes are cut in the middle.
const PIECE: usize = 7;

/// What a model answers to one request.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    parts: Vec<Part>,
    ending: Ending,
    usage: Option<Usage>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Reasoning(String),
    Signature(String),
    Call { name: String, arguments: String },
    Wait(Gate),
    Fail(ModelError),
}

#[derive(Debug, Clone, Copy, Default)]
enum Ending {
    /// Stops for the calls that it made, else because it has said all.
    #[default]
    Natural,
    As(FinishReason),
    Cut,
}

impl Reply {
    /// An answer in words.
    pub fn say(text: impl Into<String>) -> Self {
        Self::default().and_say(text)
    }

    /// One tool call.
    pub fn call(name: impl Into<String>, arguments: &Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// Private reasoning; more parts follow.
    pub fn think(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Reasoning(text.into())], ..Self::default() }
    }

    /// An error before the first token.
    pub fn fail(error: ModelError) -> Self {
        Self::default().and_fail(error)
    }

    /// Nothing until `gate` is released; more parts follow.
    pub fn held_by(gate: &Gate) -> Self {
        Self::default().and_wait(gate)
    }

    /// More words.
    pub fn and_say(self, text: impl Into<String>) -> Self {
        self.with(Part::Text(text.into()))
    }

    /// The vendor's proof of the reasoning so far.
    pub fn and_sign(self, signature: impl Into<String>) -> Self {
        self.with(Part::Signature(signature.into()))
    }

    /// One more tool call.
    pub fn and_call(self, name: impl Into<String>, arguments: &Value) -> Self {
        self.and_call_text(name, arguments.to_string())
    }

    /// One more tool call whose argument text need not be JSON.
    pub fn and_call_text(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.with(Part::Call { name: name.into(), arguments: arguments.into() })
    }

    /// Hangs here until `gate` is released.
    pub fn and_wait(self, gate: &Gate) -> Self {
        self.with(Part::Wait(gate.clone()))
    }

    /// Fails here; what stands before it was already streamed.
    pub fn and_fail(self, error: ModelError) -> Self {
        self.with(Part::Fail(error))
    }

    /// Ends with that reason, whatever it said.
    pub fn finished_as(self, reason: FinishReason) -> Self {
        Self { ending: Ending::As(reason), ..self }
    }

    /// Ends without saying that it is complete.
    pub fn cut(self) -> Self {
        Self { ending: Ending::Cut, ..self }
    }

    /// Reports these tokens.
    pub fn using(self, usage: Usage) -> Self {
        Self { usage: Some(usage), ..self }
    }

    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// The reply as events; `first_call` numbers its tool calls.
    fn beats(self, first_call: usize) -> VecDeque<Beat> {
        let mut beats = VecDeque::new();
        let mut calls = 0;
        for part in self.parts {
            match part {
                Part::Text(text) => beats.extend(pieces(&text).map(|piece| Beat::Event(ModelEvent::Text(piece)))),
                Part::Reasoning(text) => {
                    beats.extend(pieces(&text).map(|piece| Beat::Event(ModelEvent::Reasoning(piece))));
                }
                Part::Signature(proof) => beats.push_back(Beat::Event(ModelEvent::ReasoningSignature(proof))),
                Part::Call { name, arguments } => {
                    let id = format!("call_{}", first_call + calls);
                    beats.push_back(Beat::Event(ModelEvent::ToolCallStarted { index: calls, id, name }));
                    beats.extend(
                        pieces(&arguments)
                            .map(|fragment| Beat::Event(ModelEvent::ToolCallArguments { index: calls, fragment })),
                    );
                    calls += 1;
                }
                Part::Wait(gate) => beats.push_back(Beat::Wait(gate)),
                Part::Fail(error) => beats.push_back(Beat::Fail(error)),
            }
        }
        let reason = match self.ending {
            Ending::Cut => return beats,
            Ending::As(reason) => reason,
            Ending::Natural if calls > 0 => FinishReason::ToolCalls,
            Ending::Natural => FinishReason::Stop,
        };
        let usual = Usage { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ..Usage::default() };
        beats.push_back(Beat::Event(ModelEvent::Usage(self.usage.unwrap_or(usual))));
        beats.push_back(Beat::Event(ModelEvent::Finished(reason)));
        beats
    }

    fn call_count(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Call { .. })).count()
    }
}

enum Beat {
    Event(ModelEvent),
    Wait(Gate),
    Fail(ModelError),
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(PIECE).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

/// What a scripted model has seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that arrived.
    pub requests: usize,
    /// Answers that were dropped before their end, which is how an upstream call is cancelled.
    pub abandoned: usize,
}

type Answer = dyn Fn(&ModelRequest) -> Reply + Send + Sync;

enum Script {
    Queue(VecDeque<Reply>),
    Answer(Arc<Answer>),
}

struct Stage {
    script: Mutex<Script>,
    requests: Mutex<Vec<Arc<ModelRequest>>>,
    calls: Mutex<usize>,
    tally: watch::Sender<Tally>,
}

/// A model that plays a script. Clones play the same one.
#[derive(Clone)]
pub struct ScriptedModel {
    stage: Arc<Stage>,
}

impl ScriptedModel {
    /// Plays `replies`, one for each request.
    pub fn playing(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(Script::Queue(replies.into_iter().collect()))
    }

    /// Asks `answer` for each reply.
    pub fn answering(answer: impl Fn(&ModelRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Script::Answer(Arc::new(answer)))
    }

    fn with(script: Script) -> Self {
        let stage = Stage {
            script: Mutex::new(script),
            requests: Mutex::default(),
            calls: Mutex::new(1),
            tally: watch::Sender::default(),
        };
        Self { stage: Arc::new(stage) }
    }

    /// Adds a reply at the end of the queue. A model that asks a closure plays only this queue from now on.
    pub fn push(&self, reply: Reply) {
        let mut script = lock(&self.stage.script);
        match &mut *script {
            Script::Queue(replies) => replies.push_back(reply),
            Script::Answer(_) => *script = Script::Queue(VecDeque::from([reply])),
        }
    }

    /// Replies that were not asked for yet.
    pub fn remaining(&self) -> usize {
        match &*lock(&self.stage.script) {
            Script::Queue(replies) => replies.len(),
            Script::Answer(_) => 0,
        }
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Arc<ModelRequest>> {
        lock(&self.stage.requests).clone()
    }

    /// What happened so far.
    pub fn tally(&self) -> Tally {
        *self.stage.tally.borrow()
    }

    /// Returns once the tally is as `wanted` says.
    pub async fn until(&self, wanted: impl Fn(&Tally) -> bool) -> Tally {
        let mut tally = self.stage.tally.subscribe();
        // The sender lives in `self`, so waiting can't fail.
        match tally.wait_for(|tally| wanted(tally)).await {
            Ok(tally) => *tally,
            Err(_) => self.tally(),
        }
    }

    fn next_reply(&self, request: &Arc<ModelRequest>) -> Reply {
        lock(&self.stage.requests).push(request.clone());
        self.stage.tally.send_modify(|tally| tally.requests += 1);
        let answer = match &mut *lock(&self.stage.script) {
            Script::Queue(replies) => {
                return replies.pop_front().unwrap_or_else(|| {
                    Reply::fail(ModelError::Rejected { detail: "the script has no reply left".to_owned() })
                });
            }
            Script::Answer(answer) => answer.clone(),
        };
        answer(request)
    }

    fn play(&self, request: &Arc<ModelRequest>) -> Playing {
        let reply = self.next_reply(request);
        let mut next_call = lock(&self.stage.calls);
        let first_call = *next_call;
        *next_call += reply.call_count();
        Playing { beats: reply.beats(first_call), stage: self.stage.clone(), over: false }
    }
}

impl ChatModel for ScriptedModel {
    fn stream(&self, request: Arc<ModelRequest>) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            let mut playing = self.play(&request);
            while let Some(Beat::Wait(gate)) = playing.beats.front() {
                let gate = gate.clone();
                gate.pass().await;
                playing.beats.pop_front();
            }
            if let Some(Beat::Fail(error)) = playing.beats.front() {
                let error = error.clone();
                playing.over = true;
                return Err(error);
            }
            Ok(Box::pin(stream::unfold(playing, next_event)) as ModelStream)
        })
    }
}

/// An answer on its way. Dropped early, it counts as abandoned.
struct Playing {
    beats: VecDeque<Beat>,
    stage: Arc<Stage>,
    over: bool,
}

impl Drop for Playing {
    fn drop(&mut self) {
        if !self.over {
            self.stage.tally.send_modify(|tally| tally.abandoned += 1);
        }
    }
}

async fn next_event(mut playing: Playing) -> Option<(Result<ModelEvent, ModelError>, Playing)> {
    loop {
        let beat = playing.beats.pop_front();
        // Whoever took the last event may drop the stream without asking for its end.
        playing.over = playing.beats.is_empty() && !matches!(beat, Some(Beat::Wait(_)));
        match beat? {
            Beat::Event(event) => return Some((Ok(event), playing)),
            Beat::Wait(gate) => gate.pass().await,
            Beat::Fail(error) => {
                playing.beats.clear();
                playing.over = true;
                return Some((Err(error), playing));
            }
        }
    }
}

#[cfg(test)]
#[path = "scripted_model_tests.rs"]
mod tests;
