//! `GET /v1/models/` and `GET /v1/models/embedding`: the models that agents may be given.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::Actor;

use crate::LettaApi;
use crate::query::Query;
use crate::wire::models::{EmbeddingModel, Model};

pub(crate) async fn list(State(door): State<LettaApi>, Extension(_): Extension<Actor>, query: Query) -> Response {
    let models = door.dispatcher.models();
    let wanted = query.text("provider_name");
    let entries = models.models().await;
    let providers = models.providers();
    let shown: Vec<Model<'_>> = entries
        .iter()
        .filter(|entry| wanted.is_none_or(|name| entry.handle.provider() == name))
        .map(|entry| {
            let provider = providers.iter().find(|provider| provider.name == entry.handle.provider());
            Model::new(entry, provider.map(|provider| provider.base_url.as_str()))
        })
        .collect();
    Json(shown).into_response()
}

pub(crate) async fn list_embedding(State(door): State<LettaApi>, Extension(_): Extension<Actor>) -> Response {
    let models = door.dispatcher.models();
    let local = door.embedders.local();
    let entries = models.embedding_models().await;
    let providers = models.providers();
    let mut shown: Vec<EmbeddingModel<'_>> = local.iter().map(EmbeddingModel::local).collect();
    shown.extend(entries.iter().map(|entry| {
        let provider = providers.iter().find(|provider| provider.name == entry.handle.provider());
        EmbeddingModel::of_provider(entry, provider.map(|provider| provider.base_url.as_str()))
    }));
    Json(shown).into_response()
}
