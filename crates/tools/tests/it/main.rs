//! The search tools through the seam, on a real store.
#![cfg(test)]

mod archival;
mod house;
mod recall;
