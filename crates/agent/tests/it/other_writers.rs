//! Somebody else writes while a step is open: nothing is lost, and what the model is told is true.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use agent::events::RunFailure;
use domain::StopReason;
use domain::seams::BoxFuture;
use domain::seams::tool_executor::{ToolExecutor, ToolInvocation, ToolOutcome};
use expect_test::expect;
use serde_json::json;
use storage::{BlockEditor, Change};
use testkit::{Gate, Reply, ScriptedModel};

use crate::house::{House, insert, toolbox};
use crate::played::Played;

/// A toolbox that lets somebody else add a line to `human` before each of the first calls.
struct Meddling {
    house: House,
    left: AtomicU32,
}

impl ToolExecutor for Meddling {
    fn execute<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let left = self.left.load(Ordering::Relaxed);
            if left > 0 {
                self.left.store(left - 1, Ordering::Relaxed);
                self.house.add_line("human", &format!("{left} left")).await;
            }
            toolbox(&self.house.store).execute(invocation).await
        })
    }
}

/// Plays `reply`, then "Done."; while the model answers, somebody else does `meanwhile`.
async fn run_meanwhile(house: &House, reply: impl Fn(Reply) -> Reply, meanwhile: impl AsyncFnOnce()) -> Played {
    let gate = Gate::new();
    let model = ScriptedModel::playing([reply(Reply::held_by(&gate)), Reply::say("Done.")]);
    let other = async {
        gate.reached().await;
        meanwhile().await;
        gate.release();
    };
    let (played, ()) = tokio::join!(Box::pin(house.run_with(&model)), other);
    played
}

#[tokio::test]
async fn both_edits_of_one_block_survive() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let inserts = |held: Reply| held.and_call("memory_insert", &json!({"label": "human", "new_str": "Likes tea."}));
    let played = run_meanwhile(&house, inserts, async || house.add_line("human", "Lives in Oslo.").await).await;
    assert_eq!(played.requests.len(), 2, "tools run again, the model is not asked again");
    let block = house.block("human").await;
    assert_eq!(block.value(), "Name: Ada\nLives in Oslo.\nLikes tea.");
    let history = house.store.block_history(house.me.organization, block.id).await.unwrap();
    let editors: Vec<_> = history.iter().map(|one| one.editor).collect();
    assert_eq!(editors, [BlockEditor::Api, BlockEditor::Api, BlockEditor::Tool(played.finished.run)]);
    assert!(played.system(1).contains("Lives in Oslo.\nLikes tea."));
}

#[tokio::test]
async fn the_model_is_told_what_came_of_the_last_try() {
    let house = House::v3(&["memory_replace"], json!([])).await;
    let replaces =
        |held: Reply| held.and_call("memory_replace", &json!({"label": "human", "old_str": "Ada", "new_str": "Eve"}));
    let rename = async || house.add_line("human", "Ada it is.").await;
    run_meanwhile(&house, replaces, rename).await.expect(expect![[r#"
        > may call memory_replace
        user: Hello
        assistant calls memory_replace {"label":"human","old_str":"Ada","new_str":"Eve"}
        tool memory_replace failed: `old_str` stands 2 times in the memory block `human` (on lines 1, 2), so nothing was replaced. Give more of the text around the place that you mean, until it stands there only once.
        > may call memory_replace
        assistant: Done.
        end_turn"#]]);
    assert_eq!(house.block("human").await.value(), "Name: Ada\nAda it is.");
}

#[tokio::test]
async fn edits_of_two_blocks_are_no_conflict() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let inserts = |held: Reply| held.and_call("memory_insert", &json!({"label": "human", "new_str": "Likes tea."}));
    run_meanwhile(&house, inserts, async || house.add_line("persona", "Patient.").await).await;
    assert_eq!(house.block("human").await.value(), "Name: Ada\nLikes tea.");
    assert_eq!(house.block("persona").await.value(), "A librarian.\nPatient.");
}

#[tokio::test]
async fn a_stubborn_rival_is_outlasted_up_to_a_point() {
    for (rivals, stop_reason) in [(8, StopReason::EndTurn), (9, StopReason::Error)] {
        let mut house = House::v3(&["memory_insert"], json!([])).await;
        house.toolbox = Arc::new(Meddling { house: house.clone(), left: AtomicU32::new(rivals) });
        let played = house.run([insert("Likes tea."), Reply::say("Done.")]).await;
        assert_eq!(played.finished.stop_reason, stop_reason);
        let block = house.block("human").await;
        assert_eq!(block.value().matches("left").count(), rivals as usize, "nothing of the rival is lost");
        assert_eq!(block.value().contains("Likes tea."), stop_reason == StopReason::EndTurn);
        assert_eq!(played.messages.is_empty(), stop_reason == StopReason::Error, "all of the step or nothing");
    }
}

#[tokio::test]
async fn a_label_that_was_taken_meanwhile_is_seen() {
    let house = House::v3(&["memory_rethink"], json!([])).await;
    let makes = |held: Reply| held.and_call("memory_rethink", &json!({"label": "shelf", "new_memory": "Two books."}));
    let take = async || {
        let block = house.new_block("shelf", "One book.").await;
        house.apply([Change::AttachBlock { agent: house.agent, block }]).await;
    };
    run_meanwhile(&house, makes, take).await.expect(expect![[r#"
        > may call memory_rethink
        user: Hello
        assistant calls memory_rethink {"label":"shelf","new_memory":"Two books."}
        tool memory_rethink: Rewrote the memory block `shelf`: it now has 10 of 1000 characters.
        > may call memory_rethink
        assistant: Done.
        end_turn"#]]);
    let shelf = house.block("shelf").await;
    assert_eq!((shelf.value(), shelf.version), ("Two books.", 2));
}

#[tokio::test]
async fn a_block_that_was_deleted_meanwhile_is_missed_by_the_tool_and_not_by_the_run() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let human = house.block("human").await.id;
    let inserts = |held: Reply| held.and_call("memory_insert", &json!({"label": "human", "new_str": "Likes tea."}));
    let delete = async || house.apply([Change::DeleteBlock(human)]).await;
    run_meanwhile(&house, inserts, delete).await.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert failed: There is no memory block `human`. The blocks that you have: `persona`.
        > may call memory_insert
        assistant: Done.
        end_turn"#]]);
}

#[tokio::test]
async fn an_agent_that_was_deleted_meanwhile_is_gone() {
    let (house, gate) = (House::v3(&["memory_insert"], json!([])).await, Gate::new());
    let model = ScriptedModel::playing([Reply::held_by(&gate).and_say("Hi!")]);
    let (sender, _events) = tokio::sync::mpsc::channel(16);
    let delete = async {
        gate.reached().await;
        house.apply([Change::DeleteAgent(house.agent)]).await;
        gate.release();
    };
    let (finished, ()) = tokio::join!(Box::pin(house.drive(Arc::new(model), sender)), delete);
    assert_eq!(finished.stop_reason, StopReason::Error);
    assert!(matches!(finished.failure, Some(RunFailure::AgentGone)), "{:?}", finished.failure);
}

#[tokio::test]
async fn a_tool_that_was_taken_away_meanwhile_is_not_offered_again() {
    let house = House::v3(&["memory_insert", "memory_finish_edits"], json!([])).await;
    let tool = house.snapshot().await.tools[0].id;
    let finish = |held: Reply| held.and_call("memory_finish_edits", &json!({}));
    let detach = async || house.apply([Change::DetachTool { agent: house.agent, tool }]).await;
    run_meanwhile(&house, finish, detach).await.expect(expect![[r#"
        > may call memory_insert, memory_finish_edits
        user: Hello
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        > may call memory_finish_edits
        assistant: Done.
        end_turn"#]]);
}

#[tokio::test]
async fn agents_that_share_a_block_see_each_others_edits() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let neighbour = house.neighbour(&["memory_insert"]).await;
    neighbour.run([Reply::say("Hi!")]).await;
    house.run([insert("Likes tea."), Reply::say("Noted.")]).await;
    let played = neighbour.run([insert("Lives in Oslo."), Reply::say("Noted.")]).await;
    assert!(played.system(0).contains("Name: Ada\nLikes tea."));
    let block = house.block("human").await;
    assert_eq!((block.value(), block.version), ("Name: Ada\nLikes tea.\nLives in Oslo.", 3));
    assert_eq!(neighbour.messages().await.len(), 7, "each has its own messages");
}

#[tokio::test]
async fn a_step_sees_what_another_agent_wrote_during_the_step_before() {
    let house = House::v3(&["memory_insert", "memory_finish_edits"], json!([])).await;
    let neighbour = house.neighbour(&["memory_insert"]).await;
    let edit = async || {
        neighbour.run([insert("Likes tea."), Reply::say("Noted.")]).await;
    };
    let finish = |held: Reply| held.and_call("memory_finish_edits", &json!({}));
    let played = run_meanwhile(&house, finish, edit).await;
    assert!(!played.system(0).contains("Likes tea."));
    assert!(played.system(1).contains("Likes tea."));
}

#[tokio::test]
async fn two_agents_that_edit_a_shared_block_at_once_both_succeed() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let neighbour = house.neighbour(&["memory_insert"]).await;
    let edit = async || {
        neighbour.run([insert("Lives in Oslo."), Reply::say("Noted.")]).await;
    };
    let inserts = |held: Reply| held.and_call("memory_insert", &json!({"label": "human", "new_str": "Likes tea."}));
    run_meanwhile(&house, inserts, edit).await;
    assert_eq!(neighbour.block("human").await.value(), "Name: Ada\nLives in Oslo.\nLikes tea.");
}
