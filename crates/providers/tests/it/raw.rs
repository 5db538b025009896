//! Requests that pass through: the client's body there, the vendor's answer back.

use std::time::Duration;

use domain::ModelHandle;
use domain::seams::chat_model::ModelError;
use providers::{
    ProviderConfig, RawAnswer, RawBody, RawCall, RawError, Registry, RegistryConfig, ResolveError, Timeouts,
};

use crate::fake::{Answer, Fake, event};

const KEY: &str = "sk-very-secret";
const CHAT: &str = "POST /raw/v1/chat/completions";
const TEXT: &str = "POST /raw/v1/completions";
const BODY: &str = r#"{ "n":2, "model":"work\/m","stream": true,"of_tomorrow":{"a":[1.50]}, "logprobs":5 }"#;
const WORD: &str = r#"{"choices":[{"index":1,"delta":{"content":"Hi"},"finish_reason":null}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn registry(fake: &Fake, timeouts: Timeouts) -> Registry {
    let mut provider = ProviderConfig::new("work", Some(&fake.url("/raw/v1")));
    provider.api_key = Some(KEY.to_owned());
    provider.timeouts = timeouts;
    Registry::new(RegistryConfig { providers: vec![provider], discover_local: false }).unwrap()
}

async fn forward(registry: &Registry, call: RawCall, body: &str) -> Result<RawAnswer, RawError> {
    let body = RawBody::look(body.as_bytes()).unwrap();
    let handle = ModelHandle::parse(&body.model().unwrap()).unwrap();
    registry.raw(&handle).unwrap().unwrap().forward(call, &body).await
}

/// What the client is sent when the vendor answers so, and the error that ends it.
async fn relayed(answer: Answer) -> (String, Option<RawError>) {
    let fake = Fake::start(&[(CHAT, answer)]).await;
    let mut events = match forward(&registry(&fake, Timeouts::default()), RawCall::ChatCompletions, BODY).await {
        Ok(RawAnswer::Events(events)) => events,
        Ok(RawAnswer::Whole { json, .. }) => return (String::from_utf8(json.to_vec()).unwrap(), None),
        Err(error) => return (String::new(), Some(error)),
    };
    let mut passed = String::new();
    while let Some(next) = events.next().await {
        match next {
            Ok(bytes) => passed.push_str(std::str::from_utf8(&bytes).unwrap()),
            Err(error) => {
                assert!(events.next().await.is_none(), "an error is the last that comes");
                return (passed, Some(error.into()));
            }
        }
    }
    (passed, None)
}

#[tokio::test]
async fn the_body_goes_as_it_came_under_the_operators_key() {
    let answer = r#"{"choices":[{"index":1,"logprobs":{"x":1}},{"index":0}],"of_tomorrow":1.50}"#;
    let fake = Fake::start(&[(CHAT, Answer::json(200, answer)), (TEXT, Answer::json(200, "{}"))]).await;
    let registry = registry(&fake, Timeouts::default());
    for call in [RawCall::ChatCompletions, RawCall::Completions] {
        let RawAnswer::Whole { json: bytes, .. } = forward(&registry, call, BODY).await.unwrap() else {
            panic!("no stream was sent")
        };
        assert_eq!(bytes, if call == RawCall::ChatCompletions { answer } else { "{}" });
    }
    let seen = fake.seen();
    let lines: Vec<&str> = seen.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(lines, [CHAT, TEXT]);
    for request in &seen {
        assert_eq!(request.body, BODY.replace(r#""work\/m""#, r#""m""#));
        assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(request.headers["content-type"], "application/json");
        assert_eq!(request.connection, 0, "the connection is used again");
    }
}

#[tokio::test]
async fn a_stream_comes_back_byte_for_byte() {
    let whole = format!(": hello\r\n\r\n{}{}{}", event(&WORD.replace("Hi", "größe")), event(STOP), event("[DONE]"));
    for answer in [Answer::Stream(vec![whole.clone()]), Answer::Stream(whole.chars().map(String::from).collect())] {
        assert_eq!(relayed(answer).await, (whole.clone(), None));
    }
}

#[tokio::test]
async fn connections_are_used_again_after_a_stream() {
    let fake = Fake::start(&[(CHAT, Answer::events(&[WORD, STOP, "[DONE]"]))]).await;
    let registry = registry(&fake, Timeouts::default());
    for _ in 0..3 {
        let Ok(RawAnswer::Events(mut events)) = forward(&registry, RawCall::ChatCompletions, BODY).await else {
            panic!("a stream was sent")
        };
        while let Some(bytes) = events.next().await {
            bytes.unwrap();
        }
    }
    assert!(fake.seen().iter().all(|request| request.connection == 0));
}

#[tokio::test]
async fn a_stream_that_is_cut_never_ends_well() {
    let half = &event(WORD)[..20];
    for answer in [
        Answer::Cut(vec![event(WORD)]),
        Answer::Cut(vec![event(WORD), half.to_owned()]),
        Answer::Stream(vec![event(WORD)]),
        Answer::Stream(vec![event(WORD), half.to_owned()]),
    ] {
        let (passed, error) = relayed(answer.clone()).await;
        assert!(passed.starts_with(&event(WORD)) && !passed.contains("[DONE]"), "{passed}");
        assert!(matches!(error, Some(RawError::Failed(ModelError::Broken { .. }))), "{answer:?}: {error:?}");
    }
    // What was whole before the connection broke is whole.
    let (passed, error) = relayed(Answer::Cut(vec![event(STOP), event("[DONE]")])).await;
    assert_eq!((passed, error), (event(STOP) + &event("[DONE]"), None));
}

#[tokio::test]
async fn an_error_inside_a_stream_is_mapped_without_the_key() {
    let failed = format!(r#"{{"error":{{"message":"{KEY} overloaded","type":"server_error"}}}}"#);
    let (passed, error) = relayed(Answer::events(&[WORD, &failed, WORD])).await;
    assert_eq!(passed, event(WORD));
    assert_eq!(error, Some(ModelError::Unavailable { detail: "[key] overloaded".to_owned() }.into()));
}

#[tokio::test]
async fn failures_are_named_by_remedy() {
    let named = async |status, body: &str| relayed(Answer::json(status, body)).await.1.unwrap();
    let wrong_key = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let unauthorized = ModelError::Unauthorized { detail: "401: Incorrect API key provided: [key]".to_owned() };
    assert_eq!(named(401, &wrong_key).await, unauthorized.into());
    let unknown = named(404, r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#).await;
    assert!(matches!(unknown, RawError::UnknownModel { .. }), "{unknown:?}");
    let elsewhere = named(404, "404 page not found").await;
    assert!(matches!(elsewhere, RawError::Failed(ModelError::Rejected { .. })), "{elsewhere:?}");
    let inside = named(200, r#"{"error":{"message":"slow down","code":429}}"#).await;
    assert!(matches!(inside, RawError::Failed(ModelError::RateLimited { .. })), "{inside:?}");
    let page = Answer::Full {
        status: 200,
        headers: vec![("content-type", "text/html".to_owned())],
        body: "<html>".to_owned(),
    };
    assert!(matches!(relayed(page).await.1, Some(RawError::Failed(ModelError::Broken { .. }))));
}

#[tokio::test]
async fn only_models_behind_an_endpoint_are_asked_raw() {
    let fake = Fake::start(&[]).await;
    let registry = registry(&fake, Timeouts::default());
    let raw = |handle: &str| registry.raw(&ModelHandle::parse(handle).unwrap()).map(|raw| raw.is_some());
    assert_eq!(raw("work/anything"), Ok(true));
    assert_eq!(raw("builtin/guide"), Ok(false));
    assert!(matches!(raw("builtin/other"), Err(ResolveError::UnknownModel { .. })));
    assert!(matches!(raw("nobody/m"), Err(ResolveError::UnknownProvider { .. })));
}

#[tokio::test]
async fn silence_is_not_waited_out() {
    let short =
        Timeouts { first_byte: Duration::from_millis(80), idle: Duration::from_millis(40), ..Timeouts::default() };
    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![]))]).await;
    let error = forward(&registry(&fake, short), RawCall::ChatCompletions, BODY).await.err().unwrap();
    assert_eq!(error, ModelError::Unavailable { detail: "no answer began within 80ms".to_owned() }.into());
    fake.hung_up().await;

    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![event(WORD)]))]).await;
    let answer = forward(&registry(&fake, short), RawCall::ChatCompletions, BODY).await.unwrap();
    let RawAnswer::Events(mut events) = answer else { panic!("a stream was sent") };
    assert_eq!(events.next().await, Some(Ok(event(WORD).into())));
    assert_eq!(events.next().await, Some(Err(ModelError::Broken { detail: "no event came for 40ms".to_owned() })));
    fake.hung_up().await;
}

#[tokio::test]
async fn whoever_stops_waiting_loses_nothing() {
    let pieces: Vec<String> = (0..50).map(|_| event(WORD)).chain([event("[DONE]")]).collect();
    let fake = Fake::start(&[(CHAT, Answer::Stream(pieces.clone()))]).await;
    let answer = forward(&registry(&fake, Timeouts::default()), RawCall::ChatCompletions, BODY).await.unwrap();
    let RawAnswer::Events(mut events) = answer else { panic!("a stream was sent") };
    let mut passed = String::new();
    loop {
        // The other branch is ready again and again while events are being gathered.
        let next = tokio::select! {
            biased;
            next = events.next() => next,
            () = tokio::task::yield_now() => continue,
        };
        match next {
            Some(bytes) => passed.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap()),
            None => break,
        }
    }
    assert_eq!(passed, pieces.concat());
}

#[tokio::test]
async fn dropping_a_stream_or_a_call_hangs_up() {
    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![event(WORD)]))]).await;
    let registry_of = |fake: &Fake| registry(fake, Timeouts::default());
    let answer = forward(&registry_of(&fake), RawCall::ChatCompletions, BODY).await.unwrap();
    let RawAnswer::Events(mut events) = answer else { panic!("a stream was sent") };
    events.next().await.unwrap().unwrap();
    drop(events);
    fake.hung_up().await;

    let fake = Fake::start(&[(CHAT, Answer::Hang(vec![]))]).await;
    let request_seen = async {
        while fake.seen().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let registry = registry_of(&fake);
    tokio::select! {
        _ = forward(&registry, RawCall::ChatCompletions, BODY) => panic!("nothing was answered"),
        () = request_seen => {}
    }
    fake.hung_up().await;
}
