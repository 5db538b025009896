//! What commands say: answers to standard output, complaints to standard error.
//!
//! A closed pipe (`librarian agents list | head`) is no fault: whoever closed it has seen enough. Whatever an agent or
//! a model wrote is cleaned of control characters first, because those could drive the terminal.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use serde_json::Value;

use crate::config::Environment;

/// Standard output.
pub(crate) struct Output {
    is_terminal: bool,
    style: Style,
    /// Why nothing can be written any more.
    closed: OnceLock<std::io::Error>,
}

impl Output {
    /// Colours are used only on a terminal whose owner did not ask for none.
    pub(crate) fn new(environment: Environment<'_>) -> Self {
        let plain = environment("NO_COLOR").is_some() || environment("TERM").is_none_or(|term| term == "dumb");
        let is_terminal = std::io::stdout().is_terminal();
        Self { is_terminal, style: Style { colours: is_terminal && !plain }, closed: OnceLock::new() }
    }

    /// Whether a person reads it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// How texts may be marked here.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// One line of plain text.
    pub(crate) fn line(&self, text: &str) {
        self.write(&format!("{}\n", clean(text)));
    }

    /// Text that went through [`clean`] or [`Style`] already, at once and without a line end.
    pub(crate) fn rendered(&self, text: &str) {
        self.write(text);
    }

    /// A value for other programs.
    pub(crate) fn json(&self, value: &Value) {
        self.write(&format!("{value:#}\n"));
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get().is_some()
    }

    /// What went wrong with writing, unless the reader just left.
    pub(crate) fn failure(&self) -> Option<&std::io::Error> {
        self.closed.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }

    fn write(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            // The first error tells why.
            let _first = self.closed.set(error);
        }
    }
}

/// Tells what went wrong, in one line on standard error.
pub(crate) fn complain(text: &str) {
    tell("error", text);
}

/// Tells what is not as it was asked for.
pub(crate) fn warn(text: &str) {
    tell("warning", text);
}

fn tell(kind: &str, text: &str) {
    // Where nobody reads errors, there is nobody to tell that either.
    let _unread = writeln!(std::io::stderr().lock(), "{kind}: {}", one_line(text));
}

/// Marks for texts. Everything that goes through it is cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colours: bool,
}

impl Style {
    /// Text that stands back.
    pub(crate) fn dim(self, text: &str) -> String {
        self.marked("2", text)
    }

    /// Text that stands out.
    pub(crate) fn bold(self, text: &str) -> String {
        self.marked("1", text)
    }

    /// Text about something that is wrong.
    pub(crate) fn alarm(self, text: &str) -> String {
        self.marked("31", text)
    }

    /// Text that is new.
    pub(crate) fn fresh(self, text: &str) -> String {
        self.marked("32", text)
    }

    /// Text in a colour, given by its code.
    pub(crate) fn coloured(self, code: &str, text: &str) -> String {
        self.marked(code, text)
    }

    fn marked(self, code: &str, text: &str) -> String {
        let text = clean(text);
        if self.colours && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into_owned() }
    }
}

/// `text` without control characters other than line ends and tabs.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let drives_terminal = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(drives_terminal) {
        text.chars().filter(|c| !drives_terminal(*c)).collect()
    } else {
        Cow::Borrowed(text)
    }
}

/// `text` cleaned and in one line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\x07c\r\nd\te\u{9b}f"), "a[2Jbc\nd\tef");
        assert_eq!(one_line(" a\n  b\x1b "), "a b");
    }

    #[test]
    fn marks_are_for_terminals() {
        assert_eq!(Style { colours: true }.dim("x\x1b[0m"), "\x1b[2mx[0m\x1b[0m");
        assert_eq!(Style { colours: false }.dim("x"), "x");
        assert_eq!(Style { colours: true }.dim(""), "");
    }
}
