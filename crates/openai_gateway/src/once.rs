//! Requests of which nothing is kept: a model asked directly, tasks that a client sets for itself, and requests that
//! say so (`store: false`, `metadata.ephemeral`).
//!
//! No session is touched and none is made. A request that only does not want to be kept is still answered by an agent
//! that remembers: it is shown its memory as that session has it. A task is not: it speaks about the chat, not in it.

use dispatch::request::{Detail, PastMessage, RunOptions};
use dispatch::{OnceModel, OnceRequest};
use domain::{Actor, ConversationId, ModelHandle};

use crate::OpenAiGateway;
use crate::answer::{Manner, Source, Teller};
use crate::ask::{Ask, check_sight};
use crate::config::{ReasoningShown, Unescape};
use crate::delta::transcript;
use crate::error::ApiError;
use crate::tool_bridge::Bridge;
use crate::wire::chat_request::ChatRequest;

/// A request of which nothing is kept.
pub(crate) struct Once {
    door: OpenAiGateway,
    actor: Actor,
    asked: Asked,
    reasoning: ReasoningShown,
    unescape: Unescape,
    request: ChatRequest,
}

enum Asked {
    Model(ModelHandle),
    /// An agent, with its memory.
    Agent(Box<Session>),
    /// An agent's model, without its memory.
    Task(domain::AgentId),
}

/// By what the conversation is found whose memory is shown.
struct Session {
    agent: std::sync::Arc<domain::Agent>,
    key: domain::Digest,
    /// Whether the request names somebody whose memory is their own.
    is_private: bool,
}

impl Once {
    /// A model, asked directly.
    pub(crate) fn of_model(door: OpenAiGateway, actor: Actor, handle: ModelHandle, request: ChatRequest) -> Self {
        let asked = Asked::Model(handle);
        Self { door, actor, asked, reasoning: ReasoningShown::ReasoningContent, unescape: Unescape::Off, request }
    }

    /// An agent that keeps nothing of this request.
    pub(crate) fn of_agent(ask: Ask, is_task: bool) -> Self {
        let Ask { door, actor, answerer, name, person, request, .. } = ask;
        let (reasoning, unescape) = (answerer.reasoning, answerer.unescape);
        let is_private = person.is_some() && answerer.memory == crate::config::MemoryScope::Private;
        let asked = if is_task {
            Asked::Task(answerer.agent.id)
        } else {
            Asked::Agent(Box::new(Session { agent: answerer.agent.clone(), key: name.key, is_private }))
        };
        Self { door, actor, asked, reasoning, unescape, request }
    }

    /// Asks once.
    pub(crate) async fn begin(self) -> Result<(Source, Teller), ApiError> {
        let who = match self.asked {
            Asked::Model(handle) => {
                check_sight(&self.door, &handle, &self.request)?;
                OnceModel::Handle(handle)
            }
            Asked::Task(agent) => OnceModel::Agent { agent, conversation: None },
            Asked::Agent(session) => {
                check_sight(&self.door, &session.agent.llm_config.handle, &self.request)?;
                let conversation = conversation(&self.door, self.actor, &session).await?;
                OnceModel::Agent { agent: session.agent.id, conversation }
            }
        };
        let bridge = Bridge::new(&self.request.tools, std::iter::empty());
        let messages: Vec<PastMessage> = transcript(&self.request.messages, &bridge);
        let manner = Manner {
            bridge: bridge.clone(),
            reasoning: self.reasoning,
            unescape: self.unescape,
            legacy: self.request.tools.legacy,
            one_call: self.request.tools.parallel == Some(false),
        };
        let client_tools = bridge.client_tools(&self.request.tools);
        let request = OnceRequest {
            actor: self.actor,
            who,
            messages,
            options: RunOptions { max_steps: None, sampling: self.request.sampling, client_tools },
            detail: if self.request.stream { Detail::Pieces } else { Detail::Steps },
        };
        let handle = self.door.dispatcher.answer_once(request).await?;
        Ok((Source::Run { handle, first: None }, Teller::new(manner)))
    }
}

/// The conversation whose memory is shown: the session's, or the agent's own where nobody is named. A person who has no
/// session yet has told nothing, and must not be shown what others told.
async fn conversation(
    door: &OpenAiGateway,
    actor: Actor,
    session: &Session,
) -> Result<Option<ConversationId>, ApiError> {
    let known = door.dispatcher.store().session(actor.organization, session.agent.id, session.key).await?;
    let own = || (!session.is_private).then_some(session.agent.default_conversation);
    Ok(known.map(|known| known.conversation).or_else(own))
}
