//! The JSON shape that a caller wants an answer to have: how a model is told of it, and whether an answer has it.
//!
//! For models whose vendor can't enforce a shape. Schemas come from clients: nothing that they point to is fetched, and
//! their patterns are matched in linear time, and
//! those that would keep a processor busy are refused.

use domain::ResponseFormat;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::schema_cost;

/// Faults of an answer that a model is told at once.
const MAX_FAULTS: usize = 5;
/// Characters of one fault: it may quote the answer.
const MAX_FAULT: usize = 300;

/// A schema that no answer can be checked by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSchema(pub String);

/// The shape of an answer.
#[derive(Debug)]
pub struct AnswerShape {
    /// None where any JSON object will do.
    schema: Option<(Value, Validator)>,
}

impl AnswerShape {
    /// The shape that `format` asks for; None for free text.
    pub fn of(format: &ResponseFormat) -> Result<Option<Self>, BadSchema> {
        match format {
            ResponseFormat::Text => Ok(None),
            ResponseFormat::JsonObject => Ok(Some(Self { schema: None })),
            ResponseFormat::JsonSchema { json_schema } => {
                // Some clients give the bare schema instead of the object around it.
                let schema = json_schema.get("schema").unwrap_or(json_schema);
                if let Some(fault) = schema_cost::fault(schema) {
                    return Err(BadSchema(fault));
                }
                let validator = jsonschema::options()
                    .with_pattern_options(PatternOptions::regex())
                    .build(schema)
                    .map_err(|error| BadSchema(short(&error.to_string())))?;
                Ok(Some(Self { schema: Some((schema.clone(), validator)) }))
            }
        }
    }

    /// What a model is told before it answers.
    pub fn instruction(&self) -> String {
        match &self.schema {
            None => {
                "Your answer must be one JSON object and nothing else: no words around it, no code fence.".to_owned()
            }
            Some((schema, _)) => format!(
                "Your answer must be one JSON value that is valid against the JSON Schema below, and nothing else: no \
                 words around it, no code fence.\n\n{schema}"
            ),
        }
    }

    /// The JSON of an answer that has the shape, or what is wrong with it.
    pub fn check(&self, answer: &str) -> Result<String, String> {
        let bare = unfenced(answer.trim());
        let value: Value = serde_json::from_str(bare).map_err(|error| format!("it is not valid JSON ({error})"))?;
        match &self.schema {
            None if value.is_object() => Ok(bare.to_owned()),
            None => Err("it is not a JSON object".to_owned()),
            Some((schema, _)) if schema_cost::is_too_much(schema, &value) => {
                Err("it is too deep to be checked by its schema".to_owned())
            }
            Some((_, validator)) => {
                let fault =
                    |error: jsonschema::ValidationError<'_>| short(&format!("{}: {error}", error.instance_path()));
                let faults: Vec<String> = validator.iter_errors(&value).take(MAX_FAULTS).map(fault).collect();
                if faults.is_empty() { Ok(bare.to_owned()) } else { Err(faults.join("; ")) }
            }
        }
    }
}

/// What a model is told about an answer that does not have the shape.
pub fn complaint(fault: &str) -> String {
    format!("That answer can't be used: {fault}. Give the whole answer again, corrected, as JSON and nothing else.")
}

/// An answer without the code fence that many models put around JSON.
fn unfenced(answer: &str) -> &str {
    let inside = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some(inside) = inside else { return answer };
    // The first line may name the language.
    let (first, rest) = inside.split_once('\n').unwrap_or(("", inside));
    let names_language = first.trim().chars().all(|c| c.is_ascii_alphanumeric());
    if names_language { rest.trim() } else { inside.trim() }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_FAULT).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_schema(schema: Value) -> AnswerShape {
        let format = ResponseFormat::JsonSchema { json_schema: json!({"name": "n", "schema": schema, "strict": true}) };
        AnswerShape::of(&format).unwrap().unwrap()
    }

    #[test]
    fn free_text_has_no_shape() {
        assert!(AnswerShape::of(&ResponseFormat::Text).unwrap().is_none());
    }

    #[test]
    fn an_object_is_any_object() {
        let shape = AnswerShape::of(&ResponseFormat::JsonObject).unwrap().unwrap();
        assert_eq!(shape.check(" {\"a\": 1}\n").unwrap(), "{\"a\": 1}");
        assert_eq!(shape.check("[1]").unwrap_err(), "it is not a JSON object");
        assert!(shape.check("Sure! {}").unwrap_err().starts_with("it is not valid JSON"));
    }

    #[test]
    fn a_schema_is_kept_to_and_faults_are_named() {
        let shape = of_schema(json!({
            "type": "object", "required": ["age"], "additionalProperties": false,
            "properties": {"age": {"$ref": "#/$defs/age"}}, "$defs": {"age": {"type": "integer", "minimum": 0}},
        }));
        assert_eq!(shape.check("{\"age\": 3}").unwrap(), "{\"age\": 3}");
        assert!(shape.check("{\"age\": -1}").unwrap_err().contains("/age"));
        assert!(shape.check("{\"age\": 3, \"x\": 1}").unwrap_err().contains('x'));
        assert!(shape.check("{}").unwrap_err().contains("age"));
        assert!(shape.instruction().contains("minimum"));
    }

    #[test]
    fn a_fence_is_taken_off() {
        let shape = AnswerShape::of(&ResponseFormat::JsonObject).unwrap().unwrap();
        for fenced in ["```json\n{\"a\": 1}\n```", "```\n{\"a\": 1}```", "```{\"a\": 1}```"] {
            assert_eq!(shape.check(fenced).as_deref(), Ok("{\"a\": 1}"), "{fenced}");
        }
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        let format = |schema: Value| ResponseFormat::JsonSchema { json_schema: json!({"name": "n", "schema": schema}) };
        for bad in [json!({"type": "no such type"}), json!({"pattern": "("}), json!({"$ref": "https://example.com/x"})]
        {
            assert!(AnswerShape::of(&format(bad.clone())).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_schema_that_multiplies_is_refused_before_it_is_used() {
        let each = |number: usize| {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            (format!("d{number}"), json!({"anyOf": [next.clone(), next]}))
        };
        let mut parts: serde_json::Map<String, Value> = (0..40).map(each).collect();
        parts.insert("d40".to_owned(), json!({"type": "string"}));
        let schema = json!({"$defs": parts, "$ref": "#/$defs/d0"});
        let format = ResponseFormat::JsonSchema { json_schema: json!({"name": "n", "schema": schema}) };
        assert!(AnswerShape::of(&format).unwrap_err().0.contains("multiply"));
        let twice = of_schema(json!({"anyOf": [{"additionalProperties": {"$ref": "#"}}, {"items": {"$ref": "#"}},
                                               {"patternProperties": {"a": {"$ref": "#"}}}, {"type": "string"}]}));
        let deep = "{\"a\":".repeat(60) + "1" + &"}".repeat(60);
        assert!(twice.check(&deep).unwrap_err().contains("too deep"));
        assert!(twice.check("{\"a\": \"b\"}").is_ok());
    }
}
