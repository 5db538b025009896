//! Lists of models, handles, defaults, and servers that are found.

use domain::ModelHandle;
use providers::{LocalEndpoint, ModelEntry, ProviderConfig, ProviderState, Registry, RegistryConfig, ResolveError};

use crate::fake::{Answer, Fake};

const LIST: &str = "GET /v1/models";

fn handle(text: &str) -> ModelHandle {
    ModelHandle::parse(text).unwrap()
}

fn registry(providers: Vec<ProviderConfig>) -> Registry {
    Registry::new(RegistryConfig { providers, discover_local: false }).unwrap()
}

async fn with_list(name: &str, body: &str) -> (Fake, Registry) {
    let fake = Fake::start(&[(LIST, Answer::json(200, body))]).await;
    let registry = registry(vec![ProviderConfig::new(name, Some(&fake.url("/v1")))]);
    (fake, registry)
}

fn lines(entries: &[ModelEntry]) -> Vec<String> {
    entries
        .iter()
        .map(|e| format!("{} {} {} {}", e.handle, e.endpoint_type, e.context_window, e.context_known))
        .collect()
}

#[tokio::test]
async fn models_are_listed_with_their_windows() {
    let (fake, registry) =
        with_list("vllm", r#"{"data":[{"id":"org/a","max_model_len":8192},{"id":"b"},{"id":"bge-m3"}]}"#).await;
    let expected = ["vllm/org/a vllm 8192 true", "vllm/b vllm 32000 false", "builtin/guide builtin 32000 true"];
    assert_eq!(lines(&registry.models().await), expected);
    assert_eq!(lines(&registry.models().await), expected);
    assert_eq!(fake.seen().len(), 1, "the list is remembered");
    assert_eq!(registry.providers()[0].state, ProviderState::Ready { chat_models: 2 });
    assert_eq!(registry.resolve(&handle("vllm/org/a")).await.unwrap().context_window, 8192);
    assert!(registry.resolve(&handle("vllm/bge-m3")).await.is_ok(), "the rule about names is only a guess");
    let error = registry.resolve(&handle("vllm/c")).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no model `vllm/c`; there is vllm/org/a, vllm/b");
}

#[tokio::test]
async fn embedding_models_are_listed_apart() {
    let list = r#"{"data":[{"id":"text-embedding-3-small"},{"id":"gpt-4o"},{"id":"my-embed"},{"id":"bge-reranker"}]}"#;
    let (_fake, registry) = with_list("openai", list).await;
    let entries = registry.embedding_models().await;
    let lines: Vec<_> =
        entries.iter().map(|e| format!("{} {} {:?}", e.handle, e.endpoint_type, e.dimensions)).collect();
    assert_eq!(lines, ["openai/text-embedding-3-small openai Some(1536)", "openai/my-embed openai None"]);
}

#[tokio::test]
async fn unknown_names_are_told_with_what_exists() {
    let registry = registry(vec![]);
    let error = registry.resolve(&handle("nobody/x")).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no provider `nobody`; there is builtin");
    assert_eq!(registry.chat_model(&handle("nobody/x")).err(), Some(error));
    let error = registry.resolve(&handle("builtin/x")).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no model `builtin/x`; there is builtin/guide");
    assert!(registry.chat_model(&handle("builtin/x")).is_err());
    assert!(registry.chat_model(&handle("builtin/guide")).is_ok());
    assert_eq!(registry.default_model().await, handle("builtin/guide"));
}

#[tokio::test]
async fn long_lists_are_cut_in_errors() {
    let entries: Vec<_> = (0..200).map(|number| format!(r#"{{"id":"m{number}"}}"#)).collect();
    let (_fake, registry) = with_list("work", &format!(r#"{{"data":[{}]}}"#, entries.join(","))).await;
    let Err(ResolveError::UnknownModel { known, .. }) = registry.resolve(&handle("work/x")).await else {
        panic!("it is unknown")
    };
    assert_eq!(known.len(), 50);
}

#[tokio::test]
async fn ollama_is_asked_about_each_model() {
    let fake = Fake::start(&[
        (LIST, Answer::json(200, r#"{"object":"list","data":[{"id":"llama3.2:latest"}]}"#)),
        ("POST /api/show", Answer::json(200, r#"{"model_info":{"llama.context_length":131072}}"#)),
    ])
    .await;
    let registry = registry(vec![ProviderConfig::new("ollama", Some(&fake.url("")))]);
    for name in ["ollama/llama3.2", "ollama/llama3.2:latest"] {
        assert_eq!(registry.resolve(&handle(name)).await.unwrap().context_window, 131_072, "{name}");
    }
    assert!(registry.resolve(&handle("ollama/llama3.2:1b")).await.is_err());
    assert_eq!(fake.seen()[1].body, r#"{"model":"llama3.2:latest"}"#);
}

#[tokio::test]
async fn lm_studio_has_a_richer_list() {
    let list = r#"{"data":[{"id":"q","type":"llm","max_context_length":4096},{"id":"e","type":"embeddings"}]}"#;
    let fake = Fake::start(&[("GET /api/v0/models", Answer::json(200, list))]).await;
    let registry = registry(vec![ProviderConfig::new("lmstudio", Some(&fake.url("")))]);
    let expected = ["lmstudio/q lmstudio_openai 4096 true", "builtin/guide builtin 32000 true"];
    assert_eq!(lines(&registry.models().await), expected);
    assert!(registry.resolve(&handle("lmstudio/e")).await.is_err(), "the server says that it can't chat");
}

#[tokio::test]
async fn failures_of_the_list_are_told() {
    for (answer, expected) in [
        (Answer::json(401, "{}"), "the endpoint did not accept the key"),
        (Answer::json(500, "{}"), "the endpoint answered 500 when it was asked for its models"),
        (Answer::json(200, r#"{"x":1}"#), "the list of models is not one of this dialect"),
    ] {
        let fake = Fake::start(&[(LIST, answer)]).await;
        let registry = registry(vec![ProviderConfig::new("work", Some(&fake.url("/v1")))]);
        let unavailable = ResolveError::Unavailable { detail: expected.to_owned() };
        assert_eq!(registry.resolve(&handle("work/m")).await, Err(unavailable));
        assert_eq!(registry.providers()[0].state, ProviderState::Failing { detail: expected.to_owned() });
        assert_eq!(registry.default_model().await, handle("builtin/guide"));
    }
}

#[tokio::test]
async fn an_endpoint_without_a_list_takes_any_name() {
    let fake = Fake::start(&[]).await;
    let registry = registry(vec![ProviderConfig::new("work", Some(&fake.url("/v1")))]);
    assert_eq!(registry.resolve(&handle("work/gpt-4o")).await.unwrap().context_window, 128_000);
    assert_eq!(registry.providers()[0].state, ProviderState::Unlisted);
}

#[tokio::test]
async fn the_default_model_is_the_operators_or_the_best_known() {
    let list = r#"{"data":[{"id":"text-embedding-3-small"},{"id":"zeta"},{"id":"gpt-4o"}]}"#;
    let (fake, openai) = with_list("openai", list).await;
    assert_eq!(openai.default_model().await, handle("openai/gpt-4o"));
    let work = ProviderConfig::new("work", Some(&fake.url("/v1")));
    let gone = ProviderConfig::new("gone", Some("http://127.0.0.1:1/v1"));
    assert_eq!(registry(vec![gone.clone(), work.clone()]).default_model().await, handle("work/zeta"));
    let mut set = gone;
    set.default_model = Some("mine".to_owned());
    assert_eq!(registry(vec![set, work]).default_model().await, handle("gone/mine"));
}

#[tokio::test]
async fn servers_on_this_machine_are_found() {
    let models = Answer::json(200, r#"{"object":"list","data":[{"id":"llama3.2:latest"}]}"#);
    let ollama = Fake::start(&[(LIST, models)]).await;
    let other = Fake::start(&[(LIST, Answer::json(200, "<html>"))]).await;
    let place = |name: &str, fake: &Fake| LocalEndpoint { name: name.to_owned(), address: fake.url("") };
    let registry = registry(vec![]);
    let places = [place("ollama", &ollama), place("lmstudio", &other)];
    registry.discover_at(&places).await;
    registry.discover_at(&places).await;
    let providers = registry.providers();
    assert_eq!(providers.len(), 1, "{providers:?}");
    assert_eq!(providers[0].base_url, ollama.url("/v1"));
    assert!(providers[0].discovered && providers[0].state == ProviderState::Ready { chat_models: 1 });
    assert_eq!(registry.default_model().await, handle("ollama/llama3.2:latest"));
}

#[tokio::test]
async fn what_is_configured_is_not_looked_for() {
    let (fake, registry) = with_list("ollama", r#"{"data":[]}"#).await;
    registry.discover_at(&[LocalEndpoint { name: "ollama".to_owned(), address: fake.url("") }]).await;
    assert!(fake.seen().is_empty());
    assert!(!registry.providers()[0].discovered);
}

#[test]
fn the_usual_places_are_known() {
    let places: Vec<_> = LocalEndpoint::usual().into_iter().map(|place| place.address).collect();
    assert_eq!(places, ["http://127.0.0.1:1234", "http://127.0.0.1:11434"]);
}

#[test]
fn wrong_settings_are_named() {
    let check = |providers: Vec<ProviderConfig>, expected: &str| {
        let error = Registry::new(RegistryConfig { providers, discover_local: false }).err().unwrap();
        assert_eq!(error.to_string(), expected);
    };
    let url = Some("http://127.0.0.1:1/v1");
    check(
        vec![ProviderConfig::new("builtin", url)],
        "`builtin` can't name a provider: use a word without a slash, and not `builtin`",
    );
    check(vec![ProviderConfig::new("a", url), ProviderConfig::new("a", url)], "the provider `a` is configured twice");
    for wrong in [None, Some("localhost:11434"), Some("ftp://x/")] {
        check(
            vec![ProviderConfig::new("work", wrong)],
            "the address of the provider `work` must be an http:// or https:// URL",
        );
    }
    let mut keyed = ProviderConfig::new("work", url);
    keyed.api_key = Some("bad\nkey".to_owned());
    check(vec![keyed], "the key of the provider `work` holds characters that a header can't carry");
}

#[tokio::test]
async fn only_models_that_are_known_not_to_see_are_spared_images() {
    let (_fake, registry) = with_list("openai", r#"{"data":[]}"#).await;
    for (model, expected) in [
        ("builtin/guide", false),
        ("openai/gpt-3.5-turbo", false),
        ("openai/gpt-4o-mini", true),
        ("openai/somebody-new", true),
        ("nobody/x", true),
    ] {
        assert_eq!(registry.sees(&handle(model)), expected, "{model}");
    }
}
