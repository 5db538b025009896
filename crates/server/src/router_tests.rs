//! Tests of what stands in front of the doors, with doors made for the purpose.

use std::net::IpAddr;

use axum::Extension;
use axum::body::Bytes;
use axum::routing::post;
use domain::Actor;
use expect_test::{Expect, expect};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::*;
use crate::secret::Secret;

async fn broken() -> Response {
    panic!("a secret text")
}

fn doors() -> Router {
    let echo =
        |Extension(actor): Extension<Actor>, body: Bytes| async move { format!("{} {}", actor.user, body.len()) };
    let doors = Router::new()
        .route("/health", get(health))
        .route("/v1/agents/", post(echo))
        .route("/v1/chat/completions", post(broken))
        .route("/v1/blocks/", get(broken));
    let gate = Gate::of_command(IpAddr::from([127, 0, 0, 1]), &Secret::new("key").unwrap());
    let body_limit = 8 * request_body::MIB;
    behind(
        doors,
        Entrance { gate, doors: OpenDoors::all(), cors: Cors::default(), body_limit, counts: Counts::default() },
    )
}

async fn check(request: http::request::Builder, body: Body, expected: &Expect) {
    let request = request.header("host", "localhost").header("authorization", "Bearer key").body(body).unwrap();
    let response = doors().oneshot(request).await.unwrap();
    assert!(response.headers()["x-request-id"].to_str().unwrap().starts_with("req-"));
    let status = response.status();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    expected.assert_eq(&format!("{} {}", status.as_u16(), String::from_utf8_lossy(&text)));
}

#[tokio::test]
async fn a_request_reaches_its_door_with_its_actor() {
    let request = Request::post("/v1/agents/");
    check(request, Body::from("12345"), &expect!["200 user-00000000-0000-4000-8000-000000000000 5"]).await;
    check(Request::get("/health"), Body::empty(), &expect![[r#"200 {"status":"ok","version":"0.1.0"}"#]]).await;
}

#[tokio::test]
async fn refusals_speak_the_dialect_of_the_door() {
    check(Request::get("/v1/nothing"), Body::empty(), &expect![[r#"404 {"detail":"Not Found"}"#]]).await;
    check(Request::get("/v1/models/x"), Body::empty(), &expect![[r#"404 {"error":{"message":"this URL does not exist: this server answers POST /v1/chat/completions, POST /v1/completions, POST /v1/embeddings and GET /v1/models","type":"invalid_request_error","param":null,"code":"unknown_url"}}"#]]).await;
    check(Request::get("/console/v1/x"), Body::empty(), &expect![[r#"404 {"error":{"code":"not_found","message":"the console has no such route: is the server of another version?"}}"#]]).await;
    check(Request::delete("/v1/agents/"), Body::empty(), &expect![[r#"405 {"detail":"Method Not Allowed"}"#]]).await;
    check(Request::get("/v1/chat/completions"), Body::empty(), &expect![[r#"405 {"error":{"message":"this URL does not take that HTTP method","type":"invalid_request_error","param":null,"code":"method_not_supported"}}"#]]).await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_told_so() {
    let large = || Body::from(vec![b' '; 10_000_000]);
    check(
        Request::post("/v1/agents/"),
        large(),
        &expect![[
            r#"413 {"detail":"the request body is larger than the limit of 8 MiB: send less in one request, or raise `body_mib` in the section [limits] of librarian.toml"}"#
        ]],
    )
    .await;
    check(Request::post("/v1/chat/completions"), large(), &expect![[r#"413 {"error":{"message":"the request body is larger than the limit of 8 MiB: send less in one request, or raise `body_mib` in the section [limits] of librarian.toml","type":"invalid_request_error","param":null,"code":"request_too_large"}}"#]]).await;
}

#[tokio::test]
async fn a_body_larger_than_the_frameworks_own_limit_is_taken() {
    let large = Body::from(vec![b' '; 4_000_000]);
    let expected = expect!["200 user-00000000-0000-4000-8000-000000000000 4000000"];
    check(Request::post("/v1/agents/"), large, &expected).await;
}

#[tokio::test]
async fn a_panic_is_answered() {
    check(Request::get("/v1/blocks/"), Body::empty(), &expect![[r#"500 {"detail":"internal error"}"#]]).await;
    check(
        Request::post("/v1/chat/completions"),
        Body::empty(),
        &expect![[r#"500 {"error":{"message":"internal error","type":"server_error","param":null,"code":null}}"#]],
    )
    .await;
}

#[tokio::test]
async fn without_the_key_nothing_opens() {
    let request = Request::post("/v1/agents/").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(doors().oneshot(request).await.unwrap().status(), 401);
}
