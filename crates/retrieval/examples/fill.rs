//! Fills a store for measurements: `fill STORE messages|passages COUNT` prints the id of a new agent that has so many.
//!
//! Words are drawn so that few are common and most are rare, as in any language; turns have 4 to 40 of them.

#![expect(clippy::expect_used, reason = "a program for measurements may stop at the first trouble")]

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use domain::archive::Archive;
use domain::{
    Actor, Agent, AgentId, ArchiveId, ContentPart, ConversationId, LlmConfig, Message, MessageId, ModelHandle, Passage,
    PassageId, Role, Timestamp, VectorDbProvider,
};
use retrieval::Search;
use retrieval::embed::Embedders;
use storage::{Change, Commit, SearchScope, Store, StoreConfig};

const AT_ONCE: usize = 1_000;
const SYLLABLES: [&str; 24] = [
    "ba", "cor", "den", "fil", "gam", "hol", "jus", "kel", "lam", "mer", "nor", "pas", "quin", "rel", "sal", "tor",
    "ul", "ver", "wil", "yon", "zel", "tri", "gra", "sto",
];
const COMMON: [&str; 40] = [
    "the", "to", "and", "a", "of", "in", "it", "is", "you", "that", "was", "for", "on", "with", "my", "house",
    "garden", "work", "time", "day", "people", "water", "dinner", "train", "music", "friend", "letter", "money",
    "doctor", "dog", "school", "summer", "kitchen", "book", "market", "winter", "brother", "window", "road", "street",
];

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides.max(1)
    }

    /// A word: low numbers are far more likely.
    fn word(&mut self) -> String {
        let number = 1_u64 << self.roll(17);
        let number = number + self.roll(number) - 1;
        if let Some(word) = COMMON.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            return (*word).to_owned();
        }
        let mut rest = number;
        let mut word = String::new();
        while rest > 0 {
            word.push_str(SYLLABLES[usize::try_from(rest % 24).unwrap_or_default()]);
            rest /= 24;
        }
        word
    }

    fn text(&mut self) -> String {
        let words = 4 + self.roll(37);
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("the store's file"));
    let kind = arguments.next().expect("messages or passages");
    let count: usize = arguments.next().expect("a count").parse().expect("a number");
    let store = Store::open(&StoreConfig::at(path), Timestamp::now()).expect("a store");
    let actor = Actor::default_user();
    let model = LlmConfig::new(ModelHandle::builtin("guide"), "guide", 32_000);
    let (mut agent, conversation) = Agent::plain(actor, format!("filled with {kind}"), model, Timestamp::now());
    agent.system = "You are measured.".to_owned();
    let (id, at) = (agent.id, conversation.id);
    let commit = Commit::new(actor, Timestamp::now())
        .with(Change::InsertAgent(Box::new(agent)))
        .with(Change::InsertConversation(Box::new(conversation)));
    store.commit(commit).await.expect("an agent");
    let scope = if kind == "messages" {
        fill_messages(&store, actor, (id, at), count).await;
        SearchScope::Recall(id)
    } else {
        SearchScope::Archive(fill_passages(&store, actor, id, count).await)
    };
    let search = Search::new(store.clone(), Embedders::local_only(PathBuf::new()));
    search.index(actor.organization, scope, &mut |_| true).await.expect("an index");
    store.close().await;
    writeln!(std::io::stdout(), "{id}").expect("standard output");
}

async fn fill_messages(store: &Store, actor: Actor, (agent, conversation): (AgentId, ConversationId), count: usize) {
    let mut dice = Dice(88_172_645_463_325_252);
    for start in (0..count).step_by(AT_ONCE) {
        let messages = (start..count.min(start + AT_ONCE)).map(|number| {
            // Sittings of forty turns, half a minute apart; a day between them.
            let seconds = (number / 40 * 86_400 + number % 40 * 30) as i64;
            Arc::new(Message {
                id: MessageId::random(),
                organization: actor.organization,
                agent,
                conversation,
                identity: None,
                sequence_id: 0,
                role: if number.is_multiple_of(2) { Role::User } else { Role::Assistant },
                content: Arc::new([ContentPart::text(dice.text())]),
                tool_calls: Arc::new([]),
                tool_returns: Arc::new([]),
                name: None,
                model: None,
                otid: None,
                run: None,
                step: None,
                standing: domain::Standing::Kept,
                created_at: Timestamp::from_second(seconds).expect("a time"),
            })
        });
        let commit = Commit::new(actor, Timestamp::now()).with(Change::InsertMessages(messages.collect()));
        store.commit(commit).await.expect("messages");
    }
}

async fn fill_passages(store: &Store, actor: Actor, agent: AgentId, count: usize) -> ArchiveId {
    let now = Timestamp::now();
    let archive = Archive {
        id: ArchiveId::random(),
        organization: actor.organization,
        created_by: actor.user,
        name: "filled".to_owned(),
        description: None,
        embedding: ModelHandle::builtin("embedding"),
        vector_db_provider: VectorDbProvider::Native,
        metadata: serde_json::Map::new(),
        created_at: now,
        updated_at: now,
    };
    let id = archive.id;
    let commit = Commit::new(actor, now)
        .with(Change::InsertArchive(Box::new(archive)))
        .with(Change::AttachArchive { agent, archive: id });
    store.commit(commit).await.expect("an archive");
    let mut dice = Dice(1_442_695_040_888_963_407);
    for start in (0..count).step_by(AT_ONCE) {
        let passages = (start..count.min(start + AT_ONCE)).map(|number| {
            Arc::new(Passage {
                id: PassageId::random(),
                organization: actor.organization,
                created_by: actor.user,
                archive: id,
                number: 0,
                text: dice.text().into(),
                tags: Arc::new([format!("tag {}", number % 20)]),
                metadata: serde_json::Map::new(),
                created_at: now,
            })
        });
        let commit = Commit::new(actor, now).with(Change::InsertPassages(passages.collect()));
        store.commit(commit).await.expect("passages");
    }
    id
}
