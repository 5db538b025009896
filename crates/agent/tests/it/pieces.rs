//! What a watcher sees while an answer is still being written. [`crate::played::Played::check`] holds every run to it
//! that words shown in pieces are the words that are kept.

use std::sync::Arc;

use agent::events::{Piece, PieceKind, RunEvent};
use domain::Role;
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::{Gate, Reply, ScriptedModel};
use tokio::sync::mpsc;

use crate::house::{House, insert, say};
use crate::played::{Played, spoken};

/// The pieces as lines; those of one kind that follow each other are cut by `|`.
fn shown(played: &Played) -> String {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for piece in played.pieces() {
        let (kind, text) = match piece {
            PieceKind::Text(text) => ("text".to_owned(), text),
            PieceKind::Reasoning { text, is_native: true } => ("reasoning".to_owned(), text),
            PieceKind::Reasoning { text, is_native: false } => ("thought".to_owned(), text),
            PieceKind::ToolCallStarted { call_id, name } => (format!("{call_id} begins"), name.to_string()),
            PieceKind::ToolCallArguments { call_id, fragment } => (call_id.to_string(), fragment),
        };
        match lines.last_mut() {
            Some((last, texts)) if *last == kind => texts.push(text),
            _ => lines.push((kind, vec![text])),
        }
    }
    let lines: Vec<String> = lines.into_iter().map(|(kind, texts)| format!("{kind}: {}", texts.join("|"))).collect();
    lines.join("\n")
}

fn words_of(event: RunEvent) -> Option<String> {
    match event {
        RunEvent::Piece(Piece { kind: PieceKind::Text(text), .. }) => Some(text),
        _ => None,
    }
}

async fn check_v3(reply: Reply, expected: Expect) {
    let house = House::v3(&["memory_insert"], json!([])).await;
    expected.assert_eq(&shown(&house.run([reply, Reply::say("Done.")]).await));
}

async fn check_v2(rules: Value, replies: impl IntoIterator<Item = Reply>, expected: Expect) {
    let house = House::v2(&["memory_insert"], rules).await;
    expected.assert_eq(&shown(&house.run(replies).await));
}

#[tokio::test]
async fn a_plain_answer_comes_in_pieces_and_so_does_what_is_beside_it() {
    check_v3(Reply::say("Good morning, Ada!"), expect!["text: Good mo|rning, |Ada!"]).await;
    check_v3(
        Reply::think("She greets.").and_say("One moment.").and_call("memory_insert", &json!({"label": "human"})),
        expect![[r#"
            reasoning: She gre|ets.
            text: One mom|ent.
            call_1 begins: memory_insert
            call_1: {"label|":"huma|n"}
            text: Done."#]],
    )
    .await;
}

#[tokio::test]
async fn words_of_send_message_come_decoded() {
    check_v2(
        json!([]),
        [Reply::think("She greets.").and_call("send_message", &json!({"message": "Say \"hi\", Ada!"}))],
        expect![[r#"
            reasoning: She gre|ets.
            text: Sa|y "hi|", Ada!"#]],
    )
    .await;
}

#[tokio::test]
async fn escapes_and_surrogate_pairs_may_be_cut_anywhere() {
    // Pieces of the scripted model have seven characters; seven paddings put a cut at every place.
    for padding in 0..7 {
        let arguments = format!(r#"{{"message":"{}\ud83d\ude00 \"q\" \\ \u00e9\n\t✓"}}"#, "x".repeat(padding));
        let house = House::v2(&["memory_insert"], json!([])).await;
        let played = house.run([Reply::default().and_call_text("send_message", arguments)]).await;
        let text = played.pieces().into_iter().map(|piece| match piece {
            PieceKind::Text(text) => text,
            other => panic!("{other:?}"),
        });
        let pieces: Vec<String> = text.collect();
        assert_eq!(pieces.concat(), format!("{}😀 \"q\" \\ é\n\t✓", "x".repeat(padding)));
        assert!(pieces.len() > 2, "{pieces:?}");
    }
}

#[tokio::test]
async fn words_are_shown_while_the_answer_is_still_being_written() {
    let (house, gate) = (House::v2(&["memory_insert"], json!([])).await, Gate::new());
    let model = ScriptedModel::playing([say("Good morning!").and_wait(&gate)]);
    let (sender, mut events) = mpsc::channel(64);
    let watching = async {
        gate.reached().await;
        let words: String = std::iter::from_fn(|| events.try_recv().ok()).filter_map(words_of).collect();
        assert_eq!(words, "Good morning!");
        assert!(house.messages().await.is_empty(), "nothing is stored yet");
        gate.release();
        events.recv().await
    };
    let (_, next) = tokio::join!(Box::pin(house.drive(Arc::new(model), sender)), watching);
    let Some(RunEvent::StepCommitted { messages, .. }) = next else { panic!("{next:?}") };
    assert_eq!(spoken(&messages[0]), "Good morning!");
}

#[tokio::test]
async fn thoughts_are_shown_as_thoughts() {
    let words_beside = Reply::say("She likes tea.").and_call("send_message", &json!({"message": "Tea?"}));
    check_v2(
        json!([]),
        [words_beside],
        expect![[r#"
        text: Te|a?
        thought: She likes tea."#]],
    )
    .await;
    check_v2(json!([]), [Reply::say("I forgot to call.")], expect!["text: I forgot to call."]).await;
    let house = House::v2(&["memory_insert"], json!([])).await;
    house.adjust(|agent| agent.llm_config.put_inner_thoughts_in_kwargs = true).await;
    let call = json!({"thinking": "Keep it.", "label": "human", "new_str": "Tea.", "request_heartbeat": true});
    let speak = json!({"thinking": "Be brief.", "message": "Noted."});
    let played = house.run([Reply::call("memory_insert", &call), Reply::call("send_message", &speak)]).await;
    expect![[r#"
        thought: K|eep it.|B|e brief|.
        text: Noted."#]]
    .assert_eq(&shown(&played));
}

#[tokio::test]
async fn words_that_will_be_refused_are_not_shown_as_words() {
    let first = json!([{"type": "run_first", "tool_name": "memory_insert"}]);
    check_v2(
        first,
        [say("Too early."), insert("Likes tea.")],
        expect![[r#"
        call_1 begins: send_message
        call_1: {"messa|ge":"To|o early|."}
        call_2 begins: memory_insert
        call_2: {"label|":"huma|n","new|_str":"|Likes t|ea."}"#]],
    )
    .await;
    let approval = json!([{"type": "requires_approval", "tool_name": "send_message"}]);
    check_v2(
        approval,
        [say("May I?"), Reply::say("No.")],
        expect![[r#"
        call_1 begins: send_message
        call_1: {"messa|ge":"Ma|y I?"}
        text: No."#]],
    )
    .await;
}

#[tokio::test]
async fn words_that_a_rule_replaces_are_not_shown() {
    let rules = json!([{"type": "run_first", "tool_name": "send_message", "args": {"message": "Welcome."}}]);
    let house = House::v2(&["memory_insert"], rules).await;
    let played = house.run([say("Howdy.")]).await;
    assert!(!shown(&played).contains("text:"), "{}", shown(&played));
    let answer = played.stored().find(|message| message.role == Role::Assistant).unwrap();
    assert_eq!(spoken(answer), "Welcome.");
}

#[tokio::test]
async fn nothing_is_shown_of_a_call_that_does_not_count() {
    let two = insert("Likes tea.").and_call("send_message", &json!({"message": "Noted."}));
    check_v2(
        json!([]),
        [two],
        expect![[r#"
        call_1 begins: memory_insert
        call_1: {"label|":"huma|n","new|_str":"|Likes t|ea."}"#]],
    )
    .await;
}

#[tokio::test]
async fn a_structured_message_comes_whole() {
    check_v2(json!([]), [Reply::call("send_message", &json!({"message": {"mood": "good"}}))], expect![[r#""#]]).await;
}

#[tokio::test]
async fn a_watcher_may_want_no_pieces_or_leave() {
    let mut house = House::v3(&["memory_insert"], json!([])).await;
    house.pieces = false;
    let played = house.run([Reply::say("Good morning!")]).await;
    assert_eq!((played.pieces().len(), played.events.len()), (0, 1));
    house.pieces = true;
    let (sender, events) = mpsc::channel(1);
    drop(events);
    let model = ScriptedModel::playing([Reply::say("To nobody, but it is kept.")]);
    house.drive(Arc::new(model), sender).await;
    assert_eq!(house.messages().await.last().unwrap().first_text(), "To nobody, but it is kept.");
}
