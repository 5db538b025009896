//! Tests of calls that end in every way they can.

use std::num::NonZeroU32;

use futures_util::StreamExt;
use http_body_util::BodyExt;

use super::*;
use crate::limits::RateLimits;

struct House {
    metrics: Arc<Metrics>,
    limiter: Arc<Limiter>,
}

impl House {
    fn new() -> Self {
        let limits = RateLimits { concurrent_requests: NonZeroU32::new(1), ..RateLimits::default() };
        Self { metrics: Arc::default(), limiter: Arc::new(Limiter::new(limits)) }
    }

    fn call(&self) -> Result<OpenCall, Refusal> {
        self.call_of("/v1/chat/completions")
    }

    fn call_of(&self, path: &str) -> Result<OpenCall, Refusal> {
        let request = Request::post(path).body(Body::empty()).unwrap();
        let mut call = OpenCall::new(&self.metrics, &self.limiter, Dialect::OpenAi, &request);
        call.admit(None).map(|()| call)
    }

    fn is_free(&self) -> bool {
        self.limiter.admit(None, Instant::now()).is_ok()
    }
}

fn stream(pieces: &'static [&'static str]) -> Response {
    let pieces = futures_util::stream::iter(pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(*piece))));
    Response::new(Body::from_stream(pieces))
}

#[tokio::test]
async fn a_whole_answer_gives_its_leave_back_at_once() {
    let house = House::new();
    let call = house.call().unwrap();
    assert!(matches!(house.call(), Err(Refusal::OverLimit(_))));
    let answer = call.answer(Response::new(Body::from("hello")));
    assert!(house.is_free());
    assert_eq!(answer.headers()["openai-version"], "2020-10-01");
    assert!(answer.headers()["x-request-id"].to_str().unwrap().starts_with("req-"));
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "hello");
}

#[test]
fn an_operators_look_is_never_too_early() {
    let house = House::new();
    let _used_up = house.call().unwrap();
    for path in ["/health", "/v1/health/", "/metrics", "/debug/sessions"] {
        assert!(house.call_of(path).is_ok(), "{path}");
    }
    assert!(house.call_of("/v1/models").is_err());
}

#[tokio::test]
async fn a_stream_keeps_its_leave_to_its_end() {
    let house = House::new();
    let mut body = house.call().unwrap().answer(stream(&["a", "b"])).into_body().into_data_stream();
    assert_eq!(body.next().await.unwrap().unwrap(), "a");
    assert_eq!(body.next().await.unwrap().unwrap(), "b");
    assert!(!house.is_free());
    assert!(body.next().await.is_none());
    assert!(house.is_free());
}

#[tokio::test]
async fn whoever_leaves_gives_the_leave_back() {
    let house = House::new();
    let mut body = house.call().unwrap().answer(stream(&["a", "b"])).into_body().into_data_stream();
    assert!(body.next().await.is_some());
    assert!(!house.is_free());
    drop(body);
    assert!(house.is_free());
    // Before there is any answer, too.
    let call = house.call().unwrap();
    assert!(!house.is_free());
    drop(call);
    assert!(house.is_free());
}

#[test]
fn texts_of_clients_are_cut() {
    assert_eq!(cut("äöü", 2), "äö");
    assert_eq!(cut("ab", 2), "ab");
    let value = HeaderValue::from_bytes(&[b'x'; 500]).unwrap();
    assert_eq!(shown_client_id(&value).map(str::len), Some(LOGGED_CLIENT_ID));
    assert_eq!(shown_client_id(&HeaderValue::from_bytes(b"\xff").unwrap()), None);
}
