//! What a vendor says about a request that was too long: how long it was, and how long it may be.
//!
//! Pure. Vendors write this in prose; what can't be understood is simply not known. The numbers only ever make us
//! more careful, so a misread one costs a compaction and nothing more.

/// Smaller numbers are statuses and error codes.
const LEAST: u64 = 1_024;
/// Words after which vendors name what may be sent.
const LIMIT_WORDS: [&str; 7] = [
    "maximum context length",
    "context length of",
    "context size",
    "context window",
    "context limit",
    "maximum model length",
    "maximum",
];

/// The numbers in a refusal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Overflow {
    /// Tokens that the request had.
    pub(crate) used: Option<u64>,
    /// Tokens that it may have.
    pub(crate) window: Option<u64>,
}

impl Overflow {
    /// Reads the vendor's words.
    pub(crate) fn read(detail: &str) -> Self {
        let detail = detail.to_lowercase();
        let all = numbers(&detail);
        let (mut least, mut most) = (None, None);
        for number in &all {
            least = Some(least.map_or(*number, |least: u64| least.min(*number)));
            most = Some(most.map_or(*number, |most: u64| most.max(*number)));
        }
        let after = |word: &str| numbers(&detail[detail.find(word)? + word.len()..]).first().copied();
        let named = LIMIT_WORDS.iter().find_map(|word| after(word));
        // "210000 tokens > 200000 maximum" names the limit before the word.
        let window = if all.len() == 2 { least } else { named.or(if all.len() == 1 { least } else { None }) };
        Self { used: most.filter(|most| window.is_some_and(|window| *most > window)), window }
    }
}

/// The whole numbers in `text` that may be counts of tokens; commas and underscores between digits are part of them.
fn numbers(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut digits = String::new();
    for letter in text.chars().chain([' ']) {
        match letter {
            '0'..='9' => digits.push(letter),
            ',' | '_' if !digits.is_empty() => {}
            _ => {
                found.extend(digits.parse::<u64>().ok().filter(|number| *number >= LEAST));
                digits.clear();
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_understood() {
        for (detail, used, window) in [
            (
                "400 context_length_exceeded: This model's maximum context length is 8192 tokens. However, you requested \
                 9000 tokens (8000 in the messages, 1000 in the completion).",
                Some(9000),
                Some(8192),
            ),
            (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130,512 tokens.",
                Some(130_512),
                Some(128_000),
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(210_000), Some(200_000)),
            ("the request exceeds the available context size (4096 tokens), try increasing it", None, Some(4096)),
            ("The model is loaded with context length of only 4096 tokens", None, Some(4096)),
            ("input length exceeds the context length", None, None),
            ("400: the script asks for status 400", None, None),
            ("", None, None),
        ] {
            assert_eq!(Overflow::read(detail), Overflow { used, window }, "{detail}");
        }
    }
}
