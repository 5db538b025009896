//! The whole server: the real binary over real HTTP, on a data directory of its own.
#![cfg(test)]

mod archival;
mod backup;
mod bad_input;
mod context_window;
mod crash;
mod durability;
mod embeddings;
mod first_light;
mod gateway;
mod guide_search;
mod house;
mod keys;
mod librarian;
mod long_conversation;
mod measuring;
mod one_owner;
mod operator;
mod origin_faults;
mod reembedding;
mod side_by_side;
mod strace;
mod terminal;
mod tidy;
mod undo;
