//! Asks a model for the summary of messages that leave the context, part by part.
//!
//! Nobody watches this: what the summariser says is shown to no client. It may fail in any way, and the caller goes on
//! without a summary then.

use std::sync::Arc;
use std::time::Duration;

use domain::seams::BoxFuture;
use domain::seams::chat_model::{ChatModel, ModelError, ModelRequest, Sampling, ToolChoice};
use domain::{
    CompactionSettings, ConversationId, LlmConfig, Message, MessageId, ModelHandle, StepId, Timestamp, Usage,
};
use prompt::extract::extract;
use prompt::summary::{SummaryTask, clip, parts, transcript};
use prompt::tokens::Family;

use crate::ask_model::ask_model;
use crate::input::ClientTools;
use crate::listener::{EventSink, Hearing, Listener};
use crate::meter::TokenMeter;

/// How freely a summariser writes unless somebody says otherwise.
const TEMPERATURE: f64 = 0.3;
/// How often the parts are made smaller because one was still too long.
const MAX_HALVINGS: u32 = 3;
/// Tokens of a part that are tried at least.
const LEAST_PART: u64 = 256;

/// Who summarises.
#[derive(Clone)]
pub enum Summariser {
    /// A language model, how to ask it, and how it is told to summarise.
    Model { model: Arc<dyn ChatModel>, config: LlmConfig, prompt: Arc<str> },
    /// No language model: first sentences are kept instead of a summary.
    Extract,
}

/// Finds who summarises by a model's handle, or says why nobody does.
pub type FindSummariser = Arc<dyn Fn(ModelHandle) -> BoxFuture<'static, Result<Summariser, String>> + Send + Sync>;

/// What is to be summarised.
pub(crate) struct Task<'a> {
    pub(crate) settings: &'a CompactionSettings,
    pub(crate) so_far: Option<&'a str>,
    pub(crate) messages: &'a [Arc<Message>],
    /// The agent's time zone.
    pub(crate) zone: &'a str,
    pub(crate) max_chars: usize,
    pub(crate) now: Timestamp,
    /// How long all of it may take.
    pub(crate) patience: Duration,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SummaryFailure {
    #[error("nobody can summarise: {0}")]
    Nobody(String),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the summariser answered with nothing")]
    Empty,
    #[error("the summary took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
}

/// The summary of everything in `task`, and what it cost.
pub(crate) async fn summarise(
    find: &FindSummariser,
    own_model: &ModelHandle,
    meter: &TokenMeter,
    task: Task<'_>,
) -> Result<(String, Usage), SummaryFailure> {
    let patience = task.patience;
    let handle = task.settings.model.clone().unwrap_or_else(|| own_model.clone());
    let work = async {
        match find(handle).await.map_err(SummaryFailure::Nobody)? {
            Summariser::Extract => {
                let text = extract(task.so_far, task.messages, task.zone, task.max_chars);
                Ok((text, Usage::default()))
            }
            Summariser::Model { model, config, prompt } => {
                let prompt = task.settings.prompt.as_deref().unwrap_or(&prompt);
                Asking { model: &*model, config: &config, prompt, meter, task: &task }.all_parts().await
            }
        }
    };
    tokio::time::timeout(patience, work).await.unwrap_or(Err(SummaryFailure::TooSlow(patience)))
}

struct Asking<'a> {
    model: &'a dyn ChatModel,
    config: &'a LlmConfig,
    prompt: &'a str,
    meter: &'a TokenMeter,
    task: &'a Task<'a>,
}

impl Asking<'_> {
    /// Each part is summarised together with the summary of those before it.
    async fn all_parts(&self) -> Result<(String, Usage), SummaryFailure> {
        let mut halvings = 0;
        let mut usage = Usage::default();
        loop {
            match self.with_parts_of(self.part_tokens() >> halvings, &mut usage).await {
                Err(SummaryFailure::Model(ModelError::ContextTooLong { .. })) if halvings < MAX_HALVINGS => {
                    halvings += 1;
                }
                Err(error) => return Err(error),
                Ok(summary) => return Ok((summary, usage)),
            }
        }
    }

    async fn with_parts_of(&self, tokens: u64, usage: &mut Usage) -> Result<String, SummaryFailure> {
        let entries = transcript(self.task.messages, self.task.zone);
        let family = Family::of_model(self.config.handle.model());
        let splitting = tokio::task::spawn_blocking(move || parts(&entries, tokens.max(LEAST_PART), family));
        let parts = splitting.await.map_err(|_| SummaryFailure::Empty)?;
        let mut so_far = self.task.so_far.map(str::to_owned);
        for part in &parts {
            let (summary, spent) = self.one_part(so_far.as_deref(), part).await?;
            *usage += spent;
            so_far = Some(summary);
        }
        so_far.ok_or(SummaryFailure::Empty)
    }

    async fn one_part(&self, so_far: Option<&str>, part: &str) -> Result<(String, Usage), SummaryFailure> {
        let Self { config, task, .. } = self;
        let wanted = &task.settings.model_settings;
        let request = ModelRequest {
            // A conversation of its own: models that keep state must not mix it with the agent's.
            conversation: ConversationId::random(),
            step: StepId::at(task.now),
            model: config.handle.model().into(),
            messages: self.summary_task(so_far).messages(part),
            tools: Arc::default(),
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: false,
            sampling: Sampling {
                temperature: wanted.temperature.or(Some(TEMPERATURE)),
                max_output_tokens: wanted.max_output_tokens,
                reasoning_effort: wanted.reasoning_effort.clone(),
                ..Sampling::default()
            },
        };
        let (sink, none) = (EventSink::silent(), ClientTools::default());
        let names = (MessageId::at(task.now), request.step);
        let mut listener = Listener::new(Hearing::plain(&sink, names, task.now, &none));
        let answer = ask_model(self.model, Arc::new(request), &mut listener).await?;
        let summary = clip(&answer.text, task.max_chars).ok_or(SummaryFailure::Empty)?;
        Ok((summary, answer.usage))
    }

    fn summary_task<'a>(&'a self, so_far: Option<&'a str>) -> SummaryTask<'a> {
        SummaryTask {
            prompt: self.prompt,
            acknowledgement: self.task.settings.prompt_acknowledgement,
            so_far,
            max_chars: self.task.max_chars,
        }
    }

    /// Tokens of a transcript that fit beside everything else that the summariser is shown, and its answer.
    fn part_tokens(&self) -> u64 {
        let handle = &self.config.handle;
        let window = u64::from(self.meter.window(handle, self.config.context_window));
        let family = Family::of_model(handle.model());
        let summary = (self.task.max_chars as u64).div_ceil(2).min(window / 4);
        let answer = self.task.settings.model_settings.max_output_tokens.map_or(summary, u64::from).min(window / 4);
        // The summary so far grows up to its limit from part to part.
        let frame = family.count(&self.summary_task(Some("")).frame()) + summary;
        let room = window.saturating_sub(frame + answer) * 9 / 10;
        self.meter.ratio(handle).counted(room).max(LEAST_PART)
    }
}
