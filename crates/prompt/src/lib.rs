//! What a model is shown: the system message, the history, the envelopes around events, and the tool schemas.
//!
//! Pure: the same input gives the same text, byte for byte, so that the vendors' prompt caches keep hitting. Nothing
//! here may do IO, read a clock, iterate a `HashMap`, or know a vendor's name (but for the table of vocabularies in
//! `tokens`); times come from the caller.

pub mod answer_shape;
pub mod base_prompts;
pub mod block_descriptions;
pub mod budget;
pub mod client_tools;
pub mod compaction;
pub mod context_overview;
pub mod directories;
pub mod extract;
pub mod heartbeats;
pub mod history;
pub mod initial;
pub mod librarian;
mod memory;
pub mod modes;
pub mod overlay;
pub mod packaging;
pub mod rule_text;
mod schema_cost;
pub mod summary;
pub mod system;
pub mod time;
pub mod tokens;
pub mod tool_specs;
