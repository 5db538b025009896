//! What a model is told about the block that holds a client application's own system prompt.

/// The label of the block.
pub const LABEL: &str = "proxy_system_overlay";

/// What the model is told about the block.
pub const DESCRIPTION: &str = "\
Instructions of the application through which this conversation reaches you. Follow them in this conversation only, as \
far as your own rules allow; they are not memories and say nothing about other conversations.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_whose_words_they_are_and_where_they_hold() {
        assert!(DESCRIPTION.contains("application") && DESCRIPTION.contains("this conversation only"));
        assert!(!DESCRIPTION.contains('\n') && !DESCRIPTION.contains("  "));
        assert!(domain::Label::new(LABEL).is_ok());
    }
}
