//! One run of one agent: a pure machine that decides, and a driver that does the IO.
//!
//! It knows nothing of HTTP, queues or other runs. Whoever keeps the order of runs hands it a [`RunPermit`].

pub mod ask_model;
pub mod drive;
pub mod events;
pub mod field_decoder;
pub mod input;
pub mod listener;
pub mod plan;
mod render;
mod step_commit;
pub mod step_loop;
mod step_messages;

pub use drive::{RunPorts, drive};
pub use input::{InputMessage, RunInput, RunPermit};
pub use listener::EventSink;
pub use render::system_text;
