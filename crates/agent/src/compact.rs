//! Makes room in a full context: cuts it, has what goes summarised, and commits both together.
//!
//! It happens before a model call that would not fit, and after one that the vendor refused as too long; never at the
//! end of a run, so that nobody waits for it in vain. Only the context list changes: every message stays in the store.
//! Where no summary can be made, the messages go all the same, an alert says so, and the next run tries again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::seams::chat_model::{ModelError, ModelRequest};
use domain::{AgentSnapshot, CompactionSettings, ContentPart, Message, MessageId, Role, Standing, Timestamp, Usage};
use prompt::budget::Budget;
use prompt::compaction::{Cut, CutGoal, Notes, notes_of, plan_cut};
use prompt::history::HistoryOptions;
use prompt::packaging::{self, Evicted};
use storage::{Change, Commit, MessageFilter, StoreError};

use crate::drive::{RunPorts, Stop};
use crate::events::RunFailure;
use crate::input::RunInput;
use crate::meter::{Load, Measured, TokenMeter, Weight};
use crate::opening::GoneBack;
use crate::render::system_text;
use crate::summarise::{SummaryFailure, Task, summarise};

/// Compactions of one model call that a vendor refused, the last of which keeps as little as can be kept.
const MAX_TIGHTNESS: u32 = 4;
/// How long a summary may take before a call, and how long one that was missed before.
const PATIENCE: Duration = Duration::from_secs(240);
const RETRY_PATIENCE: Duration = Duration::from_secs(45);
/// Messages without a summary that are fetched again from the store.
const MAX_MISSED: usize = 2_000;
const PAGE: u32 = 500;
/// The tool by which an agent finds what has left its context.
const SEARCH_TOOL: &str = "conversation_search";

/// One model call that is about to be made.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) snapshot: &'a AgentSnapshot,
    /// All that is to be shown, the messages at the end included that are not stored yet.
    pub(crate) context: &'a [Arc<Message>],
    pub(crate) request: &'a ModelRequest,
    /// How many are not stored yet.
    pub(crate) unstored: usize,
}

/// Makes room for one run.
pub(crate) struct Compactor<'a> {
    pub(crate) ports: &'a RunPorts,
    pub(crate) input: &'a RunInput,
    /// Where the run goes back to, while that is not stored.
    pub(crate) back: Option<&'a GoneBack>,
}

impl Compactor<'_> {
    fn options(&self, snapshot: &AgentSnapshot) -> HistoryOptions {
        self.ports.history_options(&snapshot.agent.llm_config)
    }

    pub(crate) fn budget(&self, call: Call<'_>) -> Budget {
        let config = &call.snapshot.agent.llm_config;
        Budget::new(
            self.ports.meter.window(&config.handle, config.context_window),
            call.request.sampling.max_output_tokens,
        )
    }

    /// How large a call is: in bytes, and in tokens where it may not fit, which is when counting is worth its time.
    pub(crate) async fn measure(&self, call: Call<'_>) -> (Weight, Option<Measured>) {
        let options = self.options(call.snapshot);
        let load = load(call, &options);
        let weight = TokenMeter::weigh(load);
        if self.ports.meter.surely_fits(load, weight, self.budget(call)) {
            return (weight, None);
        }
        (weight, Some(self.ports.meter.measure(load, weight).await))
    }

    /// A call was answered, and the vendor said how many tokens it had.
    pub(crate) fn answered(&self, call: Call<'_>, (weight, measured): (Weight, Option<&Measured>), reported: u64) {
        let options = self.options(call.snapshot);
        self.ports.meter.reported(load(call, &options), weight, measured, reported);
    }

    /// Whether a call would not fit.
    pub(crate) fn is_too_long(&self, call: Call<'_>, measured: &Measured) -> bool {
        let ratio = self.ports.meter.ratio(&call.snapshot.agent.llm_config.handle);
        ratio.estimate(measured.total()) > self.budget(call).trigger()
    }

    /// The vendor refused a call as too long for the `tries`th time: learns from that and makes more room, or says why
    /// that can't be done.
    pub(crate) async fn after_refusal(&self, call: Call<'_>, detail: String, tries: u32) -> Result<Usage, Stop> {
        let options = self.options(call.snapshot);
        let load = load(call, &options);
        let measured = self.ports.meter.measure(load, TokenMeter::weigh(load)).await;
        let handle = &call.snapshot.agent.llm_config.handle;
        self.ports.meter.refused(handle, &measured, self.budget(call), &detail);
        if tries <= MAX_TIGHTNESS
            && let Some(spent) = self.compact(call, &measured, tries).await?
        {
            return Ok(spent);
        }
        Err(Stop::Failed(if self.system_is_too_long(call, &measured) {
            RunFailure::SystemTooLong(detail)
        } else {
            RunFailure::Model(ModelError::ContextTooLong { detail })
        }))
    }

    /// Whether even the system message and the tools alone would not fit. Then no compaction can help.
    fn system_is_too_long(&self, call: Call<'_>, measured: &Measured) -> bool {
        let ratio = self.ports.meter.ratio(&call.snapshot.agent.llm_config.handle);
        ratio.estimate(fixed(call.context, measured)) > self.budget(call).trigger()
    }

    /// Takes messages out of the context and commits that. None means that there is nothing to take out.
    pub(crate) async fn compact(
        &self,
        call: Call<'_>,
        measured: &Measured,
        tightness: u32,
    ) -> Result<Option<Usage>, Stop> {
        let settings = CompactionSettings::of_agent(call.snapshot.agent.compaction_settings.as_ref());
        if tightness == 0 && self.system_is_too_long(call, measured) {
            return Ok(None);
        }
        let Some(cut) = self.plan(call, measured, &settings, tightness) else { return Ok(None) };
        let evicted: Vec<Arc<Message>> = cut.evicted.iter().map(|index| call.context[*index].clone()).collect();
        let notes = notes_of(call.context, &cut);
        let (missed, missed_count) = match &notes.unsummarised {
            Some((_, count)) => (self.missed(call.snapshot, *count).await?, *count),
            None => (Vec::new(), 0),
        };
        let leaving: Vec<Arc<Message>> = missed.iter().chain(&evicted).cloned().collect();
        let summary = self.summary(call, &settings, &notes, (&leaving, PATIENCE)).await?;
        let (at, zone) = ((self.ports.clock)(), &call.snapshot.agent.timezone);
        let stretch = Stretch { messages: &leaving, count: missed_count + evicted.len() };
        let (notes, usage) = match summary {
            Ok((summary, usage)) => (vec![self.note(packaging::summary_alert(&summary, at, zone), at)], usage),
            Err(failure) => {
                tracing::warn!(error = &failure as &dyn std::error::Error, "messages leave without a summary");
                let old = notes.summary.map(|(message, _)| message.clone());
                let alert = self.note(stretch.alert(call.snapshot, at), at);
                (old.into_iter().chain([alert]).collect(), Usage::default())
            }
        };
        tracing::info!(
            agent = %self.input.agent, evicted = evicted.len(), kept = cut.kept.len(), tightness,
            counted = measured.total(), "compacted"
        );
        let kept: Vec<Arc<Message>> = cut.kept.iter().map(|index| call.context[*index].clone()).collect();
        self.commit(call.snapshot, &notes, &kept, at).await?;
        Ok(Some(usage))
    }

    /// Summarises what an earlier run could not. A failure changes nothing: the alert stays, and so does the hope.
    pub(crate) async fn catch_up(&self, snapshot: &AgentSnapshot) -> Result<Option<Usage>, Stop> {
        if !snapshot.context.iter().skip(1).take(2).any(|message| packaging::is_evicted_alert(message)) {
            return Ok(None);
        }
        let everything = CutGoal { mode: domain::CompactionMode::SlidingWindow, keep_tokens: u64::MAX, pinned: 0 };
        let cut = plan_cut(&snapshot.context, &[], &everything);
        let notes = notes_of(&snapshot.context, &cut);
        let Some((_, count)) = notes.unsummarised else { return Ok(None) };
        let missed = self.missed(snapshot, count).await?;
        if missed.is_empty() {
            return Ok(None);
        }
        let settings = CompactionSettings::of_agent(snapshot.agent.compaction_settings.as_ref());
        let config = &snapshot.agent.llm_config;
        let window = self.ports.meter.window(&config.handle, config.context_window);
        let max_chars = Budget::new(window, config.max_tokens).summary_chars(settings.clip);
        let asked =
            Asked { settings: &settings, so_far: notes.summary.as_ref().map(|(_, text)| text.as_str()), max_chars };
        match self.ask(snapshot, asked, &missed, RETRY_PATIENCE).await? {
            Ok((summary, usage)) => {
                let at = (self.ports.clock)();
                let note = self.note(packaging::summary_alert(&summary, at, &snapshot.agent.timezone), at);
                let kept: Vec<Arc<Message>> = cut.kept.iter().map(|index| snapshot.context[*index].clone()).collect();
                self.commit(snapshot, &[note], &kept, at).await?;
                Ok(Some(usage))
            }
            Err(failure) => {
                tracing::warn!(error = &failure as &dyn std::error::Error, "there is still no summary");
                Ok(None)
            }
        }
    }

    /// The cut that takes something out; each try at the same call keeps less.
    fn plan(&self, call: Call<'_>, measured: &Measured, settings: &CompactionSettings, tightness: u32) -> Option<Cut> {
        let budget = self.budget(call);
        let ratio = self.ports.meter.ratio(&call.snapshot.agent.llm_config.handle);
        let fixed = ratio.estimate(fixed(call.context, measured));
        let summary = ratio.estimate(budget.summary_tokens(settings.clip));
        (tightness..=MAX_TIGHTNESS).find_map(|tightness| {
            let keep_tokens = match tightness {
                MAX_TIGHTNESS => 0,
                _ => ratio.counted(budget.keep_tokens(fixed, summary, settings.keep, tightness)),
            };
            let goal = CutGoal { mode: settings.mode, keep_tokens, pinned: call.unstored };
            let cut = plan_cut(call.context, &measured.messages, &goal);
            (!cut.evicted.is_empty()).then_some(cut)
        })
    }

    async fn summary(
        &self,
        call: Call<'_>,
        settings: &CompactionSettings,
        notes: &Notes<'_>,
        (leaving, patience): (&[Arc<Message>], Duration),
    ) -> Result<Result<(String, Usage), SummaryFailure>, Stop> {
        let max_chars = self.budget(call).summary_chars(settings.clip);
        let so_far = notes.summary.as_ref().map(|(_, text)| text.as_str());
        self.ask(call.snapshot, Asked { settings, so_far, max_chars }, leaving, patience).await
    }

    async fn ask(
        &self,
        snapshot: &AgentSnapshot,
        asked: Asked<'_>,
        messages: &[Arc<Message>],
        patience: Duration,
    ) -> Result<Result<(String, Usage), SummaryFailure>, Stop> {
        let agent = &snapshot.agent;
        let task = Task {
            settings: asked.settings,
            so_far: asked.so_far,
            messages,
            zone: &agent.timezone,
            max_chars: asked.max_chars,
            now: (self.ports.clock)(),
            patience,
        };
        let RunPorts { summarisers, meter, cancel, .. } = self.ports;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Stop::Cancelled),
            summary = summarise(summarisers, &agent.llm_config.handle, meter, task) => Ok(summary),
        }
    }

    /// The messages that left the context without a summary, oldest first: the newest `count` that are not in it.
    async fn missed(&self, snapshot: &AgentSnapshot, count: usize) -> Result<Vec<Arc<Message>>, StoreError> {
        let shown: HashSet<MessageId> = snapshot.context.iter().map(|message| message.id).collect();
        let counts = |message: &Arc<Message>| {
            !shown.contains(&message.id)
                && message.standing != Standing::Superseded
                && self.back.is_none_or(|back| message.sequence_id < back.from)
                && message.role != Role::System
                && packaging::read_alert(message).is_none()
        };
        let wanted = count.min(MAX_MISSED);
        let mut missed: Vec<Arc<Message>> = Vec::new();
        let mut filter = MessageFilter {
            conversation: Some(self.input.conversation),
            ..MessageFilter::newest(self.input.agent, PAGE)
        };
        while missed.len() < wanted {
            let page = self.ports.store.messages(self.input.actor.organization, &filter).await?;
            let Some(oldest) = page.last().map(|message| message.id) else { break };
            filter.before = Some(oldest);
            missed.extend(page.into_iter().filter(counts));
        }
        missed.truncate(wanted);
        missed.reverse();
        Ok(missed)
    }

    /// A message of ours at the start of the context. It belongs to no step, by which it is known as ours.
    fn note(&self, text: String, at: Timestamp) -> Arc<Message> {
        Arc::new(Message {
            id: MessageId::at(at),
            organization: self.input.actor.organization,
            agent: self.input.agent,
            conversation: self.input.conversation,
            identity: None,
            sequence_id: 0,
            role: Role::User,
            content: Arc::new([ContentPart::text(text)]),
            tool_calls: Arc::default(),
            tool_returns: Arc::default(),
            name: None,
            model: None,
            otid: None,
            run: None,
            step: None,
            standing: Standing::Kept,
            created_at: at,
        })
    }

    /// One commit: the new note, the shorter context list, and the system message, whose count of messages out of view
    /// is brought up to date now that the vendor's prompt cache is lost anyway.
    async fn commit(
        &self,
        snapshot: &AgentSnapshot,
        notes: &[Arc<Message>],
        kept: &[Arc<Message>],
        at: Timestamp,
    ) -> Result<(), Stop> {
        let stored: HashSet<MessageId> = snapshot.context.iter().map(|message| message.id).collect();
        let system = snapshot.context.first().filter(|message| message.role == Role::System);
        let new: Vec<Arc<Message>> = notes.iter().filter(|note| !stored.contains(&note.id)).cloned().collect();
        let kept = kept.iter().filter(|message| stored.contains(&message.id));
        let list: Vec<Arc<Message>> = system.into_iter().chain(notes).chain(kept).cloned().collect();
        let mut commit = Commit::new(self.input.actor, at);
        if let Some(back) = self.back {
            // What came after leaves the list now, and must not be lost to both the list and the mark.
            let (conversation, message) = (self.input.conversation, back.to);
            commit.changes.push(Change::SupersedeFrom { conversation, message });
        }
        if let Some(system) = system {
            let mut after = snapshot.clone();
            after.message_count += new.len() as u64;
            after.context = Arc::new(list.clone());
            let content = Arc::new([ContentPart::text(system_text(&after, at))]);
            commit.changes.push(Change::UpdateMessage(Arc::new(Message { content, ..Message::clone(system) })));
        }
        let messages = list.iter().map(|message| message.id).collect();
        commit.changes.push(Change::InsertMessages(new));
        commit.changes.push(Change::ReplaceContext { conversation: self.input.conversation, messages });
        self.ports.store.commit(commit).await?;
        Ok(())
    }
}

/// What the settings and the window ask of a summary.
struct Asked<'a> {
    settings: &'a CompactionSettings,
    so_far: Option<&'a str>,
    max_chars: usize,
}

/// Messages that leave without a summary.
struct Stretch<'a> {
    messages: &'a [Arc<Message>],
    /// With those that were too many to fetch again.
    count: usize,
}

impl Stretch<'_> {
    fn alert(&self, snapshot: &AgentSnapshot, at: Timestamp) -> String {
        let time = |message: Option<&Arc<Message>>| message.map_or(at, |message| message.created_at);
        let search_tool = snapshot.tools.iter().any(|tool| &*tool.name == SEARCH_TOOL).then_some(SEARCH_TOOL);
        let (first, last) = (time(self.messages.first()), time(self.messages.last()));
        let evicted = Evicted { count: self.count, first, last, search_tool };
        packaging::evicted_alert(&evicted, at, &snapshot.agent.timezone)
    }
}

fn load<'a>(call: Call<'a>, options: &'a HistoryOptions) -> Load<'a> {
    let model = &call.snapshot.agent.llm_config.handle;
    Load { conversation: call.snapshot.conversation, model, context: call.context, tools: &call.request.tools, options }
}

/// Tokens that every request has, however short its history is.
fn fixed(context: &[Arc<Message>], measured: &Measured) -> u64 {
    let system = context.first().filter(|message| message.role == Role::System);
    let system = system.and_then(|_| measured.messages.first()).copied().unwrap_or_default();
    system + measured.rest
}
