//! Answers and failures of one chat call.

use std::sync::Arc;
use std::time::Duration;

use domain::message::{ContentPart, Role};
use domain::seams::chat_model::{
    ChatMessage, FinishReason, ModelError, ModelEvent, ModelRequest, Sampling, ToolChoice, ToolSpec,
};
use domain::{ConversationId, ModelHandle, StepId, Usage};
use futures_util::StreamExt;
use providers::{ProviderConfig, Registry, RegistryConfig, Timeouts};
use serde_json::json;

use crate::fake::{Answer, Fake, event};

const KEY: &str = "sk-very-secret";
const CHAT: &str = "POST /v1/chat/completions";
const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn request() -> Arc<ModelRequest> {
    let message = ChatMessage {
        role: Role::User,
        content: Arc::from([ContentPart::text("Hello")]),
        tool_calls: Arc::from([]),
        tool_call_id: None,
    };
    let tool = ToolSpec {
        name: "look".into(),
        description: "Looks.".into(),
        parameters: Arc::new(json!({ "type": "object", "properties": {} })),
        strict: None,
    };
    Arc::new(ModelRequest {
        conversation: ConversationId::random(),
        step: StepId::random(),
        model: "m".into(),
        messages: vec![message],
        tools: Arc::from([tool]),
        tool_choice: ToolChoice::Auto,
        parallel_tool_calls: false,
        sampling: Sampling { max_output_tokens: Some(64), ..Sampling::default() },
    })
}

fn registry(fake: &Fake, timeouts: Timeouts) -> Registry {
    let mut provider = ProviderConfig::new("openai", Some(&fake.url("/v1")));
    provider.api_key = Some(KEY.to_owned());
    provider.timeouts = timeouts;
    Registry::new(RegistryConfig { providers: vec![provider], discover_local: false }).unwrap()
}

/// The events that came, and the error that ended them, if one did.
async fn ask(registry: &Registry) -> (Vec<ModelEvent>, Option<ModelError>) {
    let model = registry.chat_model(&ModelHandle::parse("openai/m").unwrap()).unwrap();
    let mut stream = match model.stream(request()).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

async fn ask_once(answer: Answer) -> (Vec<ModelEvent>, Option<ModelError>) {
    let fake = Fake::start(&[(CHAT, answer)]).await;
    ask(&registry(&fake, Timeouts::default())).await
}

fn text(words: &str) -> ModelEvent {
    ModelEvent::Text(words.to_owned())
}

#[tokio::test]
async fn an_answer_streams() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#;
    let fake = Fake::start(&[(CHAT, Answer::events(&[TEXT, TEXT, STOP, usage, "[DONE]"]))]).await;
    let registry = registry(&fake, Timeouts::default());
    let counted = Usage { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4, ..Usage::default() };
    let finished = ModelEvent::Finished(FinishReason::Stop);
    for _ in 0..3 {
        let (events, error) = ask(&registry).await;
        assert_eq!(error, None);
        assert_eq!(events, [text("Hi"), text("Hi"), ModelEvent::Usage(counted), finished.clone()]);
    }
    let seen = fake.seen();
    assert_eq!(seen[0].headers["authorization"], format!("Bearer {KEY}"));
    assert!(seen.iter().all(|request| request.connection == 0), "the connection is used again");
}

#[tokio::test]
async fn pieces_may_be_cut_anywhere() {
    let whole = format!(
        ": hello\r\n\r\n{}{}{}",
        event(r#"{"choices":[{"delta":{"content":"größe"}}]}"#),
        event(STOP),
        event("[DONE]")
    );
    let pieces = whole.chars().map(String::from).collect();
    let (events, error) = ask_once(Answer::Stream(pieces)).await;
    assert_eq!((events, error), (vec![text("größe"), ModelEvent::Finished(FinishReason::Stop)], None));
}

#[tokio::test]
async fn a_whole_answer_is_taken_for_a_stream() {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"length"}]}"#;
    let (events, error) = ask_once(Answer::json(200, body)).await;
    assert_eq!((events, error), (vec![text("Hi"), ModelEvent::Finished(FinishReason::Length)], None));
}

#[tokio::test]
async fn a_rate_limit_tells_how_long_to_wait() {
    let body = r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#.to_owned();
    for (header, value, expected) in [("retry-after", "7", 7000), ("retry-after-ms", "20", 20)] {
        let headers = vec![(header, value.to_owned())];
        let (_, error) = ask_once(Answer::Full { status: 429, headers, body: body.clone() }).await;
        let Some(ModelError::RateLimited { retry_after, detail }) = error else { panic!("{error:?}") };
        assert_eq!(retry_after, Some(Duration::from_millis(expected)));
        assert_eq!(detail, "429 rate_limit_exceeded: slow down");
    }
}

#[tokio::test]
async fn a_wrong_key_is_named_without_showing_it() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let (_, error) = ask_once(Answer::json(401, &body)).await;
    let detail = "401: Incorrect API key provided: [key]".to_owned();
    assert_eq!(error, Some(ModelError::Unauthorized { detail }));
}

#[tokio::test]
async fn other_failures_are_named_by_remedy() {
    let (_, error) = ask_once(Answer::json(500, "")).await;
    assert!(matches!(error, Some(ModelError::Unavailable { .. })), "{error:?}");
    let long =
        r#"{"error":{"message":"This model's maximum context length is 8 tokens","code":"context_length_exceeded"}}"#;
    let (_, error) = ask_once(Answer::json(400, long)).await;
    assert!(matches!(error, Some(ModelError::ContextTooLong { .. })), "{error:?}");
    let moved = Answer::Full {
        status: 302,
        headers: vec![("location", "http://127.0.0.1:1/".to_owned())],
        body: String::new(),
    };
    let (_, error) = ask_once(moved).await;
    assert!(matches!(error, Some(ModelError::Rejected { .. })), "redirects are not followed: {error:?}");
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_unavailable() {
    let fake = Fake::start(&[]).await;
    let registry = registry(&fake, Timeouts::default());
    drop(fake);
    let (_, error) = ask(&registry).await;
    let Some(ModelError::Unavailable { detail }) = error else { panic!("{error:?}") };
    assert!((detail.contains("refused") || detail.contains("reset")) && !detail.contains("127.0.0.1:"), "{detail}");
}

#[tokio::test]
async fn a_stream_that_is_cut_is_broken() {
    for answer in [Answer::Cut(vec![event(TEXT)]), Answer::Stream(vec![event(TEXT)])] {
        let (events, error) = ask_once(answer).await;
        assert_eq!(events, [text("Hi")]);
        assert!(matches!(error, Some(ModelError::Broken { .. })), "{error:?}");
    }
    // An answer that is cut before it began fails in the call itself.
    let (events, error) = ask_once(Answer::Cut(vec![])).await;
    assert!(events.is_empty() && matches!(error, Some(ModelError::Broken { .. })), "{error:?}");
}

#[tokio::test]
async fn an_error_inside_the_stream_is_mapped() {
    let failed = format!(r#"{{"error":{{"message":"{KEY} overloaded","type":"server_error"}}}}"#);
    let (events, error) = ask_once(Answer::events(&[TEXT, &failed])).await;
    assert_eq!(events, [text("Hi")]);
    assert_eq!(error, Some(ModelError::Unavailable { detail: "[key] overloaded".to_owned() }));
    let (events, error) = ask_once(Answer::events(&[TEXT, "{\"choices\":"])).await;
    assert!(events.len() == 1 && matches!(error, Some(ModelError::Broken { .. })), "{error:?}");
}

#[tokio::test]
async fn silence_is_not_waited_out() {
    let short =
        Timeouts { first_byte: Duration::from_millis(80), idle: Duration::from_millis(40), ..Timeouts::default() };
    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![]))]).await;
    let (_, error) = ask(&registry(&fake, short)).await;
    assert_eq!(error, Some(ModelError::Unavailable { detail: "no answer began within 80ms".to_owned() }));
    fake.hung_up().await;

    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![event(TEXT)]))]).await;
    let (events, error) = ask(&registry(&fake, short)).await;
    assert_eq!(events, [text("Hi")]);
    assert_eq!(error, Some(ModelError::Broken { detail: "no event came for 40ms".to_owned() }));
    fake.hung_up().await;
}

#[tokio::test]
async fn dropping_the_stream_hangs_up() {
    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![event(TEXT)]))]).await;
    let model = registry(&fake, Timeouts::default()).chat_model(&ModelHandle::parse("openai/m").unwrap()).unwrap();
    let mut stream = model.stream(request()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(text("Hi"))));
    drop(stream);
    fake.hung_up().await;
}

#[tokio::test]
async fn dropping_the_call_hangs_up() {
    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![]))]).await;
    let model = registry(&fake, Timeouts::default()).chat_model(&ModelHandle::parse("openai/m").unwrap()).unwrap();
    let request_seen = async {
        while fake.seen().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    // The losing branch is dropped with its call.
    tokio::select! {
        _ = model.stream(request()) => panic!("nothing was answered"),
        () = request_seen => {}
    }
    fake.hung_up().await;
}
