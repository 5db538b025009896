//! The nouns of the house, their typed ids, and the seams that cross its walls.
//!
//! Everything here is plain data and pure rules. It must never hold IO, a clock, a runtime, SQL or a wire format:
//! ids and times come from callers, and each door owns the JSON that it speaks. Only what lives in a JSON column
//! of the store derives serde.

pub mod agent;
pub mod api_key;
pub mod archive;
pub mod block;
pub mod compaction;
pub mod conversation;
pub mod embedding;
pub mod identity;
pub mod ids;
pub mod image;
pub mod memory;
pub mod message;
pub mod model_config;
pub mod owner;
pub mod request_note;
pub mod run;
pub mod seams;
pub mod session;
pub mod snapshot;
pub mod step;
pub mod tool;
pub mod tool_rule;
pub mod usage;

pub use agent::{Agent, AgentType};
pub use api_key::{ApiKey, KeyScope};
pub use archive::{Archival, Archive, Passage, VectorDbProvider};
pub use block::{Block, BlockError, Label};
pub use compaction::{CompactionMode, CompactionSettings};
pub use conversation::Conversation;
pub use embedding::EmbeddingConfig;
pub use identity::Identity;
pub use ids::{
    AgentId, ApiKeyId, ArchiveId, BlockId, ConversationId, IdError, IdentityId, MessageId, OrganizationId, PassageId,
    RunId, StepId, ToolId, UserId,
};
pub use image::{Image, ImageDetail, ImageError, ImageSource, ImageType};
pub use jiff::Timestamp;
pub use memory::{Memory, MemoryChange};
pub use message::{ContentPart, Message, Role, Standing, ToolCall, ToolReturn, ToolStatus};
pub use model_config::{LlmConfig, ModelHandle, ResponseFormat};
pub use owner::{Actor, Caller, Organization, User};
pub use request_note::{RequestNote, RunNote, UnescapeCount};
pub use run::{Run, RunStatus, StopReason};
pub use session::{Digest, Session, SessionRequest};
pub use snapshot::{AgentSnapshot, waiting_calls};
pub use step::{Step, StepStatus};
pub use tool::{Tool, ToolType};
pub use tool_rule::ToolRule;
pub use usage::Usage;
