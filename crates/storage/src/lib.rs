//! The only room that knows SQL: agents, blocks, conversations, messages, tools, runs and their owners, kept in one
//! file.
//!
//! A [`Commit`] is the only way to change anything, and every row is asked for by its owner. The room holds no
//! decisions: ids and times come from the caller. Its interface must never show which engine is behind it.

mod agents;
mod api_keys;
mod apply;
mod archives;
mod backlog;
mod backup;
mod block_history;
mod blocks;
mod cache;
pub mod commit;
mod context;
mod conversations;
mod detachments;
mod dialect;
mod effects;
mod error;
mod live_keys;
mod messages;
mod migrate;
mod owners;
mod passages;
mod repair;
mod report;
mod restore;
mod runs;
mod scoped_blocks;
mod search_index;
mod search_soundness;
mod session_requests;
mod sessions;
mod snapshots;
mod soundness;
mod store;
mod texts;
mod tools;
mod upkeep;
mod write_tally;
mod writer;

pub use agents::AgentFilter;
pub use api_keys::key_digest;
pub use archives::ArchiveFilter;
pub use backup::Backup;
pub use block_history::{BlockEdit, BlockVersion};
pub use commit::{BlockEditor, Change, Commit, Committed, RunUpdate};
pub use detachments::Detachment;
pub use error::{DatabaseError, StoreError};
pub use live_keys::LiveKeys;
pub use messages::MessageFilter;
pub use passages::PassageFilter;
pub use report::StoreReport;
pub use restore::{Restored, examine, restore};
pub use search_index::{Coverage, Gone, Page, SearchScope, Segment, VectorStretch, fingerprint, sealed, unsealed};
pub use sessions::PersonalSession;
pub use soundness::{Area, Problem};
pub use store::{Store, StoreConfig};
pub use write_tally::Writes;
