//! What models an endpoint has, and how long their contexts are, as the endpoint tells it.
//!
//! Reading lists is pure; asking for them is one function. Lists are remembered for a minute and failures for a few
//! seconds, so that a burst of requests asks once and a server that comes up is soon seen.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::http::{describe, read_body};
use crate::openai_chat::{Endpoint, clean};
use crate::profile::{self, ListingRules};

/// How long a list is believed.
const FRESH: Duration = Duration::from_secs(60);
/// How long a failure is believed.
const FRESH_FAILURE: Duration = Duration::from_secs(5);
/// Bytes of a list.
const LIST_CAP: usize = 16 * 1024 * 1024;
/// Models of one list that are kept.
const MODEL_CAP: usize = 5_000;
/// Models whose details are asked for one by one, and how many at a time.
const SHOW_CAP: usize = 64;
const SHOW_AT_ONCE: usize = 4;

/// A model as its endpoint lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) context: Option<u32>,
    pub(crate) kind: Kind,
    /// Whether it makes vectors, as far as its endpoint or its name tells.
    pub(crate) embeds: bool,
    /// How many numbers its vectors have, if its endpoint tells.
    pub(crate) dimensions: Option<u32>,
}

/// What a listed model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat,
    /// Its name says that it does something else; the endpoint may know better.
    Doubtful,
    /// The endpoint says that it does something else.
    Other,
}

/// What an endpoint answered when it was asked for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listing {
    Models(Arc<[Listed]>),
    /// The endpoint keeps no list: any name may be right.
    Unlisted,
    Failed(String),
}

impl Listing {
    fn is_fresh(&self, age: Duration) -> bool {
        age < if matches!(self, Self::Failed(_)) { FRESH_FAILURE } else { FRESH }
    }
}

/// A listing that is asked for when it is needed and remembered for a while.
#[derive(Default)]
pub(crate) struct Remembered {
    slot: Mutex<Arc<OnceCell<(Instant, Listing)>>>,
}

impl Remembered {
    /// The listing, asked for anew if it is too old. Callers that come while it is asked for wait for the same answer.
    pub(crate) async fn get(&self, endpoint: &Endpoint) -> Listing {
        let cell = self.current();
        let (_, listing) = cell.get_or_init(|| async { (Instant::now(), fetch(endpoint).await) }).await;
        listing.clone()
    }

    /// Puts a listing in that was asked for elsewhere.
    pub(crate) fn set(&self, listing: Listing) {
        let cell = OnceCell::new_with(Some((Instant::now(), listing)));
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(cell);
    }

    /// The newest answer, however old.
    pub(crate) fn last(&self) -> Option<Listing> {
        let slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get().map(|(_, listing)| listing.clone())
    }

    fn current(&self) -> Arc<OnceCell<(Instant, Listing)>> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.get().is_some_and(|(at, listing)| !listing.is_fresh(at.elapsed())) {
            *slot = Arc::default();
        }
        Arc::clone(&slot)
    }
}

/// Asks the endpoint for its models.
pub(crate) async fn fetch(endpoint: &Endpoint) -> Listing {
    let limit = endpoint.timeouts.list;
    match tokio::time::timeout(limit, fetch_paths(endpoint)).await {
        Ok(listing) => listing,
        Err(_) => Listing::Failed(format!("no list of models came within {limit:?}")),
    }
}

async fn fetch_paths(endpoint: &Endpoint) -> Listing {
    let rules = &endpoint.profile.listing;
    for path in &rules.models_paths {
        match fetch_one(endpoint, path).await {
            Ok(Some(value)) => match models(&value, rules) {
                Some(listed) => return Listing::Models(with_details(endpoint, listed).await.into()),
                None => return Listing::Failed("the list of models is not one of this dialect".to_owned()),
            },
            Ok(None) => {}
            Err(detail) => return Listing::Failed(clean(&detail, endpoint.key())),
        }
    }
    Listing::Unlisted
}

/// The list at `path`, or nothing if the server has no such path.
async fn fetch_one(endpoint: &Endpoint, path: &str) -> Result<Option<Value>, String> {
    let url = endpoint.url(path);
    let client = endpoint.http.for_url(&url)?;
    let response = client.get(url).headers(endpoint.headers("application/json")).send().await.map_err(describe)?;
    match response.status() {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => Ok(None),
        status if status.is_success() => Ok(Some(read_json(response, endpoint).await?)),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err("the endpoint did not accept the key".to_owned()),
        status => Err(format!("the endpoint answered {} when it was asked for its models", status.as_u16())),
    }
}

async fn read_json(response: Response, endpoint: &Endpoint) -> Result<Value, String> {
    let body = read_body(response, LIST_CAP, endpoint.timeouts.list).await.map_err(|error| error.to_string())?;
    serde_json::from_slice(&body).map_err(|error| format!("the list of models is not JSON: {error}"))
}

/// Asks for the details of each model where the list has no context lengths.
async fn with_details(endpoint: &Endpoint, listed: Vec<Listed>) -> Vec<Listed> {
    let Some(path) = &endpoint.profile.listing.show_path else {
        return listed;
    };
    let detailed = listed.into_iter().enumerate().map(|(position, model)| async move {
        if model.context.is_some() || position >= SHOW_CAP {
            return model;
        }
        match show(endpoint, path, &model.id).await {
            Some(details) => detailed(model, &details),
            None => model,
        }
    });
    stream::iter(detailed).buffered(SHOW_AT_ONCE).collect().await
}

/// The details of one model. A model without them is still a model.
async fn show(endpoint: &Endpoint, path: &str, model: &str) -> Option<Value> {
    let url = endpoint.url(path);
    let client = endpoint.http.for_url(&url).ok()?;
    let asked = json!({ "model": model });
    let response = client.post(url).headers(endpoint.headers("application/json")).json(&asked).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    read_json(response, endpoint).await.ok()
}

/// The models of a list, or nothing if it isn't a list.
pub(crate) fn models(list: &Value, rules: &ListingRules) -> Option<Vec<Listed>> {
    let entries = match (list, list.get("data")) {
        (Value::Array(entries), _) | (_, Some(Value::Array(entries))) => entries.as_slice(),
        // A server without models may say null.
        (_, Some(Value::Null)) => &[],
        _ => return None,
    };
    Some(entries.iter().filter_map(|entry| model(entry, rules)).take(MODEL_CAP).collect())
}

fn model(entry: &Value, rules: &ListingRules) -> Option<Listed> {
    let id = entry.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())?;
    let listed_type = entry.get("type").and_then(Value::as_str);
    let other = listed_type.is_some_and(profile::is_other_type);
    let embeds = listed_type.is_some_and(profile::is_embedding_type) || profile::looks_like_embedding(id);
    let kind = match (other, profile::looks_like_chat(id)) {
        (true, _) => Kind::Other,
        (false, true) => Kind::Chat,
        (false, false) => Kind::Doubtful,
    };
    let context =
        rules.context_fields.iter().find_map(|path| tokens(path.split('.').try_fold(entry, |v, k| v.get(k))?));
    Some(Listed { id: id.to_owned(), context, kind, embeds, dimensions: None })
}

/// A count of tokens, written as a number or as the text of one. Nought means that the server doesn't know.
fn tokens(value: &Value) -> Option<u32> {
    let count = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// Adds what Ollama tells about one model: the length that it was set to, else the longest that it can have.
fn detailed(model: Listed, details: &Value) -> Listed {
    let parameters = details.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse::<u32>().ok());
    let architecture = |end: &str| {
        let entries = details.get("model_info")?.as_object()?;
        entries.iter().find(|(name, _)| name.ends_with(end)).and_then(|(_, value)| tokens(value))
    };
    let abilities = details.get("capabilities").and_then(Value::as_array);
    let can = |ability: &str| abilities.map(|list| list.iter().any(|known| known == ability));
    let kind = if can("completion") == Some(false) { Kind::Other } else { model.kind };
    let embeds = can("embedding").unwrap_or(model.embeds);
    Listed {
        context: set.filter(|count| *count > 0).or_else(|| architecture(".context_length")),
        kind,
        embeds,
        dimensions: architecture(".embedding_length").filter(|_| embeds),
        id: model.id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(profile: &str, list: Value) -> Option<Vec<(String, Option<u32>, Kind)>> {
        let rules = &profile::named(profile).unwrap().listing;
        Some(models(&list, rules)?.into_iter().map(|model| (model.id, model.context, model.kind)).collect())
    }

    #[test]
    fn each_vendors_context_length_is_found() {
        let check = |profile: &str, entry: Value, expected: Option<u32>| {
            let listed = read(profile, json!({ "data": [&entry] })).unwrap();
            assert_eq!(listed[0].1, expected, "{profile} {entry}");
        };
        check("vllm", json!({ "id": "m", "max_model_len": 8192 }), Some(8192));
        check(
            "openrouter",
            json!({ "id": "a/m", "context_length": 9, "top_provider": { "context_length": 7 } }),
            Some(7),
        );
        check("openrouter", json!({ "id": "a/m", "context_length": 9, "top_provider": null }), Some(9));
        check("lmstudio", json!({ "id": "m", "max_context_length": 32768 }), Some(32768));
        check("lmstudio", json!({ "id": "m", "max_context_length": 9, "loaded_context_length": 4 }), Some(4));
        check("generic", json!({ "id": "m", "meta": { "n_ctx_train": "2048" } }), Some(2048));
        check("openai", json!({ "id": "m" }), None);
        check("openai", json!({ "id": "m", "context_length": 0 }), None);
    }

    #[test]
    fn lists_come_in_several_shapes() {
        assert_eq!(read("ollama", json!({ "object": "list", "data": null })), Some(vec![]));
        assert_eq!(read("generic", json!([{ "id": "m" }, { "name": "x" }])).unwrap().len(), 1);
        assert_eq!(read("generic", json!({ "error": "no" })), None);
        let kinds = read(
            "lmstudio",
            json!({ "data": [{ "id": "a", "type": "llm" }, { "id": "b", "type": "embeddings" }, { "id": "bge-m3" }] }),
        );
        let kinds: Vec<_> = kinds.unwrap().into_iter().map(|(_, _, kind)| kind).collect();
        assert_eq!(kinds, [Kind::Chat, Kind::Other, Kind::Doubtful]);
    }

    #[test]
    fn ollamas_details_give_the_length() {
        let check = |details: Value, context: Option<u32>, kind: Kind| {
            let model = Listed { id: "m".to_owned(), context: None, kind: Kind::Chat, embeds: false, dimensions: None };
            let found = detailed(model, &details);
            assert_eq!((found.context, found.kind), (context, kind), "{details}");
            assert_eq!(
                (found.embeds, found.dimensions),
                if kind == Kind::Other { (true, Some(384)) } else { (false, None) }
            );
        };
        let info = json!({ "llama.context_length": 131072, "llama.embedding_length": 2048 });
        check(json!({ "model_info": info, "capabilities": ["completion", "tools"] }), Some(131_072), Kind::Chat);
        check(json!({ "model_info": info, "parameters": "stop \"x\"\nnum_ctx    8192" }), Some(8192), Kind::Chat);
        check(
            json!({
                "model_info": { "bert.context_length": 512, "bert.embedding_length": 384 },
                "capabilities": ["embedding"],
            }),
            Some(512),
            Kind::Other,
        );
        check(json!({}), None, Kind::Chat);
    }

    #[test]
    fn a_failure_is_believed_for_less_long() {
        let failed = Listing::Failed(String::new());
        for (listing, age, fresh) in
            [(&Listing::Unlisted, 59, true), (&Listing::Unlisted, 60, false), (&failed, 4, true), (&failed, 5, false)]
        {
            assert_eq!(listing.is_fresh(Duration::from_secs(age)), fresh, "{listing:?} {age}");
        }
    }
}
