//! OpenAI's embeddings dialect, which Ollama, LM Studio, vLLM and most others speak too.
//!
//! `wire` writes and understands (pure), `client` makes batches and does the IO. What differs between the servers is
//! data in `compatible.toml`.

mod client;
mod wire;

pub(crate) use client::OpenAiEmbeddings;
