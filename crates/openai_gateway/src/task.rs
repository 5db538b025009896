//! Whether a request is a task that a client sets for itself, such as a title for a chat.

use crate::wire::chat_request::ChatRequest;

/// Whether `request` is about a chat and no part of it.
pub(crate) fn is_task(request: &ChatRequest) -> bool {
    request.metadata.contains_key("task")
}
