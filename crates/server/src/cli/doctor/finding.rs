//! What the doctor found, and how it is told. Pure.

use serde_json::{Value, json};

use crate::cli::output::{Style, one_line};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Fine,
    /// Worth knowing.
    Note,
    /// Something does not work.
    Problem,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    subject: String,
    state: State,
    text: String,
    /// What to do about a problem.
    remedy: Option<String>,
}

impl Finding {
    /// All is well.
    pub(super) fn fine(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { subject: subject.into(), state: State::Fine, text: text.into(), remedy: None }
    }

    /// Worth knowing.
    pub(super) fn note(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { state: State::Note, ..Self::fine(subject, text) }
    }

    /// Something does not work, and this is what to do.
    pub(super) fn problem(subject: impl Into<String>, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Problem, remedy: Some(remedy.into()), ..Self::fine(subject, text) }
    }

    /// Whether something does not work.
    pub(super) fn is_problem(&self) -> bool {
        self.state == State::Problem
    }
}

/// The findings for people.
pub(super) fn rendered(findings: &[Finding], style: Style) -> String {
    let width = findings.iter().map(|finding| finding.subject.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for finding in findings {
        let word = format!("{:7}", finding.state.word());
        let word = match finding.state {
            State::Fine => style.dim(&word),
            State::Note => style.bold(&word),
            State::Problem => style.alarm(&word),
        };
        let subject = one_line(&finding.subject);
        text.push_str(&format!("{word}  {subject:width$}  {}\n", one_line(&finding.text)));
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("{:7}  {:width$}  what to do: {}\n", "", "", one_line(remedy)));
        }
    }
    let problems = findings.iter().filter(|finding| finding.is_problem()).count();
    text.push_str(&match problems {
        0 => "\nNothing is wrong.\n".to_owned(),
        1 => format!("\n{}\n", style.alarm("1 problem.")),
        several => format!("\n{}\n", style.alarm(&format!("{several} problems."))),
    });
    text
}

/// The findings for programs.
pub(super) fn to_json(findings: &[Finding]) -> Value {
    let one = |finding: &Finding| {
        json!({
            "subject": finding.subject, "state": finding.state.word(), "text": finding.text, "remedy": finding.remedy,
        })
    };
    let ok = !findings.iter().any(Finding::is_problem);
    json!({ "ok": ok, "findings": findings.iter().map(one).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn findings_are_told_to_people_and_programs() {
        let findings = [Finding::fine("store", "sound"), Finding::problem("provider work", "is\ndown", "start it")];
        expect![[r#"
            ok       store          sound
            problem  provider work  is down
                                    what to do: start it

            1 problem.
        "#]]
        .assert_eq(&rendered(&findings, Style { colours: false }));
        let told = to_json(&findings);
        assert_eq!(told["ok"], false);
        assert_eq!(told["findings"][1]["remedy"], "start it");
        assert_eq!(to_json(&findings[..1])["ok"], true);
    }
}
