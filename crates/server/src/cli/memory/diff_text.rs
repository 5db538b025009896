//! A difference as people read it. Pure.

use super::views::{DiffView, LineView, SideView};
use crate::cli::output::{Style, clean, one_line};

/// Lines that are shown around what changed.
const CONTEXT: usize = 3;

/// What changed, with a few lines around it.
pub(super) fn rendered(diff: &DiffView, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&format!("v{} → v{}", diff.from.version, diff.to.version)));
    let settings = settings(&diff.from, &diff.to);
    settings.iter().for_each(|line| text.push_str(&format!("{}\n", style.dim(line))));
    let changed = |line: &LineView| line.op != "same";
    if !diff.lines.iter().any(changed) {
        text.push_str(if settings.is_empty() { "Nothing differs.\n" } else { "The text is the same.\n" });
        return text;
    }
    let mut hidden = 0;
    for (place, line) in diff.lines.iter().enumerate() {
        let around = place.saturating_sub(CONTEXT)..(place + CONTEXT + 1).min(diff.lines.len());
        if !diff.lines[around].iter().any(changed) {
            hidden += 1;
            continue;
        }
        text.push_str(&fold(std::mem::take(&mut hidden), style));
        text.push_str(&match line.op.as_str() {
            "removed" => style.alarm(&format!("-{}", line.text)),
            "added" => style.fresh(&format!("+{}", line.text)),
            _ => format!(" {}", clean(&line.text)),
        });
        text.push('\n');
    }
    text.push_str(&fold(hidden, style));
    text
}

/// Stands for lines that are the same.
fn fold(hidden: usize, style: Style) -> String {
    match hidden {
        0 => String::new(),
        1 => format!("{}\n", style.dim("… 1 line is the same")),
        several => format!("{}\n", style.dim(&format!("… {several} lines are the same"))),
    }
}

/// What changed around the text. What a block was made with is no change.
fn settings(from: &SideView, to: &SideView) -> Vec<String> {
    if from.version == 0 || to.version == 0 {
        return Vec::new();
    }
    let shown =
        |text: &Option<String>| text.as_deref().map_or("none".to_owned(), |text| format!("`{}`", one_line(text)));
    let limit = |limit: Option<u32>| limit.unwrap_or_default();
    let mut lines = Vec::new();
    if from.label != to.label {
        lines.push(format!("label {} → {}", shown(&from.label), shown(&to.label)));
    }
    if from.limit != to.limit {
        lines.push(format!("limit {} → {}", limit(from.limit), limit(to.limit)));
    }
    if from.description != to.description {
        lines.push(format!("description {} → {}", shown(&from.description), shown(&to.description)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn check(diff: Value, expected: &Expect) {
        let diff: DiffView = serde_json::from_value(diff).unwrap();
        expected.assert_eq(&rendered(&diff, Style { colours: false }));
    }

    fn side(version: u64, label: &str) -> Value {
        json!({"version": version, "label": label, "limit": 100, "description": null})
    }

    #[test]
    fn what_is_far_from_a_change_is_folded() {
        let mut lines: Vec<Value> =
            (0..12).map(|number| json!({"op": "same", "text": format!("line {number}")})).collect();
        lines[6] = json!({"op": "removed", "text": "old\u{1b}[2J"});
        lines.insert(7, json!({"op": "added", "text": "new"}));
        check(
            json!({"from": side(2, "human"), "to": side(3, "person"), "lines": lines}),
            &expect![[r#"
            v2 → v3
            label `human` → `person`
            … 3 lines are the same
             line 3
             line 4
             line 5
            -old[2J
            +new
             line 7
             line 8
             line 9
            … 2 lines are the same
        "#]],
        );
    }

    #[test]
    fn what_is_the_same_is_said_to_be() {
        check(
            json!({"from": side(2, "a"), "to": side(3, "a"), "lines": []}),
            &expect![[r#"
            v2 → v3
            Nothing differs.
        "#]],
        );
        check(
            json!({"from": side(2, "a"), "to": side(3, "b"), "lines": []}),
            &expect![[r#"
            v2 → v3
            label `a` → `b`
            The text is the same.
        "#]],
        );
        let made = json!([{"op": "added", "text": "x"}]);
        check(
            json!({"from": {"version": 0}, "to": side(1, "b"), "lines": made}),
            &expect![[r#"
            v0 → v1
            +x
        "#]],
        );
    }
}
