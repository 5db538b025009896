//! Runs that are ended from outside: the client leaves, or the server stops.

use std::sync::Arc;

use agent::events::RunFailure;
use domain::seams::BoxFuture;
use domain::seams::chat_model::ModelError;
use domain::seams::tool_executor::{ToolExecutor, ToolInvocation, ToolOutcome};
use domain::{RunStatus, StopReason};
use expect_test::expect;
use serde_json::json;
use testkit::{Gate, Reply, ScriptedModel};
use tools::Toolbox;

use crate::house::{House, insert, toolbox};
use crate::played::Played;

/// A toolbox whose tools hang at a gate before they do their work.
struct SlowTools(Gate, Toolbox);

impl ToolExecutor for SlowTools {
    fn execute<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            self.0.pass().await;
            self.1.execute(invocation).await
        })
    }
}

/// Runs the agent and does `then` as soon as somebody waits at `gate`.
async fn run_until(house: &House, model: &ScriptedModel, gate: &Gate, then: impl FnOnce()) -> Played {
    let at_the_gate = async {
        gate.reached().await;
        then();
    };
    let (played, ()) = tokio::join!(Box::pin(house.run_with(model)), at_the_gate);
    played
}

#[tokio::test]
async fn a_client_that_leaves_mid_answer_leaves_nothing_and_ends_the_upstream_call() {
    for hold in [Reply::held_by, |gate: &Gate| Reply::say("Half an ans").and_wait(gate)] {
        let (house, gate) = (House::v3(&["memory_insert"], json!([])).await, Gate::new());
        let model = ScriptedModel::playing([hold(&gate).and_say("wer")]);
        let played = run_until(&house, &model, &gate, || house.cancel.cancel()).await;
        assert_eq!(played.finished.stop_reason, StopReason::Cancelled);
        assert!(played.messages.is_empty());
        assert_eq!(house.run_row(played.finished.run).await.status, RunStatus::Cancelled);
        assert_eq!(model.tally().abandoned, 1);
    }
}

#[tokio::test]
async fn a_client_that_leaves_mid_tool_leaves_the_steps_before() {
    let (mut house, gate) = (House::v3(&["memory_insert", "memory_finish_edits"], json!([])).await, Gate::new());
    house.run([insert("Likes tea."), Reply::say("Noted.")]).await;
    house.toolbox = Arc::new(SlowTools(gate.clone(), toolbox(&house.store)));
    let model = ScriptedModel::playing([insert("Likes milk.")]);
    let played = run_until(&house, &model, &gate, || house.cancel.cancel()).await;
    played.expect(expect![[r#"
        > may call memory_insert, memory_finish_edits
        cancelled"#]]);
    assert_eq!(played.stored().count(), 0);
    assert_eq!(house.block("human").await.value(), "Name: Ada\nLikes tea.");
}

#[tokio::test]
async fn a_client_that_leaves_in_a_later_step_keeps_the_first() {
    let (house, gate) = (House::v3(&["memory_insert"], json!([])).await, Gate::new());
    let model = ScriptedModel::playing([insert("Likes tea."), Reply::held_by(&gate)]);
    let played = run_until(&house, &model, &gate, || house.cancel.cancel()).await;
    played.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > may call memory_insert
        cancelled"#]]);
    assert_eq!(house.block("human").await.value(), "Name: Ada\nLikes tea.");
    house.clone_uncancelled().run([Reply::say("Back?")]).await.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant: Back?
        end_turn"#]]);
}

#[tokio::test]
async fn a_client_that_left_before_is_not_answered() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    house.cancel.cancel();
    let played = house.run([Reply::say("To nobody.")]).await;
    assert_eq!(played.finished.stop_reason, StopReason::Cancelled);
    assert!(played.requests.is_empty(), "the model was not asked");
}

#[tokio::test(start_paused = true)]
async fn a_client_may_leave_while_the_next_try_is_waited_for() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let model = ScriptedModel::playing([Reply::fail(ModelError::Unavailable { detail: String::new() })]);
    let leaving = async {
        model.until(|tally| tally.requests == 1).await;
        house.cancel.cancel();
    };
    let (played, ()) = tokio::join!(Box::pin(house.run_with(&model)), leaving);
    assert_eq!(played.finished.stop_reason, StopReason::Cancelled);
    assert_eq!(played.requests.len(), 1);
}

#[tokio::test]
async fn a_server_that_stops_finishes_the_open_step() {
    let (mut house, gate) = (House::v3(&["memory_insert"], json!([])).await, Gate::new());
    house.toolbox = Arc::new(SlowTools(gate.clone(), toolbox(&house.store)));
    let model = ScriptedModel::playing([insert("Likes tea."), Reply::say("never asked for")]);
    let stop = || {
        house.stopping.cancel();
        gate.release();
    };
    let played = run_until(&house, &model, &gate, stop).await;
    played.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        cancelled"#]]);
    assert!(matches!(played.finished.failure, Some(RunFailure::Stopping)));
    assert_eq!(house.block("human").await.value(), "Name: Ada\nLikes tea.");
}

#[tokio::test]
async fn a_server_that_stops_lets_the_last_step_end_the_run() {
    let (house, gate) = (House::v3(&["memory_insert"], json!([])).await, Gate::new());
    let model = ScriptedModel::playing([Reply::say("Good").and_wait(&gate).and_say("bye.")]);
    let stop = || {
        house.stopping.cancel();
        gate.release();
    };
    let played = run_until(&house, &model, &gate, stop).await;
    played.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant: Goodbye.
        end_turn"#]]);
    assert!(played.finished.failure.is_none());
}
