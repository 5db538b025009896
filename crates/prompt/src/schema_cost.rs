//! How much work a client's schema can make of an answer. Pure.
//!
//! References may double the work at every step, so that a schema of a few lines keeps a processor busy for years. The
//! library that checks answers knows no bound, so the work is counted before: how often one place of an answer is looked
//! at, at most.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// Bytes of JSON that a schema may have.
const MAX_SCHEMA: usize = 256 * 1024;
/// Patterns that a schema may hold; each is compiled.
const MAX_PATTERNS: usize = 200;
/// How often places of one answer may be looked at.
const MAX_LOOKS: u64 = 10_000_000;

/// Keywords whose schemas look at the same place again.
const SAME_PLACE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// Keywords that hold a table of schemas.
const TABLES: [&str; 3] = ["patternProperties", "dependentSchemas", "dependencies"];
/// Keywords that hold no schema, or none that is used where it stands.
const APART: [&str; 6] = ["const", "enum", "default", "examples", "$defs", "definitions"];

/// What is wrong with a schema that can't be followed.
pub(crate) fn fault(schema: &Value) -> Option<String> {
    if schema.to_string().len() > MAX_SCHEMA {
        return Some(format!("it has more than {MAX_SCHEMA} bytes"));
    }
    let mut patterns = 0;
    if let Some(fault) = fault_within(schema, schema, true, &mut patterns) {
        return Some(fault);
    }
    if patterns > MAX_PATTERNS {
        return Some(format!("it holds more than {MAX_PATTERNS} patterns"));
    }
    (looks(schema, 0) > MAX_LOOKS).then(|| "its references multiply: it can't be checked".to_owned())
}

/// Whether an answer can be checked by a schema that has no fault.
pub(crate) fn is_too_much(schema: &Value, answer: &Value) -> bool {
    let (depth, places) = extent(answer);
    looks(schema, depth).saturating_mul(places) > MAX_LOOKS
}

/// How deep a value is, and how many values it holds.
fn extent(value: &Value) -> (usize, u64) {
    let inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => return (0, 1),
    };
    inner.map(extent).fold((1, 1), |(depth, places), (deeper, more)| (depth.max(deeper + 1), places + more))
}

/// References are followed by their place in the schema only, so that what is counted is what is done.
fn fault_within(root: &Value, schema: &Value, is_root: bool, patterns: &mut usize) -> Option<String> {
    match schema {
        Value::Array(listed) => listed.iter().find_map(|schema| fault_within(root, schema, false, patterns)),
        Value::Object(fields) => {
            *patterns += usize::from(fields.get("pattern").is_some_and(Value::is_string));
            *patterns += fields.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
            let names = |name: &str| fields.get(name).is_some_and(Value::is_string);
            if let Some(name) = ["$dynamicRef", "$recursiveRef"].into_iter().find(|name| names(name)) {
                return Some(format!("`{name}` is not supported"));
            }
            if !is_root && ["$id", "id"].into_iter().any(names) {
                return Some("a part of it has an id of its own".to_owned());
            }
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str)
                && target(root, reference).is_none()
            {
                let shown: String = reference.chars().take(80).collect();
                return Some(format!(
                    "`$ref` can only be `#` or the path of a part of it, as `#/$defs/name`: `{shown}`"
                ));
            }
            let inner =
                fields.iter().filter(|(name, _)| !matches!(name.as_str(), "const" | "enum" | "default" | "examples"));
            inner.map(|(_, schema)| schema).find_map(|schema| fault_within(root, schema, false, patterns))
        }
        _ => None,
    }
}

fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let path = reference.strip_prefix('#')?;
    // Other signs than the plain ones are written with `%`, which is not undone here.
    if path.contains('%') { None } else { root.pointer(path) }
}

/// How often one place of an answer so deep is looked at, at most.
fn looks(schema: &Value, depth: usize) -> u64 {
    Looks { root: schema, known: HashMap::new(), open: HashSet::new() }.at(schema, depth)
}

/// A schema by where it is in memory, and how much of the answer is below it.
type Place = (*const Value, usize);

struct Looks<'a> {
    root: &'a Value,
    known: HashMap<Place, u64>,
    /// Schemas that are being counted: one that comes back to itself at the same place adds nothing.
    open: HashSet<Place>,
}

impl<'a> Looks<'a> {
    fn at(&mut self, schema: &'a Value, depth: usize) -> u64 {
        let place = (std::ptr::from_ref(schema), depth);
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let Value::Object(fields) = schema else { return 0 };
        if !self.open.insert(place) {
            return 1;
        }
        let mut sum: u64 = 1;
        for (name, value) in fields {
            let added = match name.as_str() {
                "$ref" => match value.as_str().and_then(|reference| target(self.root, reference)) {
                    Some(target) => self.at(target, depth),
                    None => 0,
                },
                name if APART.contains(&name) => 0,
                name if SAME_PLACE.contains(&name) => self.all(name, value, depth),
                // Each property is another place.
                "properties" => match (value, depth.checked_sub(1)) {
                    (Value::Object(each), Some(below)) => {
                        each.values().map(|schema| self.at(schema, below)).max().unwrap_or_default()
                    }
                    _ => 0,
                },
                name => depth.checked_sub(1).map_or(0, |below| self.all(name, value, below)),
            };
            sum = sum.saturating_add(added);
        }
        self.open.remove(&place);
        self.known.insert(place, sum);
        sum
    }

    /// All schemas of a keyword, which holds one, a list or, as some do, a table of them.
    fn all(&mut self, keyword: &str, value: &'a Value, depth: usize) -> u64 {
        match value {
            Value::Array(listed) => self.sum(listed.iter(), depth),
            Value::Object(fields) if TABLES.contains(&keyword) => self.sum(fields.values(), depth),
            _ => self.at(value, depth),
        }
    }

    fn sum(&mut self, schemas: impl Iterator<Item = &'a Value>, depth: usize) -> u64 {
        schemas.fold(0, |sum: u64, schema| sum.saturating_add(self.at(schema, depth)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each part names the next one twice.
    fn doubling(through: fn(Value) -> Value) -> Value {
        let part = |number: usize| through(json!({"$ref": format!("#/$defs/d{number}")}));
        let mut parts: Map<String, Value> = (0..40)
            .map(|number| (format!("d{number}"), json!({"anyOf": [part(number + 1), part(number + 1)]})))
            .collect();
        parts.insert("d40".to_owned(), json!({"type": "string"}));
        json!({"$defs": parts, "$ref": "#/$defs/d0"})
    }

    fn deep(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!({"a": inner}))
    }

    #[test]
    fn references_that_multiply_are_refused() {
        let at_once = doubling(|next| next);
        assert!(fault(&at_once).is_some_and(|fault| fault.contains("multiply")));
        let by_and_by = doubling(|next| json!({"properties": {"a": next}}));
        assert_eq!(fault(&by_and_by), None);
        assert!(is_too_much(&by_and_by, &deep(40)));
        assert!(!is_too_much(&by_and_by, &deep(3)));
        let for_ever =
            json!({"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"additionalProperties": {"$ref": "#"}}]});
        assert_eq!(fault(&for_ever), None);
        assert!(is_too_much(&for_ever, &deep(100)));
    }

    #[test]
    fn what_applications_send_is_checked() {
        let list = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
            "value": {"type": "number"}, "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}}}});
        assert_eq!(fault(&list), None);
        assert!(!is_too_much(&list, &deep(100)));
        let sums = json!({"$defs": {"sum": {"anyOf": [
            {"properties": {"kind": {"const": "add"}, "left": {"$ref": "#/$defs/sum"}, "right": {"$ref": "#/$defs/sum"}}},
            {"properties": {"kind": {"const": "negate"}, "of": {"$ref": "#/$defs/sum"}}},
            {"properties": {"kind": {"enum": [{"$ref": "no reference"}]}}}]}}, "$ref": "#/$defs/sum"});
        assert_eq!(fault(&sums), None);
        assert!(!is_too_much(&sums, &deep(10)));
        let fields: Map<String, Value> =
            (0..5_000).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
        let wide = json!({"type": "object", "properties": fields});
        assert_eq!(fault(&wide), None);
        assert!(!is_too_much(&wide, &json!({"f1": vec!["x"; 10_000]})));
    }

    #[test]
    fn a_schema_that_comes_back_to_itself_is_counted() {
        for schema in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}, {"not": {"$ref": "#"}}]})] {
            assert_eq!(fault(&schema), None, "{schema}");
        }
    }

    #[test]
    fn what_can_not_be_followed_or_is_too_large_is_named() {
        let patterns: Vec<Value> = (0..=MAX_PATTERNS).map(|number| json!({"pattern": format!("a{number}")})).collect();
        for (schema, expected) in [
            (json!({"$ref": "https://example.com/x"}), "$ref"),
            (json!({"$ref": "#/$defs/none"}), "$defs/none"),
            (json!({"$ref": "#anchor", "$anchor": "anchor"}), "#anchor"),
            (json!({"properties": {"a": {"$dynamicRef": "#"}}}), "$dynamicRef"),
            (json!({"properties": {"a": {"$id": "other", "$ref": "#"}}}), "an id"),
            (json!({"anyOf": patterns}), "patterns"),
            (json!({"description": "x".repeat(MAX_SCHEMA)}), "bytes"),
        ] {
            let fault = fault(&schema);
            assert!(fault.as_ref().is_some_and(|fault| fault.contains(expected)), "{fault:?}");
        }
        assert_eq!(fault(&json!({"$id": "mine", "properties": {"id": {"type": "string"}}})), None);
    }
}
