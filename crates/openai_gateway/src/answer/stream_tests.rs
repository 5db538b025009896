//! When a stream begins and what keeps it alive, on a clock that the tests turn.

use futures_util::StreamExt;
use tokio::time::Instant;

use super::*;
use crate::answer::Manner;
use crate::config::{ReasoningShown, Unescape};
use crate::tool_bridge::Bridge;

fn form() -> Form {
    Form { shape: Shape::Chat, model: "ada".to_owned(), created: 1, include_usage: false }
}

fn teller() -> Teller {
    let (reasoning, unescape) = (ReasoningShown::Off, Unescape::Off);
    Teller::new(Manner { bridge: Bridge::default(), reasoning, unescape, legacy: false, one_call: false })
}

/// What `seconds` of waiting lead to.
fn after(seconds: u64, end: Result<(), ApiError>) -> Opening {
    Box::pin(async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        end.map(|()| (Source::Nothing, teller()))
    })
}

/// What is written, and after how many seconds.
async fn written(opening: Opening) -> Result<Vec<(u64, String)>, ApiError> {
    let begin = Instant::now();
    let mut body = answer(opening, form()).await?.into_body().into_data_stream();
    let mut writes = Vec::new();
    while let Some(bytes) = body.next().await {
        let text = String::from_utf8(bytes.unwrap().to_vec()).unwrap();
        writes.push((begin.elapsed().as_secs(), text));
    }
    writes.retain(|(_, text)| !text.is_empty());
    Ok(writes)
}

#[tokio::test(start_paused = true)]
async fn what_fails_soon_has_a_status() {
    assert_eq!(written(after(9, Err(ApiError::internal()))).await, Err(ApiError::internal()));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_is_begun_with_its_role_and_kept_alive() {
    let writes = written(after(60, Ok(()))).await.unwrap();
    let (at, texts): (Vec<u64>, Vec<&str>) = writes.iter().map(|(at, text)| (*at, text.as_str())).unzip();
    assert_eq!(at, [10, 25, 40, 55, 60], "{writes:?}");
    assert!(texts[0].contains("\"role\":\"assistant\"") && !texts[0].contains("keep-alive"), "{}", texts[0]);
    assert_eq!(texts[1..4], [": keep-alive\n\n"; 3]);
    assert!(texts[4].ends_with("data: [DONE]\n\n") && texts[4].contains("\"finish_reason\":\"stop\""), "{}", texts[4]);
    assert!(!texts[4].contains("\"role\""), "the role is sent once: {}", texts[4]);
}

#[tokio::test(start_paused = true)]
async fn what_fails_late_is_an_error_event_and_no_done() {
    let writes = written(after(12, Err(ApiError::internal()))).await.unwrap();
    let (at, text) = writes.last().unwrap();
    assert_eq!(*at, 12);
    assert_eq!(*text, format!("data: {}\n\n", ApiError::internal().body()));
    assert_eq!(writes.len(), 2, "{writes:?}");
}
