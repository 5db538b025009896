//! The count of tokens in an answer that passes through.
//!
//! Pure. Nothing but the count itself is read, so that what is large or unknown around it costs next to nothing.

use std::sync::LazyLock;

use domain::Usage;
use memchr::memmem::Finder;
use serde::Deserialize;

use super::response::WireUsage;

/// The name of the count's field. Inside a JSON string its quotes would be escaped, so no model can say it.
const USAGE: &[u8] = b"\"usage\"";
/// To make one for each burst of a stream would take longer than to search the burst.
static FIND_USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(USAGE));

/// The last count that `bytes` hold, in one JSON text or several.
pub(super) fn usage_in(bytes: &[u8]) -> Option<Usage> {
    let object = FIND_USAGE.find_iter(bytes).filter_map(|at| object_of(&bytes[at + USAGE.len()..])).last()?;
    let wire = WireUsage::deserialize(&mut serde_json::Deserializer::from_slice(object)).ok()?;
    Some(wire.into())
}

/// The object that a field has, when what follows the field's name is `rest`. What is after the object is not cut off.
fn object_of(rest: &[u8]) -> Option<&[u8]> {
    let value = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    value.starts_with(b"{").then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_count_is_read_and_words_are_none() {
        for (text, expected) in [
            (r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}"#, Some((5, 3))),
            (
                "{\"usage\" :\n { \"completion_tokens\" : 3 , \"prompt_tokens\" : 5, \"of_tomorrow\": [{}] } , \"id\": 1 }",
                Some((5, 3)),
            ),
            (r#"{"usage":{"prompt_tokens":1}} {"usage":null,"x_vendor":{"usage":{"prompt_tokens":5}}}"#, Some((5, 0))),
            (r#"{"usage":{"prompt_tokens":5,"completion_tokens":null}} {"usage":null}"#, Some((5, 0))),
            (r#"{"content":"\"usage\":{\"prompt_tokens\":9}"}"#, None),
            (r#"{"content":"usage","usage":null}"#, None),
            (r#"["usage",{"prompt_tokens":9}]"#, None),
            (r#"{"usage":{"prompt_tokens":"many"}}"#, None),
            (r#"{"usage":{"prompt_tok"#, None),
            ("", None),
        ] {
            let found = usage_in(text.as_bytes()).map(|usage| (usage.prompt_tokens, usage.completion_tokens));
            assert_eq!(found, expected, "{text}");
        }
    }
}
