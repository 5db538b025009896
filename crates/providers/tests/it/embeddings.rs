//! Vectors over real HTTP.

use std::sync::Arc;
use std::time::Duration;

use domain::ModelHandle;
use domain::seams::embedder::{EmbedError, Embedder, Pace};
use providers::{ProviderConfig, Registry, RegistryConfig, Timeouts};
use serde_json::Value;

use crate::fake::{Answer, Fake};

const KEY: &str = "sk-very-secret";
const EMBEDDINGS: &str = "POST /v1/embeddings";
const ANY: Answer = Answer::Vectors { dimensions: 4, longest: usize::MAX };

fn handle(text: &str) -> ModelHandle {
    ModelHandle::parse(text).unwrap()
}

fn registry(name: &str, fake: &Fake) -> Registry {
    let mut provider = ProviderConfig::new(name, Some(&fake.url("/v1")));
    provider.api_key = Some(KEY.to_owned());
    provider.timeouts = Timeouts { embed: Duration::from_millis(300), ..Timeouts::default() };
    Registry::new(RegistryConfig { providers: vec![provider], discover_local: false }).unwrap()
}

async fn open(answer: Answer) -> (Fake, Result<Arc<dyn Embedder>, EmbedError>) {
    let fake = Fake::start(&[(EMBEDDINGS, answer)]).await;
    let model = registry("work", &fake).embedder(&handle("work/embed-model")).await;
    (fake, model)
}

fn texts(texts: &[&str]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(*text)).collect()
}

/// The texts of each request after the first, which learns the length of vectors.
fn batches(fake: &Fake) -> Vec<Vec<String>> {
    let input = |body: &str| {
        let body: Value = serde_json::from_str(body).unwrap();
        body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    fake.seen().iter().skip(1).map(|request| input(&request.body)).collect()
}

#[tokio::test]
async fn texts_become_vectors_of_length_1_in_order() {
    let (fake, model) = open(ANY).await;
    let model = model.unwrap();
    assert_eq!((model.config().handle.as_str(), model.config().dimensions), ("work/embed-model", 4));
    assert_eq!(model.pace(), Pace::Slow);
    let vectors = model.embed(&texts(&["one", "", "to", " \n"])).await.unwrap();
    assert_eq!(vectors, [[0., 0., 0., 1.], [0.; 4], [0., 0., 1., 0.], [0.; 4]]);
    assert_eq!(batches(&fake), [["one", "to"]], "empty texts are not sent");
    let seen = fake.seen();
    assert_eq!(seen[0].headers["authorization"], format!("Bearer {KEY}"));
    assert!(seen.iter().all(|request| request.connection == 0), "the connection is used again");
    assert!(model.embed(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn many_texts_go_in_batches() {
    let (fake, model) = open(ANY).await;
    let many = vec![Arc::from("four"); 70];
    assert_eq!(model.unwrap().embed(&many).await.unwrap().len(), 70);
    assert_eq!(batches(&fake).iter().map(Vec::len).collect::<Vec<_>>(), [32, 32, 6]);
    let fake = Fake::start(&[(EMBEDDINGS, ANY)]).await;
    let model = registry("openai", &fake).embedder(&handle("openai/text-embedding-3-small")).await.unwrap();
    model.embed(&many).await.unwrap();
    assert_eq!(batches(&fake).len(), 1, "a vendor that takes more at once is given more");
}

#[tokio::test]
async fn a_text_that_is_too_long_is_cut_and_spoils_no_other() {
    let (fake, model) = open(Answer::Vectors { dimensions: 4, longest: 1000 }).await;
    let long = "x".repeat(3004);
    let vectors = model.unwrap().embed(&texts(&["a", "bc", &long, "d"])).await.unwrap();
    assert_eq!(vectors.len(), 4);
    // 3,004 characters are cut to 1,502 and then to 751.
    assert_eq!(vectors[2], [0., 0., 0., 1.]);
    assert_eq!(vectors[3], [0., 1., 0., 0.]);
    assert_eq!(batches(&fake).iter().map(Vec::len).collect::<Vec<_>>(), [4, 2, 2, 1, 1, 1, 1]);
}

#[tokio::test]
async fn a_model_that_takes_nothing_rejects() {
    let (_fake, model) = open(Answer::Vectors { dimensions: 4, longest: 20 }).await;
    let error = model.unwrap().embed(&texts(&["a text that is longer than twenty letters"])).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Rejected { detail } if detail.contains("context length")), "{error:?}");
}

#[tokio::test]
async fn failures_are_named_by_remedy_without_the_key() {
    let named = |error: &EmbedError| match error {
        EmbedError::Unknown { .. } => "unknown",
        EmbedError::Unavailable { .. } => "unavailable",
        EmbedError::Rejected { .. } => "rejected",
        EmbedError::Broken { .. } => "broken",
    };
    let secret = format!(r#"{{"error":{{"message":"wrong key {KEY}"}}}}"#);
    for (answer, expected) in [
        (Answer::json(401, &secret), "rejected"),
        (Answer::json(404, r#"{"error":{"message":"no such model"}}"#), "unknown"),
        (Answer::json(429, "{}"), "unavailable"),
        (Answer::json(500, "{}"), "unavailable"),
        (Answer::json(200, "<html>"), "broken"),
        (Answer::json(200, r#"{"data":[]}"#), "broken"),
        (Answer::json(200, r#"{"error":"model not loaded"}"#), "unavailable"),
        (Answer::Cut(vec!["{".to_owned()]), "broken"),
        (Answer::Hang(vec![]), "unavailable"),
    ] {
        let (_fake, model) = open(answer.clone()).await;
        let error = model.err().unwrap();
        assert_eq!(named(&error), expected, "{answer:?}: {error}");
        assert!(!error.to_string().contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn an_address_that_leads_elsewhere_is_not_followed() {
    let target = Fake::start(&[(EMBEDDINGS, ANY)]).await;
    let headers = vec![("location", target.url("/v1/embeddings"))];
    let (_fake, model) = open(Answer::Full { status: 307, headers, body: String::new() }).await;
    assert!(matches!(model, Err(EmbedError::Rejected { .. })));
    assert!(target.seen().is_empty(), "the key must not travel");
}

#[tokio::test]
async fn vectors_of_another_length_are_not_mixed() {
    let (fake, model) = open(ANY).await;
    let model = model.unwrap();
    fake.now_answers(EMBEDDINGS, Answer::Vectors { dimensions: 5, longest: 9 });
    let error = model.embed(&texts(&["a"])).await.unwrap_err();
    let detail = "its vectors had 4 numbers before and have 5 now".to_owned();
    assert_eq!(error, EmbedError::Broken { detail });
}

#[tokio::test]
async fn a_provider_that_does_not_exist_is_unknown() {
    let fake = Fake::start(&[]).await;
    let registry = registry("work", &fake);
    for name in ["letta/letta-free", "builtin/embedding"] {
        let error = registry.embedder(&handle(name)).await.err().unwrap();
        assert_eq!(error, EmbedError::Unknown { handle: handle(name), hint: None });
    }
    assert!(fake.seen().is_empty());
}
