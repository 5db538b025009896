//! What a model is told about the blocks that nearly every agent has.

/// What stands in a `human` block about a person whom nobody has met yet.
pub const UNKNOWN_HUMAN: &str =
    "I don't know anything about this person yet. What they tell me about themselves goes here.";

/// The description of a block whose maker gave none; None for labels that we know nothing about.
pub fn default_description(label: &str) -> Option<String> {
    let text = match label {
        "human" => {
            "What you know about the person you talk with: name, life, preferences, plans. Keep it current, so that \
             you can speak to them as someone who knows them."
        }
        "persona" => {
            "Who you are: your character, voice and habits. It decides how you behave; change it when you learn how \
             you should be."
        }
        _ => return None,
    };
    Some(text.to_owned())
}
