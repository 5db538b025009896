//! Errors in Letta's shapes. The only file of this door that knows status codes.

use std::fmt;

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dispatch::ArchiveError;
use dispatch::agent_spec::AgentError;
use dispatch::events::RunFailure;
use dispatch::request::SubmitError;
use domain::archive::PassageError;
use domain::seams::chat_model::ModelError;
use domain::{BlockError, IdError};
use storage::StoreError;

use crate::wire::errors::{ErrorBody, ModelFailure, problem};

/// SDKs repeat failed requests by themselves; one that left a trace in memory must not be repeated.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// The uuid of the example that a refused id is shown.
const EXAMPLE: &str = "123e4567-e89b-42d3-8456-426614174000";
const PATTERN: &str = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

/// An error as a Letta client is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: ErrorBody,
    retry_after: Option<u64>,
    /// False where a repetition would be applied twice or can't help.
    may_retry: bool,
}

impl ApiError {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let body = ErrorBody::Detail { detail: detail.into() };
        Self { status, body, retry_after: None, may_retry: status.is_server_error() }
    }

    /// A request that can't be read: which kind of problem, where it is, and what to do.
    pub(crate) fn invalid(kind: &str, place: &[&str], text: &str) -> Self {
        let body = ErrorBody::Invalid { trace_id: "", detail: problem(kind, place, text), examples: None };
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, body, retry_after: None, may_retry: false }
    }

    /// A text that is no id, with an example of one.
    pub(crate) fn bad_id(place: &[&str], error: &IdError) -> Self {
        let prefix = error.prefix;
        let text = format!("`{}` does not match ^{prefix}-{PATTERN}$", error.input);
        let detail = problem("string_pattern_mismatch", place, &text);
        let body = ErrorBody::Invalid { trace_id: "", detail, examples: Some([format!("{prefix}-{EXAMPLE}")]) };
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, body, retry_after: None, may_retry: false }
    }

    /// A request that is understood but can't be done as it is.
    pub(crate) fn refused(text: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("INVALID_ARGUMENT: {text}"))
    }

    /// There is no such thing.
    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, text)
    }

    /// A body that could not be taken in.
    pub(crate) fn unread_body(rejection: BytesRejection) -> Self {
        Self::new(rejection.status(), "the body could not be read")
    }

    /// A fault of ours; the details are in the log.
    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error: the server's log says more")
    }

    /// The same error where something of the request was kept already.
    pub(crate) fn not_to_be_repeated(self) -> Self {
        Self { may_retry: false, ..self }
    }

    #[cfg(test)]
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// What went wrong with a run, as a stream tells it.
    pub(crate) fn failure(&self) -> ModelFailure {
        match &self.body {
            ErrorBody::Model { error } => error.clone(),
            ErrorBody::Detail { detail } | ErrorBody::Invalid { detail, .. } => {
                ModelFailure { kind: "internal_error", message: "The run could not go on.", detail: detail.clone() }
            }
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            ErrorBody::Detail { detail } | ErrorBody::Invalid { detail, .. } => f.write_str(detail),
            ErrorBody::Model { error } => write!(f, "{} {}", error.message, error.detail),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if !self.may_retry {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match &error {
            StoreError::NotFound { .. } => Self::not_found(text),
            StoreError::Conflict { .. } => Self::new(StatusCode::CONFLICT, text),
            StoreError::Invalid(_) => Self::refused(&text),
            StoreError::Full => Self::new(StatusCode::INSUFFICIENT_STORAGE, text).not_to_be_repeated(),
            StoreError::Busy | StoreError::Closed => Self::new(StatusCode::SERVICE_UNAVAILABLE, text),
            StoreError::Corrupt(_) | StoreError::Database(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the store failed a request");
                Self::internal()
            }
        }
    }
}

impl From<BlockError> for ApiError {
    fn from(error: BlockError) -> Self {
        Self::refused(&error.to_string())
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        let text = error.to_string();
        match error {
            AgentError::NotFound(_) | AgentError::NoSuchBlock { .. } => Self::not_found(text),
            AgentError::Invalid(_) | AgentError::UnknownProvider(_) | AgentError::Unsupported(_) => {
                Self::refused(&text)
            }
            AgentError::UnknownModel(_) => Self::not_found(format!("NOT_FOUND: {text}")),
            AgentError::ModelUnavailable(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, text),
            AgentError::Block(error) => error.into(),
            AgentError::Store(error) => error.into(),
        }
    }
}

impl From<ArchiveError> for ApiError {
    fn from(error: ArchiveError) -> Self {
        let text = error.to_string();
        match error {
            ArchiveError::Passage(problem) => {
                let place = match problem {
                    PassageError::Empty | PassageError::TooLong(_) => "text",
                    PassageError::TooManyTags(_) | PassageError::BadTag => "tags",
                };
                Self::invalid("value_error", &["body", place], &text)
            }
            ArchiveError::NoSuchArchive(_) | ArchiveError::NoSuchPassage(_) => Self::not_found(text),
            ArchiveError::Agent(error) => error.into(),
        }
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        let text = error.to_string();
        match error {
            SubmitError::AgentNotFound(_) | SubmitError::ConversationNotFound(_) => Self::not_found(text),
            SubmitError::BadInput(_) | SubmitError::Blind(_) => Self::invalid("value_error", &["body"], &text),
            SubmitError::QueueFull { retry_after, .. } => Self {
                retry_after: Some(retry_after.as_secs().max(1)),
                may_retry: true,
                ..Self::new(StatusCode::TOO_MANY_REQUESTS, text)
            },
            SubmitError::ShuttingDown => Self::new(StatusCode::SERVICE_UNAVAILABLE, text),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<&RunFailure> for ApiError {
    fn from(failure: &RunFailure) -> Self {
        let text = failure.to_string();
        match failure {
            RunFailure::Model(error) => model_error(error, text),
            RunFailure::NoModel(_) => {
                let message = "The agent's model is not there: give it another, or configure its provider.";
                model(StatusCode::BAD_GATEWAY, "llm_error", message, text).not_to_be_repeated()
            }
            RunFailure::NoTool | RunFailure::BadShape(_) => Self::refused(&text),
            RunFailure::SystemTooLong(_) | RunFailure::WrongShape(_) => {
                model(StatusCode::BAD_GATEWAY, "llm_error", MODEL_FAILED, text).not_to_be_repeated()
            }
            RunFailure::AgentGone => Self::not_found(text),
            RunFailure::Stopping => Self::new(StatusCode::SERVICE_UNAVAILABLE, text),
            RunFailure::Full => Self::new(StatusCode::INSUFFICIENT_STORAGE, text).not_to_be_repeated(),
            RunFailure::Store => Self::internal(),
            RunFailure::BadReply(_) => model(StatusCode::BAD_GATEWAY, "llm_error", MODEL_FAILED, text),
        }
    }
}

const MODEL_FAILED: &str = "The agent's model failed.";

fn model_error(error: &ModelError, text: String) -> ApiError {
    match error {
        ModelError::RateLimited { retry_after, .. } => ApiError {
            retry_after: retry_after.map(|after| after.as_secs().max(1)),
            ..model(
                StatusCode::TOO_MANY_REQUESTS,
                "llm_rate_limit",
                "The model's provider limits the rate: wait, then send the message again.",
                text,
            )
        },
        ModelError::Unauthorized { .. } => {
            let message = "The model's provider does not accept this server's key for it.";
            model(StatusCode::UNAUTHORIZED, "llm_authentication", message, text).not_to_be_repeated()
        }
        ModelError::ContextTooLong { .. }
        | ModelError::Refused { .. }
        | ModelError::Filtered
        | ModelError::Rejected { .. } => {
            model(StatusCode::BAD_GATEWAY, "llm_error", MODEL_FAILED, text).not_to_be_repeated()
        }
        ModelError::Unavailable { .. } | ModelError::Broken { .. } => {
            model(StatusCode::BAD_GATEWAY, "llm_error", MODEL_FAILED, text)
        }
    }
}

fn model(status: StatusCode, kind: &'static str, message: &'static str, detail: String) -> ApiError {
    let error = ModelFailure { kind, message, detail };
    ApiError { status, body: ErrorBody::Model { error }, retry_after: None, may_retry: true }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_id_that_is_none_is_shown_one() {
        let error = "not-an-id".parse::<domain::AgentId>().expect_err("no id");
        let told = serde_json::to_value(ApiError::bad_id(&["path", "agent_id"], &error).body).expect("JSON");
        assert_eq!(told["examples"][0], "agent-123e4567-e89b-42d3-8456-426614174000");
        assert!(told["detail"].as_str().is_some_and(|detail| detail.contains("('path', 'agent_id')")), "{told}");
    }

    #[test]
    fn a_model_that_failed_has_the_status_of_its_remedy() {
        let detail = || "x".to_owned();
        for (error, status, kind) in [
            (ModelError::Unauthorized { detail: detail() }, 401, "llm_authentication"),
            (ModelError::RateLimited { retry_after: None, detail: detail() }, 429, "llm_rate_limit"),
            (ModelError::Unavailable { detail: detail() }, 502, "llm_error"),
            (ModelError::Rejected { detail: detail() }, 502, "llm_error"),
            (ModelError::ContextTooLong { detail: detail() }, 502, "llm_error"),
        ] {
            let told = ApiError::from(&RunFailure::Model(error));
            assert_eq!((told.status.as_u16(), told.failure().kind), (status, kind));
        }
    }

    #[test]
    fn a_full_queue_says_when_to_come_back() {
        let full = SubmitError::QueueFull { what: "this conversation", retry_after: Duration::from_secs(1) };
        let response = ApiError::from(full).into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "1");
        assert!(!response.headers().contains_key("x-should-retry"));
    }

    #[test]
    fn what_was_kept_is_not_sent_again() {
        let failed = RunFailure::Model(ModelError::Broken { detail: "cut".into() });
        assert!(!ApiError::from(&failed).into_response().headers().contains_key("x-should-retry"));
        let kept = ApiError::from(&failed).not_to_be_repeated().into_response();
        assert_eq!(kept.headers()["x-should-retry"], "false");
    }
}
