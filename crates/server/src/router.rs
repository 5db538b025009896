//! Joins the doors and stands in front of them: host, key, size, faults, and one log line for what went wrong.
//!
//! Every request passes [`pass`], and nothing else decides who comes in. A request that starts a run is logged by the
//! run; here only refusals and failures are worth a line.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use domain::Timestamp;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, header};
use openai_gateway::config::GatewayConfig;
use serde_json::json;

use crate::auth::{Admitted, Gate};
use crate::cors::Cors;
use crate::dialect::{Dialect, Refusal};
use crate::door::{Door, OpenDoors};
use crate::request_body::{self, Expectation};
use crate::wiring::House;

/// Our version, as health checks tell it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the Letta V1 API that Letta clients are told.
const LETTA_VERSION: &str = "0.16.8";

/// The header that names a request in our log.
const REQUEST_ID: &str = "x-request-id";
/// Characters of a path that a log line holds.
const LOGGED_PATH: usize = 120;

/// What stands in front of the doors at one listener.
#[derive(Debug)]
pub(crate) struct Entrance {
    pub(crate) gate: Gate,
    pub(crate) doors: OpenDoors,
    pub(crate) cors: Cors,
    /// Bytes that a request's body may have.
    pub(crate) body_limit: usize,
}

/// All doors of `house`. Listeners share them, with what they keep in memory.
pub(crate) fn doors(house: &House, gateway: GatewayConfig) -> Router {
    let (dispatcher, embedders) = (&house.dispatcher, &house.embedders);
    let letta = letta_api::LettaApi {
        dispatcher: dispatcher.clone(),
        embedders: embedders.clone(),
        search: house.search.clone(),
        version: LETTA_VERSION,
        clock: Timestamp::now,
    };
    let openai = openai_gateway::OpenAiGateway::new(dispatcher.clone(), embedders.clone(), gateway, Timestamp::now);
    let console = console_api::ConsoleApi {
        dispatcher: house.dispatcher.clone(),
        search: house.search.clone(),
        clock: Timestamp::now,
    };
    Router::new()
        .merge(letta_api::routes().with_state(letta))
        .merge(openai_gateway::routes().with_state(openai))
        .merge(console_api::routes().with_state(console))
        .route("/health", get(health))
}

/// `doors` behind an entrance.
pub(crate) fn behind(doors: Router, entrance: Entrance) -> Router {
    doors
        .fallback(|request: Request| refuse(request, Refusal::NotFound))
        .method_not_allowed_fallback(|request: Request| refuse(request, Refusal::MethodNotAllowed))
        // Bodies arrive here read and measured, so a second, smaller limit would only get in the way.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Arc::new(entrance), pass))
}

async fn health() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok", "version": VERSION }))
}

fn refuse(request: Request, refusal: Refusal) -> std::future::Ready<Response> {
    std::future::ready(refusal.answer(Dialect::of_path(request.uri().path())))
}

/// Lets a request through to its door, or says why not in the words of that door.
async fn pass(State(entrance): State<Arc<Entrance>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let page = request.headers().get(header::ORIGIN).cloned();
    let received = entrance.receive(request, next).await;
    let mut response = received.unwrap_or_else(|refusal| refusal.answer(entrance.doors.dialect(uri.path())));
    entrance.cors.open(page.as_ref(), &mut response);
    let id = format!("req-{:016x}", rand::random::<u64>());
    let status = response.status().as_u16();
    let took_ms = started.elapsed().as_millis() as u64;
    // The query may hold words of a message; the path holds ids only.
    let path: String = uri.path().chars().take(LOGGED_PATH).collect();
    if status >= 400 {
        tracing::info!(id, %method, path, status, took_ms, "request refused");
    } else {
        tracing::debug!(id, %method, path, status, took_ms, "request");
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

impl Entrance {
    /// Answers a request, or says why not.
    async fn receive(&self, request: Request, next: Next) -> Result<Response, Refusal> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        // What is closed here is not there, also for whoever holds a key.
        if !self.doors.has(Door::of_path(uri.path())) {
            return Err(Refusal::NotFound);
        }
        if let Some(answer) = self.cors.preflight(method, headers) {
            return self.gate.check_sender(uri, headers).map(|()| answer);
        }
        let admitted = self.gate.admit(method, uri, headers)?;
        self.let_in(request, admitted, next).await
    }

    /// Reads the body and hands the request on. A door that panics answers like one that failed.
    async fn let_in(&self, request: Request, admitted: Admitted, next: Next) -> Result<Response, Refusal> {
        let (mut parts, body) = request.into_parts();
        let body = request_body::read(body, expectation(&parts.headers), self.body_limit).await?;
        parts.extensions.insert(admitted.actor);
        parts.extensions.insert(admitted.caller);
        let answer = next.run(Request::from_parts(parts, Body::from(body)));
        AssertUnwindSafe(answer).catch_unwind().await.map_err(|_| Refusal::Internal).map(IntoResponse::into_response)
    }
}

fn expectation(headers: &HeaderMap) -> Expectation {
    match headers.get(header::EXPECT) {
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"100-continue") => Expectation::Continue,
        _ => Expectation::None,
    }
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
