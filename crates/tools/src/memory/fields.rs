//! Takes typed arguments out of a call, with errors that name the argument.
//!
//! Unknown arguments are refused: silently ignoring one would let a model believe that it had an effect.

use serde_json::{Map, Value};

use super::{ToolError, refuse};
use crate::arguments::kind_of;

/// The arguments of one call.
pub(super) struct Fields<'a> {
    arguments: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Checks that there are no arguments but `known`.
    pub(super) fn new(arguments: &'a Map<String, Value>, known: &[&str]) -> Result<Self, ToolError> {
        match arguments.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self { arguments }),
            Some(unknown) => {
                let unknown = excerpt(unknown);
                if known.is_empty() {
                    return Err(refuse!("There is no argument `{unknown}`: this tool takes no arguments."));
                }
                Err(refuse!("There is no argument `{unknown}`. The arguments of this tool are: {}.", known.join(", ")))
            }
        }
    }

    /// A text that must be there; it may be empty.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, ToolError> {
        self.optional_text(name)?.ok_or_else(|| refuse!("The argument `{name}` is missing: give it as a string."))
    }

    /// A text that may be left out, or be null.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        match self.arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.contains('\0') => {
                Err(refuse!("The argument `{name}` holds a NUL character. Write it again without it."))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(refuse!("The argument `{name}` must be a string, not {}.", kind_of(other))),
        }
    }

    /// A text that may be left out, be null or be empty: models fill what they don't use with empty texts.
    pub(super) fn given_text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        Ok(self.optional_text(name)?.filter(|text| !text.trim().is_empty()))
    }

    /// A whole number that may be left out, or be null.
    pub(super) fn optional_integer(&self, name: &str) -> Result<Option<i64>, ToolError> {
        let Some(value) = self.arguments.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
        let whole = value.as_i64().or_else(|| value.as_f64().and_then(as_whole));
        match (whole, value) {
            (Some(whole), _) => Ok(Some(whole)),
            (None, Value::Number(number)) => {
                Err(refuse!("The argument `{name}` must be a whole number, not {number}."))
            }
            (None, other) => Err(refuse!("The argument `{name}` must be a whole number, not {}.", kind_of(other))),
        }
    }
}

/// Some models write whole numbers with a decimal point.
fn as_whole(number: f64) -> Option<i64> {
    let in_range = number.fract() == 0.0 && number.abs() < 1e15;
    #[expect(clippy::cast_possible_truncation, reason = "the number is whole and far inside the range of i64")]
    in_range.then_some(number as i64)
}

/// The first characters of a text, on one line, to be quoted in an error.
pub(super) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
