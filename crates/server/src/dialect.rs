//! In which words a refusal is told: each door has its own shape of errors.
//!
//! It holds errors of the house itself (no such route, no key, too large); what goes wrong behind a door is told by
//! that door.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::json;

use crate::answer_headers;
use crate::door::{Door, is_responses_api};
use crate::limits::Excess;
use crate::request_body::MIB;

/// Whose shape of errors a client expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Letta,
    OpenAi,
    Console,
}

impl Dialect {
    /// The dialect of the door that `path` leads to. What belongs to none is answered as Letta would.
    pub(crate) fn of_path(path: &str) -> Self {
        Door::of_path(path).dialect()
    }
}

/// Why a request was not let through to a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No key, or a wrong one.
    Unauthorized,
    /// An API key that was never made or was revoked, or that stands where it can't be read.
    UnknownKey,
    /// An API key that opens other doors.
    WrongDoor,
    /// The request is not meant for this server, or does not say for whom it is.
    WrongHost(String),
    /// A page of another site sent it.
    ForeignOrigin(String),
    NotFound,
    /// OpenAI's newer dialect, which some SDKs speak unless they are told otherwise.
    NoResponsesApi,
    MethodNotAllowed,
    /// The body has more bytes than the limit.
    TooLarge {
        limit: usize,
    },
    /// The body did not arrive in time.
    TooSlow,
    /// The body could not be read to its end.
    CutBody,
    /// The key has used up what it may.
    OverLimit(Excess),
    /// A fault of ours; the log has the details.
    Internal,
}

impl Refusal {
    /// There is nothing at `path`.
    pub(crate) fn not_found(path: &str) -> Self {
        if is_responses_api(path) { Self::NoResponsesApi } else { Self::NotFound }
    }

    /// The status that all dialects share.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized | Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::WrongDoor => StatusCode::FORBIDDEN,
            Self::WrongHost(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::ForeignOrigin(_) => StatusCode::FORBIDDEN,
            Self::NotFound | Self::NoResponsesApi => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::CutBody => StatusCode::BAD_REQUEST,
            Self::OverLimit(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The answer in the words of `dialect`.
    pub(crate) fn answer(&self, dialect: Dialect) -> Response {
        let body = match dialect {
            Dialect::Letta => json!({ "detail": self.letta_text() }),
            Dialect::Console => json!({ "error": { "code": self.console_code(), "message": self.console_text() } }),
            Dialect::OpenAi => {
                let kind = self.openai_kind();
                json!({ "error": {
                    "message": self.openai_text(), "type": kind, "param": null, "code": self.openai_code(),
                } })
            }
        };
        let mut response = (self.status(), Json(body)).into_response();
        if self.status() == StatusCode::UNAUTHORIZED {
            let scheme = http::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, scheme);
        }
        if let Self::OverLimit(excess) = self {
            answer_headers::retry(response.headers_mut(), excess);
        }
        response
    }

    /// What both dialects say where neither has fixed words.
    fn text(&self) -> String {
        match self {
            Self::Unauthorized | Self::UnknownKey => "Unauthorized".to_owned(),
            Self::WrongDoor => "this API key opens OpenAI's door only: use the server's own key, or one that was made \
                                with `librarian keys create --letta`"
                .to_owned(),
            Self::WrongHost(text) | Self::ForeignOrigin(text) => text.clone(),
            Self::NotFound | Self::NoResponsesApi => "Not Found".to_owned(),
            Self::MethodNotAllowed => "Method Not Allowed".to_owned(),
            Self::TooLarge { limit } => {
                let limit = limit / MIB;
                format!(
                    "the request body is larger than the limit of {limit} MiB: send less in one request, or raise \
                     `body_mib` in the section [limits] of librarian.toml"
                )
            }
            Self::TooSlow => "the request body did not arrive in time: send it again".to_owned(),
            Self::CutBody => "the request body ended early: send it again".to_owned(),
            Self::OverLimit(excess) => excess.text(),
            Self::Internal => "internal error".to_owned(),
        }
    }

    fn letta_text(&self) -> String {
        self.text()
    }

    fn console_text(&self) -> String {
        match self {
            Self::Unauthorized | Self::UnknownKey => {
                "the console wants the API key of this server, or the secret of its data directory".to_owned()
            }
            Self::WrongDoor => "API keys of clients don't open the console: use the server's own key".to_owned(),
            Self::NotFound | Self::NoResponsesApi => {
                "the console has no such route: is the server of another version?".to_owned()
            }
            Self::MethodNotAllowed
            | Self::WrongHost(_)
            | Self::ForeignOrigin(_)
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::CutBody
            | Self::OverLimit(_)
            | Self::Internal => self.text(),
        }
    }

    fn console_code(&self) -> &'static str {
        match self {
            Self::Unauthorized | Self::UnknownKey => "unauthorized",
            Self::WrongDoor => "forbidden",
            Self::WrongHost(_) => "wrong_host",
            Self::ForeignOrigin(_) => "foreign_origin",
            Self::NotFound | Self::NoResponsesApi => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::TooLarge { .. } => "too_large",
            Self::TooSlow => "too_slow",
            Self::CutBody => "cut_body",
            Self::OverLimit(_) => "rate_limit_exceeded",
            Self::Internal => "internal_error",
        }
    }

    fn openai_text(&self) -> String {
        match self {
            Self::Unauthorized => "this server wants its API key: send it as `Authorization: Bearer <key>`".to_owned(),
            Self::UnknownKey => {
                "Incorrect API key provided: this server does not know it, or it was revoked. Send one \
                                 key, as `Authorization: Bearer lib-…`."
                    .to_owned()
            }
            Self::NotFound => "this URL does not exist: this server answers POST /v1/chat/completions, \
                               POST /v1/completions, POST /v1/embeddings and GET /v1/models"
                .to_owned(),
            Self::NoResponsesApi => "this server has no Responses API: it answers POST /v1/chat/completions. Call \
                                     `client.chat.completions.create`, or choose chat completions in your framework: \
                                     `openai.chat(model)`, `set_default_openai_api(\"chat_completions\")`, \
                                     `use_responses_api=False`."
                .to_owned(),
            Self::MethodNotAllowed => "this URL does not take that HTTP method".to_owned(),
            Self::WrongDoor
            | Self::WrongHost(_)
            | Self::ForeignOrigin(_)
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::CutBody
            | Self::OverLimit(_)
            | Self::Internal => self.text(),
        }
    }

    fn openai_kind(&self) -> &'static str {
        match self {
            Self::OverLimit(excess) => excess.kind(),
            _ if self.status().is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    fn openai_code(&self) -> Option<&'static str> {
        match self {
            Self::Unauthorized | Self::UnknownKey => Some("invalid_api_key"),
            Self::WrongDoor => Some("insufficient_permissions"),
            Self::WrongHost(_) => Some("wrong_host"),
            Self::ForeignOrigin(_) => Some("foreign_origin"),
            Self::NotFound | Self::NoResponsesApi => Some("unknown_url"),
            Self::MethodNotAllowed => Some("method_not_supported"),
            Self::TooLarge { .. } => Some("request_too_large"),
            Self::OverLimit(_) => Some("rate_limit_exceeded"),
            Self::TooSlow | Self::CutBody | Self::Internal => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_names_the_scheme() {
        let response = Refusal::Unauthorized.answer(Dialect::Letta);
        assert_eq!(response.status(), 401);
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
    }
}
