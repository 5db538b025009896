//! OpenAI's JSON, as its SDKs check it.

pub(crate) mod chat_request;
pub(crate) mod chat_response;
