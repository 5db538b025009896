//! One run of one agent: a pure machine that decides, and a driver that does the IO.
//!
//! It knows nothing of HTTP, queues or other runs. Whoever keeps the order of runs hands it a [`RunPermit`].

pub mod ask_model;
mod compact;
pub mod drive;
pub mod events;
pub mod field_decoder;
pub mod input;
pub mod listener;
mod meter;
pub mod once;
mod open_step;
mod opening;
mod overflow;
mod overview;
pub mod plan;
mod render;
mod shaping;
mod step_commit;
pub mod step_loop;
mod step_messages;
mod summarise;

pub use drive::{RunPorts, drive};
pub use input::{InputMessage, Opening, RunInput, RunOptions, RunPermit};
pub use listener::EventSink;
pub use meter::TokenMeter;
pub use overview::context_overview;
pub use render::{own_sampling, system_text};
pub use summarise::{FindSummariser, Summariser};
