//! Tests of the line diff: by example, and for any two texts.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check(old: &str, new: &str, expected: &Expect) {
    let mut text = String::new();
    for (fate, line) in shown(old, new) {
        let mark = match fate {
            Fate::Same => ' ',
            Fate::Removed => '-',
            Fate::Added => '+',
        };
        text.push_str(&format!("{mark}{line}\n"));
    }
    let Extent { added, removed } = extent(old, new);
    text.push_str(&format!("+{added} -{removed}\n"));
    expected.assert_eq(&text);
}

#[test]
fn a_line_that_was_changed_is_replaced() {
    check(
        "Name: Ada\nLikes tea.\nLives in Oslo.",
        "Name: Ada\nLikes green tea.\nLives in Oslo.",
        &expect![[r#"
             Name: Ada
            -Likes tea.
            +Likes green tea.
             Lives in Oslo.
            +6 -0
        "#]],
    );
}

#[test]
fn lines_come_and_go() {
    check(
        "a\nb\nc\nd",
        "b\nc\nx\nd\ne",
        &expect![[r#"
            -a
             b
             c
            +x
             d
            +e
            +4 -2
        "#]],
    );
}

#[test]
fn nothing_and_something() {
    check(
        "",
        "one\ntwo",
        &expect![[r#"
            +one
            +two
            +7 -0
        "#]],
    );
    check(
        "日本語\n",
        "",
        &expect![[r#"
            -日本語
            +0 -4
        "#]],
    );
    check("", "", &expect![["+0 -0\n"]]);
}

#[test]
fn a_line_break_at_the_end_is_a_character_and_no_line() {
    check(
        "a",
        "a\n",
        &expect![[r#"
             a
            +1 -0
        "#]],
    );
}

#[test]
fn texts_that_have_nothing_in_common_are_replaced_at_once() {
    let text = |letter: &str| vec![letter; 2_000].join("\n");
    let (old, new) = (format!("first\n{}\nlast", text("a")), format!("first\n{}\nlast", text("b")));
    let lines = shown(&old, &new);
    assert_eq!(lines.len(), 4_002);
    assert_eq!((lines[0], lines[4_001]), ((Fate::Same, "first"), (Fate::Same, "last")));
}

proptest! {
    #[test]
    fn either_text_can_be_read_back(old in "[ab\n]{0,40}", new in "[ab\n]{0,40}") {
        let lines = shown(&old, &new);
        let side = |gone: Fate| -> Vec<&str> {
            lines.iter().filter(|(fate, _)| *fate != gone).map(|(_, line)| *line).collect()
        };
        prop_assert_eq!(side(Fate::Added), old.lines().collect::<Vec<_>>());
        prop_assert_eq!(side(Fate::Removed), new.lines().collect::<Vec<_>>());
    }

    #[test]
    fn what_came_and_went_explains_the_lengths(old in "[abc\né]{0,40}", new in "[abc\né]{0,40}") {
        let Extent { added, removed } = extent(&old, &new);
        prop_assert_eq!(old.chars().count() + added, new.chars().count() + removed);
        prop_assert_eq!(old == new, added + removed == 0);
    }
}
