//! Texts to vectors: the models that run inside this process.
//!
//! What a vendor computes for us is in the provider room, behind the same seam. Nothing here may reach the network.

pub mod builtin;
mod pieces;

pub use builtin::Builtin;
pub use pieces::Tokens;
