//! When a model is asked again, and how long that takes. Time is paused: only waiting lets it pass.

use std::time::Duration;

use domain::StopReason;
use domain::seams::chat_model::{FinishReason, ModelError};
use serde_json::json;
use testkit::Reply;
use tokio::time::Instant;

use crate::house::{House, say};
use crate::played::Played;

fn unavailable() -> ModelError {
    ModelError::Unavailable { detail: "down".into() }
}

fn limited(seconds: Option<u64>) -> ModelError {
    ModelError::RateLimited { retry_after: seconds.map(Duration::from_secs), detail: "slow down".into() }
}

/// Plays `replies` and says how often the model was asked and how many milliseconds were waited.
async fn waited(house: &House, replies: impl IntoIterator<Item = Reply>) -> (Played, u128) {
    let begin = Instant::now();
    let played = house.run(replies).await;
    let waited = begin.elapsed().as_millis();
    (played, waited)
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_with_growing_pauses() {
    // Half of each pause of 250, 500 and 1000 ms is random; a millisecond is the timer's own grain.
    for (failures, shortest, longest) in [(1, 125, 251), (2, 375, 752), (3, 875, 1_753)] {
        for error in [unavailable(), limited(None), ModelError::Broken { detail: "cut".into() }] {
            let house = House::v3(&["memory_insert"], json!([])).await;
            let replies = std::iter::repeat_n(Reply::fail(error), failures).chain([Reply::say("Here.")]);
            let (played, waited) = waited(&house, replies).await;
            assert_eq!(played.finished.stop_reason, StopReason::EndTurn);
            assert_eq!(played.requests.len(), failures + 1);
            assert!((shortest..=longest).contains(&waited), "{failures} failures: {waited} ms");
            assert!(played.requests.iter().all(|request| *request == played.requests[0]), "it is the same question");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_four_failures_the_caller_is_told() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let played = house.run(std::iter::repeat_n(Reply::fail(unavailable()), 5)).await;
    assert_eq!(played.requests.len(), 4);
    assert_eq!(played.finished.stop_reason, StopReason::LlmApiError);
    assert!(played.messages.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_vendors_wish_is_heard_if_it_is_bearable() {
    for (seconds, asked, waited_ms) in [(0, 2, 0), (7, 2, 7_000), (20, 2, 20_000), (21, 1, 0)] {
        let house = House::v3(&["memory_insert"], json!([])).await;
        let (played, waited) = waited(&house, [Reply::fail(limited(Some(seconds))), Reply::say("Here.")]).await;
        assert_eq!(played.requests.len(), asked, "Retry-After: {seconds}");
        assert!((waited_ms..=waited_ms + 1).contains(&waited), "Retry-After: {seconds}, waited {waited} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_again_once_a_piece_was_shown() {
    for broken in [
        Reply::say("Half").and_fail(unavailable()),
        Reply::say("Half").and_fail(limited(Some(1))),
        Reply::say("Half").cut(),
        Reply::think("Half").and_fail(unavailable()),
        Reply::call("memory_insert", &json!({"label": "human"})).and_fail(unavailable()),
    ] {
        let house = House::v3(&["memory_insert"], json!([])).await;
        let (played, waited) = waited(&house, [broken, Reply::say("never asked for")]).await;
        assert_eq!((played.requests.len(), waited), (1, 0));
        assert_eq!(played.finished.stop_reason, StopReason::LlmApiError);
        assert!(played.messages.is_empty());
        assert!(!played.pieces().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_saw_may_be_said_again() {
    let mut quiet = House::v3(&["memory_insert"], json!([])).await;
    quiet.pieces = false;
    let played = quiet.run([Reply::say("Half").cut(), Reply::say("All of it.")]).await;
    assert_eq!((played.requests.len(), played.finished.stop_reason), (2, StopReason::EndTurn));
    // Words beside a call are thoughts, and these are shown only when the answer is complete.
    let house = House::v2(&["memory_insert"], json!([])).await;
    let played = house.run([Reply::say("Hm.").and_fail(unavailable()), say("Here.")]).await;
    assert_eq!((played.requests.len(), played.finished.stop_reason), (2, StopReason::EndTurn));
}

#[tokio::test(start_paused = true)]
async fn what_will_fail_again_is_not_tried_again() {
    let detail = String::new;
    for reply in [
        Reply::fail(ModelError::ContextTooLong { detail: detail() }),
        Reply::fail(ModelError::Unauthorized { detail: detail() }),
        Reply::fail(ModelError::Refused { detail: detail() }),
        Reply::fail(ModelError::Rejected { detail: detail() }),
        Reply::default().finished_as(FinishReason::ContentFilter),
    ] {
        let house = House::v3(&["memory_insert"], json!([])).await;
        let (played, waited) = waited(&house, [reply, Reply::say("never asked for")]).await;
        assert_eq!((played.requests.len(), waited), (1, 0));
        assert_eq!(played.finished.stop_reason, StopReason::LlmApiError);
    }
}
