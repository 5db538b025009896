//! Whole runs: a real store, the real tools, and a model that plays a script and keeps every request.
#![cfg(test)]

mod answers;
mod compaction;
mod endings;
mod faults;
mod heartbeats;
mod house;
mod other_writers;
mod pieces;
mod played;
mod retries;
mod tool_rules;
