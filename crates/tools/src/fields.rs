//! Takes typed arguments out of a call, with errors that name the argument.
//!
//! Unknown arguments are refused: silently ignoring one would let a model believe that it had an effect.

use serde_json::{Map, Value};

use crate::arguments::kind_of;
use crate::memory::{ToolError, refuse};

/// The arguments of one call.
pub(crate) struct Fields<'a> {
    arguments: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Checks that there are no arguments but `known`.
    pub(crate) fn new(arguments: &'a Map<String, Value>, known: &[&str]) -> Result<Self, ToolError> {
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
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, ToolError> {
        self.optional_text(name)?.ok_or_else(|| refuse!("The argument `{name}` is missing: give it as a string."))
    }

    /// A text that may be left out, or be null.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
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
    pub(crate) fn given_text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        Ok(self.optional_text(name)?.filter(|text| !text.trim().is_empty()))
    }

    /// A whole number that may be left out, or be null.
    pub(crate) fn optional_integer(&self, name: &str) -> Result<Option<i64>, ToolError> {
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

impl<'a> Fields<'a> {
    /// A list of texts that may be left out, be null or be empty. One text alone counts as a list of it.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&'a str>, ToolError> {
        let refused =
            |other: &Value| refuse!("The argument `{name}` must be a list of strings, not {}.", kind_of(other));
        match self.arguments.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().ok_or_else(|| refused(item))).collect(),
            Some(other) => Err(refused(other)),
        }
    }

    /// How many results are wanted: at least one, and no more than `most`.
    pub(crate) fn count(&self, name: &str, usual: usize, most: usize) -> Result<usize, ToolError> {
        match self.optional_integer(name)? {
            None => Ok(usual),
            Some(count) if count < 1 => Err(refuse!("The argument `{name}` must be at least 1, not {count}.")),
            Some(count) => Ok(usize::try_from(count).unwrap_or(most).min(most)),
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
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
