//! The tool `memory_apply_patch`: several changes of one block as a simplified unified diff.
//!
//! Lines are what stands between line feeds, so a text that ends with a line feed has an empty last line, and a patch can
//! say so. Every hunk is looked for in the text as it was before the call; either all of them fit or nothing changes.

use std::cmp::Reverse;

use super::guard::{find_writable, line_of, no_line_numbers, on_lines, set_value};
use super::{Edit, MemoryCall, ToolError, refuse};
use crate::fields::{Fields, excerpt};

/// So many places that begin like the hunk are looked at to say where it stops to fit. It bounds the work.
const CANDIDATES: usize = 50;

pub(super) fn memory_apply_patch(call: &MemoryCall<'_>) -> Result<Edit, ToolError> {
    let fields = Fields::new(call.arguments, &["label", "patch"])?;
    let (name, patch) = (fields.text("label")?, fields.text("patch")?);
    let block = find_writable(call.memory, name)?;
    let hunks = parse(patch)?;
    let value = apply(block.value(), &hunks)?;
    let changes = set_value(block, value)?;
    let (added, removed) = hunks
        .iter()
        .fold((0, 0), |(added, removed), hunk| (added + hunk.count(Marker::Add), removed + hunk.count(Marker::Remove)));
    Ok(Edit { reply: format!("Patched the memory block `{name}`: lines added {added}, removed {removed}."), changes })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Keep,
    Remove,
    Add,
}

#[derive(Debug)]
struct PatchLine<'a> {
    marker: Marker,
    text: &'a str,
    /// 1-based line of the patch.
    number: usize,
}

/// Lines that belong together.
#[derive(Debug, Default)]
struct Hunk<'a> {
    lines: Vec<PatchLine<'a>>,
    /// The line of the old text that the header names. It only chooses among places that fit.
    header_line: Option<usize>,
}

impl<'a> Hunk<'a> {
    fn count(&self, marker: Marker) -> usize {
        self.lines.iter().filter(|line| line.marker == marker).count()
    }

    /// The lines that must stand in the block.
    fn old(&self) -> impl Iterator<Item = &PatchLine<'a>> {
        self.lines.iter().filter(|line| line.marker != Marker::Add)
    }

    /// The lines that stand there afterwards.
    fn new_texts(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter(|line| line.marker != Marker::Remove).map(|line| line.text)
    }
}

fn parse(patch: &str) -> Result<Vec<Hunk<'_>>, ToolError> {
    let patch = patch.strip_suffix('\n').unwrap_or(patch);
    let mut hunks = vec![Hunk::default()];
    let mut lines = patch.split('\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let number = index + 1;
        let at_start = hunks.len() == 1 && hunks[0].lines.is_empty();
        let names_files = line.starts_with("--- ") && lines.peek().is_some_and(|(_, next)| next.starts_with("+++ "));
        if at_start && names_files {
            lines.next();
        } else if line.starts_with("@@") {
            hunks.push(Hunk { lines: Vec::new(), header_line: header_line(line) });
        } else if !line.starts_with("\\ ")
            && let Some(hunk) = hunks.last_mut()
        {
            let (marker, text) = split_marker(line, number)?;
            hunk.lines.push(PatchLine { marker, text, number });
        }
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    if !hunks.iter().any(|hunk| hunk.count(Marker::Add) + hunk.count(Marker::Remove) > 0) {
        return Err(refuse!("The patch changes nothing: it has no line that begins with `-` or `+`."));
    }
    Ok(hunks)
}

fn split_marker(line: &str, number: usize) -> Result<(Marker, &str), ToolError> {
    let marker = match line.chars().next() {
        // Models and editors drop the space of an empty line that stays.
        None => return Ok((Marker::Keep, "")),
        Some(' ') => Marker::Keep,
        Some('-') => Marker::Remove,
        Some('+') => Marker::Add,
        Some(_) => {
            no_line_numbers("patch", line)?;
            return Err(refuse!(
                "Line {number} of the patch (`{}`) has no marker. Begin it with a space (the line stays), `-` (remove) \
                 or `+` (add).",
                excerpt(line)
            ));
        }
    };
    Ok((marker, &line[1..]))
}

/// The `3` of `@@ -3,2 +3,4 @@`.
fn header_line(header: &str) -> Option<usize> {
    let old = header.strip_prefix("@@")?.trim_start().strip_prefix('-')?;
    let digits = old.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Where a hunk goes: the lines `start..end` of the old text give way to its new lines.
struct Placed<'a> {
    start: usize,
    end: usize,
    hunk: &'a Hunk<'a>,
}

fn apply(value: &str, hunks: &[Hunk<'_>]) -> Result<String, ToolError> {
    let lines: Vec<&str> = value.split('\n').collect();
    let mut placed = hunks.iter().map(|hunk| place(value, &lines, hunk)).collect::<Result<Vec<_>, _>>()?;
    placed.sort_by_key(|hunk| (hunk.start, hunk.end));
    let mut result: Vec<&str> = Vec::with_capacity(lines.len());
    let mut position = 0;
    for Placed { start, end, hunk } in &placed {
        if *start < position {
            return Err(refuse!(
                "Two parts of the patch change the same lines of the block (line {}). Join them into one.",
                start + 1
            ));
        }
        result.extend(&lines[position..*start]);
        result.extend(hunk.new_texts());
        position = *end;
    }
    result.extend(&lines[position..]);
    Ok(result.join("\n"))
}

fn place<'a>(value: &str, lines: &[&str], hunk: &'a Hunk<'a>) -> Result<Placed<'a>, ToolError> {
    let old: Vec<&str> = hunk.old().map(|line| line.text).collect();
    check_added_lines(hunk, &old)?;
    if old.is_empty() {
        return place_addition(value, lines, hunk);
    }
    let at = |start: usize| Placed { start, end: start + old.len(), hunk };
    let hinted = hunk.header_line.and_then(|line| line.checked_sub(1));
    if let Some(start) = hinted.filter(|start| lines.get(*start..).is_some_and(|rest| rest.starts_with(&old))) {
        return Ok(at(start));
    }
    let found = find_lines(value, &old);
    match found.as_slice() {
        [] => Err(not_found(lines, hunk)),
        [start] => Ok(at(*start)),
        many => Err(refuse!(
            "The part of the patch that begins at its line {} fits the block more than once ({}). Add lines around it \
             that stay, until it fits only one place.",
            first_number(hunk),
            on_lines(many.iter().map(|start| start + 1))
        )),
    }
}

/// Added lines may not carry line numbers, unless they repeat a line that stood there with them.
fn check_added_lines(hunk: &Hunk<'_>, old: &[&str]) -> Result<(), ToolError> {
    let mut added = hunk.lines.iter().filter(|line| line.marker == Marker::Add);
    added.try_for_each(|line| match no_line_numbers("patch", line.text) {
        Err(error) if !old.contains(&line.text) => Err(error),
        _ => Ok(()),
    })
}

/// A hunk of added lines only has nothing to be found by; it needs an empty block or a line number in its header.
fn place_addition<'a>(value: &str, lines: &[&str], hunk: &'a Hunk<'a>) -> Result<Placed<'a>, ToolError> {
    if value.is_empty() {
        return Ok(Placed { start: 0, end: lines.len(), hunk });
    }
    match hunk.header_line {
        Some(line) if line <= lines.len() => Ok(Placed { start: line, end: line, hunk }),
        _ => Err(refuse!(
            "The part of the patch that begins at its line {} only adds lines, so its place can't be known. Add the \
             line before or after it, with a space as its marker.",
            first_number(hunk)
        )),
    }
}

/// The 0-based lines where `old` begins in `value`; at most two, since more are no more ambiguous.
fn find_lines(value: &str, old: &[&str]) -> Vec<usize> {
    // Text search is linear where a comparison line by line is not, and a model's patch may be made of equal lines.
    let text = format!("\n{value}\n");
    let wanted = format!("\n{}\n", old.join("\n"));
    let Some(first) = text.find(&wanted) else { return Vec::new() };
    let second = text[first + 1..].find(&wanted).map(|offset| first + 1 + offset);
    // The line feed put before the text makes the count of line feeds before a place its 0-based line.
    [Some(first), second].into_iter().flatten().map(|place| line_of(&text, place) - 1).collect()
}

/// Says which line of the hunk is the first that fits nowhere.
fn not_found(lines: &[&str], hunk: &Hunk<'_>) -> ToolError {
    let old: Vec<&PatchLine<'_>> = hunk.old().collect();
    let matched = |start: usize| lines[start..].iter().zip(&old).take_while(|(line, old)| **line == old.text).count();
    let starts = lines.iter().enumerate().filter(|(_, line)| old.first().is_some_and(|first| first.text == **line));
    // The first of equally good places is the one to report.
    let best = starts.take(CANDIDATES).map(|(start, _)| (matched(start), Reverse(start))).max();
    let (length, Reverse(start)) = best.unwrap_or((0, Reverse(0)));
    let Some(line) = old.get(length) else {
        return refuse!("The part of the patch that begins at its line {} fits nowhere.", first_number(hunk));
    };
    if let Err(error) = no_line_numbers("patch", line.text) {
        return error;
    }
    let wanted = excerpt(line.text);
    if length == 0 {
        return refuse!(
            "Line {} of the patch does not match: the block has no line `{wanted}`. Lines that stay or are removed must \
             be copied exactly from the block.",
            line.number
        );
    }
    let number = start + length + 1;
    match lines.get(start + length) {
        Some(there) => refuse!(
            "Line {} of the patch does not match: it says `{wanted}`, but line {number} of the block is `{}`.",
            line.number,
            excerpt(there)
        ),
        None => refuse!(
            "Line {} of the patch does not match: it says `{wanted}`, but the block ends after line {}.",
            line.number,
            number - 1
        ),
    }
}

fn first_number(hunk: &Hunk<'_>) -> usize {
    hunk.lines.first().map_or(1, |line| line.number)
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
