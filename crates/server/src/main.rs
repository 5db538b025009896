//! The binary `librarian`: reads the configuration, builds the rooms and opens the doors.
//!
//! No logic lives in this crate. What an agent does belongs to the rooms behind the doors, and what a client may say
//! belongs to the doors.

mod answer_headers;
mod auth;
mod background;
mod body_room;
mod brought_keys;
mod cli;
mod config;
mod config_file;
mod cors;
mod data_dir;
mod dialect;
mod door;
mod doors;
mod first_agent;
mod gateway_config;
mod hosts;
mod limits;
mod listen;
mod logging;
mod metrics;
mod open_call;
mod reading_client;
mod request_body;
mod router;
mod secret;
mod serve;
mod system_prompts;
mod wiring;

use std::process::ExitCode;

// Messages are made and dropped in small pieces by several threads at once, which the system allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
