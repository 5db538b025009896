//! What fills an agent's context window, for doors that show it.

use domain::{Actor, AgentId, ConversationId};
use prompt::context_overview::ContextOverview;
use storage::StoreError;

use crate::agent_spec::AgentError;
use crate::dispatcher::Dispatcher;

impl Dispatcher {
    /// The context of one conversation, the default one where none is named.
    pub async fn context_overview(
        &self,
        actor: Actor,
        id: AgentId,
        conversation: Option<ConversationId>,
    ) -> Result<ContextOverview, AgentError> {
        let agent = self.agent_or_not_found(actor, id).await?;
        let conversation = conversation.unwrap_or(agent.default_conversation);
        let snapshot = self.inner.store.snapshot(actor.organization, id, conversation).await?;
        // Only a server that is going down gives up counting.
        let sees = self.inner.models.sees(&agent.llm_config.handle);
        agent::context_overview(snapshot, sees).await.ok_or(AgentError::Store(StoreError::Closed))
    }
}
