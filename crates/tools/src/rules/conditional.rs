//! Finds the tool that a conditional rule wants after a return.
//!
//! Mapping keys are text, while returns were written by Python or by JSON. `True` and `true`, `None` and `null`, `1` and
//! `1.0` are therefore the same return; any other text must be equal, character for character.

use domain::ToolRule;
use serde_json::Value;

/// What may follow.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// This tool and no other.
    Only(&'a str),
    /// The rule leaves the choice open.
    Any,
    /// The return is outside a mapping that must cover it.
    Nothing,
}

/// What `rule` wants after `returned`; any other kind of rule wants nothing in particular.
pub(super) fn next<'a>(rule: &'a ToolRule, returned: &str) -> Next<'a> {
    let ToolRule::Conditional { default_child, child_output_mapping, require_output_mapping, .. } = rule else {
        return Next::Any;
    };
    // An exact match goes before one that is only a spelling of the same value.
    let exact = child_output_mapping.get(returned);
    let child = exact.or_else(|| {
        let returned = normalized(returned)?;
        child_output_mapping.iter().find(|(key, _)| normalized(key) == Some(returned)).map(|(_, child)| child)
    });
    match (child.and_then(Value::as_str), default_child) {
        (Some(child), _) => Next::Only(child),
        (None, _) if *require_output_mapping => Next::Nothing,
        (None, Some(child)) => Next::Only(child),
        (None, None) => Next::Any,
    }
}

/// A return that has more than one spelling.
#[derive(Clone, Copy, PartialEq)]
enum Spelled {
    Null,
    Bool(bool),
    Number(f64),
}

fn normalized(text: &str) -> Option<Spelled> {
    match text.trim() {
        "None" | "null" => Some(Spelled::Null),
        "True" | "true" => Some(Spelled::Bool(true)),
        "False" | "false" => Some(Spelled::Bool(false)),
        // `007` and `1_000` are texts, not numbers: only what JSON calls a number counts.
        number => number.parse::<serde_json::Number>().ok().and_then(|number| number.as_f64()).map(Spelled::Number),
    }
}
