//! The client's system text, and a forced mode, as blocks of a session's conversation.
//!
//! An overlay is a read-only block that only its own session is shown, so that sessions of one agent never see each
//! other's prompt. It is written only where its text changed. If it can't be stored, the text goes once as a preface.

use domain::block::BlockDraft;
use domain::{Actor, AgentSnapshot, Block, BlockId, Digest, Label, Session, Timestamp};
use prompt::tokens::Family;
use serde_json::{Map, json};
use storage::{BlockEditor, Change, Commit, Store, StoreError};

use crate::config::Mode;
use crate::error::ApiError;
use crate::session_name::text_digest;

/// Characters that an overlay may have at least; a longer text gets a limit of its own length.
const LEAST_LIMIT: u32 = 50_000;
/// Tokens of a model's window that an overlay and the agent's memory must leave for everything else.
const ROOM: u64 = 1_024;
/// The metadata by which a block of a session is known.
const ORIGIN: &str = "session_origin";

/// What became of a request's system text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overlay {
    /// It is in the session's context, or there is none.
    InPlace,
    /// It could not be stored: it is sent as a preface, unless the context holds it already.
    Preface(String),
}

/// A session that is brought up to date with what a request says, under its conversation's permit.
pub(crate) struct Refresh<'a> {
    pub(crate) store: &'a Store,
    pub(crate) actor: Actor,
    pub(crate) snapshot: &'a AgentSnapshot,
    pub(crate) now: Timestamp,
}

/// A read-only block of one conversation.
struct OwnBlock<'a> {
    label: &'static str,
    description: &'static str,
    value: &'a str,
}

impl Refresh<'_> {
    /// Gives the session's conversation this system text and mode. No system text leaves the one that it has.
    pub(crate) async fn apply(&self, session: &mut Session, system: &str, mode: Mode) -> Result<Overlay, ApiError> {
        let digest = Some(system).filter(|text| !text.trim().is_empty()).map(text_digest);
        // The block is looked at too: somebody may have changed it, or taken it away, through another door.
        let stands = || self.own(prompt::overlay::LABEL).is_some_and(|block| block.value() == system);
        let new = digest.filter(|digest| session.overlay != Some(*digest) || !stands());
        let mut changes = self.mode_changes(session, mode)?;
        if new.is_some() {
            self.check_room(system)?;
            let (label, description) = (prompt::overlay::LABEL, prompt::overlay::DESCRIPTION);
            changes.extend(self.set_block(session, &OwnBlock { label, description, value: system })?);
            changes.push(Change::UpdateSession { conversation: session.conversation, overlay: new, preface: None });
        }
        if changes.is_empty() {
            return Ok(Overlay::InPlace);
        }
        let mut commit = Commit::new(self.actor, self.now);
        commit.changes = changes;
        match self.store.commit(commit).await {
            Ok(_) => {
                if new.is_some() {
                    (session.overlay, session.preface) = (new, None);
                }
                Ok(Overlay::InPlace)
            }
            Err(error) => Ok(self.fall_back(session, &error, new.map(|digest| (digest, system))).await),
        }
    }

    /// Refuses a text that leaves no room in the model's window, before anything is written.
    fn check_room(&self, text: &str) -> Result<(), ApiError> {
        let config = &self.snapshot.agent.llm_config;
        let window = u64::from(config.context_window);
        let blocks =
            self.snapshot.memory.blocks().iter().filter(|block| block.label.as_str() != prompt::overlay::LABEL);
        let others: Vec<&str> =
            std::iter::once(&*self.snapshot.agent.system).chain(blocks.map(|block| block.value())).collect();
        // A token is at least one byte, so short texts need no counting.
        let bytes = text.len() + others.iter().map(|text| text.len()).sum::<usize>();
        if bytes as u64 + ROOM <= window {
            return Ok(());
        }
        let family = Family::of_model(config.handle.model());
        let tokens = family.count(text);
        if tokens + ROOM + others.iter().map(|text| family.count(text)).sum::<u64>() <= window {
            return Ok(());
        }
        let text = format!(
            "This model's maximum context length is {window} tokens, and the system messages alone have about {tokens}, \
             which leaves too little for the agent's own instructions and memory: shorten them."
        );
        Err(ApiError::invalid(text, Some("messages"), Some("context_length_exceeded")))
    }

    /// The text as a preface of what the session is shown.
    async fn fall_back(&self, session: &mut Session, error: &StoreError, new: Option<(Digest, &str)>) -> Overlay {
        let conversation = session.conversation;
        tracing::warn!(
            error = error as &dyn std::error::Error,
            %conversation,
            "a session's system text could not be stored; it is sent as a preface"
        );
        let Some((digest, text)) = new else { return Overlay::InPlace };
        if session.preface == Some(digest) {
            return Overlay::Preface(text.to_owned());
        }
        session.preface = Some(digest);
        let change = Change::UpdateSession { conversation, overlay: session.overlay, preface: session.preface };
        // The note is for whoever looks at the sessions; what was sent is known by the context.
        if let Err(error) = self.store.commit(Commit::new(self.actor, self.now).with(change)).await {
            tracing::warn!(error = &error as &dyn std::error::Error, %conversation, "a preface could not be noted");
        }
        Overlay::Preface(text.to_owned())
    }

    /// The changes that give the conversation the block of a forced mode, or take it away.
    fn mode_changes(&self, session: &Session, mode: Mode) -> Result<Vec<Change>, ApiError> {
        let text = match mode {
            Mode::Auto => None,
            Mode::Worker => Some(prompt::modes::worker()),
            Mode::Persona => Some(prompt::modes::persona()),
        };
        let (label, description) = (prompt::modes::LABEL, prompt::modes::DESCRIPTION);
        match (text, self.own(label)) {
            (None, None) => Ok(Vec::new()),
            (None, Some(block)) => {
                let (agent, block) = (session.agent, block.id);
                Ok(vec![Change::DetachBlock { agent, block, editor: BlockEditor::Api }])
            }
            (Some(text), Some(block)) if block.value() == text => Ok(Vec::new()),
            (Some(value), _) => self.set_block(session, &OwnBlock { label, description, value }),
        }
    }

    /// The conversation's own block of that label. The agent may have one of the same label, which is not ours.
    fn own(&self, label: &str) -> Option<&Block> {
        let block = self.snapshot.memory.by_label(label)?;
        block.metadata.contains_key(ORIGIN).then_some(&**block)
    }

    /// The changes after which the conversation has this block with this text.
    fn set_block(&self, session: &Session, wanted: &OwnBlock<'_>) -> Result<Vec<Change>, ApiError> {
        let fault = |error: domain::BlockError| {
            let text = format!("The system messages can't be kept: {error}.");
            ApiError::invalid(text, Some("messages"), Some("string_above_max_length"))
        };
        let limit = u32::try_from(wanted.value.chars().count()).unwrap_or(u32::MAX).max(LEAST_LIMIT);
        let mut metadata = Map::new();
        metadata.insert("session".to_owned(), json!(session.label));
        metadata.insert(ORIGIN.to_owned(), json!(session.origin));
        if let Some(present) = self.own(wanted.label) {
            let mut block = present.clone();
            block.set_value_and_limit(wanted.value, limit).map_err(fault)?;
            block.metadata = metadata;
            block.updated_at = self.now;
            return Ok(vec![Change::UpdateBlock { block: Box::new(block), editor: BlockEditor::Api }]);
        }
        let block = Block::new(BlockDraft {
            id: BlockId::random(),
            organization: self.actor.organization,
            created_by: self.actor.user,
            label: Label::new(wanted.label).map_err(fault)?,
            value: wanted.value.to_owned(),
            limit,
            description: Some(wanted.description.to_owned()),
            read_only: true,
            metadata,
            created_at: self.now,
        })
        .map_err(fault)?;
        let (conversation, id) = (session.conversation, block.id);
        Ok(vec![
            Change::InsertBlock { block: Box::new(block), editor: BlockEditor::Api },
            Change::AttachConversationBlock { conversation, block: id },
        ])
    }
}
