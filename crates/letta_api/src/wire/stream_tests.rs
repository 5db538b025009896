//! What a stream writes, in which order.

use std::sync::Arc;

use dispatch::events::RunFailure;
use domain::seams::chat_model::ModelError;
use domain::{Actor, AgentId, ContentPart, ConversationId, Role, StepId, ToolCall};
use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;

fn message(id: MessageId) -> Arc<Message> {
    Arc::new(Message {
        id,
        organization: Actor::default_user().organization,
        agent: AgentId::random(),
        conversation: ConversationId::random(),
        identity: None,
        sequence_id: 1,
        role: Role::Assistant,
        content: Arc::new([ContentPart::text("Hello there")]),
        tool_calls: Arc::new([ToolCall { id: "call-1".into(), name: "f".into(), arguments: "{}".into() }]),
        tool_returns: Arc::new([]),
        name: None,
        model: None,
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: Timestamp::UNIX_EPOCH,
    })
}

fn piece(message: MessageId, kind: PieceKind) -> RunEvent {
    RunEvent::Piece(Piece { message, step: StepId::random(), at: Timestamp::UNIX_EPOCH, kind })
}

fn finished(run: RunId, failure: Option<RunFailure>) -> RunEvent {
    let stop_reason = if failure.is_some() { StopReason::LlmApiError } else { StopReason::EndTurn };
    RunEvent::Finished(Finished { run, stop_reason, failure, usage: Usage::default(), step_count: 1 })
}

/// The type and the words of each event.
fn check(streaming: Streaming, events: &[RunEvent], run: RunId, expected: &Expect) {
    let mut writer = EventWriter::new(run, Shown { use_assistant_message: true, types: None }, streaming);
    let last: Vec<bool> = events.iter().map(|event| writer.event(event)).collect();
    assert_eq!(last.iter().filter(|last| **last).count(), 1);
    let mut lines = String::new();
    for event in writer.take().split_terminator("\n\n") {
        let (head, json) = event.split_once("data: ").expect("data");
        let value: Value = serde_json::from_str(json).unwrap_or(Value::String(json.to_owned()));
        let part = |name: &str| value.get(name).map(|value| format!(" {value}")).unwrap_or_default();
        let name = value["message_type"].as_str().unwrap_or(json);
        let index = value["otid"].as_str().map(|otid| format!(" #{}", &otid[35..])).unwrap_or_default();
        let words = [part("content"), part("reasoning"), part("tool_call"), part("stop_reason"), part("error_type")];
        lines.push_str(&format!("{}{name}{index}{}\n", head.replace('\n', " "), words.concat()));
    }
    expected.assert_eq(&lines);
}

fn tokens(id: MessageId, run: RunId) -> Vec<RunEvent> {
    vec![
        piece(id, PieceKind::Reasoning { text: "hm".into(), is_native: true }),
        piece(id, PieceKind::Text("Hello ".into())),
        piece(id, PieceKind::Text("there".into())),
        piece(id, PieceKind::ToolCallStarted { call_id: "call-1".into(), name: "f".into() }),
        piece(id, PieceKind::ToolCallArguments { call_id: "call-1".into(), fragment: "{}".into() }),
        RunEvent::StepCommitted { step: StepId::random(), messages: vec![message(id)] },
        finished(run, None),
    ]
}

#[test]
fn tokens_are_streamed_once() {
    let (id, run) = ("message-24660bb6-94b5-42b7-ac2a-ddb5dd0cc600".parse().expect("an id"), RunId::random());
    check(
        Streaming::Tokens,
        &tokens(id, run),
        run,
        &expect![[r#"
            reasoning_message #0 "hm"
            assistant_message #1 "Hello "
            assistant_message #1 "there"
            tool_call_message #2 {"name":"f","tool_call_id":"call-1"}
            tool_call_message #2 {"arguments":"{}","tool_call_id":"call-1"}
            stop_reason "end_turn"
            usage_statistics
            [DONE]
        "#]],
    );
}

#[test]
fn steps_are_streamed_whole() {
    let (id, run) = ("message-24660bb6-94b5-42b7-ac2a-ddb5dd0cc600".parse().expect("an id"), RunId::random());
    check(
        Streaming::Steps,
        &tokens(id, run),
        run,
        &expect![[r#"
            assistant_message #0 "Hello there"
            tool_call_message #1 {"name":"f","arguments":"{}","tool_call_id":"call-1"}
            stop_reason "end_turn"
            usage_statistics
            [DONE]
        "#]],
    );
}

#[test]
fn what_no_piece_told_is_told_with_the_step() {
    let (id, run) = ("message-24660bb6-94b5-42b7-ac2a-ddb5dd0cc600".parse().expect("an id"), RunId::random());
    let events = [
        piece(id, PieceKind::Text("Hello there".into())),
        RunEvent::StepCommitted { step: StepId::random(), messages: vec![message(id)] },
        finished(run, None),
    ];
    check(
        Streaming::Tokens,
        &events,
        run,
        &expect![[r#"
            assistant_message #0 "Hello there"
            tool_call_message #1 {"name":"f","arguments":"{}","tool_call_id":"call-1"}
            stop_reason "end_turn"
            usage_statistics
            [DONE]
        "#]],
    );
}

#[test]
fn a_failure_is_an_event_of_its_own() {
    let run = RunId::random();
    let failure = RunFailure::Model(ModelError::Unavailable { detail: "down".into() });
    check(
        Streaming::Tokens,
        &[finished(run, Some(failure))],
        run,
        &expect![[r#"
            stop_reason "llm_api_error"
            event: error error_message "llm_error"
            [DONE]
        "#]],
    );
}
