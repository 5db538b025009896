//! Texts to vectors: the models that run inside this process, and the one place that finds any model by its handle.
//!
//! What a vendor computes for us is in the provider room, behind the same seam. Nothing here may reach the network.

pub mod builtin;
mod cached;
mod embedders;
pub mod manifest;
pub mod minilm;
mod pieces;
mod word_pieces;

pub use builtin::{Builtin, normalise};
pub use cached::Cached;
pub use embedders::{Elsewhere, Embedders};
pub use minilm::MiniLm;
pub use pieces::Tokens;
