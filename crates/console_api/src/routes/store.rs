//! `GET /console/v1/store`: whether the store is sound, and what it holds.

use axum::Json;
use axum::extract::State;

use crate::ConsoleApi;
use crate::error::ConsoleError;
use crate::wire::store::StoreState;

/// Looks through the whole store, which takes a while if it is large.
pub(crate) async fn check(State(door): State<ConsoleApi>) -> Result<Json<StoreState>, ConsoleError> {
    Ok(Json(door.dispatcher.store().check().await?.into()))
}
