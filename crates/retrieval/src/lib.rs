//! Text in, ranked passages out: embedding, indexing and searching of messages and passages.
//!
//! It reads rows and keeps what can be made from them again. It must never hold text that a model is shown.

mod calendar;
mod document;
pub mod embed;
pub mod eval;
mod filter;
mod index;
mod indexer;
mod keep_up;
mod question;
mod rank;
mod scopes;
mod search;
mod second_look;
mod segment;
mod vectors;
mod word_meaning;
mod words;

pub use document::searchable_text;
pub use filter::Whose;
pub use indexer::{IndexError, Progress};
pub use rank::Ingredients;
pub use search::{ArchivalQuery, Found, Hit, MAX_RESULTS, RecallQuery, Relevance, Search, SearchMode};
