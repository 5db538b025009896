//! OpenAI's chat-completions dialect, which most vendors and local servers speak.
//!
//! `request` writes, `response`, `stream` and `failure` understand (all pure), `client` does the IO. What differs
//! between the servers is data in `compatible.toml`.

mod client;
mod failure;
mod rendered;
mod request;
mod response;
mod stream;

pub(crate) use client::{Endpoint, OpenAiChat};
pub(crate) use failure::{Failure, clean};
