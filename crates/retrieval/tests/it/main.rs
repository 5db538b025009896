//! Search over real stores: what is found, by whom, and that what is kept of the index changes nothing.
#![cfg(test)]

mod house;
mod kept;
mod scoped;
