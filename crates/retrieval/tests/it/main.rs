//! Search over real stores: what is found, by whom, and that what is kept of the index changes nothing.

mod house;
mod kept;
mod scoped;
