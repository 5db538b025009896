//! Changes and removes agents.

use std::sync::Arc;

use domain::{Actor, Agent, AgentId, AgentSnapshot, AgentType, ContentPart, Memory, Message, Role, Timestamp};
use storage::StoreError;
use storage::{BlockEditor, Change, Commit};

use crate::agent_spec::{AgentError, AgentPatch};
use crate::create_agent::{check_name, check_supported, check_system, check_timezone, invalid};
use crate::dispatcher::Dispatcher;
use crate::model_choice::{apply, llm_config, settle_thoughts};

impl Dispatcher {
    /// Applies `patch` in one commit.
    pub async fn modify_agent(&self, actor: Actor, id: AgentId, patch: AgentPatch) -> Result<(), AgentError> {
        let now = (self.inner.clock)();
        let old = self.agent_or_not_found(actor, id).await?;
        check_supported(AgentType::LettaV1, patch.enable_sleeptime)?;
        self.check_compaction(patch.compaction_settings.as_ref().and_then(Option::as_ref))?;
        let mut agent = Agent::clone(&old);
        agent.updated_at = now;
        self.change_model(&mut agent, &patch).await?;
        let mut commit = Commit::new(actor, now);
        commit.changes.extend(self.block_changes(actor, id, &patch).await?);
        commit.changes.extend(self.tool_changes(actor, id, &patch).await?);
        change_settings(&mut agent, patch)?;
        let system_changed = agent.system != old.system;
        let agent = Arc::new(agent);
        commit.changes.insert(0, Change::UpdateAgent(Box::new(Agent::clone(&agent))));
        if system_changed {
            commit.changes.extend(self.system_message_change(actor, &agent, now).await?);
        }
        self.inner.store.commit(commit).await?;
        Ok(())
    }

    /// Removes an agent with everything that is its own. Its blocks stay, because others may share them.
    pub async fn delete_agent(&self, actor: Actor, id: AgentId) -> Result<(), AgentError> {
        self.agent_or_not_found(actor, id).await?;
        let commit = Commit::new(actor, (self.inner.clock)()).with(Change::DeleteAgent(id));
        self.inner.store.commit(commit).await?;
        Ok(())
    }

    /// The agent, or the error that names it.
    pub async fn agent_or_not_found(&self, actor: Actor, id: AgentId) -> Result<Arc<Agent>, AgentError> {
        match self.inner.store.agent(actor.organization, id).await {
            Err(StoreError::NotFound { .. }) => Err(AgentError::NotFound(id)),
            found => Ok(found?),
        }
    }

    async fn change_model(&self, agent: &mut Agent, patch: &AgentPatch) -> Result<(), AgentError> {
        if let Some(model) = &patch.model {
            let fresh = llm_config(self.models(), model, &patch.model_settings).await?;
            // What somebody set for the agent stays; what the model is comes with the model.
            let domain::LlmConfig { handle, model_endpoint_type, context_window, .. } = fresh;
            agent.llm_config =
                domain::LlmConfig { handle, model_endpoint_type, context_window, ..agent.llm_config.clone() };
        }
        apply(&mut agent.llm_config, &patch.model_settings)?;
        settle_thoughts(&mut agent.llm_config, agent.kind);
        Ok(())
    }

    async fn block_changes(&self, actor: Actor, agent: AgentId, patch: &AgentPatch) -> Result<Vec<Change>, AgentError> {
        let Some(wanted) = &patch.block_ids else { return Ok(Vec::new()) };
        let attached = self.inner.store.agent_blocks(actor.organization, agent).await?;
        let gone = attached.iter().filter(|block| !wanted.contains(&block.id));
        let editor = BlockEditor::Api;
        let mut changes: Vec<Change> =
            gone.map(|block| Change::DetachBlock { agent, block: block.id, editor }).collect();
        let new = wanted.iter().filter(|id| !attached.iter().any(|block| block.id == **id));
        changes.extend(new.map(|block| Change::AttachBlock { agent, block: *block }));
        Ok(changes)
    }

    async fn tool_changes(&self, actor: Actor, agent: AgentId, patch: &AgentPatch) -> Result<Vec<Change>, AgentError> {
        let Some(wanted) = &patch.tool_ids else { return Ok(Vec::new()) };
        let attached = self.inner.store.agent_tools(actor.organization, agent).await?;
        let gone = attached.iter().filter(|tool| !wanted.contains(&tool.id));
        let mut changes: Vec<Change> = gone.map(|tool| Change::DetachTool { agent, tool: tool.id }).collect();
        let new = wanted.iter().filter(|id| !attached.iter().any(|tool| tool.id == **id));
        changes.extend(new.map(|tool| Change::AttachTool { agent, tool: *tool }));
        Ok(changes)
    }

    /// The default conversation's system message with the new base prompt, so that readers see it at once. Other
    /// conversations get theirs with their next step.
    async fn system_message_change(
        &self,
        actor: Actor,
        agent: &Arc<Agent>,
        now: Timestamp,
    ) -> Result<Option<Change>, AgentError> {
        let store = &self.inner.store;
        let snapshot = store.snapshot(actor.organization, agent.id, agent.default_conversation).await?;
        let Some(system) = snapshot.context.first().filter(|message| message.role == Role::System) else {
            return Ok(None);
        };
        let memory = Memory::new(snapshot.memory.blocks().to_vec());
        let text = agent::system_text(&AgentSnapshot { agent: agent.clone(), memory, ..snapshot.clone() }, now);
        let mut message = Message::clone(system);
        message.content = Arc::new([ContentPart::text(text)]);
        Ok(Some(Change::UpdateMessage(Arc::new(message))))
    }
}

fn change_settings(agent: &mut Agent, patch: AgentPatch) -> Result<(), AgentError> {
    if let Some(name) = patch.name {
        check_name(&name)?;
        agent.name = name;
    }
    if let Some(zone) = patch.timezone {
        check_timezone(&zone)?;
        agent.timezone = zone;
    }
    if let Some(system) = patch.system {
        check_system(&system)?;
        agent.system = system;
    }
    if let Some(autoclear) = patch.message_buffer_autoclear {
        if agent.kind == AgentType::Workflow && !autoclear {
            return Err(invalid("a workflow agent always clears its message buffer"));
        }
        agent.message_buffer_autoclear = autoclear;
    }
    set(&mut agent.description, patch.description);
    set(&mut agent.embedding, patch.embedding);
    set(&mut agent.tool_rules, patch.tool_rules);
    set(&mut agent.tags, patch.tags);
    set(&mut agent.metadata, patch.metadata);
    set(&mut agent.response_format, patch.response_format);
    set(&mut agent.compaction_settings, patch.compaction_settings);
    set(&mut agent.max_files_open, patch.max_files_open);
    set(&mut agent.per_file_view_window_char_limit, patch.per_file_view_window_char_limit);
    set(&mut agent.hidden, patch.hidden);
    Ok(())
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
