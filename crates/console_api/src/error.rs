//! Errors of the console, in one shape: `{"error": {"code", "message"}}`. The only file of this door that knows status
//! codes.

use axum::Json;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dispatch::agent_spec::AgentError;
use dispatch::{KeyError, UndoError};
use domain::IdError;
use domain::seams::embedder::EmbedError;
use retrieval::IndexError;
use serde_json::json;
use storage::StoreError;

/// An error as a client of the console is told it: a word for programs and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsoleError {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl ConsoleError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// There is no such thing.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// A request that makes no sense as it is.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    fn internal() -> Self {
        let message = "internal error: the server's log says more";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message)
    }

    fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }
}

impl IntoResponse for ConsoleError {
    fn into_response(self) -> Response {
        let body = json!({ "error": { "code": self.code, "message": self.message } });
        (self.status, Json(body)).into_response()
    }
}

impl From<StoreError> for ConsoleError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match &error {
            StoreError::NotFound { .. } => Self::not_found(text),
            StoreError::Conflict { .. } => Self::conflict(text),
            StoreError::Invalid(_) => Self::invalid(text),
            StoreError::Full => Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", text),
            StoreError::Busy | StoreError::Closed => Self::unavailable(text),
            StoreError::Corrupt(_) | StoreError::Database(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the store failed a request");
                Self::internal()
            }
        }
    }
}

impl From<IndexError> for ConsoleError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Store(error) => error.into(),
            IndexError::Embed(error) => error.into(),
        }
    }
}

impl From<EmbedError> for ConsoleError {
    fn from(error: EmbedError) -> Self {
        let text = error.to_string();
        match error {
            EmbedError::Unknown { .. } => Self::not_found(text),
            EmbedError::Rejected { .. } => Self::invalid(text),
            EmbedError::Unavailable { .. } | EmbedError::Broken { .. } => Self::unavailable(text),
        }
    }
}

impl From<AgentError> for ConsoleError {
    fn from(error: AgentError) -> Self {
        let text = error.to_string();
        match error {
            AgentError::NotFound(_) | AgentError::NoSuchBlock { .. } | AgentError::UnknownModel(_) => {
                Self::not_found(text)
            }
            AgentError::Invalid(_)
            | AgentError::UnknownProvider(_)
            | AgentError::Unsupported(_)
            | AgentError::Block(_) => Self::invalid(text),
            AgentError::ModelUnavailable(_) => Self::unavailable(text),
            AgentError::Store(error) => error.into(),
        }
    }
}

impl From<UndoError> for ConsoleError {
    fn from(error: UndoError) -> Self {
        let text = error.to_string();
        match error {
            UndoError::NothingToUndo(_) => Self::new(StatusCode::CONFLICT, "nothing_to_undo", text),
            UndoError::NothingToRedo(_) => Self::new(StatusCode::CONFLICT, "nothing_to_redo", text),
            UndoError::Outdated { .. } => Self::new(StatusCode::CONFLICT, "outdated", text),
            UndoError::LabelTaken { .. } => Self::new(StatusCode::CONFLICT, "label_taken", text),
            UndoError::Agent(error) => error.into(),
        }
    }
}

impl From<KeyError> for ConsoleError {
    fn from(error: KeyError) -> Self {
        let text = error.to_string();
        match error {
            KeyError::Invalid(_) => Self::invalid(text),
            KeyError::NameTaken(_) => Self::new(StatusCode::CONFLICT, "name_taken", text),
            KeyError::NoSuchKey(_) => Self::not_found(text),
            KeyError::TooWide => Self::new(StatusCode::FORBIDDEN, "forbidden", text),
            KeyError::NoRandomNumbers => {
                tracing::error!("the system has no random numbers");
                Self::internal()
            }
            KeyError::Store(error) => error.into(),
        }
    }
}

impl From<IdError> for ConsoleError {
    fn from(error: IdError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<QueryRejection> for ConsoleError {
    fn from(rejection: QueryRejection) -> Self {
        Self::invalid(rejection.body_text())
    }
}

impl From<BytesRejection> for ConsoleError {
    fn from(rejection: BytesRejection) -> Self {
        Self::new(rejection.status(), "unread_body", "the body could not be read: send it again")
    }
}
