//! The rules of [`super::Unescaper`] on texts as models write them, and that no cut changes what comes out.

use proptest::prelude::*;

use super::*;

/// The whole text in one piece.
fn whole(setting: Unescape, text: &str) -> String {
    let mut unescaper = Unescaper::new(setting);
    let mut shown = unescaper.push(text).into_owned();
    shown.push_str(&unescaper.flush());
    shown
}

fn undone(text: &str, expected: &str) {
    assert_eq!(whole(Unescape::On, text), expected, "of {text}");
    assert_eq!(whole(Unescape::Off, text), text);
}

fn kept(text: &str) {
    undone(text, text);
}

#[test]
fn paragraphs_and_sentences() {
    undone(r"Hello,\n\nhow are you?\nFine.", "Hello,\n\nhow are you?\nFine.");
    undone(r"\n\nHello there", "\n\nHello there");
    undone(r"First line\nSecond line\n", "First line\nSecond line\n");
    undone(r"roses are red,\nviolets are blue", "roses are red,\nviolets are blue");
    undone(r"Done. \nNext", "Done. \nNext");
    undone(r"**Note:**\nread this", "**Note:**\nread this");
    undone("Größe\\nÄnderung。\\n你好\\n🎉 party", "Größe\nÄnderung。\n你好\n🎉 party");
    undone(r"One.\r\nTwo.\r\n", "One.\r\nTwo.\r\n");
    undone(r"Option A:\n- x\nOption B:\n\nText", "Option A:\n- x\nOption B:\n\nText");
}

#[test]
fn tables_and_lists() {
    undone(
        r"Prices:\n\n| Name | Price |\n|------|------:|\n| tea | 3 |\n| milk | 1 |\n\nThat is all.",
        "Prices:\n\n| Name | Price |\n|------|------:|\n| tea | 3 |\n| milk | 1 |\n\nThat is all.",
    );
    undone(
        r"Steps:\n1. Open it\n2. Close it\n   - gently\n\t- slowly\n* done\n+ more",
        "Steps:\n1. Open it\n2. Close it\n   - gently\n\t- slowly\n* done\n+ more",
    );
    undone(r"# Title\n## Part\n> quoted\n---\nText", "# Title\n## Part\n> quoted\n---\nText");
    undone(r"a list\n- one\n- two\n- [ ] three", "a list\n- one\n- two\n- [ ] three");
    undone(r"Name\tAge\tCity\nAda\t36\tLondon", "Name\tAge\tCity\nAda\t36\tLondon");
    undone(r"See:\n[the page](http://x)\n![picture](y)", "See:\n[the page](http://x)\n![picture](y)");
}

#[test]
fn quotation_marks_and_backslashes() {
    undone(r#"She said \"hello\" and left.\nHe said \"bye\"."#, "She said \"hello\" and left.\nHe said \"bye\".");
    undone(r#"\"Yes,\" she said."#, "\"Yes,\" she said.");
    undone(
        r"The integral:\n\\[ \\int \\nu d\\theta \\]\nEnd",
        "The integral:\n\\[ \\int \\nu d\\theta \\]\nEnd".replace("\\\\", "\\").as_str(),
    );
    // Before anything is proven, two backslashes stay two.
    kept(r"a \\ b and \\nu");
    // One level, in the order they stand: never a backslash and a real break.
    undone(r"Text.\nWrite \\n for a break.", "Text.\nWrite \\n for a break.");
}

#[test]
fn latex_is_kept() {
    for text in [
        r"The frequency \nu and the angle \theta, with \rho = \nabla \times \text{curl}.",
        r"$\nu$, $\theta$, $\rho$, $\nabla f$, $\neq$, $\right)$, $\text{if}$, $x \to 0$, $a \times b$",
        r"\nu is Greek",
        r"G(\mu,\nu) and p(x;\theta) and f(x,\nu)",
        r"\left( \frac{\nu}{\tau} \right)",
        r"words,\nu and words.\neq 3, A \nRightarrow B",
        r"\[ a \\ b \\[2pt] \nu \]",
        r"\( x\nX \)",
        r"$$ \begin{pmatrix} a & b \\ c & d \end{pmatrix} $$",
        r"\begin{align} a &= b \\ c &= d \nonumber \end{align}",
        r#"G\"odel, Schr\"odinger, \"{o}"#,
        r"\newcommand{\R}{\mathbb{R}}\newpage",
    ] {
        kept(text);
    }
}

#[test]
fn paths_are_kept() {
    for text in [
        r"C:\new",
        r"Open C:\new\table\readme.txt now.",
        r"C:\Users\nina\notes",
        r"D:\temp and E:\README",
        r"(C:\n1)",
        r"C:\nUnit\tests",
        r"\\server\new\tools",
        r"\\nas\reports",
        r".\run.ps1 or ..\tools\new.bat or .\nUnit",
        r"docs\new, src\tests, bin\tool.exe, folder\readme",
        r"%APPDATA%\npm",
        r"HKEY_LOCAL_MACHINE\Software\new",
        r"DOMAIN\robert",
    ] {
        kept(text);
    }
    // Also where the stream was shown to double its line breaks.
    undone(
        r"It is here.\nOpen C:\new now.\nThen \\nas\reports.",
        "It is here.\nOpen C:\\new now.\nThen \\\\nas\\reports.",
    );
}

#[test]
fn code_is_kept() {
    for text in [
        r#"print("a\n")"#,
        r#"Use `print("a\nB")` and `\n` and ``a\n`b`` here."#,
        "Look:\n```python\nprint(\"a\\n\")\nx = 'A\\nB'\n```\nand",
        "~~~\nA\\nB\n~~~",
        "```\nC:\\new\\Table\\nX\n```",
        "```json\n{\"text\": \"One.\\nTwo.\\tThree\\\\\"}\n```",
        "Like this:\n\n    echo A\\nB\n",
        r#"{"text": "One.\nTwo."}"#,
        r#"printf "One\nTwo\n" and echo -e 'Hello\nWorld'"#,
        r"split('\n') and the '\n' sign",
        r#"text.replace("\r\n", "\n")"#,
        r"```A\nB``` is inline",
        "Like so:\n```a\\nb``` is inline",
    ] {
        kept(text);
    }
}

#[test]
fn regexes_and_mentions_are_kept() {
    for text in [
        r"[^\n]+ and (\r\n|\n) and \s*\n* and ^\n$ and [\t\n ] and \d+\n1",
        r"The \n sign, the \t sign and \r.",
        r"Use \n, \t; or \n. Then (\n) too.",
        r"“\n” and ‘\n’",
        r"uses \r\n line endings",
        r"a\/b\/c",
        r"5 \* 3 \_ x \# y",
        r"grep -P '\d\n' file | sed s/\n/,/",
        "a \\\nb",
    ] {
        kept(text);
    }
}

#[test]
fn a_fence_that_was_doubled_as_a_whole_is_undone_one_level() {
    undone(
        r#"Here:\n```python\ndef f():\n\tprint(\"a\\n\")\n    return 'x'\n```\nDone."#,
        "Here:\n```python\ndef f():\n\tprint(\"a\\n\")\n    return 'x'\n```\nDone.",
    );
    undone(r#"```sh\necho "a\nb"\nls\n```"#, "```sh\necho \"a\\nb\"\nls\n```");
    undone(r"```\nx.split('\n')\n```\nNext", "```\nx.split('\\n')\n```\nNext");
}

#[test]
fn what_never_closes_does_not_switch_the_rest_off() {
    let words = "word ".repeat(90);
    undone(&format!(r#"He said "hm {words}end.\nNext"#), &format!("He said \"hm {words}end.\nNext"));
    undone(&format!(r"A ` sign {words}end.\nNext"), &format!("A ` sign {words}end.\nNext"));
    undone(r#"A 5" pipe.\nNext"#, "A 5\" pipe.\nNext");
}

#[test]
fn auto_undoes_from_the_third_break_on() {
    let check = |text: &str, expected: &str| assert_eq!(whole(Unescape::Auto, text), expected);
    check(r"One.\nTwo.\nThree.\nFour.\nFive.", "One.\\nTwo.\\nThree.\nFour.\nFive.");
    check(r"A.\n\n- b\n- c", "A.\\n\\n- b\n- c");
    // A real line break before that settles it.
    let mixed = "One.\nTwo.\\nThree.\\nFour.\\nFive.\\nSix.";
    check(mixed, mixed);
    // Only breaks count, and not those in code.
    let code = r"`\n` `\n` `\n` C:\new \nu \theta \n, \n.";
    check(code, code);
    // A real one after it does not.
    check("1.\\nA\\nB\\nC\nD\\nE", "1.\\nA\\nB\nC\nD\nE");
}

#[test]
fn a_split_sequence_is_held_until_it_is_whole() {
    let mut unescaper = Unescaper::new(Unescape::On);
    assert_eq!(unescaper.push("Hello.\\"), "Hello.");
    assert!(unescaper.is_holding());
    assert_eq!(unescaper.held(), 1);
    assert_eq!(unescaper.push("n"), "");
    assert_eq!(unescaper.held(), 2);
    assert_eq!(unescaper.push("World"), "\nWorld");
    assert!(!unescaper.is_holding());
    assert_eq!(unescaper.push("end.\\n"), "end.");
    assert_eq!(unescaper.flush(), "\n");
    assert_eq!(unescaper.push("\\"), "");
    assert_eq!(unescaper.flush(), "\\");
    assert_eq!(unescaper.flush(), "");
    let counted = UnescapeCount { passed: 0, passed_bytes: 0, changed: 5, changed_bytes: 20, held_bytes: 5 };
    assert_eq!(unescaper.count(), counted);
}

#[test]
fn untouched_chunks_are_not_copied() {
    for setting in [Unescape::Off, Unescape::On, Unescape::Auto] {
        let mut unescaper = Unescaper::new(setting);
        for chunk in ["Hello ", "wörld, ", "`a\\nb` ", "C:\\new ", "\n", "```\nx\\n\n``` "] {
            assert!(matches!(unescaper.push(chunk), Cow::Borrowed(shown) if shown == chunk), "{setting:?} {chunk}");
        }
        let count = unescaper.count();
        assert_eq!((count.passed, count.passed_bytes, count.changed, count.held_bytes), (6, 41, 0, 0));
    }
}

#[test]
fn a_stream_costs_little() {
    assert!(size_of::<Unescaper>() < 256);
}

/// Texts that are full of what the rules look at.
fn tricky() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\\",
        "\\n",
        "\\t",
        "\\r",
        "\\\\",
        "\\\"",
        "\\/",
        "n",
        "u",
        "nabla",
        "\n",
        " ",
        "\"",
        "'",
        "`",
        "```",
        "~~~",
        "$$",
        "$",
        "A",
        "word",
        ".",
        ":",
        "C:",
        "- ",
        "* ",
        "#",
        "|",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "ä",
        "🎉",
        "。",
        "1",
        "\t",
        "\r",
        "python",
        "ewtheorem",
        "Rightarrow",
        "server",
        "....................",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_cut_changes_what_comes_out(
        text in prop_oneof![4 => tricky(), 1 => any::<String>()],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut places: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        places.push(text.len());
        places.sort_unstable();
        for setting in [Unescape::Off, Unescape::On, Unescape::Auto] {
            let mut unescaper = Unescaper::new(setting);
            let (mut shown, mut from) = (String::new(), 0);
            for &place in &places {
                shown.push_str(&unescaper.push(&text[from..place]));
                prop_assert!(unescaper.held() <= 16);
                from = place;
            }
            shown.push_str(&unescaper.flush());
            prop_assert!(!unescaper.is_holding());
            prop_assert_eq!(&shown, &whole(setting, &text));
            if setting == Unescape::Off {
                prop_assert_eq!(&shown, &text);
            }
        }
    }

    #[test]
    fn flushing_at_any_time_loses_nothing(text in tricky(), every in 1_usize..5) {
        let mut unescaper = Unescaper::new(Unescape::Auto);
        let mut shown = String::new();
        for (index, sign) in text.chars().enumerate() {
            shown.push_str(&unescaper.push(sign.encode_utf8(&mut [0; 4])));
            if index % every == 0 {
                shown.push_str(&unescaper.flush());
            }
        }
        shown.push_str(&unescaper.flush());
        // Undoing only ever takes the backslash away and writes another sign for its letter.
        prop_assert!(shown.chars().count() <= text.chars().count());
        prop_assert_eq!(shown.contains("word"), text.contains("word"));
    }
}
