//! Undoes doubled escapes in the words of models that write a line break as the two characters `\` and `n`.
//!
//! A backslash that means itself must come out as it went in, and that is worth more than a line break that stays
//! unseen: where both readings are possible, nothing is touched. One [`Unescaper`] belongs to one stream.
//!
//! **Never touched**
//! - Code: inline code, fenced blocks, blocks that are indented by four after a real line break.
//! - Quoted strings: from a `"` or `'` that opens to the next one, for at most 200 bytes and not over a real line break.
//! - Mathematics between `\(` and `\)`, `\[` and `\]`, `$$` and `$$`.
//! - What is left of a word (up to the next blank) after a backslash that was kept: paths, regexes, LaTeX commands.
//! - Every sequence but `\n \t \r \\ \"`. `\/` is not undone: regexes have it, and no model doubles it.
//!
//! **`\n` is a line break** where what stands before it and what stands after it both allow it.
//! - Before: not an opening bracket or apostrophe, not the dot of `.\` or `..\`. After `{` only if a blank or another
//!   escape follows; after a drive (`C:`) only if a Markdown marker, a blank or another `\n` follows.
//! - After: a capital, a digit, a letter outside ASCII, a Markdown marker, another escape, a blank (if no blank stands
//!   before it: «the \n sign»). A lower-case letter, only if punctuation after a word, a table's border, bold text, code
//!   or a break that was undone stands before it.
//! - Never where the letters make a LaTeX command (`\nu`, `\nabla`, `\neq`).
//!
//! **`\t`** likewise, but never before a lower-case letter (`\theta`, `\text`, `bin\tool`). **`\r`** only before `\n`.
//! **`\"`** is a quotation mark unless letters stand on both sides (`G\"odel`) or `{` follows. **`\\`** is one backslash
//! only once a line break was undone in this stream, and not before a blank (LaTeX rows) or in `\\server\share`.
//!
//! **A doubled fence.** The first line of a real fence ends in a real line break. One that ends in `\n` after the marks
//! or a language's name, and does not stand behind a real line break, was doubled as a whole: inside it all five
//! sequences are undone, one level and no more; strings in plain `"` are kept.
//!
//! **`auto`** watches by the same rules. From the third line break that would be undone on, it undoes, if no real
//! line break came before it; if one came, the stream is left alone to its end. What was shown before the decision
//! stays as it was: nothing is held back for it.
//!
//! No decision looks further than 15 bytes ahead, so no more are ever held. Pure: whoever owns the stream flushes after
//! 100 ms and at the end.

mod context;
mod evidence;
#[cfg(test)]
#[path = "unescape_tests.rs"]
mod tests;

use std::borrow::Cow;

use domain::UnescapeCount;

use self::context::Context;
use self::evidence::{Verdict, judge};
use crate::config::Unescape;

/// Line breaks that a stream shows before `auto` undoes them.
const WATCHED_BREAKS: u8 = 2;

/// The state of one stream.
#[derive(Debug, Clone)]
pub(crate) struct Unescaper {
    mode: Mode,
    context: Context,
    /// The beginning of a sequence that can't be judged yet.
    held: String,
    count: UnescapeCount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Idle,
    Watching { breaks: u8 },
    Active,
}

impl Unescaper {
    pub(crate) fn new(setting: Unescape) -> Self {
        let mode = match setting {
            Unescape::Off => Mode::Idle,
            Unescape::On => Mode::Active,
            Unescape::Auto => Mode::Watching { breaks: 0 },
        };
        Self { mode, context: Context::default(), held: String::new(), count: UnescapeCount::default() }
    }

    /// What can be shown now. A chunk of which nothing changes is not copied.
    pub(crate) fn push<'c>(&mut self, chunk: &'c str) -> Cow<'c, str> {
        let shown = if self.held.is_empty() {
            let (shown, rest) = self.run(chunk, false);
            self.held.push_str(rest);
            shown
        } else {
            let mut text = std::mem::take(&mut self.held);
            text.push_str(chunk);
            let (shown, rest) = self.run(&text, false);
            self.held.push_str(rest);
            Cow::Owned(shown.into_owned())
        };
        let (length, count) = (chunk.len() as u64, &mut self.count);
        if shown == chunk {
            count.passed += 1;
            count.passed_bytes += length;
        } else {
            count.changed += 1;
            count.changed_bytes += length;
        }
        count.held_bytes += length.min(self.held.len() as u64);
        shown
    }

    /// What is held, judged as if nothing came after it. More may be pushed afterwards.
    pub(crate) fn flush(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let (shown, _) = self.run(&held, true);
        shown.into_owned()
    }

    /// Bytes that are held, at most 15.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether there is something to flush.
    pub(crate) fn is_holding(&self) -> bool {
        self.held() > 0
    }

    /// What became of the chunks so far. One that was shown in part came out otherwise.
    pub(crate) fn count(&self) -> UnescapeCount {
        self.count
    }

    /// What of `text` can be shown, and the rest that can't be judged yet.
    fn run<'t>(&mut self, text: &'t str, end: bool) -> (Cow<'t, str>, &'t str) {
        let mut written = String::new();
        let (mut at, mut copied) = (0, 0);
        while self.mode != Mode::Idle {
            let Some(next) = text[at..].chars().next() else { break };
            if next != '\\' {
                self.take(next);
                at += next.len_utf8();
                continue;
            }
            self.context.end_run();
            match judge(&self.context, &text[at..], end) {
                Verdict::Wait => return (joined(written, &text[copied..at]), &text[at..]),
                Verdict::Keep { pair } => {
                    let kept = text[at + 1..].chars().next().filter(|_| pair);
                    self.context.keep(kept);
                    at += 1 + kept.map_or(0, char::len_utf8);
                }
                Verdict::Replace(with) if self.undoes(with) => {
                    written.push_str(&text[copied..at]);
                    written.push(with);
                    copied = at + 2;
                    self.context.undo(with);
                    at += 2;
                }
                Verdict::Replace(with) => {
                    self.context.undo(with);
                    at += 2;
                }
            }
        }
        (joined(written, &text[copied..]), "")
    }

    fn take(&mut self, next: char) {
        if next == '\n' && matches!(self.mode, Mode::Watching { .. }) {
            self.mode = Mode::Idle;
        }
        self.context.take(next);
    }

    /// Whether a sequence that stands for `with` is undone now.
    fn undoes(&mut self, with: char) -> bool {
        if let Mode::Watching { breaks } = self.mode
            && with == '\n'
        {
            let enough = breaks >= WATCHED_BREAKS;
            self.mode = if enough { Mode::Active } else { Mode::Watching { breaks: breaks + 1 } };
        }
        self.mode == Mode::Active
    }
}

fn joined(mut written: String, rest: &str) -> Cow<'_, str> {
    if written.is_empty() {
        return Cow::Borrowed(rest);
    }
    written.push_str(rest);
    Cow::Owned(written)
}
