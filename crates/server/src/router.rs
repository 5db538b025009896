//! Joins the doors and stands in front of them: host, key, limits, size and faults.
//!
//! Every request passes [`pass`], and nothing else decides who comes in. It is followed to the end of its answer by an
//! [`OpenCall`], which logs and counts it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use domain::Timestamp;
use futures_util::FutureExt;
use http::{HeaderMap, header};
use openai_gateway::config::GatewayConfig;
use serde_json::json;

use crate::auth::{Admitted, Gate};
use crate::body_room::BodyRoom;
use crate::cors::Cors;
use crate::dialect::{Dialect, Refusal};
use crate::door::{Door, OpenDoors};
use crate::limits::{Limiter, RateLimits};
use crate::metrics::{self, Metrics};
use crate::open_call::OpenCall;
use crate::request_body::{self, Expectation};
use crate::wiring::House;

/// Our version, as health checks tell it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the Letta V1 API that Letta clients are told.
const LETTA_VERSION: &str = "0.16.8";

/// What all listeners count together, and the room that they share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    limiter: Arc<Limiter>,
    metrics: Arc<Metrics>,
    body_room: BodyRoom,
}

impl Counts {
    /// Nothing is counted yet.
    pub(crate) fn new(limits: RateLimits) -> Self {
        Self { limiter: Arc::new(Limiter::new(limits)), metrics: Arc::default(), body_room: BodyRoom::default() }
    }
}

/// What stands in front of the doors at one listener.
#[derive(Debug)]
pub(crate) struct Entrance {
    pub(crate) gate: Gate,
    pub(crate) doors: OpenDoors,
    pub(crate) cors: Cors,
    /// Bytes that a request's body may have.
    pub(crate) body_limit: usize,
    pub(crate) counts: Counts,
}

/// All doors of `house`. Listeners share them, with what they keep in memory.
pub(crate) fn doors(house: &House, gateway: GatewayConfig, counts: &Counts) -> Router {
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
    let (metrics, dispatcher) = (counts.metrics.clone(), dispatcher.clone());
    let figures = metrics::Figures { metrics, dispatcher, openai: openai.clone() };
    Router::new()
        .merge(letta_api::routes().with_state(letta))
        .merge(openai_gateway::routes().with_state(openai))
        .merge(console_api::routes().with_state(console))
        .route("/metrics", get(metrics::show).with_state(figures))
        .route("/health", get(health))
}

/// `doors` behind an entrance.
pub(crate) fn behind(doors: Router, entrance: Entrance) -> Router {
    doors
        .fallback(|request: Request| {
            let refusal = Refusal::not_found(request.uri().path());
            refuse(request, refusal)
        })
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
    let dialect = entrance.doors.dialect(request.uri().path());
    let Counts { limiter, metrics, .. } = &entrance.counts;
    let mut call = OpenCall::new(metrics, limiter, dialect, &request);
    let page = request.headers().get(header::ORIGIN).cloned();
    let received = entrance.receive(request, &mut call, next).await;
    let mut response = received.unwrap_or_else(|refusal| refusal.answer(dialect));
    entrance.cors.open(page.as_ref(), &mut response);
    call.answer(response)
}

impl Entrance {
    /// Answers a request, or says why not.
    async fn receive(&self, request: Request, call: &mut OpenCall, next: Next) -> Result<Response, Refusal> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        // What is closed here is not there, also for whoever holds a key.
        if !self.doors.has(Door::of_path(uri.path())) {
            return Err(Refusal::NotFound);
        }
        if let Some(answer) = self.cors.preflight(method, headers) {
            return self.gate.check_sender(uri, headers).map(|()| answer);
        }
        let admitted = self.gate.admit(method, uri, headers)?;
        self.let_in(request, admitted, call, next).await
    }

    /// Counts the request, reads its body and hands it on. A door that panics answers like one that failed.
    async fn let_in(
        &self,
        request: Request,
        Admitted { actor, caller }: Admitted,
        call: &mut OpenCall,
        next: Next,
    ) -> Result<Response, Refusal> {
        call.admit(caller.key)?;
        let (mut parts, body) = request.into_parts();
        let room = &self.counts.body_room;
        let body = request_body::read(body, expectation(&parts.headers), self.body_limit, room).await?;
        parts.extensions.insert(actor);
        parts.extensions.insert(caller);
        parts.extensions.insert(call.note());
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
