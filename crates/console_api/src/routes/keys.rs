//! `/console/v1/keys`: the keys of clients. A key's text is in the answer that makes it and in no other.

use axum::extract::State;
use axum::{Extension, Json};
use domain::{Actor, Caller};

use crate::ConsoleApi;
use crate::body::OptionalBody;
use crate::error::ConsoleError;
use crate::path::KeyPath;
use crate::wire::keys::{KeyBody, KeyEntry, NewKey};

/// Keys that open something, newest first, then those that were revoked.
pub(crate) async fn list(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
) -> Result<Json<Vec<KeyEntry>>, ConsoleError> {
    Ok(Json(door.dispatcher.api_keys(actor).await?.iter().map(KeyEntry::from).collect()))
}

pub(crate) async fn create(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    Extension(caller): Extension<Caller>,
    OptionalBody(body): OptionalBody<KeyBody>,
) -> Result<Json<NewKey>, ConsoleError> {
    let (key, text) = door.dispatcher.create_api_key(actor, &caller, body.try_into()?).await?;
    Ok(Json(NewKey::new(&key, &text)))
}

pub(crate) async fn revoke(
    State(door): State<ConsoleApi>,
    Extension(actor): Extension<Actor>,
    KeyPath(key): KeyPath,
) -> Result<Json<KeyEntry>, ConsoleError> {
    Ok(Json((&door.dispatcher.revoke_api_key(actor, key).await?).into()))
}
