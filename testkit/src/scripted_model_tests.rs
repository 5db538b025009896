//! The scripted model, seen as a `ChatModel`.

use domain::seams::chat_model::{Sampling, ToolChoice};
use domain::{ConversationId, StepId};
use expect_test::{Expect, expect};
use futures_util::StreamExt;
use serde_json::json;

use super::*;

fn request() -> Arc<ModelRequest> {
    Arc::new(ModelRequest {
        conversation: ConversationId::random(),
        step: StepId::random(),
        model: "scripted".into(),
        messages: Vec::new(),
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        parallel_tool_calls: false,
        sampling: Sampling::default(),
    })
}

fn unavailable() -> ModelError {
    ModelError::Unavailable { detail: "down".to_owned() }
}

async fn heard(model: &ScriptedModel) -> String {
    match model.stream(request()).await {
        Err(error) => format!("no stream: {error}"),
        Ok(events) => events.map(|event| format!("{event:?}\n")).collect().await,
    }
}

async fn check(reply: Reply, expected: Expect) {
    expected.assert_eq(&heard(&ScriptedModel::playing([reply])).await);
}

#[tokio::test]
async fn words_and_reasoning_come_in_pieces() {
    check(
        Reply::think("Hmm.").and_sign("proof").and_say("Good day!"),
        expect![[r#"
            Ok(Reasoning("Hmm."))
            Ok(ReasoningSignature("proof"))
            Ok(Text("Good da"))
            Ok(Text("y!"))
            Ok(Usage(Usage { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cached_input_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 }))
            Ok(Finished(Stop))
        "#]],
    )
    .await;
}

#[tokio::test]
async fn several_calls_have_their_own_index_and_id() {
    check(
        Reply::call("first", &json!({"a": 1})).and_call_text("second", "{broken").using(Usage::default()),
        expect![[r#"
            Ok(ToolCallStarted { index: 0, id: "call_1", name: "first" })
            Ok(ToolCallArguments { index: 0, fragment: "{\"a\":1}" })
            Ok(ToolCallStarted { index: 1, id: "call_2", name: "second" })
            Ok(ToolCallArguments { index: 1, fragment: "{broken" })
            Ok(Usage(Usage { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cached_input_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 }))
            Ok(Finished(ToolCalls))
        "#]],
    )
    .await;
}

#[tokio::test]
async fn errors_come_before_or_after_the_first_token() {
    check(Reply::fail(unavailable()), expect!["no stream: the model's provider is not available: down"]).await;
    check(
        Reply::say("Half").and_fail(unavailable()).and_say("never"),
        expect![[r#"
            Ok(Text("Half"))
            Err(Unavailable { detail: "down" })
        "#]],
    )
    .await;
    check(
        Reply::say("Cut").cut(),
        expect![[r#"
            Ok(Text("Cut"))
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_empty_script_rejects_and_all_requests_are_kept() {
    let model = ScriptedModel::playing([Reply::say("one")]);
    heard(&model).await;
    assert_eq!(
        heard(&model).await,
        "no stream: the model's provider rejected the request: the script has no reply left"
    );
    assert_eq!(model.requests().len(), 2);
    assert_eq!(model.tally(), Tally { requests: 2, abandoned: 0 });
}

#[tokio::test]
async fn a_closure_sees_the_request() {
    let model = ScriptedModel::answering(|request| Reply::say(request.model.as_ref()));
    assert!(heard(&model).await.contains("script"));
}

#[tokio::test]
async fn a_held_reply_waits_for_its_gate() {
    let gate = Gate::new();
    let model = ScriptedModel::playing([Reply::held_by(&gate).and_say("now")]);
    let (heard, ()) = tokio::join!(heard(&model), async {
        gate.reached().await;
        gate.release();
    });
    assert!(heard.starts_with("Ok(Text(\"now\"))"), "{heard}");
}

#[tokio::test]
async fn a_dropped_answer_is_counted() {
    let gate = Gate::new();
    let model = ScriptedModel::playing([Reply::say("a").and_wait(&gate).and_say("b"), Reply::held_by(&gate)]);
    let mut events = model.stream(request()).await.unwrap();
    events.next().await.unwrap().unwrap();
    drop(events);
    assert_eq!(model.until(|tally| tally.abandoned == 1).await.requests, 1);
    {
        let waiting = model.stream(request());
        tokio::select! {
            _ = waiting => panic!("the gate is closed"),
            () = gate.reached() => {}
        }
    }
    assert_eq!(model.tally(), Tally { requests: 2, abandoned: 2 });
}
