//! One request to an agent, from its session to its run.
//!
//! Everything is decided under the conversation's permit: what is new, whether the client went back, whether the same
//! request was answered before. Two requests of one session can so never decide by the same state.

use std::sync::Arc;

use dispatch::request::{Detail, InputMessage, Lifetime, Opening, RequestMark, RunOptions, SubmitError};
use dispatch::{Floor, FloorRequest};
use domain::agent::LoopPolicy;
use domain::{
    Actor, AgentSnapshot, ContentPart, Digest, Message, MessageId, ModelHandle, Role, SessionRequest, Standing,
    waiting_calls,
};

use crate::OpenAiGateway;
use crate::answer::{Manner, Source, Teller};
use crate::config::MemoryScope;
use crate::delta::{self, Delta};
use crate::error::ApiError;
use crate::history::{Chat, Place, place};
use crate::overlay::{Overlay, Refresh};
use crate::retry::{Earlier, Repeatable};
use crate::session_name::{Person, SessionName};
use crate::sessions::{OpenSession, Wanted};
use crate::tool_bridge::Bridge;
use crate::who::Answerer;
use crate::wire::chat_messages::ClientMessage;
use crate::wire::chat_request::ChatRequest;

/// What stands before a system text that could not be kept as a block.
const PREFACE: &str = "Instructions of the application that this conversation comes through:";

/// A request that was understood, and from whom to whom it goes.
pub(crate) struct Ask {
    pub(crate) door: OpenAiGateway,
    pub(crate) actor: Actor,
    pub(crate) answerer: Box<Answerer>,
    pub(crate) name: SessionName,
    pub(crate) person: Option<Person>,
    pub(crate) repeatable: Repeatable,
    pub(crate) request: ChatRequest,
}

/// How a run begins, and whether the mark may carry the client's idempotency key.
struct Decided {
    opening: Opening,
    bridge: Bridge,
}

impl Ask {
    /// Waits for the session's turn and begins to answer.
    pub(crate) async fn begin(self) -> Result<(Source, Teller), ApiError> {
        self.check()?;
        let claim = self.door.claims.claim(self.actor, &self.repeatable)?;
        let mut floor = self.floor().await?;
        if let Some(claim) = claim {
            floor.keep(claim);
        }
        // Another request of the session may have changed it while this one waited.
        let mut open = self.session().await?;
        let earlier = self.repeatable.earlier(self.store(), self.actor, open.session.conversation).await?;
        let snapshot = floor.snapshot().await?;
        if let Earlier::Answered { messages, finished } = earlier {
            let bridge = self.bridge(&snapshot);
            return Ok((Source::Earlier { messages, finished }, self.teller(bridge)));
        }
        let delta = Delta::of(&self.request);
        if delta.is_empty() {
            self.refresh(&mut open, &snapshot).await?;
            let bridge = self.bridge(&snapshot);
            return Ok((Source::Nothing, self.teller(bridge)));
        }
        // A request that is refused must not have changed the session's prompt, so this comes before.
        let mut decided = self.decide(&snapshot, &delta, &earlier).await?;
        dispatch::check_opening(&decided.opening)?;
        if let Overlay::Preface(text) = self.refresh(&mut open, &snapshot).await? {
            let preface = preface(&text);
            if !is_shown(&preface, &snapshot, decided.opening.rewind) {
                decided.opening.messages.insert(0, preface);
            }
        }
        self.run(floor, open, decided)
    }

    /// Gives the session the system text and the mode of this request.
    async fn refresh(&self, open: &mut OpenSession, snapshot: &AgentSnapshot) -> Result<Overlay, ApiError> {
        let system = delta::system_text(&self.request.messages);
        let refresh = Refresh { store: self.store(), actor: self.actor, snapshot, now: (self.door.clock)() };
        let overlay = refresh.apply(&mut open.session, &system, self.answerer.mode).await?;
        self.door.sessions.keep(open.clone());
        Ok(overlay)
    }

    fn store(&self) -> &storage::Store {
        self.door.dispatcher.store()
    }

    /// What can't be done for this agent is refused before anything happens.
    fn check(&self) -> Result<(), ApiError> {
        let speaks_by_tool = self.answerer.agent.kind.loop_policy() == LoopPolicy::V2;
        if speaks_by_tool && !self.request.sampling.stop.is_empty() {
            let text = "`stop` is not supported for this agent: it speaks through a tool, which a stop text would cut.";
            return Err(ApiError::invalid(text, Some("stop"), Some("unsupported_parameter")));
        }
        check_sight(&self.door, &self.answerer.agent.llm_config.handle, &self.request)
    }

    async fn session(&self) -> Result<OpenSession, ApiError> {
        let wanted = Wanted {
            actor: self.actor,
            agent: &self.answerer.agent,
            name: &self.name,
            person: self.person.as_ref().filter(|_| self.answerer.memory == MemoryScope::Private),
            now: (self.door.clock)(),
        };
        self.door.sessions.open(self.store(), wanted).await
    }

    /// The right to run in the session's conversation.
    async fn floor(&self) -> Result<Floor, ApiError> {
        let agent = self.answerer.agent.id;
        let open = self.session().await?;
        match self.door.dispatcher.floor(self.actor, agent, open.session.conversation).await {
            // It was deleted behind our back; the next look makes a new one.
            Err(SubmitError::ConversationNotFound(_)) => {
                self.door.sessions.forget(&open.session);
                let open = self.session().await?;
                Ok(self.door.dispatcher.floor(self.actor, agent, open.session.conversation).await?)
            }
            floor => Ok(floor?),
        }
    }

    fn bridge(&self, snapshot: &AgentSnapshot) -> Bridge {
        Bridge::new(&self.request.tools, snapshot.tools.iter().map(|tool| &*tool.name))
    }

    fn teller(&self, bridge: Bridge) -> Teller {
        Teller::new(Manner {
            bridge,
            reasoning: self.answerer.reasoning,
            unescape: self.answerer.unescape,
            legacy: self.request.tools.legacy,
            one_call: self.request.tools.parallel == Some(false),
        })
    }

    /// What is new, given what the session has.
    async fn decide(
        &self,
        snapshot: &AgentSnapshot,
        delta: &Delta<'_>,
        earlier: &Earlier,
    ) -> Result<Decided, ApiError> {
        let bridge = self.bridge(snapshot);
        let requests = self.requests(snapshot, delta, earlier).await?;
        let known: Vec<Known> = requests.iter().filter_map(Known::of).collect();
        let mut opening = Opening::default();
        let place = self.place(delta, &known);
        match place {
            Place::New { .. } | Place::Apart => {}
            Place::Rewind { to } => opening.rewind = known.get(to).map(|known| known.message),
            Place::Unseen => {
                // A client that names its chats brings a chat from elsewhere. One that does not has put examples
                // before its first question.
                let standing = if self.name.is_explicit() { Standing::Kept } else { Standing::Example };
                opening.history = delta.history(&bridge, standing);
            }
        }
        if let Earlier::Cut { request } = earlier
            && requests.last().is_some_and(|last| last.message == *request)
        {
            // Done again in place of what was cut. Where the session has gone on since, going back would hide that.
            opening.rewind = Some(*request);
        }
        let unheard = unheard(delta, &known, place);
        opening.messages = unheard.iter().chain(&delta.newest).map(|message| spoken(message)).collect();
        let context = before(&snapshot.context, opening.rewind);
        let waiting = match opening.history.last() {
            Some(_) => delta::waiting(&opening.history),
            None => waiting_calls(context),
        };
        opening.returns = delta.returns(&waiting, context, &bridge)?;
        opening.mark = Some(RequestMark {
            said: unheard.iter().map(|message| digest_of(message)).collect(),
            text: delta.newest.map(digest_of),
            body: Some(self.repeatable.body),
            idempotency: self.repeatable.idempotency,
            apart: self.may_be_apart(delta, place),
        });
        Ok(Decided { opening, bridge })
    }

    /// The requests that the session has had, in order, where they matter.
    async fn requests(
        &self,
        snapshot: &AgentSnapshot,
        delta: &Delta<'_>,
        earlier: &Earlier,
    ) -> Result<Vec<SessionRequest>, ApiError> {
        let is_cut = matches!(earlier, Earlier::Cut { .. });
        if !delta.has_answers() && delta.said.is_empty() && !is_cut {
            return Ok(Vec::new());
        }
        Ok(self.store().session_requests(self.actor.organization, snapshot.conversation).await?)
    }

    /// Where the newest message stands in the session.
    fn place(&self, delta: &Delta<'_>, known: &[Known]) -> Place {
        match delta.newest {
            // Only a history that shows answers can show that the client went back.
            _ if !delta.has_answers() => Place::New { unheard: 0 },
            None if known.is_empty() => Place::Unseen,
            None => Place::New { unheard: 0 },
            Some(_) => {
                let texts: Vec<Digest> = known.iter().map(|known| known.text).collect();
                let chat = if self.name.is_explicit() {
                    Chat::Named
                } else {
                    let examples = known.iter().take_while(|known| known.was_brought).count();
                    let apart = known.iter().rposition(|known| known.is_apart).unwrap_or_default();
                    Chat::Nameless { settled: examples.max(apart) }
                };
                match place(&texts, &delta.earlier(), chat) {
                    Place::Rewind { .. } if !self.door.config.follow_edits => Place::New { unheard: 0 },
                    found => found,
                }
            }
        }
    }

    /// Whether the request may be of another chat than the one before it. A chat that has a name is alone.
    fn may_be_apart(&self, delta: &Delta<'_>, place: Place) -> bool {
        let follows = match place {
            Place::New { unheard } => delta.has_answers() && unheard < delta.earlier().len(),
            Place::Rewind { .. } | Place::Unseen => true,
            Place::Apart => false,
        };
        delta.newest.is_some() && !follows && !self.name.is_explicit()
    }

    fn run(self, floor: Floor, open: OpenSession, decided: Decided) -> Result<(Source, Teller), ApiError> {
        let teller = self.teller(decided.bridge.clone());
        let options = RunOptions {
            max_steps: None,
            client_tools: decided.bridge.client_tools(&self.request.tools),
            sampling: self.request.sampling,
        };
        let handle = floor.run(FloorRequest {
            identity: open.identity,
            opening: decided.opening,
            options,
            // Whoever sends a key will ask again if the connection breaks, and finds the run then.
            lifetime: if self.repeatable.idempotency.is_some() { Lifetime::Background } else { Lifetime::Foreground },
            detail: if self.request.stream { Detail::Pieces } else { Detail::Steps },
        })?;
        Ok((Source::Run { handle, first: None }, teller))
    }
}

/// Whether the newest message can be shown to the model. Marks stand for images of earlier ones, or a chat that was
/// begun with another model could never go on.
pub(crate) fn check_sight(door: &OpenAiGateway, model: &ModelHandle, request: &ChatRequest) -> Result<(), ApiError> {
    let shows = Delta::of(request).newest.is_some_and(ClientMessage::has_images);
    if shows && !door.dispatcher.models().sees(model) {
        return Err(SubmitError::Blind(model.clone()).into());
    }
    Ok(())
}

/// A user's message that the session has.
struct Known {
    text: Digest,
    message: MessageId,
    /// It came with a history, or before the newest message of its request.
    was_brought: bool,
    is_apart: bool,
}

impl Known {
    /// The user's message that a request was; None where it brought only results of tools.
    fn of(request: &SessionRequest) -> Option<Self> {
        Some(Self {
            text: request.text?,
            message: request.message,
            was_brought: request.run.is_none(),
            is_apart: request.apart,
        })
    }
}

/// What users said in this request before its newest message and the session has not.
fn unheard<'a>(delta: &Delta<'a>, known: &[Known], place: Place) -> Vec<&'a ClientMessage> {
    let count = match place {
        // A client that shows no answers shows no places either: equal words are all there is to go by.
        Place::New { .. } if !delta.has_answers() => {
            let is_new = |message: &&&ClientMessage| !known.iter().any(|known| known.text == digest_of(message));
            return delta.said.iter().filter(is_new).copied().collect();
        }
        Place::New { unheard } => unheard,
        Place::Rewind { .. } | Place::Apart => 0,
        Place::Unseen => delta.said.len(),
    };
    delta.said[delta.said.len().saturating_sub(count)..].to_vec()
}

/// Whether the context that the run begins with holds a preface.
fn is_shown(preface: &InputMessage, snapshot: &AgentSnapshot, rewind: Option<MessageId>) -> bool {
    // Where the place to go back to has left the context, the context is made anew and holds no system texts.
    let is_kept = rewind.is_none_or(|to| snapshot.context.iter().any(|message| message.id == to));
    let shown = before(&snapshot.context, rewind);
    is_kept && shown.iter().any(|message| message.role == Role::System && message.content == preface.content)
}

/// The context up to the message that the client went back to.
fn before(context: &[Arc<Message>], rewind: Option<MessageId>) -> &[Arc<Message>] {
    let place = rewind.and_then(|to| context.iter().position(|message| message.id == to));
    &context[..place.unwrap_or(context.len())]
}

fn digest_of(message: &ClientMessage) -> Digest {
    message.digest()
}

/// A system text that could not be kept as a block.
fn preface(text: &str) -> InputMessage {
    let content = Arc::new([ContentPart::text(format!("{PREFACE}\n\n{text}"))]);
    InputMessage { role: Role::System, content, name: None, otid: None }
}

/// What a user says now.
fn spoken(message: &ClientMessage) -> InputMessage {
    InputMessage { role: Role::User, content: message.content.clone(), name: message.name.clone(), otid: None }
}
