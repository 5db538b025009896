//! Archives and their passages: what agents store for later, outside of their context.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::ids::{ArchiveId, OrganizationId, PassageId, UserId};
use crate::model_config::ModelHandle;

/// The most bytes that a passage's text may have.
pub const MAX_PASSAGE_BYTES: usize = 256 * 1024;
/// The most tags that a passage may have.
pub const MAX_TAGS: usize = 64;
/// Characters that a tag may have.
pub const MAX_TAG_CHARS: usize = 200;

/// Who keeps and searches the vectors of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VectorDbProvider {
    /// This store.
    Native,
}

impl VectorDbProvider {
    /// Letta's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
        }
    }

    /// The provider of that name.
    pub fn parse(text: &str) -> Option<Self> {
        (text == Self::Native.as_str()).then_some(Self::Native)
    }
}

/// A collection of passages that one or more agents share.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    pub id: ArchiveId,
    pub organization: OrganizationId,
    pub created_by: UserId,
    pub name: String,
    pub description: Option<String>,
    /// The model that its passages are embedded with.
    pub embedding: ModelHandle,
    pub vector_db_provider: VectorDbProvider,
    pub metadata: Map<String, Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A text of an archive. It is replaced as a whole or deleted, never edited.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub id: PassageId,
    pub organization: OrganizationId,
    pub created_by: UserId,
    pub archive: ArchiveId,
    /// The store's order; 0 until committed.
    pub number: u64,
    pub text: Arc<str>,
    /// In the order in which they were given, none twice.
    pub tags: Arc<[String]>,
    pub metadata: Map<String, Value>,
    pub created_at: Timestamp,
}

/// What an agent is told about its archives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Archival {
    /// Passages of all its archives.
    pub passages: u64,
    /// Every tag in use, in alphabetical order.
    pub tags: Arc<[String]>,
}

/// Why a passage can't be as it was asked to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PassageError {
    #[error("a passage needs some text")]
    Empty,
    #[error("a passage may have {MAX_PASSAGE_BYTES} bytes of text, not {0}: store it in parts")]
    TooLong(usize),
    #[error("a passage may have {MAX_TAGS} tags, not {0}")]
    TooManyTags(usize),
    #[error("a tag needs 1 to {MAX_TAG_CHARS} characters without control characters")]
    BadTag,
}

/// Checks a passage's text.
pub fn check_passage_text(text: &str) -> Result<(), PassageError> {
    if text.trim().is_empty() {
        return Err(PassageError::Empty);
    }
    if text.len() > MAX_PASSAGE_BYTES { Err(PassageError::TooLong(text.len())) } else { Ok(()) }
}

/// Tags without spaces around them and without repetition, in the order given.
pub fn clean_tags(tags: &[String]) -> Result<Arc<[String]>, PassageError> {
    let mut clean: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags {
        let tag = tag.trim();
        if tag.is_empty() || tag.chars().count() > MAX_TAG_CHARS || tag.chars().any(char::is_control) {
            return Err(PassageError::BadTag);
        }
        if !clean.iter().any(|has| has == tag) {
            clean.push(tag.to_owned());
        }
    }
    if clean.len() > MAX_TAGS { Err(PassageError::TooManyTags(clean.len())) } else { Ok(clean.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_trimmed_and_kept_once() {
        let given = [" b", "a", "b ", "a"].map(str::to_owned);
        assert_eq!(&*clean_tags(&given).unwrap(), ["b", "a"]);
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for wrong in ["", " ", "a\nb", &"x".repeat(MAX_TAG_CHARS + 1)] {
            assert_eq!(clean_tags(&[wrong.to_owned()]), Err(PassageError::BadTag), "{wrong:?}");
        }
        let many: Vec<String> = (0..=MAX_TAGS).map(|number| number.to_string()).collect();
        assert_eq!(clean_tags(&many), Err(PassageError::TooManyTags(MAX_TAGS + 1)));
    }

    #[test]
    fn a_passage_has_some_text_but_not_too_much() {
        assert_eq!(check_passage_text(" \n"), Err(PassageError::Empty));
        let long = "x".repeat(MAX_PASSAGE_BYTES + 1);
        assert_eq!(check_passage_text(&long), Err(PassageError::TooLong(long.len())));
        assert_eq!(check_passage_text("Tea at four."), Ok(()));
    }
}
