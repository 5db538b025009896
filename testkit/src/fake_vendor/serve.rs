//! The vendor's HTTP: connections, routes, and answers that come in pieces, hang or break off.
//!
//! What is answered is decided elsewhere; here it only goes over the wire.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::Vendor;
use super::log::OpenExchange;
use super::reply::{Halfway, Refusal, VendorReply};
use super::request::ChatRequest;
use super::shape::shape;
use super::wire::{self, Envelope};
use super::{VendorMode, embeddings, strict, text, tokens};
use crate::sync::Gate;

type Body = UnsyncBoxBody<Bytes, CutOff>;

/// Ends a body that must not end well.
#[derive(Debug)]
struct CutOff;

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script cuts the answer off")
    }
}

impl std::error::Error for CutOff {}

/// Answers on `listener` for ever. Dropping the future closes all connections.
pub(super) async fn serve(listener: TcpListener, vendor: Arc<Vendor>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((socket, _)) = accepted {
                    connections.spawn(connection(socket, vendor.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(socket: TcpStream, vendor: Arc<Vendor>) {
    // Pieces must leave when they are written, and a socket that refuses the option still works.
    drop(socket.set_nodelay(true));
    let answer = service_fn(move |request| route(vendor.clone(), request));
    // A client that leaves is an ordinary event here; the log has noted it.
    drop(http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await);
}

async fn route(vendor: Arc<Vendor>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Ok(refuse(&Refusal::invalid("", "the body broke off"), None));
    };
    let bytes = body.to_bytes();
    let path = parts.uri.path();
    if path == "/_requests" {
        return Ok(control(&vendor, &parts.method));
    }
    let is_chat = path == "/v1/chat/completions" && parts.method == Method::POST;
    if is_chat && vendor.options.mode == VendorMode::Plain {
        pause(vendor.options.latency).await;
        let (answer, is_stream) = vendor.plain.answer(bytes);
        return Ok(respond(StatusCode::OK, kind(is_stream), answer));
    }
    let is_text = path == "/v1/completions" && parts.method == Method::POST;
    let is_embedding = path == "/v1/embeddings" && parts.method == Method::POST;
    let exchange = vendor.log.record(parts, bytes);
    let response = if is_chat {
        chat(&vendor, exchange).await
    } else if is_embedding {
        embeddings(&vendor, exchange).await
    } else if is_text {
        texts(&vendor, &exchange)
    } else {
        exchange.finish();
        models(&vendor, &exchange)
    };
    Ok(response)
}

fn kind(is_stream: bool) -> &'static str {
    if is_stream { "text/event-stream" } else { "application/json" }
}

async fn pause(length: Duration) {
    if !length.is_zero() {
        tokio::time::sleep(length).await;
    }
}

/// The endpoint by which a person or a script looks at what was received.
fn control(vendor: &Vendor, method: &Method) -> Response<Body> {
    match *method {
        Method::GET => {
            let mut requests: Vec<Value> = vendor.chat_requests().iter().map(|request| request.to_json()).collect();
            requests.extend(vendor.plain.last().map(|body| json!({ "body": body })));
            respond_json(StatusCode::OK, &Value::Array(requests))
        }
        Method::DELETE => {
            vendor.log.clear();
            respond_json(StatusCode::OK, &json!({"cleared": true}))
        }
        _ => respond_json(StatusCode::METHOD_NOT_ALLOWED, &json!({"error": "only GET and DELETE"})),
    }
}

fn models(vendor: &Vendor, exchange: &OpenExchange) -> Response<Body> {
    let request = &exchange.request;
    let unknown = |message: &str| refuse(&Refusal { status: 404, ..Refusal::invalid("", message) }, None);
    if request.method != "GET" {
        return unknown("there is nothing at this address");
    }
    if let Err(refusal) = authorize(vendor, exchange) {
        return refuse(&refusal, None);
    }
    match request.path.strip_prefix("/v1/models") {
        Some("" | "/") => {
            let list: Vec<Value> = vendor.options.models.iter().map(wire::model).collect();
            respond_json(StatusCode::OK, &json!({"object": "list", "data": list}))
        }
        Some(rest) => match vendor.options.models.iter().find(|model| rest.strip_prefix('/') == Some(&model.id)) {
            Some(model) => respond_json(StatusCode::OK, &wire::model(model)),
            None => unknown("there is no such model"),
        },
        None => unknown("there is nothing at this address"),
    }
}

fn authorize(vendor: &Vendor, exchange: &OpenExchange) -> Result<(), Refusal> {
    let Some(key) = &vendor.options.api_key else { return Ok(()) };
    match exchange.request.header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer ")) {
        Some(given) if given == key => Ok(()),
        _ => Err(Refusal { message: "the key is not accepted".to_owned(), ..Refusal::scripted(401, None) }),
    }
}

async fn chat(vendor: &Vendor, exchange: OpenExchange) -> Response<Body> {
    pause(vendor.options.latency).await;
    let request = exchange.request.clone();
    let is_json = request.header(CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with("application/json"));
    let checked = authorize(vendor, &exchange).and_then(|()| match is_json {
        true => strict::check(&request.body),
        false => Err(Refusal::invalid("", "the content type must be application/json")),
    });
    if let Err(refusal) = checked {
        exchange.finish();
        return refuse(&refusal, None);
    }
    let chat = ChatRequest::new(&request.body);
    let tokens = vendor.options.tokens.map(|rules| (vendor.counter.count(chat, rules.count_factor), rules));
    if let Some(Err(refusal)) = tokens.map(|(count, rules)| tokens::check(chat, count, rules)) {
        exchange.refuse();
        return refuse(&refusal, None);
    }
    let reply = vendor.choose(&request.body);
    pause(reply.delay).await;
    if let Some(gate) = &reply.gate {
        gate.pass().await;
    }
    if let Some(refusal) = &reply.refusal {
        exchange.finish();
        return refuse(refusal, reply.retry_after.as_deref());
    }
    let answer = shape(&reply, chat);
    let envelope = Envelope {
        answer: &answer,
        model: chat.model(),
        number: vendor.next_number(),
        usage: wire::usage(
            tokens.map_or_else(|| wire::rough(request.bytes.len()), |(count, _)| count),
            &answer,
            reply.total_tokens,
        ),
        reasoning_field: vendor.options.reasoning_field,
    };
    let envelope = if vendor.options.reports_usage { envelope } else { Envelope { usage: Value::Null, ..envelope } };
    let beats = beats(&envelope, chat, &reply, vendor.options.pieces);
    play(beats, exchange, kind(chat.streams()))
}

async fn embeddings(vendor: &Vendor, exchange: OpenExchange) -> Response<Body> {
    let request = exchange.request.clone();
    let texts = match authorize(vendor, &exchange).and_then(|()| embeddings::texts(&request.body)) {
        Ok(texts) => texts,
        Err(refusal) => {
            exchange.finish();
            return refuse(&refusal, None);
        }
    };
    let reply = vendor.choose_embeddings(&texts);
    pause(reply.delay).await;
    if let Some(refusal) = &reply.refusal {
        exchange.finish();
        return refuse(refusal, reply.retry_after.as_deref());
    }
    let answer = embeddings::answer(&request.body, &texts, vendor.options.dimensions);
    let mut first = Bytes::from(answer.to_string());
    let second = first.split_off(first.len() / 2);
    play(halfway(vec![first], vec![second], &reply), exchange, kind(false))
}

fn texts(vendor: &Vendor, exchange: &OpenExchange) -> Response<Body> {
    let answer = authorize(vendor, exchange).and_then(|()| text::answer(&exchange.request.body));
    exchange.finish();
    match answer {
        Ok((bytes, is_stream)) => respond(StatusCode::OK, kind(is_stream), bytes),
        Err(refusal) => refuse(&refusal, None),
    }
}

/// What goes over the wire, in order.
enum Beat {
    Send(Bytes),
    Hold(Gate),
    Stall,
    Cut,
}

fn beats(envelope: &Envelope<'_>, chat: ChatRequest<'_>, reply: &VendorReply, pieces: Option<usize>) -> VecDeque<Beat> {
    let (first, second) = match chat.streams() {
        true => {
            let mut events = wire::events(envelope, pieces, chat.wants_usage() && !envelope.usage.is_null());
            // The opening and half of the pieces, one at least.
            let half = events.pieces.len().div_ceil(2).max(2).min(events.pieces.len());
            let mut second = events.pieces.split_off(half);
            second.append(&mut events.ending);
            (events.pieces, second)
        }
        false => {
            let mut first = Bytes::from(wire::completion(envelope).to_string());
            let second = first.split_off(first.len() / 2);
            (vec![first], vec![second])
        }
    };
    halfway(first, second, reply)
}

/// Both halves of an answer, with what happens between them.
fn halfway(first: Vec<Bytes>, second: Vec<Bytes>, reply: &VendorReply) -> VecDeque<Beat> {
    let mut beats: VecDeque<Beat> = first.into_iter().map(Beat::Send).collect();
    match &reply.halfway {
        Halfway::Cut => beats.push_back(Beat::Cut),
        Halfway::Stall => beats.push_back(Beat::Stall),
        Halfway::GoOn => beats.extend(second.into_iter().map(Beat::Send)),
        Halfway::Hold(gate) => {
            beats.push_back(Beat::Hold(gate.clone()));
            beats.extend(second.into_iter().map(Beat::Send));
        }
    }
    beats
}

fn play(beats: VecDeque<Beat>, exchange: OpenExchange, kind: &'static str) -> Response<Body> {
    let frames = stream::unfold((beats, exchange), |(mut beats, exchange)| async move {
        loop {
            // Yielding makes the connection write out what it has, so that every piece travels alone.
            tokio::task::yield_now().await;
            match beats.pop_front()? {
                Beat::Send(bytes) => {
                    exchange.finish_if(beats.is_empty());
                    return Some((Ok(Frame::data(bytes)), (beats, exchange)));
                }
                Beat::Hold(gate) => gate.pass().await,
                Beat::Stall => {
                    exchange.stall();
                    std::future::pending::<()>().await;
                }
                Beat::Cut => {
                    exchange.finish();
                    return Some((Err(CutOff), (VecDeque::new(), exchange)));
                }
            }
        }
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn refuse(refusal: &Refusal, retry_after: Option<&str>) -> Response<Body> {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = respond_json(status, &wire::error(refusal));
    if let Some(value) = retry_after.and_then(|text| HeaderValue::from_str(text).ok()) {
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    response
}

fn respond_json(status: StatusCode, body: &Value) -> Response<Body> {
    respond(status, "application/json", Bytes::from(body.to_string()))
}

fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Body> {
    let body = Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
