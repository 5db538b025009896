//! The search tools through the seam, on a real store.

mod archival;
mod house;
mod recall;
