//! A store in a directory of its own with agents that have something to remember.

use std::path::PathBuf;
use std::sync::Arc;

use domain::{
    Actor, Agent, AgentId, ContentPart, Conversation, ConversationId, Identity, IdentityId, LlmConfig, Message,
    MessageId, ModelHandle, OrganizationId, Role, Timestamp,
};
use retrieval::embed::Embedders;
use retrieval::{RecallQuery, Search};
use storage::{Change, Commit, Store, StoreConfig};

pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) search: Search,
    pub(crate) me: Actor,
    pub(crate) path: PathBuf,
    _directory: tempfile::TempDir,
}

/// A conversation of an agent, and whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Talk {
    pub(crate) agent: AgentId,
    pub(crate) conversation: ConversationId,
    pub(crate) identity: Option<IdentityId>,
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + seconds).unwrap()
}

impl House {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = Store::open(&StoreConfig::at(&path), at(0)).unwrap();
        let search = Search::new(store.clone(), embedders());
        Self { store, search, me: Actor::default_user(), path, _directory: directory }
    }

    pub(crate) fn owner(&self) -> OrganizationId {
        self.me.organization
    }

    /// A searcher that has nothing in memory.
    pub(crate) fn fresh(&self) -> Search {
        Search::new(self.store.clone(), embedders())
    }

    pub(crate) async fn apply(&self, changes: impl IntoIterator<Item = Change>) {
        let mut commit = Commit::new(self.me, at(1));
        commit.changes.extend(changes);
        self.store.commit(commit).await.unwrap();
    }

    pub(crate) async fn agent(&self) -> Talk {
        let model = LlmConfig::new(ModelHandle::builtin("guide"), "guide", 32_000);
        let (agent, conversation) = Agent::plain(self.me, "ada", model, at(0));
        let talk = Talk { agent: agent.id, conversation: conversation.id, identity: None };
        self.apply([Change::InsertAgent(Box::new(agent)), Change::InsertConversation(Box::new(conversation))]).await;
        talk
    }

    fn conversation(&self, talk: Talk) -> Change {
        Change::InsertConversation(Box::new(Conversation {
            id: talk.conversation,
            organization: self.me.organization,
            agent: talk.agent,
            identity: talk.identity,
            summary: None,
            created_at: at(0),
            updated_at: at(0),
        }))
    }

    /// Another conversation of the same agent, with a person of its own.
    pub(crate) async fn another(&self, talk: Talk, key: &str) -> Talk {
        let identity = Identity {
            id: IdentityId::random(),
            organization: self.me.organization,
            key: key.to_owned(),
            name: key.to_owned(),
            kind: domain::identity::IdentityType::User,
            created_at: at(0),
        };
        let talk = Talk { conversation: ConversationId::random(), identity: Some(identity.id), ..talk };
        self.apply([Change::InsertIdentity(Box::new(identity)), self.conversation(talk)]).await;
        talk
    }

    pub(crate) async fn say(&self, talk: Talk, texts: impl IntoIterator<Item = String>) {
        let messages: Vec<_> =
            texts.into_iter().enumerate().map(|(place, text)| Arc::new(self.message(talk, place, text))).collect();
        for some in messages.chunks(1_000) {
            self.apply([Change::InsertMessages(some.to_vec())]).await;
        }
    }

    fn message(&self, talk: Talk, place: usize, text: String) -> Message {
        Message {
            id: MessageId::random(),
            organization: self.me.organization,
            agent: talk.agent,
            conversation: talk.conversation,
            identity: talk.identity,
            sequence_id: 0,
            role: if place.is_multiple_of(2) { Role::User } else { Role::Assistant },
            content: Arc::new([ContentPart::text(text)]),
            tool_calls: Arc::new([]),
            tool_returns: Arc::new([]),
            name: None,
            model: None,
            otid: None,
            run: None,
            step: None,
            standing: domain::Standing::Kept,
            created_at: at(i64::try_from(place).unwrap() * 30),
        }
    }

    /// The texts that a query finds, the best first.
    pub(crate) async fn found(&self, search: &Search, query: &RecallQuery) -> Vec<String> {
        let found = search.recall(self.owner(), query).await.unwrap();
        found.hits.into_iter().map(|hit| hit.text).collect()
    }
}

fn embedders() -> Embedders {
    Embedders::local_only(PathBuf::new())
}
