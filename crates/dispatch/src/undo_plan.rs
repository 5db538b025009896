//! What the next undo or redo of a block brings back. Pure.
//!
//! Undo and redo are changes like others: they are written down and count the version up. So the list of changes is
//! read as an editor's two stacks: what can still be undone, and what was undone and can be made again. A change by
//! anybody else ends the second, because what was undone no longer fits on what is there now.

use storage::{BlockEdit, BlockEditor};

/// Which way through a block's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Take the newest change back that was not taken back yet.
    Undo,
    /// Make the change again that was taken back last.
    Redo,
}

/// One step through a block's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoStep {
    /// The change that is taken back or made again.
    pub change: u64,
    /// The version whose text comes back.
    pub to_version: u64,
}

/// The next step that way, or nothing where there is none. `edits` are a block's changes, oldest first; of a long
/// history the oldest may be missing, and then what is left of it can be walked.
pub(crate) fn next_step(edits: &[BlockEdit], direction: Direction) -> Option<UndoStep> {
    let mut stacks = Stacks::default();
    edits.iter().for_each(|edit| stacks.take(edit));
    match (direction, &stacks.done[..], stacks.undone.last()) {
        (Direction::Undo, [.., to_version, change], _) => Some(UndoStep { change: *change, to_version: *to_version }),
        (Direction::Redo, _, Some(change)) => Some(UndoStep { change: *change, to_version: *change }),
        _ => None,
    }
}

/// Versions that stand, oldest first, and versions that were undone, the one to make again last.
#[derive(Default)]
struct Stacks {
    done: Vec<u64>,
    undone: Vec<u64>,
}

impl Stacks {
    fn take(&mut self, edit: &BlockEdit) {
        let place = |versions: &[u64], wanted: u64| versions.iter().position(|version| *version == wanted);
        match edit.editor {
            BlockEditor::Undo { to_version } if self.done.contains(&to_version) => {
                let stays = place(&self.done, to_version).map_or(0, |at| at + 1);
                self.undone.extend(self.done.drain(stays..).rev());
            }
            BlockEditor::Redo { to_version } if self.undone.contains(&to_version) => {
                let stays = place(&self.undone, to_version).unwrap_or(0);
                self.done.extend(self.undone.drain(stays..).rev());
            }
            // Whether a block is read-only, for example, is not in the history, so there is nothing to bring back.
            _ if !edit.visible && !self.done.is_empty() => {}
            _ => {
                self.done.push(edit.version);
                self.undone.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::RunId;

    use super::*;

    /// Changes by their letters: `a` the API, `t` a tool, `s` sleeptime, `i` an import, `=` a change that shows
    /// nothing, `u2` and `r2` an undo and a redo to version 2.
    fn edits(first: u64, text: &str) -> Vec<BlockEdit> {
        let edit = |(version, word): (u64, &str)| {
            let to_version = word[1..].parse().unwrap_or_default();
            let editor = match &word[..1] {
                "t" => BlockEditor::Tool(RunId::random()),
                "s" => BlockEditor::Sleeptime(RunId::random()),
                "i" => BlockEditor::Import,
                "u" => BlockEditor::Undo { to_version },
                "r" => BlockEditor::Redo { to_version },
                _ => BlockEditor::Api,
            };
            BlockEdit { version, editor, visible: word != "=" }
        };
        (first..).zip(text.split(' ')).map(edit).collect()
    }

    /// The step back and the step forward, as `change>version`.
    fn steps(edits: &[BlockEdit]) -> String {
        let step = |direction| match next_step(edits, direction) {
            Some(UndoStep { change, to_version }) => format!("{change}>{to_version}"),
            None => "-".to_owned(),
        };
        format!("{} {}", step(Direction::Undo), step(Direction::Redo))
    }

    #[test]
    fn each_history_has_its_next_steps() {
        for (history, expected) in [
            ("a", "- -"),
            ("a t", "2>1 -"),
            ("i s t", "3>2 -"),
            // Undo walks back, one change for each.
            ("a t u1", "- 2>2"),
            ("a t t u2", "2>1 3>3"),
            ("a t t u2 u1", "- 2>2"),
            // Redo walks forward again.
            ("a t t u2 u1 r2", "2>1 3>3"),
            ("a t t u2 u1 r2 r3", "3>2 -"),
            ("a t u1 r2 u1", "- 2>2"),
            ("a t u1 r2 u1 r2", "2>1 -"),
            // A new change cuts what could be made again, and is itself undone to what it was made on.
            ("a t u1 t", "4>1 -"),
            ("a t t u2 t", "5>2 -"),
            ("a t t u2 t u2", "2>1 5>5"),
            ("a t t u2 t u2 u1", "- 2>2"),
            // What shows nothing is passed over, and cuts nothing.
            ("a =", "- -"),
            ("a t =", "2>1 -"),
            ("a t = u1", "- 2>2"),
            ("a t u1 =", "- 2>2"),
            ("= t", "2>1 -"),
            // An undo to a version that is not on the way is a change like any other.
            ("a t u1 t u2", "5>4 -"),
            ("a r7", "2>1 -"),
        ] {
            assert_eq!(steps(&edits(1, history)), expected, "{history}");
        }
    }

    #[test]
    fn what_is_left_of_a_long_history_can_be_walked() {
        for (history, expected) in [("t t", "9>8 -"), ("u3 t", "9>8 -"), ("u3 t t u9", "9>8 10>10"), ("=", "- -")] {
            assert_eq!(steps(&edits(8, history)), expected, "{history}");
        }
    }

    /// Goes that way as often as it can, writes each step down, and gives the versions that came back.
    fn walk(history: &mut Vec<BlockEdit>, direction: Direction, times: usize) -> Vec<u64> {
        let mut shown = Vec::new();
        while let Some(UndoStep { to_version, .. }) = next_step(history, direction).filter(|_| shown.len() < times) {
            let editor = match direction {
                Direction::Undo => BlockEditor::Undo { to_version },
                Direction::Redo => BlockEditor::Redo { to_version },
            };
            history.push(BlockEdit { version: history.len() as u64 + 1, editor, visible: true });
            shown.push(to_version);
        }
        shown
    }

    #[test]
    fn undo_and_redo_lead_through_every_version_and_back() {
        let mut history = edits(1, "a t t a s t");
        assert_eq!(walk(&mut history, Direction::Undo, 9), [5, 4, 3, 2, 1]);
        assert_eq!(walk(&mut history, Direction::Redo, 3), [2, 3, 4]);
        assert_eq!(walk(&mut history, Direction::Undo, 2), [3, 2]);
        assert_eq!(walk(&mut history, Direction::Redo, 9), [3, 4, 5, 6]);
    }
}
