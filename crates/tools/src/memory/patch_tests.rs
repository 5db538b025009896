//! Patches that fit, patches that don't, and the round trip: a diff of two texts turns the first into the second.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const TEXT: &str = "one\ntwo\nthree\ntwo\nfive";

fn patched(value: &str, patch: &str) -> Result<String, ToolError> {
    apply(value, &parse(patch)?)
}

fn check(value: &str, patch: &str, expected: Expect) {
    let shown = match patched(value, patch) {
        Ok(text) => format!("{text:?}"),
        Err(error) => format!("error: {error}"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn lines_are_replaced_added_and_removed() {
    check(TEXT, " one\n-two\n+TWO\n three", expect![[r#""one\nTWO\nthree\ntwo\nfive""#]]);
    check(TEXT, "-one\n", expect![[r#""two\nthree\ntwo\nfive""#]]);
    check(TEXT, " five\n+six", expect![[r#""one\ntwo\nthree\ntwo\nfive\nsix""#]]);
    check(TEXT, "+zero\n one", expect![[r#""zero\none\ntwo\nthree\ntwo\nfive""#]]);
    check(TEXT, "-one\n-two\n-three\n-two\n-five", expect![[r#""""#]]);
    check("", "+a\n+b", expect![[r#""a\nb""#]]);
    check("a\n\nb", " a\n\n-b\n+c", expect![[r#""a\n\nc""#]]);
    check("a\n", " a\n-\n+b", expect![[r#""a\nb""#]]);
}

#[test]
fn hunks_are_independent_and_may_come_in_any_order() {
    check(TEXT, "@@\n-five\n+FIVE\n@@\n-one\n+ONE", expect![[r#""ONE\ntwo\nthree\ntwo\nFIVE""#]]);
    check(TEXT, "@@ -1,1 +1,1 @@\n-one\n+ONE\n@@ some words\n-three", expect![[r#""ONE\ntwo\ntwo\nfive""#]]);
    check(
        TEXT,
        " one\n+a\n@@\n one\n+b",
        expect!["error: Two parts of the patch change the same lines of the block (line 1). Join them into one."],
    );
}

#[test]
fn file_headers_and_notes_of_diff_programs_are_skipped() {
    check(
        TEXT,
        "--- a/human\n+++ b/human\n@@ -5 +5 @@\n-five\n\\ No newline at end of file\n+FIVE",
        expect![[r#""one\ntwo\nthree\ntwo\nFIVE""#]],
    );
    check("-- a\nb", "--- a\n b", expect![[r#""b""#]]);
}

#[test]
fn a_header_chooses_among_places_that_fit() {
    check(TEXT, "@@ -4 +4 @@\n-two\n+four", expect![[r#""one\ntwo\nthree\nfour\nfive""#]]);
    check(TEXT, "@@ -2,0 +3,1 @@\n+new", expect![[r#""one\ntwo\nnew\nthree\ntwo\nfive""#]]);
    check(TEXT, "@@ -99999999999999999999 +1 @@\n-one", expect![[r#""two\nthree\ntwo\nfive""#]]);
    check(
        TEXT,
        "@@ -9 +9 @@\n-two",
        expect![
            "error: The part of the patch that begins at its line 2 fits the block more than once (on lines 2, 4). Add lines around it that stay, until it fits only one place."
        ],
    );
}

#[test]
fn what_does_not_fit_is_named() {
    check(
        TEXT,
        "-two\n+TWO",
        expect![
            "error: The part of the patch that begins at its line 1 fits the block more than once (on lines 2, 4). Add lines around it that stay, until it fits only one place."
        ],
    );
    check(
        TEXT,
        "-four",
        expect![
            "error: Line 1 of the patch does not match: the block has no line `four`. Lines that stay or are removed must be copied exactly from the block."
        ],
    );
    check(
        TEXT,
        " one\n two\n-four\n+x",
        expect!["error: Line 3 of the patch does not match: it says `four`, but line 3 of the block is `three`."],
    );
    check(
        TEXT,
        " two\n five\n-six",
        expect!["error: Line 3 of the patch does not match: it says `six`, but the block ends after line 5."],
    );
    check(
        TEXT,
        "+new",
        expect![
            "error: The part of the patch that begins at its line 1 only adds lines, so its place can't be known. Add the line before or after it, with a space as its marker."
        ],
    );
    check(TEXT, " one", expect!["error: The patch changes nothing: it has no line that begins with `-` or `+`."]);
    check(TEXT, "", expect!["error: The patch changes nothing: it has no line that begins with `-` or `+`."]);
    check(
        TEXT,
        "one\n-two",
        expect![
            "error: Line 1 of the patch (`one`) has no marker. Begin it with a space (the line stays), `-` (remove) or `+` (add)."
        ],
    );
    check(
        TEXT,
        "@@\n one\n-two\n three\n@@\n-three",
        expect!["error: Two parts of the patch change the same lines of the block (line 3). Join them into one."],
    );
    check(
        "aa\naa\naa",
        "-aa\n-aa",
        expect![
            "error: The part of the patch that begins at its line 1 fits the block more than once (on lines 1, 2). Add lines around it that stay, until it fits only one place."
        ],
    );
}

#[test]
fn line_numbers_are_refused() {
    check(
        TEXT,
        "-1→ one\n+ONE",
        expect![
            "error: `patch` holds the line number `1→`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        TEXT,
        "-one\n+1→ ONE",
        expect![
            "error: `patch` holds the line number `1→`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check(
        TEXT,
        "1→ one\n-two",
        expect![
            "error: `patch` holds the line number `1→`. Line numbers are only shown to you and are not part of the block: write every line again without its number."
        ],
    );
    check("3→ a\nb", " 3→ a\n-b\n+c", expect![[r#""3→ a\nc""#]]);
}

/// A patch of one hunk for all that differs, with `context` lines around it, as diff programs write it.
fn diff(old: &str, new: &str, context: usize) -> String {
    // To diff programs an empty text has no lines, not one empty line.
    let old: Vec<&str> = if old.is_empty() { Vec::new() } else { old.split('\n').collect() };
    let new: Vec<&str> = new.split('\n').collect();
    let shared = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old[shared..].iter().rev().zip(new[shared..].iter().rev()).take_while(|(a, b)| a == b).count();
    let from = shared.saturating_sub(context);
    let to = (old.len() - rest + context).min(old.len());
    let header_line = if from == to { from } else { from + 1 };
    let mut patch = format!("@@ -{header_line},{} +1 @@\n", to - from);
    let mut push =
        |marker: char, lines: &[&str]| lines.iter().for_each(|line| patch.push_str(&format!("{marker}{line}\n")));
    push(' ', &old[from..shared]);
    push('-', &old[shared..old.len() - rest]);
    push('+', &new[shared..new.len() - rest]);
    push(' ', &old[old.len() - rest..to]);
    patch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_diff_turns_the_first_text_into_the_second(
        old in proptest::collection::vec("[ab+@\\\\ -]{0,3}|é→", 0..8),
        new in proptest::collection::vec("[ab+@\\\\ -]{0,3}|é→", 0..8),
        context in 0_usize..4,
    ) {
        let (old, new) = (old.join("\n"), new.join("\n"));
        if old != new {
            prop_assert_eq!(patched(&old, &diff(&old, &new, context)), Ok(new));
        }
    }

    #[test]
    fn no_patch_panics(value in "[ab\n→]{0,12}", patch in "[-+ @ab\n\\\\→0-9]{0,40}") {
        let _ = patched(&value, &patch);
    }
}
