//! Computes what one step changes, as one value for the store.

use std::sync::Arc;

use domain::block::HUMAN;
use domain::seams::tool_executor::ArchivalChange;
use domain::{
    AgentType, Block, Memory, MemoryChange, Message, MessageId, Run, RunStatus, SessionRequest, Step, StepStatus,
    StopReason, Timestamp, Usage,
};
use storage::{BlockEditor, Change, Commit, RunUpdate};

use crate::input::RunInput;
use crate::render::SystemMessage;

/// The state of a run's row.
#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    /// Whether the store has it yet. A foreground run is first written with its first step, so that a message costs
    /// one commit; a crash before that leaves no trace of a run that nobody was told about.
    pub(crate) stored: bool,
    pub(crate) started_at: Timestamp,
    pub(crate) usage: Usage,
    pub(crate) step_count: u32,
}

impl RunRow {
    /// The change that brings the row to this state.
    pub(crate) fn change(
        &self,
        input: &RunInput,
        stop: Option<StopReason>,
        error: Option<String>,
        at: Timestamp,
    ) -> Change {
        let status = stop.map_or(RunStatus::Running, StopReason::run_status);
        let completed_at = stop.map(|_| at);
        if self.stored {
            return Change::UpdateRun(RunUpdate {
                run: input.run,
                agent: input.agent,
                status,
                stop_reason: stop,
                error,
                usage: self.usage,
                step_count: self.step_count,
                completed_at,
            });
        }
        Change::InsertRun(Box::new(Run {
            id: input.run,
            organization: input.actor.organization,
            agent: input.agent,
            conversation: input.conversation,
            status,
            stop_reason: stop,
            error,
            background: input.background,
            usage: self.usage,
            step_count: self.step_count,
            created_at: self.started_at,
            completed_at,
        }))
    }
}

/// What the tools of one step changed, in order.
#[derive(Debug, Default)]
pub(crate) struct StepEdits {
    pub(crate) memory: Vec<MemoryChange>,
    pub(crate) archival: Vec<ArchivalChange>,
}

/// Everything that one step changes.
pub(crate) struct StepChanges<'a> {
    pub(crate) input: &'a RunInput,
    pub(crate) kind: AgentType,
    pub(crate) system: &'a SystemMessage,
    /// The system message itself, where the conversation had none.
    pub(crate) new_system: Option<Arc<Message>>,
    /// The context list as the step found it.
    pub(crate) context: &'a [Arc<Message>],
    /// Whether the stored list holds more, which goes out of context.
    pub(crate) begins_anew: bool,
    /// The message that the run went back to, with its first step.
    pub(crate) superseded: Option<MessageId>,
    /// What the session remembers of the request, with its first step.
    pub(crate) requests: Vec<SessionRequest>,
    pub(crate) messages: Vec<Arc<Message>>,
    /// Memory as the step found it.
    pub(crate) before: &'a Memory,
    pub(crate) edits: &'a StepEdits,
    pub(crate) step: Step,
    pub(crate) run: &'a RunRow,
    pub(crate) at: Timestamp,
}

impl StepChanges<'_> {
    /// The step as one commit.
    pub(crate) fn into_commit(self) -> Commit {
        let stop = self.step.stop_reason;
        let mut commit = Commit::new(self.input.actor, self.at);
        if let SystemMessage::Rewritten(message) = self.system {
            commit.changes.push(Change::UpdateMessage(message.clone()));
        }
        let conversation = self.input.conversation;
        commit.changes.extend(self.superseded.map(|message| Change::SupersedeFrom { conversation, message }));
        let added = self.messages.iter().map(|message| message.id);
        let context = if self.new_system.is_none() && !self.begins_anew {
            Change::AppendContext { conversation, messages: added.collect() }
        } else {
            // The system message is always element 0, so the list is laid anew.
            let system = self.new_system.iter().chain(self.context).map(|message| message.id);
            Change::ReplaceContext { conversation, messages: system.chain(added).collect() }
        };
        let messages: Vec<Arc<Message>> = self.new_system.into_iter().chain(self.messages).collect();
        // The run's row comes first: messages and the step point to it.
        commit.changes.push(self.run.change(self.input, stop, None, self.at));
        commit.changes.push(Change::InsertStep(Box::new(self.step)));
        commit.changes.push(Change::InsertMessages(messages));
        commit.changes.push(context);
        if !self.requests.is_empty() {
            commit.changes.push(Change::InsertSessionRequests(self.requests));
            commit.changes.push(Change::TouchSession(conversation));
        }
        commit.changes.extend(memory_changes(
            self.input,
            block_editor(self.kind, self.input),
            self.before,
            &self.edits.memory,
            self.at,
        ));
        commit.changes.extend(archival_changes(self.input, &self.edits.archival));
        commit
    }
}

/// The row of a step that went through.
pub(crate) fn step_row(input: &RunInput, step: domain::StepId, model: &domain::LlmConfig, at: Timestamp) -> Step {
    Step {
        id: step,
        organization: input.actor.organization,
        agent: input.agent,
        run: input.run,
        model: model.handle.to_string(),
        context_window: model.context_window,
        usage: Usage::default(),
        stop_reason: None,
        status: StepStatus::Success,
        created_at: at,
    }
}

/// Changes of archival memory as changes of the store.
fn archival_changes(input: &RunInput, edits: &[ArchivalChange]) -> Vec<Change> {
    let mut changes = Vec::new();
    for edit in edits {
        match edit {
            ArchivalChange::NewArchive(archive) => {
                let id = archive.id;
                changes.push(Change::InsertArchive(archive.clone()));
                changes.push(Change::AttachArchive { agent: input.agent, archive: id });
            }
            ArchivalChange::Insert(passage) => changes.push(Change::InsertPassages(vec![passage.clone()])),
        }
    }
    changes
}

/// How the history names who edits memory in this run.
fn block_editor(kind: AgentType, input: &RunInput) -> BlockEditor {
    match kind {
        AgentType::Sleeptime | AgentType::VoiceSleeptime => BlockEditor::Sleeptime(input.run),
        AgentType::Memgpt
        | AgentType::MemgptV2
        | AgentType::LettaV1
        | AgentType::React
        | AgentType::Workflow
        | AgentType::SplitThread
        | AgentType::VoiceConvo => BlockEditor::Tool(input.run),
    }
}

/// Memory edits as changes of the store: several edits of one block become one new version of it.
fn memory_changes(
    input: &RunInput,
    editor: BlockEditor,
    before: &Memory,
    edits: &[MemoryChange],
    at: Timestamp,
) -> Vec<Change> {
    if edits.is_empty() {
        return Vec::new();
    }
    let mut after = before.clone();
    for edit in edits {
        if let Err(error) = after.apply(edit) {
            // The toolbox applied the same edits to the same memory already.
            tracing::error!(%error, run = %input.run, "a memory edit could not be repeated");
        }
    }
    let agent = input.agent;
    let gone = before.blocks().iter().filter(|block| after.by_id(block.id).is_none());
    let mut changes: Vec<Change> = gone.map(|block| Change::DetachBlock { agent, block: block.id, editor }).collect();
    let (mut made, mut changed) = (Vec::new(), Vec::new());
    for block in after.blocks() {
        let mut block: Block = Block::clone(block);
        block.updated_at = at;
        match before.by_id(block.id) {
            None => made.push(block),
            Some(old) if differs(old, &block) => changed.push(block),
            Some(_) => {}
        }
    }
    let changed = freeing_labels_first(before, changed).into_iter();
    changes.extend(changed.map(|block| Change::UpdateBlock { block: Box::new(block), editor }));
    for block in made {
        let id = block.id;
        // What is about the person who speaks is theirs, also where it is made anew.
        let person = input.identity.filter(|_| block.label.as_str() == HUMAN);
        changes.push(Change::InsertBlock { block: Box::new(block), editor });
        changes.push(match person {
            Some(identity) => Change::AttachPersonBlock { agent, identity, block: id },
            None => Change::AttachBlock { agent, block: id },
        });
    }
    changes
}

/// Changed blocks in an order in which no block takes a label before another has given it up.
fn freeing_labels_first(before: &Memory, mut changed: Vec<Block>) -> Vec<Block> {
    let mut ordered = Vec::with_capacity(changed.len());
    while !changed.is_empty() {
        let holder = |block: &Block| before.by_label(block.label.as_str()).filter(|holder| holder.id != block.id);
        let waits = |block: &Block| changed.iter().any(|other| holder(block).is_some_and(|it| it.id == other.id));
        // Blocks that swap their labels wait for each other; the store will refuse them.
        let next = changed.iter().position(|block| !waits(block)).unwrap_or(0);
        ordered.push(changed.remove(next));
    }
    ordered
}

fn differs(old: &Block, new: &Block) -> bool {
    old.value() != new.value() || old.label != new.label || old.description != new.description
}
