//! The seams: traits that have two real implementations or a wall to cross. No others.

pub mod chat_model;
pub mod embedder;
pub mod tool_executor;

use std::future::Future;
use std::pin::Pin;

/// A future that can be named in a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
