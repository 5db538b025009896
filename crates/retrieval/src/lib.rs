//! Text in, ranked passages out: embedding, indexing and searching of messages and passages.
//!
//! It reads rows and keeps what can be made from them again. It must never hold text that a model is shown.

mod document;
pub mod embed;
mod index;
mod segment;
mod vectors;
mod words;

pub use document::searchable_text;
