//! One suite for the store, through its public interface. Where a test must look past it, it opens the file itself.
#![cfg(test)]

mod api_keys;
mod archives;
mod backups;
mod block_history;
mod blocks;
mod commits;
mod contexts;
mod faults;
mod house;
mod listings;
mod owners;
mod races;
mod reopening;
mod repairs;
mod snapshots;
mod upkeep;
