//! The right to run in a conversation, for a door that has to look before it knows what is new.
//!
//! A session's client sends its whole history. What of it is new can only be told while nobody else runs in the
//! conversation, so the door waits for the floor first, looks, and then runs.

use std::any::Any;
use std::sync::Arc;

use agent::RunInput;
use domain::{Actor, AgentId, AgentSnapshot, ConversationId, IdentityId, RunId};
use storage::StoreError;

use crate::check::check;
use crate::dispatcher::{Dispatcher, Inner};
use crate::open_run::{Entry, begin};
use crate::permits::Passed;
use crate::request::{Detail, Lifetime, Opening, RunHandle, RunOptions, SubmitError};

/// The right to run in one conversation. Dropping it lets the next one in.
pub struct Floor {
    inner: Arc<Inner>,
    actor: Actor,
    agent: AgentId,
    conversation: ConversationId,
    passed: Passed,
}

/// What to run on a [`Floor`].
#[derive(Debug, Clone)]
pub struct FloorRequest {
    pub identity: Option<IdentityId>,
    /// It may bring results of tools and no message.
    pub opening: Opening,
    pub options: RunOptions,
    pub lifetime: Lifetime,
    pub detail: Detail,
}

impl Dispatcher {
    /// Joins the line of a conversation and waits for everybody who came earlier. Dropping the future leaves the line.
    pub async fn floor(
        &self,
        actor: Actor,
        agent: AgentId,
        conversation: ConversationId,
    ) -> Result<Floor, SubmitError> {
        if self.inner.stopping.is_cancelled() {
            return Err(SubmitError::ShuttingDown);
        }
        let conversation = self.placed(actor, agent, Some(conversation)).await?;
        let place = self.inner.lines.join(conversation)?;
        let passed = tokio::select! {
            biased;
            () = self.inner.stopping.cancelled() => None,
            passed = place.pass() => passed,
        };
        let passed = passed.ok_or(SubmitError::ShuttingDown)?;
        Ok(Floor { inner: self.inner.clone(), actor, agent, conversation, passed })
    }
}

impl Floor {
    /// Drops `kept` when the floor is given back, which is after the run.
    pub fn keep(&mut self, kept: impl Any + Send + Sync) {
        self.passed.keep(kept);
    }

    /// The conversation as it is now. It stays so until this floor has run, but for what people edit.
    pub async fn snapshot(&self) -> Result<AgentSnapshot, SubmitError> {
        match self.inner.store.snapshot(self.actor.organization, self.agent, self.conversation).await {
            Ok(snapshot) => Ok(snapshot),
            Err(StoreError::NotFound { noun: "agent", .. }) => Err(SubmitError::AgentNotFound(self.agent)),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs, and gives the floor back when the run is over.
    pub fn run(self, request: FloorRequest) -> Result<RunHandle, SubmitError> {
        check(&request.opening, &request.options)?;
        if self.inner.stopping.is_cancelled() {
            return Err(SubmitError::ShuttingDown);
        }
        let input = RunInput {
            run: RunId::at((self.inner.clock)()),
            actor: self.actor,
            agent: self.agent,
            conversation: self.conversation,
            identity: request.identity,
            opening: request.opening,
            options: request.options,
            background: false,
        };
        Ok(begin(&self.inner, input, Entry::Passed(self.passed), (request.lifetime, request.detail)))
    }
}
