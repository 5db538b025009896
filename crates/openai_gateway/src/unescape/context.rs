//! Where in a text we are: in prose, code, a quoted string or mathematics, and what was just written.
//!
//! It has seen only what came before, so that it is the same however a text is cut.

/// Bytes of a quoted string, at most: a quotation mark that nothing closes must not switch off the rest of a stream.
const MAX_QUOTED: u16 = 200;
/// Bytes of inline code, at most, for the same reason.
const MAX_CODE: u16 = 400;
/// Blanks before a line that make it code.
const INDENTED: u8 = 4;
/// Marks that make a fence.
const FENCE: u8 = 3;

/// What kind of text this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Prose,
    /// The first line of a fence.
    Opening {
        mark: char,
        length: u8,
    },
    Fence {
        mark: char,
        length: u8,
        doubled: bool,
    },
    /// Inline code, and how many bytes it may still have.
    Code {
        length: u8,
        left: u16,
    },
    /// Until this sign comes: after a backslash, or twice for `$`.
    Mathematics {
        until: char,
    },
}

/// How the current line began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Start {
    #[default]
    Stream,
    Real,
    Undone,
}

/// Marks in a row, as in a fence or around code.
#[derive(Debug, Clone, Copy)]
struct Run {
    mark: char,
    length: u8,
    begins_line: bool,
}

/// What the text so far says about the next backslash.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each was seen by itself, and any of them may hold")]
pub(super) struct Context {
    /// The newest first.
    last: [Option<char>; 3],
    place: Place,
    run: Option<Run>,
    /// Bytes that the quoted string may still have; 0 outside of one.
    quoted: u16,
    /// The mark that closes it.
    quote: char,
    /// A backslash of this word was kept.
    shut: bool,
    start: Start,
    blank_line: bool,
    indent: u8,
    /// A line break was undone in this stream.
    proven: bool,
    began: bool,
}

/// What stands before a sequence, as far as it says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// No line break comes after this.
    Never,
    /// A letter and a colon.
    Drive,
    Brace,
    Blank,
    Plain,
    /// A line may well end here.
    Ending,
}

impl Context {
    /// Whether backslashes here are letters like others.
    pub(super) fn is_code(&self) -> bool {
        match self.place {
            Place::Code { .. } | Place::Fence { doubled: false, .. } => true,
            Place::Prose => self.start == Start::Real && self.indent >= INDENTED,
            Place::Opening { .. } | Place::Fence { doubled: true, .. } | Place::Mathematics { .. } => false,
        }
    }

    /// Whether sequences here are somebody's own.
    pub(super) fn is_shut(&self) -> bool {
        self.quoted > 0 || matches!(self.place, Place::Mathematics { .. }) || (self.shut && self.place == Place::Prose)
    }

    pub(super) fn is_opening_fence(&self) -> bool {
        matches!(self.place, Place::Opening { .. })
    }

    /// Whether the first line of a fence can end here: a real line that has marks and text is inline code.
    pub(super) fn names_a_language(&self) -> bool {
        let ends = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "`~+#".contains(sign);
        self.start != Start::Real && self.last[0].is_some_and(ends)
    }

    pub(super) fn is_doubled_fence(&self) -> bool {
        matches!(self.place, Place::Fence { doubled: true, .. })
    }

    pub(super) fn is_proven(&self) -> bool {
        self.proven
    }

    pub(super) fn previous(&self) -> Option<char> {
        self.last[0]
    }

    /// What stands before the next backslash.
    pub(super) fn before(&self) -> Before {
        let [Some(previous), second, third] = self.last else { return Before::Plain };
        let blank_after_break = self.start == Start::Undone && self.line_is_blank();
        let in_word = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
        let closes = |sign: Option<char>| sign.is_some_and(|sign| ")]}*_\"'`|»”’".contains(sign));
        match previous {
            _ if blank_after_break => Before::Ending,
            // Real ones come with their line feed; this one was undone.
            '\r' => Before::Ending,
            ' ' | '\t' | '\n' => Before::Blank,
            ':' if second.is_some_and(|sign| sign.is_ascii_alphabetic()) && !in_word(third) => Before::Drive,
            '(' | '[' | '<' | '^' | '“' | '‘' | '«' | '\\' => Before::Never,
            '{' => Before::Brace,
            '\'' if !in_word(second) && !second.is_some_and(|sign| ".,!?:;)".contains(sign)) => Before::Never,
            '.' if second == Some('.') && third == Some('.') => Before::Ending,
            '.' if !in_word(second) && !closes(second) => Before::Never,
            '.' | '!' | '?' | ':' | ',' | ';' if (in_word(second) && in_word(third)) || closes(second) => {
                Before::Ending
            }
            '*' if second == Some('*') => Before::Ending,
            '|' | '`' | '"' => Before::Ending,
            other if !other.is_ascii() && !other.is_alphanumeric() => Before::Ending,
            _ => Before::Plain,
        }
    }

    fn line_is_blank(&self) -> bool {
        self.blank_line || !self.began
    }

    /// A character that is not a backslash.
    pub(super) fn take(&mut self, next: char) {
        if next == '`' || (next == '~' && self.can_begin_tildes()) {
            self.lengthen(next);
            self.wrote(next);
            return;
        }
        self.end_run();
        match next {
            '\n' => self.line_break(Start::Real),
            ' ' | '\t' => self.blank(next),
            '"' if self.place == Place::Prose || self.is_doubled_fence() => self.quotation_mark(next),
            '\'' if self.place == Place::Prose => self.quotation_mark(next),
            '$' if self.last[0] == Some('$') => self.dollars(),
            other if other.is_whitespace() => self.shut = false,
            _ => {}
        }
        self.wrote(next);
    }

    /// A backslash that is kept, and what follows it if the two belong together.
    pub(super) fn keep(&mut self, with: Option<char>) {
        self.shut = true;
        self.place = match (self.place, with) {
            (Place::Prose, Some('(')) if self.quoted == 0 => Place::Mathematics { until: ')' },
            (Place::Prose, Some('[')) if self.quoted == 0 => Place::Mathematics { until: ']' },
            (Place::Mathematics { until }, Some(sign)) if sign == until && until != '$' => Place::Prose,
            (place, _) => place,
        };
        self.wrote('\\');
        if let Some(sign) = with {
            self.wrote(sign);
        }
    }

    /// A sequence that stands for `with`.
    pub(super) fn undo(&mut self, with: char) {
        match with {
            '\n' => {
                self.line_break(Start::Undone);
                self.proven = true;
            }
            '\t' | '\r' => self.blank(with),
            _ => {}
        }
        self.wrote(with);
    }

    /// Marks in a row end where anything else comes.
    pub(super) fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let fences = run.begins_line && run.length >= FENCE;
        self.place = match self.place {
            Place::Prose if self.quoted > 0 => Place::Prose,
            Place::Prose if fences => Place::Opening { mark: run.mark, length: run.length },
            Place::Prose if run.mark == '`' => Place::Code { length: run.length, left: MAX_CODE },
            // Marks in the first line of a fence: it is inline code after all.
            Place::Opening { mark: '`', length } if run.mark == '`' && run.length == length => Place::Prose,
            Place::Opening { mark: '`', length } if run.mark == '`' => Place::Code { length, left: MAX_CODE },
            Place::Code { length, .. } if run.mark == '`' && run.length == length => Place::Prose,
            Place::Fence { mark, length, .. } if run.begins_line && run.mark == mark && run.length >= length => {
                Place::Prose
            }
            place => place,
        };
    }

    fn can_begin_tildes(&self) -> bool {
        self.run.is_some_and(|run| run.mark == '~') || self.line_is_blank()
    }

    fn lengthen(&mut self, mark: char) {
        match &mut self.run {
            Some(run) if run.mark == mark => run.length = run.length.saturating_add(1),
            _ => {
                let begins_line = self.line_is_blank() && self.indent < INDENTED;
                self.end_run();
                self.run = Some(Run { mark, length: 1, begins_line });
            }
        }
    }

    fn line_break(&mut self, start: Start) {
        let paragraph = start == Start::Real && self.last[0] == Some('\n');
        self.place = match self.place {
            Place::Opening { mark, length } => Place::Fence { mark, length, doubled: start == Start::Undone },
            Place::Code { .. } | Place::Mathematics { .. } if paragraph => Place::Prose,
            place => place,
        };
        (self.quoted, self.shut, self.indent) = (0, false, 0);
        (self.start, self.blank_line) = (start, true);
    }

    fn blank(&mut self, sign: char) {
        self.shut = false;
        if self.line_is_blank() {
            self.indent = self.indent.saturating_add(if sign == '\t' { INDENTED } else { 1 });
        }
    }

    fn quotation_mark(&mut self, mark: char) {
        let opens = self.last[0].is_none_or(|sign| sign.is_whitespace() || "([{<=:,;+-|/>*_#&!".contains(sign));
        match self.quoted {
            0 if opens => (self.quoted, self.quote) = (MAX_QUOTED, mark),
            0 => {}
            _ if mark == self.quote => self.quoted = 0,
            _ => {}
        }
    }

    fn dollars(&mut self) {
        self.place = match self.place {
            Place::Prose if self.quoted == 0 => Place::Mathematics { until: '$' },
            Place::Mathematics { until: '$' } => Place::Prose,
            place => place,
        };
    }

    /// Every character passes here last.
    fn wrote(&mut self, sign: char) {
        if !sign.is_whitespace() {
            self.blank_line = false;
            self.began = true;
        }
        let bytes = sign.len_utf8() as u16;
        self.quoted = self.quoted.saturating_sub(bytes);
        if let Place::Code { length, left } = self.place {
            let left = left.saturating_sub(bytes);
            self.place = if left == 0 { Place::Prose } else { Place::Code { length, left } };
        }
        self.last = [Some(sign), self.last[0], self.last[1]];
    }
}
