//! OpenAI's chat-completions dialect, which most vendors and local servers speak.
//!
//! `request` writes, `response`, `stream` and `failure` understand (all pure), `client` does the IO. `raw` passes on what
//! a client wrote in the dialect itself. What differs between the servers is data in `compatible.toml`.

mod client;
mod failure;
mod raw;
mod raw_body;
mod raw_events;
mod raw_usage;
mod rendered;
mod request;
mod response;
mod stream;

pub(crate) use client::{Endpoint, OpenAiChat};
pub(crate) use failure::{Failure, clean};
pub(crate) use raw::RawCalls;
pub use raw::{RawAnswer, RawCall, RawError, RawEvents, RawModel};
pub use raw_body::RawBody;
