//! The whole server: the real binary over real HTTP, on a data directory of its own.
#![cfg(test)]

mod bad_input;
mod crash;
mod durability;
mod embeddings;
mod first_light;
mod house;
mod one_owner;
mod side_by_side;
mod strace;
mod tidy;
