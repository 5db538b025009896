//! Texts that a client sends as token ids.
//!
//! The ids are those of cl100k_base, by which OpenAI's clients (LangChain among them) split texts for embedding models.

use serde_json::Value;

use super::wrong_type;
use crate::error::ApiError;

/// Tokens that one text may have.
pub(crate) const MAX_TOKENS: usize = 8_192;

/// Whether a list holds ids and not texts or lists.
pub(super) fn are_ids(list: &[Value]) -> bool {
    list.first().is_some_and(Value::is_number)
}

/// The text that these ids spell; `place` is how the error names them.
pub(super) fn spelled(list: &[Value], param: &'static str, place: &str) -> Result<String, ApiError> {
    if list.is_empty() {
        return Err(ApiError::invalid(format!("`{place}` is empty."), Some(param), Some("invalid_value")));
    }
    if list.len() > MAX_TOKENS {
        return Err(too_many(param, place, list.len()));
    }
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let ids: Option<Vec<u32>> = list.iter().map(id).collect();
    let ids = ids.ok_or_else(|| wrong_type(param, "texts or lists of token ids, and not both in one"))?;
    prompt::tokens::cl100k_text(&ids).map_err(|unknown| {
        let text = format!("`{place}` holds {unknown}, which is no token id of cl100k_base: send the text instead.");
        ApiError::invalid(text, Some(param), Some("invalid_value"))
    })
}

/// A text of too many tokens.
pub(super) fn too_many(param: &'static str, place: &str, count: usize) -> ApiError {
    let text = format!("`{place}` has {count} tokens, and the limit is {MAX_TOKENS}: cut it into parts.");
    ApiError::invalid(text, Some(param), Some("context_length_exceeded"))
}
