//! What an agent may call, and the doing of it.
//!
//! `rules` decides which tools may be called next, `catalog` knows the built-in tools, `memory` does their edits of
//! core memory, and [`Toolbox`] runs calls. A tool looks at its step's working copy and answers with changes; nothing
//! here may write to a store, and nothing here knows the loop or a door.

pub mod arguments;
pub mod catalog;
pub mod memory;
pub mod rules;
mod toolbox;

pub use toolbox::Toolbox;
