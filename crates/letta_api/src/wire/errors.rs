//! The three shapes that an error of Letta's dialect has.

use std::fmt::Write;

use serde::Serialize;

/// The body of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum ErrorBody {
    /// Most errors.
    Detail { detail: String },
    /// A request that can't be read. `detail` is one text, written as the old server writes its list of problems.
    Invalid {
        trace_id: &'static str,
        detail: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        examples: Option<[String; 1]>,
    },
    /// A model that failed.
    Model { error: ModelFailure },
}

/// What went wrong with a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ModelFailure {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) message: &'static str,
    pub(crate) detail: String,
}

/// One problem at one place of a request: `[{'type': …, 'loc': ('body', 'name'), 'msg': …}]`.
pub(crate) fn problem(kind: &str, place: &[&str], text: &str) -> String {
    let mut places = String::new();
    for (position, part) in place.iter().enumerate() {
        // Writing into a String can't fail.
        let _ = write!(places, "{}{}", if position == 0 { "" } else { ", " }, quoted(part));
    }
    let comma = if place.len() == 1 { "," } else { "" };
    format!("[{{'type': {}, 'loc': ({places}{comma}), 'msg': {}}}]", quoted(kind), quoted(text))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_problem_reads_like_a_list_of_one() {
        expect!["[{'type': 'missing', 'loc': ('body',), 'msg': 'it\\'s not there'}]"].assert_eq(&problem(
            "missing",
            &["body"],
            "it's not there",
        ));
        expect!["[{'type': 'enum', 'loc': ('body', 'agent_type'), 'msg': 'no'}]"].assert_eq(&problem(
            "enum",
            &["body", "agent_type"],
            "no",
        ));
    }

    #[test]
    fn examples_are_there_only_for_ids() {
        let body = ErrorBody::Invalid { trace_id: "", detail: "x".into(), examples: None };
        expect![[r#"{"trace_id":"","detail":"x"}"#]].assert_eq(&serde_json::to_string(&body).expect("JSON"));
    }
}
