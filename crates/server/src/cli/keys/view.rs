//! What these commands read of the console's JSON.

use domain::Timestamp;
use serde::Deserialize;

/// A key.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct KeyView {
    /// Its text, which only the answer that makes it holds.
    pub(super) key: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) beginning: String,
    /// The ids of the agents that it opens; none for all.
    pub(super) agents: Option<Vec<String>>,
    pub(super) letta: bool,
    pub(super) created_at: Timestamp,
    pub(super) last_used_at: Option<Timestamp>,
    pub(super) revoked_at: Option<Timestamp>,
}
