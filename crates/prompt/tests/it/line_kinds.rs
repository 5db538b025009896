//! Reads the skeleton out of a text: tags, keys, blank lines, indentation and the shape of times, but no words.
//!
//! `tests/facts/` holds the skeletons of recorded requests, in the same notation: `…` is any run of words, `N` a
//! number, and digits of times are nines.

use serde_json::Value;

/// The facts of that name.
pub(crate) fn facts(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The lines of a system message.
pub(crate) fn system_lines(text: &str) -> Vec<String> {
    let mut in_metadata = false;
    let mut kinds: Vec<String> = Vec::new();
    for line in text.split('\n') {
        in_metadata |= line == "<memory_metadata>";
        let kind = system_line(line, in_metadata);
        if kind != "…" || kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn system_line(line: &str, in_metadata: bool) -> String {
    if line.is_empty() {
        return String::new();
    }
    let fact = if in_metadata { metadata_line(line) } else { None };
    fact.or_else(|| tag(line)).or_else(|| key(line)).or_else(|| numbered(line)).unwrap_or_else(|| "…".to_owned())
}

/// `<name>`, `</name>`, `<name key="…">` or `<name>…</name>`.
fn tag(line: &str) -> Option<String> {
    let inside = line.strip_prefix('<')?.strip_suffix('>')?;
    if is_name(inside.trim_start_matches('/')) {
        return Some(line.to_owned());
    }
    if let Some((name, _)) = inside.split_once('>') {
        return (is_name(name) && inside.ends_with(&format!("</{name}"))).then(|| format!("<{name}>…</{name}>"));
    }
    let mut words = inside.split("=\"").flat_map(|part| part.rsplit_once(' ').map(|(_, key)| key));
    let name = inside.split(' ').next()?;
    let keys: Vec<&str> = words.by_ref().collect();
    is_name(name).then(|| format!("<{name} {}>", keys.join(" ")))
}

fn key(line: &str) -> Option<String> {
    let (key, value) = line.strip_prefix("- ")?.split_once('=')?;
    let number = value.bytes().all(|byte| byte.is_ascii_digit());
    is_name(key).then(|| format!("- {key}={}", if number { "N" } else { value }))
}

fn numbered(line: &str) -> Option<String> {
    let (number, _) = line.split_once("→ ")?;
    number.parse::<u32>().ok().map(|_| "N→ …".to_owned())
}

fn metadata_line(line: &str) -> Option<String> {
    let after_colon = line.split_once(": ").map(|(_, value)| value);
    if line.contains("system date") {
        return Some(format!("- date: {}", shape(after_colon?)));
    }
    if line.contains("last modified") {
        return Some(format!("- modified: {}", shape(after_colon?)));
    }
    if line.contains("tags:") {
        return Some(format!("- tags: {}", after_colon?.split(", ").count()));
    }
    let counts = [("recall memory", "- recall"), ("archival memory (", "- archival")];
    counts.into_iter().find(|(words, _)| line.contains(words)).map(|(_, kind)| kind.to_owned())
}

/// The lines of an envelope or of arguments.
pub(crate) fn json_lines(text: &str) -> Vec<String> {
    text.split('\n').map(|line| json_line(line).unwrap_or_else(|| line.to_owned())).collect()
}

fn json_line(line: &str) -> Option<String> {
    let (key, value) = line.split_once("\": ")?;
    let (value, comma) = value.strip_suffix(',').map_or((value, ""), |value| (value, ","));
    let shown = match (key.trim_start_matches([' ', '"']), serde_json::from_str(value).ok()?) {
        ("status" | "type", _) => value.to_owned(),
        ("time", _) => shape(value),
        (_, Value::String(_)) => "text".to_owned(),
        (_, Value::Null) => "null".to_owned(),
        (_, Value::Bool(_)) => "boolean".to_owned(),
        (_, Value::Number(_)) => "number".to_owned(),
        (_, other) => other.to_string(),
    };
    Some(format!("{key}\": {shown}{comma}"))
}

fn shape(text: &str) -> String {
    text.replace(|character: char| character.is_ascii_digit(), "9")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
