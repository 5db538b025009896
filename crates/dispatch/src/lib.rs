//! Many runs: which, when and in what order; and the making of agents.
//!
//! Doors translate their dialect into calls of the [`Dispatcher`] and its events back. Nothing here knows a wire
//! format, and no text that a model is shown is written here.

pub mod agent_spec;
mod api_keys;
mod archives;
mod builtin_tools;
mod check;
mod context;
mod create_agent;
mod dispatcher;
mod floor;
mod model_choice;
mod modify_agent;
mod modify_block;
mod names;
mod older_agents;
mod once;
mod open_run;
mod permits;
pub mod request;
mod summarisers;
pub mod tally;
mod undo_block;
mod undo_plan;

pub use agent::events;
pub use api_keys::{KeyError, KeySpec, KeyText};
pub use archives::{ArchiveError, ArchivePatch, ArchiveSpec, MAX_BATCH, PassageSpec};
pub use check::check_opening;
pub use dispatcher::{DispatchConfig, Dispatcher};
pub use floor::{Floor, FloorRequest};
pub use once::{OnceModel, OnceRequest};
pub use permits::QueueLimits;
pub use prompt::context_overview::{ContextOverview, Section};
pub use tools::moments;
pub use undo_block::{UndoError, UndoRequest, Undone};
pub use undo_plan::{Direction, UndoStep};
