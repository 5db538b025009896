//! Errors in OpenAI's shape. The only file of this door that knows status codes.

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dispatch::events::RunFailure;
use dispatch::request::SubmitError;
use domain::StopReason;
use domain::embedding::BUILTIN_EMBEDDING;
use domain::seams::chat_model::ModelError;
use domain::seams::embedder::EmbedError;
use providers::RawError;
use serde_json::{Value, json};
use storage::StoreError;

/// SDKs repeat failed requests by themselves; one that left a trace in memory must not be repeated.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An error as an OpenAI client is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub status: StatusCode,
    pub kind: &'static str,
    pub message: String,
    pub param: Option<&'static str>,
    pub code: Option<&'static str>,
    pub retry_after: Option<u64>,
    /// False where a repetition would be applied twice or can't help.
    pub may_retry: bool,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, kind, message, param: None, code: None, retry_after: None, may_retry: true }
    }

    /// The request can't be understood or done as it is.
    pub fn invalid(message: impl Into<String>, param: Option<&'static str>, code: Option<&'static str>) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message);
        Self { param, code, may_retry: false, ..error }
    }

    /// A request without, or with a wrong, key.
    pub fn unauthorized() -> Self {
        let text = "Incorrect API key provided. Send the key of this Librarian as `Authorization: Bearer <key>`.";
        let error = Self::new(StatusCode::UNAUTHORIZED, "authentication_error", text);
        Self { code: Some("invalid_api_key"), may_retry: false, ..error }
    }

    /// Any other status, for the layers around the door.
    pub fn plain(status: StatusCode, message: impl Into<String>) -> Self {
        let kind = if status.is_server_error() { "server_error" } else { "invalid_request_error" };
        Self { may_retry: status.is_server_error(), ..Self::new(status, kind, message) }
    }

    /// There is no agent of that name or id, or none for which the alias of that name stands.
    pub(crate) fn unknown_model(model: &str, stands_for: Option<&str>, known: &[String]) -> Self {
        let shown: String = model.chars().take(200).collect();
        let reason = match stands_for {
            // Who gets here with a handle wants what is turned off, or what this key is not for.
            None if model.contains('/') => {
                "a model is an agent's name or id, and `provider/model` is not open here (`[gateway] pass_through` in \
                 librarian.toml)"
                    .to_owned()
            }
            None => "a model is an agent's name or id".to_owned(),
            Some(agent) => format!("it is an alias of the agent `{agent}`, which does not exist"),
        };
        let known = if known.is_empty() { "there are no agents yet".to_owned() } else { known.join(", ") };
        let text = format!("The model `{shown}` does not exist: {reason}. Agents: {known}.");
        let error = Self::new(StatusCode::NOT_FOUND, "invalid_request_error", text);
        Self { param: Some("model"), code: Some("model_not_found"), may_retry: false, ..error }
    }

    /// There is nothing at this address.
    pub(crate) fn unknown_url() -> Self {
        let error = Self::new(StatusCode::NOT_FOUND, "invalid_request_error", "This URL does not exist.");
        Self { code: Some("unknown_url"), may_retry: false, ..error }
    }

    /// There is no model of that handle.
    pub(crate) fn unknown_handle(text: &str) -> Self {
        let error = Self::new(StatusCode::NOT_FOUND, "invalid_request_error", text);
        Self { param: Some("model"), code: Some("model_not_found"), may_retry: false, ..error }
    }

    /// There is no embedding model of that name.
    pub(crate) fn unknown_embedding(model: &str, hint: Option<&str>) -> Self {
        let shown: String = model.chars().take(200).collect();
        let usual = || format!("use `{BUILTIN_EMBEDDING}`, or `provider/model` for one of a configured provider");
        let hint = hint.map_or_else(usual, str::to_owned);
        let text = format!("The embedding model `{shown}` does not exist: {hint}.");
        let error = Self::new(StatusCode::NOT_FOUND, "invalid_request_error", text);
        Self { param: Some("model"), code: Some("model_not_found"), may_retry: false, ..error }
    }

    /// Several agents have that name.
    pub(crate) fn ambiguous_model(model: &str, ids: &[String]) -> Self {
        let text = format!("Several agents are named `{model}`; use one of their ids: {}.", ids.join(", "));
        let error = Self::new(StatusCode::CONFLICT, "invalid_request_error", text);
        Self { param: Some("model"), code: Some("ambiguous_model"), may_retry: false, ..error }
    }

    /// An idempotency key that was used for something else.
    pub(crate) fn other_body() -> Self {
        let text = "This `Idempotency-Key` was used for another request: use a new key for a new request.";
        let error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request_error", text);
        Self { code: Some("idempotency_key_reused"), may_retry: false, ..error }
    }

    /// A run that ended before it had an answer.
    pub(crate) fn unfinished(reason: StopReason) -> Self {
        let text = format!("The agent stopped before it had an answer ({}).", reason.as_str());
        Self { may_retry: false, ..Self::new(StatusCode::BAD_GATEWAY, "api_error", text) }
    }

    /// A fault of ours; the details are in the log.
    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "Internal error. The server's log says more.")
    }

    /// The same error where something of the request was kept already.
    pub(crate) fn not_to_be_repeated(self) -> Self {
        Self { may_retry: false, ..self }
    }

    /// The body, which is also sent as an event where a stream has begun.
    pub fn body(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}})
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
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

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> Self {
        let status = rejection.status();
        let too_large = status == StatusCode::PAYLOAD_TOO_LARGE;
        let text = if too_large { "The body is larger than this server takes." } else { "The body could not be read." };
        Self::plain(status, text)
    }
}

impl From<EmbedError> for ApiError {
    fn from(error: EmbedError) -> Self {
        let text = error.to_string();
        match error {
            EmbedError::Unknown { handle, hint } => Self::unknown_embedding(handle.as_str(), hint),
            EmbedError::Unavailable { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", text),
            // The key or the model that was rejected is the operator's; the same request will fail again.
            EmbedError::Rejected { .. } => {
                Self { may_retry: false, ..Self::new(StatusCode::BAD_GATEWAY, "api_error", text) }
            }
            EmbedError::Broken { .. } => Self::new(StatusCode::BAD_GATEWAY, "api_error", text),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the store failed a request");
        Self::internal()
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        let text = error.to_string();
        match error {
            SubmitError::AgentNotFound(_) | SubmitError::ConversationNotFound(_) => {
                let error = Self::new(StatusCode::NOT_FOUND, "invalid_request_error", text);
                Self { param: Some("model"), code: Some("model_not_found"), may_retry: false, ..error }
            }
            SubmitError::BadInput(_) => Self::invalid(text, Some("messages"), Some("invalid_value")),
            SubmitError::Blind(_) => Self::invalid(text, Some("messages"), Some("unsupported_value")),
            SubmitError::QueueFull { retry_after, .. } => {
                let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", text);
                Self { code: Some("rate_limit_exceeded"), retry_after: Some(retry_after.as_secs().max(1)), ..error }
            }
            SubmitError::ShuttingDown => Self::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", text),
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
                Self { may_retry: false, ..Self::new(StatusCode::BAD_GATEWAY, "api_error", text) }
            }
            RunFailure::NoTool => Self::invalid(text, Some("model"), Some("no_tool")),
            RunFailure::SystemTooLong(_) => Self::invalid(text, Some("model"), Some("context_length_exceeded")),
            RunFailure::AgentGone => Self::new(StatusCode::NOT_FOUND, "invalid_request_error", text),
            RunFailure::Stopping => Self::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", text),
            RunFailure::Full => {
                let error = Self::new(StatusCode::INSUFFICIENT_STORAGE, "server_error", text);
                Self { code: Some("insufficient_storage"), may_retry: false, ..error }
            }
            RunFailure::Store => Self::internal(),
            RunFailure::BadReply(_) => Self::new(StatusCode::BAD_GATEWAY, "api_error", text),
            RunFailure::BadShape(_) => Self::invalid(text, Some("response_format"), Some("invalid_json_schema")),
            RunFailure::WrongShape(_) => {
                let error = Self::new(StatusCode::BAD_GATEWAY, "api_error", text);
                Self {
                    param: Some("response_format"),
                    code: Some("invalid_response_format"),
                    may_retry: false,
                    ..error
                }
            }
        }
    }
}

impl From<RawError> for ApiError {
    fn from(error: RawError) -> Self {
        let text = error.to_string();
        match &error {
            RawError::UnknownModel { .. } => Self::unknown_handle(&text),
            // What was rejected is the body as this client wrote it.
            RawError::Failed(ModelError::Rejected { .. }) => Self::invalid(text, None, None),
            RawError::Failed(error) => model_error(error, text),
        }
    }
}

fn model_error(error: &ModelError, text: String) -> ApiError {
    let upstream = |status| ApiError::new(status, "api_error", text.clone());
    match error {
        ModelError::RateLimited { retry_after, .. } => ApiError {
            kind: "rate_limit_error",
            code: Some("rate_limit_exceeded"),
            retry_after: retry_after.map(|after| after.as_secs().max(1)),
            ..upstream(StatusCode::TOO_MANY_REQUESTS)
        },
        ModelError::ContextTooLong { .. } => ApiError::invalid(text, Some("messages"), Some("context_length_exceeded")),
        ModelError::Refused { .. } | ModelError::Filtered => {
            ApiError::invalid(text, Some("messages"), Some("content_policy_violation"))
        }
        // The key that failed is the operator's, not the one that this client sent.
        ModelError::Unauthorized { .. } | ModelError::Rejected { .. } => {
            ApiError { may_retry: false, ..upstream(StatusCode::BAD_GATEWAY) }
        }
        ModelError::Unavailable { .. } => upstream(StatusCode::SERVICE_UNAVAILABLE),
        ModelError::Broken { .. } => upstream(StatusCode::BAD_GATEWAY),
    }
}
