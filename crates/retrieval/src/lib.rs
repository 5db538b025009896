//! Text in, ranked passages out: embedding, indexing and searching of messages and passages.
//!
//! It reads rows and keeps what can be made from them again. It must never hold text that a model is shown.

pub mod embed;
