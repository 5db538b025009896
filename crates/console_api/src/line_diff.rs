//! What changed between two texts, line by line. Pure.
//!
//! The longest common list of lines decides. Where the texts are so long and so different that finding it would take
//! more than a moment, everything between their common beginning and end counts as replaced: that is true as well,
//! only less telling.

/// Pairs of lines that are compared at most.
const MAX_PAIRS: usize = 1_000_000;

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fate {
    Same,
    Removed,
    Added,
}

/// How many characters came and went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// The lines of both texts in order, for people: a line break at the end makes no difference.
pub(crate) fn shown<'a>(old: &'a str, new: &'a str) -> Vec<(Fate, &'a str)> {
    compare(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>())
}

/// Characters that came and went.
pub(crate) fn extent(old: &str, new: &str) -> Extent {
    // With a line break at both ends a last line is not another one because something follows it.
    let (old, new) = (format!("{old}\n"), format!("{new}\n"));
    let lines = |text| -> Vec<&str> { str::split_inclusive(text, '\n').collect() };
    let compared = compare(&lines(&old), &lines(&new));
    let mut extent = Extent::default();
    for stretch in compared.split(|(fate, _)| *fate == Fate::Same) {
        let side = |wanted: Fate| -> Vec<char> {
            stretch.iter().filter(|(fate, _)| *fate == wanted).flat_map(|(_, line)| line.chars()).collect()
        };
        let (removed, added) = (side(Fate::Removed), side(Fate::Added));
        let (start, end) = common_ends(&removed, &added);
        let common = start + end;
        extent.removed += removed.len() - common;
        extent.added += added.len() - common;
    }
    extent
}

/// How many elements the two begin with alike, and how many of the others they end with alike.
fn common_ends<T: PartialEq>(old: &[T], new: &[T]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (start, end)
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Fate, &'a str)> {
    let (start, end) = common_ends(old, new);
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut lines: Vec<(Fate, &str)> = old[..start].iter().map(|line| (Fate::Same, *line)).collect();
    if old_middle.len().saturating_mul(new_middle.len()) <= MAX_PAIRS {
        lines.extend(by_common_lines(old_middle, new_middle));
    } else {
        lines.extend(old_middle.iter().map(|line| (Fate::Removed, *line)));
        lines.extend(new_middle.iter().map(|line| (Fate::Added, *line)));
    }
    lines.extend(old[old.len() - end..].iter().map(|line| (Fate::Same, *line)));
    lines
}

/// Removed lines come before those that took their place.
fn by_common_lines<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Fate, &'a str)> {
    let width = new.len() + 1;
    // At each pair: how many lines the rest of the texts from there on have in common.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (row, old_line) in old.iter().enumerate().rev() {
        for (column, new_line) in new.iter().enumerate().rev() {
            let at = row * width + column;
            common[at] =
                if old_line == new_line { common[at + width + 1] + 1 } else { common[at + width].max(common[at + 1]) };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < old.len() || column < new.len() {
        let at = row * width + column;
        if row < old.len() && column < new.len() && old[row] == new[column] {
            lines.push((Fate::Same, old[row]));
            (row, column) = (row + 1, column + 1);
        } else if row < old.len() && (column == new.len() || common[at + width] >= common[at + 1]) {
            lines.push((Fate::Removed, old[row]));
            row += 1;
        } else {
            lines.push((Fate::Added, new[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
#[path = "line_diff_tests.rs"]
mod tests;
