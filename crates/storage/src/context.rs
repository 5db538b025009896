//! A context list as it is kept: stretches of a conversation's own messages.
//!
//! Most lists are everything that was said, in order, so a list of hundreds of messages is one pair of numbers, and a
//! step that adds to it rewrites a few bytes. A stretch stands for all messages of the conversation from its first
//! number to its last, whatever other conversations have in between.

use crate::error::StoreError;

/// Stretches in the order in which the model sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ContextList {
    stretches: Vec<(u64, u64)>,
}

impl ContextList {
    /// Reads `[[first, last], …]`.
    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        let stretches: Vec<(u64, u64)> =
            serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("a context list: {error}")))?;
        Ok(Self { stretches })
    }

    /// As it is stored.
    pub(crate) fn to_text(&self) -> String {
        let pairs: Vec<String> = self.stretches.iter().map(|(first, last)| format!("[{first},{last}]")).collect();
        format!("[{}]", pairs.join(","))
    }

    /// The stretches, first and last number each.
    pub(crate) fn stretches(&self) -> &[(u64, u64)] {
        &self.stretches
    }

    /// The number of the last message.
    pub(crate) fn last(&self) -> Option<u64> {
        self.stretches.last().map(|(_, last)| *last)
    }

    /// Adds a message; `follows` says that the conversation has none between the last of the list and this one.
    pub(crate) fn push(&mut self, number: u64, follows: bool) {
        match self.stretches.last_mut() {
            Some((_, last)) if follows => *last = number,
            _ => self.stretches.push((number, number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_extends_the_last_stretch() {
        let mut list = ContextList::default();
        for (number, follows) in [(3, true), (4, true), (9, true), (5, false), (9, false)] {
            list.push(number, follows);
        }
        assert_eq!(list.to_text(), "[[3,9],[5,5],[9,9]]");
        assert_eq!(ContextList::parse(&list.to_text()).unwrap(), list);
        assert_eq!(list.last(), Some(9));
    }

    #[test]
    fn nothing_is_a_list_too_and_nonsense_is_none() {
        assert_eq!(ContextList::default().to_text(), "[]");
        assert_eq!(ContextList::parse("[]").unwrap(), ContextList::default());
        for wrong in ["", "null", "[1]", "[[1]]", "[[1,-2]]"] {
            assert!(ContextList::parse(wrong).is_err(), "{wrong}");
        }
    }
}
