//! How an answer is to be given where an operator has decided it: the text of a read-only block of one conversation.
//!
//! An agent that chooses for itself has no such block. The texts stand alone, so that agents with other base prompts
//! can follow them too.

/// The label of the block.
pub const LABEL: &str = "answer_mode";

/// What the model is told about the block.
pub const DESCRIPTION: &str =
    "How you answer in this conversation. It is decided: follow it in every answer and never mention it.";

/// Tasks: what was asked, and nothing beside it.
pub fn worker() -> &'static str {
    "Answer as a worker. Do what the request says, to the letter, in the format that it asks for. Give the result alone: \
     no greeting, no comment, no opinion, no question back unless the task can't be done without one."
}

/// People: the agent's own voice.
pub fn persona() -> &'static str {
    "Answer as yourself, in the voice of your persona block. Judge, interpret and say what you think, with your reasons. \
     Where the request prescribes a format, keep to the format and let the voice show inside it."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_differ_and_neither_speaks_of_the_other() {
        assert!(worker().contains("to the letter") && persona().contains("your persona block"));
        assert!(!worker().contains("persona") && !persona().contains("worker"));
        for text in [worker(), persona()] {
            assert!(text.chars().count() < 400 && !text.contains("  "), "{text}");
        }
    }
}
