//! What an agent may call, and the doing of it.
//!
//! `rules` decides which tools may be called next, `catalog` knows the built-in tools, `memory` does their edits of
//! core memory, `recall` and `archival` search, and [`Toolbox`] runs calls. A tool looks at the store and at its step's
//! working copy and answers with changes; nothing here may write to a store, and nothing here knows the loop or a door.

pub mod archival;
pub mod arguments;
pub mod catalog;
mod fields;
pub mod memory;
pub mod moments;
mod recall;
pub mod rules;
mod toolbox;

pub use toolbox::Toolbox;
