//! A block's history as people read it. Pure.

use super::views::{ChangeView, HistoryView, local, shared};
use crate::cli::output::{Style, one_line};
use crate::cli::wire::AgentView;

/// A table, newest first; the present version is marked.
pub(super) fn rendered(history: &HistoryView, agent: &AgentView, style: Style) -> String {
    let shared = shared(&history.shared_by).map(|agents| format!("  shared by {}", one_line(&agents)));
    let mut text = format!("{}{}\n", style.bold(&one_line(&history.label)), style.dim(&shared.unwrap_or_default()));
    if let Some(parting) = &history.detached {
        let (at, who) = (local(parting.at, agent), one_line(&parting.editor.who()));
        let line = format!("  the agent does not have it since {at} ({who}); `memory undo` gives it back");
        text.push_str(&format!("{}\n", style.alarm(&line)));
    }
    let rows: Vec<[String; 4]> = history.changes.iter().map(|change| row(change, agent)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (version, when, who) = (width(0), width(1), width(2));
    for (place, (row, change)) in rows.iter().zip(&history.changes).enumerate() {
        let [number, at, editor, extent] = row;
        let mark = if change.current { "*" } else { " " };
        let line = format!("{mark} {number:>version$}  {at:when$}  {editor:who$}  {extent}");
        let line = format!("{line}{}", notes(change, history.changes.get(place + 1)));
        text.push_str(&if change.current { style.bold(&line) } else { line });
        text.push('\n');
    }
    if let Some(oldest) = history.changes.last().filter(|_| history.has_more) {
        let hint = format!("  older ones: --before {}", oldest.version);
        text.push_str(&format!("{}\n", style.dim(&hint)));
    }
    text
}

fn row(change: &ChangeView, agent: &AgentView) -> [String; 4] {
    let count = |sign: char, count: Option<usize>| match count {
        Some(count) => format!("{sign}{count}"),
        None => format!("{sign}?"),
    };
    let extent = format!("{} {}", count('+', change.added), count('−', change.removed));
    [format!("v{}", change.version), local(change.at, agent), one_line(&change.editor.who()), extent]
}

/// What else changed than the text.
fn notes(change: &ChangeView, before: Option<&ChangeView>) -> String {
    if change.version == 1 {
        return "  made".to_owned();
    }
    let Some(before) = before else { return String::new() };
    let mut notes = Vec::new();
    if change.label != before.label {
        notes.push(format!("renamed from {}", one_line(&before.label)));
    }
    if change.limit != before.limit {
        notes.push(format!("limit {} → {}", before.limit, change.limit));
    }
    if change.description != before.description {
        notes.push("description".to_owned());
    }
    if notes.is_empty() && change.added == Some(0) && change.removed == Some(0) {
        notes.push("settings only".to_owned());
    }
    if notes.is_empty() { String::new() } else { format!("  {}", notes.join(", ")) }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;

    fn change(version: u64, editor: &Value, counts: (u32, u32)) -> Value {
        let mut change = json!({
            "version": version, "at": format!("2026-11-18T16:0{version}:00Z"), "label": "human", "limit": 100,
            "description": null, "added": counts.0, "removed": counts.1, "current": false,
        });
        for (key, value) in editor.as_object().unwrap() {
            change[key] = value.clone();
        }
        change
    }

    #[test]
    fn a_history_reads_from_the_newest() {
        let mut changes = vec![
            change(5, &json!({"editor": "redo", "restored_version": 3}), (0, 0)),
            change(4, &json!({"editor": "undo", "restored_version": 2}), (0, 12)),
            change(3, &json!({"editor": "tool", "run_id": "run-7"}), (12, 0)),
            change(2, &json!({"editor": "api"}), (0, 0)),
            change(1, &json!({"editor": "import"}), (3, 0)),
        ];
        changes[0]["current"] = json!(true);
        changes[2]["limit"] = json!(200);
        changes[2]["label"] = json!("person\u{1b}[2J");
        let shared = json!([{"name": "ada"}, {"name": "bob"}]);
        let history = json!({"label": "human", "shared_by": shared, "changes": changes, "has_more": false});
        let agent = AgentView { timezone: Some("Asia/Tokyo".to_owned()), ..AgentView::default() };
        let history: HistoryView = serde_json::from_value(history).unwrap();
        let long = HistoryView { changes: history.changes[..1].to_vec(), has_more: true, ..history.clone() };
        assert!(rendered(&long, &agent, Style { colours: false }).ends_with("\n  older ones: --before 5\n"));
        let parting =
            serde_json::from_value(json!({"at": "2026-11-18T16:09:00Z", "editor": "tool", "run_id": "run-8"}));
        let gone = HistoryView { detached: Some(parting.unwrap()), ..long };
        let told = rendered(&gone, &agent, Style { colours: false });
        assert!(told.contains("does not have it since 2026-11-19 01:09:00 JST (tool, run-8)"), "{told}");
        expect![[r#"
            human  shared by 2 agents: ada, bob
            * v5  2026-11-19 01:05:00 JST  redo to v3   +0 −0  settings only
              v4  2026-11-19 01:04:00 JST  undo to v2   +0 −12  renamed from person[2J, limit 200 → 100
              v3  2026-11-19 01:03:00 JST  tool, run-7  +12 −0  renamed from human, limit 100 → 200
              v2  2026-11-19 01:02:00 JST  api          +0 −0  settings only
              v1  2026-11-19 01:01:00 JST  import       +3 −0  made
        "#]]
        .assert_eq(&rendered(&history, &agent, Style { colours: false }));
    }
}
