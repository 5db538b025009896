//! What models do wrong, and what is left of a run that fails.

use std::sync::Arc;

use agent::events::{Finished, RunFailure};
use domain::seams::BoxFuture;
use domain::seams::chat_model::{ChatModel, FinishReason, ModelError, ModelEvent, ModelRequest, ModelStream};
use domain::{RunStatus, StopReason};
use expect_test::{Expect, expect};
use futures_util::stream;
use serde_json::json;
use testkit::{Reply, ScriptedModel};
use tokio::sync::mpsc;

use crate::house::{House, insert, say};

fn rejected() -> ModelError {
    ModelError::Rejected { detail: "no such model".into() }
}

/// A model that always sends these events, which no vendor's client would let pass.
struct Unruly(Vec<ModelEvent>);

impl ChatModel for Unruly {
    fn stream(&self, _request: Arc<ModelRequest>) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        let events = self.0.clone().into_iter().map(Ok);
        Box::pin(async { Ok(Box::pin(stream::iter(events)) as ModelStream) })
    }
}

fn begins(index: usize, id: &str) -> ModelEvent {
    ModelEvent::ToolCallStarted { index, id: id.to_owned(), name: "memory_finish_edits".to_owned() }
}

/// Runs the agent without looking at its events.
async fn drive(house: &House, model: impl ChatModel + 'static) -> Finished {
    let (sender, events) = mpsc::channel(1);
    drop(events);
    house.drive(Arc::new(model), sender).await
}

async fn check_v3(replies: impl IntoIterator<Item = Reply>, expected: Expect) -> House {
    let house = House::v3(&["memory_insert"], json!([])).await;
    house.run(replies).await.expect(expected);
    house
}

async fn check_v2(replies: impl IntoIterator<Item = Reply>, expected: Expect) {
    House::v2(&["memory_insert"], json!([])).await.run(replies).await.expect(expected);
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_answered() {
    let call = || Reply::call("open_door", &json!({"door": 1}));
    check_v3([call(), Reply::say("There is no door.")], expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls open_door {"door":1}
        tool open_door failed: The tool `open_door` does not exist, so nothing was run. Tools that may be called now: memory_insert.
        > may call memory_insert
        assistant: There is no door.
        end_turn"#]]).await;
    check_v2([call(), say("There is no door.")], expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls open_door {"door":1}
        tool open_door failed: The tool `open_door` does not exist, so nothing was run. Tools that may be called now: send_message, memory_insert.
        user: (heartbeat) Your last tool call broke a tool rule and was not run: choose a tool that is allowed now.
        > must call one of send_message, memory_insert
        assistant calls send_message {"message":"There is no door."}
        tool send_message: Sent message successfully.
        end_turn"#]]).await;
}

#[tokio::test]
async fn a_tool_that_the_agent_was_not_given_does_not_exist_for_it() {
    let call = Reply::call("memory_rethink", &json!({"label": "human", "new_memory": "Nobody"}));
    let house = check_v3([call, Reply::say("I can't.")], expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_rethink {"label":"human","new_memory":"Nobody"}
        tool memory_rethink failed: The tool `memory_rethink` does not exist, so nothing was run. Tools that may be called now: memory_insert.
        > may call memory_insert
        assistant: I can't.
        end_turn"#]]).await;
    assert_eq!(house.block("human").await.value(), "Name: Ada");
}

#[tokio::test]
async fn broken_arguments_are_kept_as_a_value_and_answered() {
    let call = || Reply::default().and_call_text("memory_insert", r#"{"label": "human", "new_str": "Likes"#);
    check_v3([call(), insert("Likes tea."), Reply::say("Now.")], expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"invalid_arguments":"{\"label\": \"human\", \"new_str\": \"Likes"}
        tool memory_insert failed: The arguments of `memory_insert` could not be read, so nothing was run: invalid JSON: EOF while parsing a string (line 1, column 36). Call it again with one valid JSON object.
        > may call memory_insert
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > may call memory_insert
        assistant: Now.
        end_turn"#]]).await;
    check_v2([call(), say("I give up.")], expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls memory_insert {"invalid_arguments":"{\"label\": \"human\", \"new_str\": \"Likes"}
        tool memory_insert failed: The arguments of `memory_insert` could not be read, so nothing was run: invalid JSON: EOF while parsing a string (line 1, column 36). Call it again with one valid JSON object.
        user: (heartbeat) Your last tool call failed, so control is back with you: read its error, then correct the call or go another way.
        > must call one of send_message, memory_insert
        assistant calls send_message {"message":"I give up."}
        tool send_message: Sent message successfully.
        end_turn"#]]).await;
}

#[tokio::test]
async fn arguments_in_odd_clothes_are_understood() {
    let twice = json!(json!({"label": "human", "new_str": "Likes tea."}).to_string()).to_string();
    let encoded = Reply::default().and_call_text("memory_insert", twice);
    let house = check_v3(
        [encoded, Reply::say("Done.")],
        expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > may call memory_insert
        assistant: Done.
        end_turn"#]],
    )
    .await;
    assert_eq!(house.block("human").await.value(), "Name: Ada\nLikes tea.");
    let house = House::v3(&["memory_finish_edits"], json!([])).await;
    let empty = Reply::default().and_call_text("memory_finish_edits", "");
    house.run([empty, Reply::say("Done.")]).await.expect(expect![[r#"
        > may call memory_finish_edits
        user: Hello
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        > may call memory_finish_edits
        assistant: Done.
        end_turn"#]]);
}

#[tokio::test]
async fn a_model_that_never_stops_is_stopped() {
    for (max_steps, expected) in [(None, 50), (Some(3), 3), (Some(1), 1)] {
        for mut house in
            [House::v3(&["memory_insert"], json!([])).await, House::v2(&["memory_insert"], json!([])).await]
        {
            house.max_steps = max_steps.unwrap_or(house.max_steps);
            let call = json!({"label": "persona", "new_str": "!", "request_heartbeat": true});
            let model = ScriptedModel::answering(move |_| Reply::call("memory_insert", &call));
            let played = house.run_with(&model).await;
            assert_eq!(played.finished.stop_reason, StopReason::MaxSteps);
            assert_eq!((played.requests.len(), played.finished.step_count), (expected, expected as u32));
            assert_eq!(house.block("persona").await.version, 1 + expected as u64, "the last step counts too");
        }
    }
}

#[tokio::test]
async fn an_empty_answer_fails_the_first_step_and_ends_a_later_one() {
    let house = check_v3(
        [Reply::default()],
        expect![[r#"
        > may call memory_insert
        llm_api_error"#]],
    )
    .await;
    assert!(house.messages().await.is_empty());
    check_v3(
        [Reply::say(" \n"), Reply::say("never asked for")],
        expect![[r#"
        > may call memory_insert
        llm_api_error"#]],
    )
    .await;
    check_v3(
        [insert("Likes tea."), Reply::default()],
        expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > may call memory_insert
        end_turn"#]],
    )
    .await;
    check_v2(
        [Reply::default()],
        expect![[r#"
        > must call one of send_message, memory_insert
        llm_api_error"#]],
    )
    .await;
}

#[tokio::test]
async fn tokens_of_an_empty_answer_are_counted() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    assert_eq!(house.run([Reply::default()]).await.finished.usage.total_tokens, 15);
}

#[tokio::test]
async fn a_run_that_fails_at_once_leaves_its_row_and_nothing_else() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let before = house.snapshot().await;
    let played = house.run([Reply::fail(rejected())]).await;
    assert!(matches!(&played.finished.failure, Some(RunFailure::Model(error)) if *error == rejected()));
    assert!(played.messages.is_empty());
    assert_eq!(house.snapshot().await.message_count, before.message_count);
    let row = house.run_row(played.finished.run).await;
    assert_eq!((row.status, row.stop_reason), (RunStatus::Failed, Some(StopReason::LlmApiError)));
    expect!["the model's provider rejected the request: no such model"].assert_eq(&row.error.unwrap());
}

#[tokio::test]
async fn a_run_that_fails_later_keeps_the_steps_before() {
    let house = check_v3(
        [insert("Likes tea."), Reply::fail(rejected())],
        expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > may call memory_insert
        llm_api_error"#]],
    )
    .await;
    assert_eq!(house.block("human").await.value(), "Name: Ada\nLikes tea.");
    house.run([Reply::say("Here again.")]).await.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant: Here again.
        end_turn"#]]);
}

#[tokio::test]
async fn an_answer_that_breaks_off_leaves_nothing_of_its_step() {
    let half = insert("Likes tea.").and_call("memory_insert", &json!({"label": "human"})).cut();
    let house = check_v3(
        [insert("Likes milk."), half],
        expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes milk."}
        tool memory_insert: Inserted `Likes milk.` at the end of the memory block `human`.
        > may call memory_insert
        llm_api_error"#]],
    )
    .await;
    assert_eq!(house.block("human").await.value(), "Name: Ada\nLikes milk.");
}

#[tokio::test]
async fn a_store_that_fails_fails_the_run() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    house.store.clone().close().await;
    let finished = drive(&house, ScriptedModel::playing([Reply::say("Hi!")])).await;
    assert_eq!(finished.stop_reason, StopReason::Error);
    assert!(matches!(finished.failure, Some(RunFailure::Store)));
    assert!(house.messages().await.is_empty());
}

#[tokio::test]
async fn a_character_that_no_store_keeps_does_not_cost_the_run() {
    let mut house = House::v3(&["memory_insert"], json!([])).await;
    house.pieces = false; // Pieces are shown as they came.
    let label = Reply::call("memory_insert", &json!({"label": "a\0b", "new_str": "c\0d", "thinking": "e\0f"}));
    let value = Reply::think("x\0y").and_call("memory_insert", &json!({"label": "human", "new_str": "c\0d"}));
    let name = Reply::call("memory\0insert", &json!({}));
    house.run([label, value, name, Reply::say("g\0h")]).await.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant thinks: e�f
        assistant calls memory_insert {"label":"a\u0000b","new_str":"c\u0000d"}
        tool memory_insert failed: The argument `label` holds a NUL character. Write it again without it.
        > may call memory_insert
        assistant reasons: x�y
        assistant calls memory_insert {"label":"human","new_str":"c\u0000d"}
        tool memory_insert failed: The argument `new_str` holds a NUL character. Write it again without it.
        > may call memory_insert
        assistant calls memory�insert {}
        tool memory�insert failed: The tool `memory�insert` does not exist, so nothing was run. Tools that may be called now: memory_insert.
        > may call memory_insert
        assistant: g�h
        end_turn"#]]);
}

#[tokio::test]
async fn calls_without_an_id_of_their_own_are_given_one() {
    let mut house = House::v3(&["memory_finish_edits"], json!([])).await;
    house.max_steps = 1;
    let calls = [begins(0, "same"), begins(1, "same"), begins(2, ""), ModelEvent::Finished(FinishReason::ToolCalls)];
    drive(&house, Unruly(calls.to_vec())).await;
    let messages = house.messages().await;
    let ids = |at: usize| messages[at].tool_calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>();
    let mut given = ids(2);
    let answered: Vec<_> = messages[3].tool_returns.iter().map(|one| one.call_id.clone()).collect();
    assert_eq!(given, answered);
    assert_eq!(&*given[0], "same");
    given.sort();
    given.dedup();
    assert!(given.len() == 3 && given.iter().all(|id| !id.is_empty()), "{given:?}");
}

#[tokio::test(start_paused = true)]
async fn events_that_make_no_sense_fail_the_run() {
    let stray = ModelEvent::ToolCallArguments { index: 1, fragment: "{}".to_owned() };
    let endless = ModelEvent::Text("x".repeat(8 * 1024 * 1024 + 1));
    for events in [vec![begins(1, "a")], vec![begins(0, "a"), begins(0, "b")], vec![stray], vec![endless], vec![]] {
        let house = House::v3(&["memory_finish_edits"], json!([])).await;
        let finished = drive(&house, Unruly(events)).await;
        assert_eq!(finished.stop_reason, StopReason::LlmApiError);
        assert!(house.messages().await.is_empty());
    }
}
