//! What is held in memory equals what the file holds, after any sequence of commits.

use std::sync::Arc;

use domain::{
    Agent, Block, BlockId, ContentPart, Conversation, ConversationId, Label, Message, MessageId, RunStatus, StopReason,
    Usage,
};
use proptest::prelude::*;
use storage::{BlockEditor, Change, Commit, MessageFilter, RunUpdate, Store};

use crate::house::{Home, House, at, block, insert_block, message, run, said, tool, update_block};

/// Something that a client or a step might do. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Act {
    Look(usize),
    Say { home: usize, count: usize },
    SayWithoutContext { home: usize },
    Recall { home: usize, pick: usize },
    Compact { home: usize, picks: Vec<usize> },
    Rewrite { home: usize, pick: usize },
    SayRewriteAppend { home: usize },
    Edit { block: usize, value: String },
    Rename { block: usize, label: usize },
    MakeBlock { home: usize, label: usize },
    Attach { home: usize, block: usize },
    Detach { home: usize, block: usize },
    DeleteBlock { block: usize },
    MakeTool { home: usize, name: usize },
    DetachTool { home: usize, name: usize },
    ChangeAgent { home: usize },
    Run { home: usize },
    CloseRuns,
    FailAfterEverything { home: usize, block: usize },
}

fn act() -> impl Strategy<Value = Act> {
    let n = || 0..12usize;
    prop_oneof![
        4 => n().prop_map(Act::Look),
        4 => (n(), 1..4usize).prop_map(|(home, count)| Act::Say { home, count }),
        1 => n().prop_map(|home| Act::SayWithoutContext { home }),
        1 => (n(), n()).prop_map(|(home, pick)| Act::Recall { home, pick }),
        1 => (n(), prop::collection::vec(n(), 0..6)).prop_map(|(home, picks)| Act::Compact { home, picks }),
        1 => (n(), n()).prop_map(|(home, pick)| Act::Rewrite { home, pick }),
        1 => n().prop_map(|home| Act::SayRewriteAppend { home }),
        3 => (n(), "[a-zä日]{0,9}").prop_map(|(block, value)| Act::Edit { block, value }),
        1 => (n(), n()).prop_map(|(block, label)| Act::Rename { block, label }),
        1 => (n(), n()).prop_map(|(home, label)| Act::MakeBlock { home, label }),
        2 => (n(), n()).prop_map(|(home, block)| Act::Attach { home, block }),
        1 => (n(), n()).prop_map(|(home, block)| Act::Detach { home, block }),
        1 => n().prop_map(|block| Act::DeleteBlock { block }),
        1 => (n(), n()).prop_map(|(home, name)| Act::MakeTool { home, name }),
        1 => (n(), n()).prop_map(|(home, name)| Act::DetachTool { home, name }),
        1 => n().prop_map(|home| Act::ChangeAgent { home }),
        1 => n().prop_map(|home| Act::Run { home }),
        1 => Just(Act::CloseRuns),
        1 => (n(), n()).prop_map(|(home, block)| Act::FailAfterEverything { home, block }),
    ]
}

/// Two agents, one of them with two conversations, and some blocks that they may share.
struct Stage {
    house: House,
    homes: Vec<Home>,
    blocks: Vec<BlockId>,
    clock: i64,
}

impl Stage {
    async fn new() -> Self {
        // Room for two of the three conversations.
        let house = House::with(|config| config.cached_conversations = 2);
        let (ada, bob) = (house.new_home("ada").await, house.new_home("bob").await);
        let second = Conversation {
            id: ConversationId::random(),
            ..house.store.conversation(house.owner(), ada.conversation).await.unwrap()
        };
        house.apply([Change::InsertConversation(Box::new(second.clone()))]).await.unwrap();
        let mut blocks = Vec::new();
        for label in ["one", "two", "three"] {
            blocks.push(house.new_block(label, "").await.id);
        }
        Self { house, homes: vec![ada, bob, Home { conversation: second.id, ..ada }], blocks, clock: 100 }
    }

    fn home(&self, number: usize) -> Home {
        self.homes[number % self.homes.len()]
    }

    async fn block(&self, number: usize) -> Option<Block> {
        self.house.store.block(self.house.owner(), self.blocks[number % self.blocks.len()]).await.ok()
    }

    async fn messages(&self, home: Home) -> Vec<Arc<Message>> {
        let mut filter = MessageFilter::newest(home.agent, 1_000);
        filter.conversation = Some(home.conversation);
        self.house.store.messages(self.house.owner(), &filter).await.unwrap()
    }

    async fn picked(&self, home: Home, picks: &[usize]) -> Vec<MessageId> {
        let all = self.messages(home).await;
        picks.iter().filter(|_| !all.is_empty()).map(|pick| all[pick % all.len()].id).collect()
    }

    /// Does it. Whether the store agrees is not the point here.
    async fn perform(&mut self, act: Act) {
        self.clock += 10;
        if let Act::Look(home) = act {
            let home = self.home(home);
            self.house.store.snapshot(self.house.owner(), home.agent, home.conversation).await.unwrap();
            return;
        }
        if let Act::CloseRuns = act {
            self.house.store.close_open_runs(at(self.clock), "closed").await.unwrap();
            return;
        }
        let mut commit = Commit::new(self.house.me, at(self.clock));
        commit.changes = match act {
            Act::Edit { .. }
            | Act::Rename { .. }
            | Act::MakeBlock { .. }
            | Act::Attach { .. }
            | Act::Detach { .. }
            | Act::DeleteBlock { .. }
            | Act::MakeTool { .. }
            | Act::DetachTool { .. }
            | Act::ChangeAgent { .. } => self.memory_changes(act).await,
            other => self.talk_changes(other).await,
        };
        self.house.store.commit(commit).await.map(drop).unwrap_or_default();
    }

    async fn talk_changes(&self, act: Act) -> Vec<Change> {
        let me = self.house.me;
        match act {
            Act::Say { home, count } => {
                let home = self.home(home);
                said(home, (0..count).map(|_| message(me, home, "said")).collect()).into()
            }
            Act::SayWithoutContext { home } => {
                vec![Change::InsertMessages(vec![message(me, self.home(home), "aside")])]
            }
            Act::Recall { home, pick } => {
                let home = self.home(home);
                let messages = self.picked(home, &[pick]).await;
                vec![Change::AppendContext { conversation: home.conversation, messages }]
            }
            Act::Compact { home, picks } => {
                let home = self.home(home);
                let new = message(me, home, "summary");
                let mut messages = self.picked(home, &picks).await;
                messages.insert(messages.len() / 2, new.id);
                vec![
                    Change::InsertMessages(vec![new]),
                    Change::ReplaceContext { conversation: home.conversation, messages },
                ]
            }
            Act::Rewrite { home, pick } => {
                let all = self.messages(self.home(home)).await;
                all.get(pick % all.len().max(1)).map(|old| Change::UpdateMessage(reworded(old))).into_iter().collect()
            }
            Act::SayRewriteAppend { home } => {
                let home = self.home(home);
                let new = message(me, home, "first wording");
                let [insert, append] = said(home, vec![new.clone()]);
                vec![insert, Change::UpdateMessage(reworded(&new)), append]
            }
            Act::Run { home } => self.run(self.home(home)),
            Act::FailAfterEverything { home, block } => {
                let home = self.home(home);
                let mut changes: Vec<_> = said(home, vec![message(me, home, "lost")]).into();
                if let Some(block) = self.block(block).await {
                    changes.push(update_block(&block));
                }
                changes.push(Change::DeleteBlock(BlockId::random()));
                changes
            }
            _ => Vec::new(),
        }
    }

    fn run(&self, home: Home) -> Vec<Change> {
        let started = run(self.house.me, home);
        let end = RunUpdate {
            run: started.id,
            agent: home.agent,
            status: RunStatus::Completed,
            stop_reason: Some(StopReason::EndTurn),
            error: None,
            usage: Usage::default(),
            step_count: 1,
            completed_at: Some(at(self.clock)),
        };
        vec![
            Change::InsertRun(Box::new(started)),
            Change::UpdateRun(end),
            Change::InsertRun(Box::new(run(self.house.me, home))),
        ]
    }

    async fn memory_changes(&mut self, act: Act) -> Vec<Change> {
        let me = self.house.me;
        let label = |number: usize| Label::new(["one", "two", "three", "four"][number % 4]).unwrap();
        match act {
            Act::Edit { block, value } => {
                let Some(mut block) = self.block(block).await else { return Vec::new() };
                block.set_value(value).unwrap();
                vec![update_block(&block)]
            }
            Act::Rename { block, label: new } => {
                let Some(mut block) = self.block(block).await else { return Vec::new() };
                block.label = label(new);
                vec![update_block(&block)]
            }
            Act::MakeBlock { home, label: new } => {
                let made = block(me, label(new).as_str(), "made");
                self.blocks.push(made.id);
                let attach = Change::AttachBlock { agent: self.home(home).agent, block: made.id };
                vec![insert_block(&made), attach]
            }
            Act::Attach { home, block } => {
                let block = self.blocks[block % self.blocks.len()];
                vec![Change::AttachBlock { agent: self.home(home).agent, block }]
            }
            Act::Detach { home, block } => {
                let block = self.blocks[block % self.blocks.len()];
                vec![Change::DetachBlock { agent: self.home(home).agent, block, editor: BlockEditor::Api }]
            }
            Act::DeleteBlock { block } => vec![Change::DeleteBlock(self.blocks[block % self.blocks.len()])],
            Act::MakeTool { home, name } => {
                let mut made = tool(me, ["saw", "hammer"][name % 2]);
                made.updated_at = at(self.clock);
                let attach = Change::AttachTool { agent: self.home(home).agent, tool: made.id };
                vec![Change::UpsertTool(Box::new(made)), attach]
            }
            Act::DetachTool { home, name } => {
                let tool = self.house.store.tool_by_name(me.organization, ["saw", "hammer"][name % 2]).await.unwrap();
                let agent = self.home(home).agent;
                tool.map(|tool| Change::DetachTool { agent, tool: tool.id }).into_iter().collect()
            }
            Act::ChangeAgent { home } => {
                let agent = self.house.store.agent(me.organization, self.home(home).agent).await.unwrap();
                let renamed = Agent { name: format!("name {}", self.clock), ..Agent::clone(&agent) };
                vec![Change::UpdateAgent(Box::new(renamed))]
            }
            _ => Vec::new(),
        }
    }

    async fn show(&self, store: &Store) -> Vec<String> {
        let mut shown = Vec::new();
        let owner = self.house.owner();
        for home in &self.homes {
            let snapshot = store.snapshot(owner, home.agent, home.conversation).await.unwrap();
            shown.push(format!("{snapshot:#?}"));
            shown.push(format!("{:#?}", store.agent(owner, home.agent).await.unwrap()));
            shown.push(format!("{:#?}", store.agent_blocks(owner, home.agent).await.unwrap()));
            shown.push(format!("{:#?}", store.agent_tools(owner, home.agent).await.unwrap()));
            shown.push(format!("{:#?}", store.context_ids(owner, home.conversation).await.unwrap()));
        }
        shown
    }
}

fn reworded(message: &Message) -> Arc<Message> {
    Arc::new(Message { content: Arc::from([ContentPart::text("reworded")]), ..message.clone() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn memory_equals_the_file_after_any_sequence_of_commits(acts in prop::collection::vec(act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut stage = Stage::new().await;
            for act in acts {
                stage.perform(act).await;
            }
            let (warm, fresh) = (stage.show(&stage.house.store).await, stage.show(&stage.house.fresh()).await);
            for (warm, fresh) in warm.iter().zip(&fresh) {
                assert_eq!(warm, fresh);
            }
            let problems = stage.house.store.check().await.unwrap().problems;
            assert!(problems.is_empty(), "{problems:?}");
        });
    }
}

#[tokio::test]
async fn a_message_that_is_shown_twice_is_reworded_twice() {
    let house = House::new();
    let home = house.new_home("ada").await;
    let ids = house.say(home, &["said"]).await;
    let append = Change::AppendContext { conversation: home.conversation, messages: ids.clone() };
    house.apply([append]).await.unwrap();
    assert_eq!(house.context(home).await, ["said", "said"]);
    let old = house.store.message(house.owner(), ids[0]).await.unwrap();
    house.apply([Change::UpdateMessage(reworded(&old))]).await.unwrap();
    assert_eq!(house.context(home).await, ["reworded", "reworded"]);
}
