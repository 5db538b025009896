//! What a model is shown, as a whole: snapshots, the skeleton of the recordings, and properties.
#![cfg(test)]

mod envelope_skeleton;
mod line_kinds;
mod properties;
mod samples;
mod snapshots;
mod system_skeleton;
