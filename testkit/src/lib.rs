//! What tests and benchmarks need in place of the outside world: models that play a script, a vendor over real HTTP,
//! the real server as a child process, and a small HTTP client.
//!
//! Only tests and the programs in `src/bin` may depend on this crate: nothing here ever runs inside the product, and
//! nothing in the product knows that it exists.

pub mod fake_vendor;
pub mod http_client;
pub mod scripted_model;
pub mod sync;
pub mod test_server;

pub use fake_vendor::{FakeVendor, RecordedRequest, VendorOptions, VendorReply};
pub use http_client::{Client, Reply as HttpReply, SseEvent, SseReader};
pub use scripted_model::{Reply, ScriptedModel};
pub use sync::Gate;
pub use test_server::{ServerSetup, TestServer};
