//! What these commands read of the console's JSON.

use domain::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::cli::wire::AgentView;

/// Who made a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct EditorView {
    pub(super) editor: String,
    pub(super) run_id: Option<String>,
    pub(super) restored_version: Option<u64>,
}

impl EditorView {
    /// In words.
    pub(super) fn who(&self) -> String {
        match (&*self.editor, &self.run_id, self.restored_version) {
            (editor @ ("undo" | "redo"), _, Some(version)) => format!("{editor} to v{version}"),
            (editor, Some(run), _) => format!("{editor}, {run}"),
            (editor, None, _) => editor.to_owned(),
        }
    }
}

/// One change of a block.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChangeView {
    pub(super) version: u64,
    pub(super) at: Timestamp,
    #[serde(flatten)]
    pub(super) editor: EditorView,
    pub(super) label: String,
    pub(super) description: Option<String>,
    pub(super) limit: u32,
    pub(super) added: Option<usize>,
    pub(super) removed: Option<usize>,
    pub(super) current: bool,
}

/// An agent that has a block.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SharerView {
    pub(super) name: String,
}

/// That an agent was parted from a block.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PartingView {
    pub(super) at: Timestamp,
    #[serde(flatten)]
    pub(super) editor: EditorView,
}

/// A block that an agent has, or had.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockEntryView {
    pub(super) label: String,
}

/// A page of a block's history, newest first.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct HistoryView {
    pub(super) label: String,
    pub(super) detached: Option<PartingView>,
    pub(super) shared_by: Vec<SharerView>,
    pub(super) changes: Vec<ChangeView>,
    pub(super) has_more: bool,
}

/// What an undo or a redo did.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct UndoView {
    pub(super) label: String,
    pub(super) version: u64,
    pub(super) restored_version: Option<u64>,
    pub(super) change: ChangeView,
    pub(super) shared_by: Vec<SharerView>,
}

/// One side of a difference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct SideView {
    pub(super) version: u64,
    pub(super) label: Option<String>,
    pub(super) description: Option<String>,
    pub(super) limit: Option<u32>,
}

/// One line of a difference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct LineView {
    pub(super) op: String,
    pub(super) text: String,
}

/// The difference between two versions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct DiffView {
    pub(super) from: SideView,
    pub(super) to: SideView,
    pub(super) lines: Vec<LineView>,
}

/// The names of those who share a block, where there are others than the one that was asked about.
pub(super) fn shared(agents: &[SharerView]) -> Option<String> {
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    (names.len() > 1).then(|| format!("{} agents: {}", names.len(), names.join(", ")))
}

/// A moment as the agent's own clock shows it.
pub(super) fn local(at: Timestamp, agent: &AgentView) -> String {
    let zone = agent.timezone.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    at.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_who_changes_a_block_has_a_name() {
        for (editor, run, restored, expected) in [
            ("tool", Some("run-1"), None, "tool, run-1"),
            ("sleeptime", Some("run-2"), None, "sleeptime, run-2"),
            ("api", None, None, "api"),
            ("import", None, None, "import"),
            ("undo", None, Some(3), "undo to v3"),
            ("redo", None, Some(4), "redo to v4"),
        ] {
            let view =
                EditorView { editor: editor.to_owned(), run_id: run.map(str::to_owned), restored_version: restored };
            assert_eq!(view.who(), expected);
        }
    }

    #[test]
    fn times_are_the_agents_own() {
        let at = "2026-11-18T16:00:00Z".parse().unwrap();
        let shown = |zone: &str| local(at, &AgentView { timezone: Some(zone.to_owned()), ..AgentView::default() });
        assert_eq!(shown("Europe/Berlin"), "2026-11-18 17:00:00 CET");
        assert_eq!(shown("Nowhere/Land"), "2026-11-18 16:00:00 UTC");
    }

    #[test]
    fn only_a_block_of_several_agents_is_shared() {
        let agents = |names: &[&str]| -> Vec<SharerView> {
            names.iter().map(|name| SharerView { name: (*name).to_owned() }).collect()
        };
        assert_eq!(shared(&agents(&["ada"])), None);
        assert_eq!(shared(&agents(&["ada", "bob"])), Some("2 agents: ada, bob".to_owned()));
    }
}
