//! Judges one backslash: does it begin a doubled escape, or does it mean itself? The rules are those of the module above.

use super::context::{Before, Context};

/// Bytes from the backslash on that a judgement may look at.
const WINDOW: usize = 16;

/// LaTeX commands that begin like a line break.
const COMMANDS: &[&str] = &[
    "nabla",
    "natural",
    "ncong",
    "ne",
    "nearrow",
    "neg",
    "neq",
    "newcommand",
    "newenvironment",
    "newline",
    "newpage",
    "newtheorem",
    "nexists",
    "ngeq",
    "ngtr",
    "ni",
    "nleftarrow",
    "nleq",
    "nless",
    "nmid",
    "nobreak",
    "nocite",
    "noindent",
    "nolimits",
    "nolinebreak",
    "nonumber",
    "norm",
    "normalfont",
    "normalsize",
    "not",
    "notag",
    "notin",
    "nparallel",
    "nprec",
    "nrightarrow",
    "nsim",
    "nsubseteq",
    "nsucc",
    "nsupseteq",
    "nu",
    "nvdash",
    "nvDash",
    "nwarrow",
    "nLeftarrow",
    "nRightarrow",
    "nVdash",
    "nVDash",
];

/// What becomes of a backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It and the sign after it stand for this one.
    Replace(char),
    /// It stays; `pair` if the sign after it belongs to it.
    Keep { pair: bool },
    /// More must be seen.
    Wait,
}

const KEEP: Verdict = Verdict::Keep { pair: true };
const KEEP_ALONE: Verdict = Verdict::Keep { pair: false };

/// More must be seen.
struct Wait;

/// The text from the backslash on, as far as it may be looked at.
#[derive(Clone, Copy)]
struct Ahead<'t> {
    text: &'t str,
    /// Nothing will come, or nothing more may be looked at.
    complete: bool,
}

impl Ahead<'_> {
    /// The sign at `place`, counted in signs from the backslash; None behind the end.
    fn at(self, place: usize) -> Result<Option<char>, Wait> {
        match self.text.chars().nth(place) {
            None if !self.complete => Err(Wait),
            sign => Ok(sign),
        }
    }

    /// Whether a blank, or nothing at all, stands at `place`.
    fn blank_at(self, place: usize) -> Result<bool, Wait> {
        Ok(self.at(place)?.is_none_or(char::is_whitespace))
    }
}

/// Judges the backslash that `rest` begins with. `end` says that nothing comes after `rest`.
pub(super) fn judge(context: &Context, rest: &str, end: bool) -> Verdict {
    // The same bytes are looked at however the text is cut.
    let text = &rest[..rest.floor_char_boundary(WINDOW)];
    let ahead = Ahead { text, complete: end || rest.len() >= WINDOW };
    weigh(context, ahead).unwrap_or(Verdict::Wait)
}

fn weigh(context: &Context, ahead: Ahead<'_>) -> Result<Verdict, Wait> {
    if context.is_code() {
        return Ok(KEEP_ALONE);
    }
    let Some(next) = ahead.at(1)?.filter(|next| !next.is_whitespace()) else { return Ok(KEEP_ALONE) };
    if context.is_shut() {
        return Ok(KEEP);
    }
    if context.is_opening_fence() {
        let ends_line = next == 'n' && context.names_a_language() && ahead.at(2)? != Some('`');
        return Ok(if ends_line { Verdict::Replace('\n') } else { KEEP_ALONE });
    }
    if context.is_doubled_fence() {
        return doubled(context, next, ahead);
    }
    let undone = match next {
        'n' => line_break(context.before(), ahead)?.then_some('\n'),
        't' => tab(context.before(), ahead)?.then_some('\t'),
        'r' => carriage_return(context.before(), ahead)?.then_some('\r'),
        '"' => quotation_mark(context, ahead)?.then_some('"'),
        '\\' => (context.is_proven() && backslash(ahead)?).then_some('\\'),
        _ => None,
    };
    Ok(undone.map_or(KEEP, Verdict::Replace))
}

/// Inside a fence that was doubled as a whole, one level is taken off.
fn doubled(context: &Context, next: char, ahead: Ahead<'_>) -> Result<Verdict, Wait> {
    if context.previous() == Some('\'') && ahead.at(2)? == Some('\'') {
        return Ok(KEEP);
    }
    Ok(match next {
        'n' => Verdict::Replace('\n'),
        't' => Verdict::Replace('\t'),
        'r' => Verdict::Replace('\r'),
        '"' | '\\' => Verdict::Replace(next),
        _ => KEEP,
    })
}

fn line_break(before: Before, ahead: Ahead<'_>) -> Result<bool, Wait> {
    if before == Before::Never {
        return Ok(false);
    }
    if ahead.blank_at(2)? {
        return Ok(before != Before::Blank);
    }
    let Some(next) = ahead.at(2)? else { return Ok(false) };
    if next == '\\' {
        return Ok(match ahead.at(3)? {
            Some('n') => true,
            Some('t' | 'r' | '"' | '\\') => before != Before::Drive,
            _ => false,
        });
    }
    match before {
        Before::Never | Before::Brace => Ok(false),
        Before::Drive => marker(next, ahead),
        Before::Blank | Before::Plain => begins_line(next, ahead, false),
        Before::Ending => begins_line(next, ahead, true),
    }
}

/// Whether a line begins with `next`. `likely` says that one may well have ended before it.
fn begins_line(next: char, ahead: Ahead<'_>, likely: bool) -> Result<bool, Wait> {
    Ok(match next {
        'a'..='z' => likely && !command(ahead)?,
        'A'..='Z' => !command(ahead)?,
        '0'..='9' => true,
        '`' | '<' | '"' | '{' | '}' => true,
        '[' | '(' | '_' | '@' | '&' | '$' => likely || (next == '$' && ahead.at(3)? == Some('$')),
        '”' | '’' | '»' => false,
        other if !other.is_ascii() => true,
        '*' | '#' | '>' => likely || marker(next, ahead)?,
        _ => marker(next, ahead)?,
    })
}

/// Whether `next` and what follows it is how Markdown begins a line.
fn marker(next: char, ahead: Ahead<'_>) -> Result<bool, Wait> {
    Ok(match next {
        '-' | '*' | '#' | '>' => ahead.blank_at(3)? || ahead.at(3)? == Some(next),
        '+' => ahead.at(3)?.is_some_and(char::is_whitespace),
        '|' => !matches!(ahead.at(3)?, None | Some('\\' | '|' | ')')),
        '~' | '=' => ahead.at(3)? == Some(next),
        '!' => ahead.at(3)? == Some('['),
        _ => false,
    })
}

/// Whether the letters after the backslash are a LaTeX command.
fn command(ahead: Ahead<'_>) -> Result<bool, Wait> {
    let mut letters = String::with_capacity(WINDOW);
    loop {
        match ahead.at(1 + letters.len())?.filter(char::is_ascii_alphabetic) {
            None => return Ok(COMMANDS.contains(&letters.as_str())),
            Some(letter) => letters.push(letter),
        }
        if !COMMANDS.iter().any(|command| command.starts_with(&letters)) {
            return Ok(false);
        }
    }
}

fn tab(before: Before, ahead: Ahead<'_>) -> Result<bool, Wait> {
    if matches!(before, Before::Never | Before::Drive | Before::Brace) {
        return Ok(false);
    }
    if ahead.blank_at(2)? {
        return Ok(before != Before::Blank);
    }
    Ok(match ahead.at(2)? {
        Some('\\') => matches!(ahead.at(3)?, Some('n' | 't' | 'r' | '"' | '\\')),
        Some('A'..='Z' | '0'..='9') => true,
        Some('”' | '’' | '»') => false,
        Some(next) if !next.is_ascii() => true,
        Some(next) => before == Before::Ending && marker(next, ahead)?,
        None => false,
    })
}

fn carriage_return(before: Before, ahead: Ahead<'_>) -> Result<bool, Wait> {
    let ends = matches!(before, Before::Plain | Before::Ending);
    Ok(ends && ahead.at(2)? == Some('\\') && ahead.at(3)? == Some('n'))
}

fn quotation_mark(context: &Context, ahead: Ahead<'_>) -> Result<bool, Wait> {
    let after = ahead.at(2)?;
    let letter = |sign: Option<char>| sign.is_some_and(char::is_alphabetic);
    let umlaut = after == Some('{') || (letter(context.previous()) && letter(after));
    let named = context.previous() == Some('\'') && after == Some('\'');
    Ok(!umlaut && !named)
}

fn backslash(ahead: Ahead<'_>) -> Result<bool, Wait> {
    let Some(next) = ahead.at(2)? else { return Ok(false) };
    if next == '\\' {
        return Ok(ahead.at(3)? == Some('\\'));
    }
    if !next.is_ascii_alphanumeric() {
        return Ok("()[]{}\"%_$#&*`|".contains(next));
    }
    let mut place = 3;
    loop {
        match ahead.at(place)? {
            Some(sign) if sign.is_ascii_alphanumeric() || "._-".contains(sign) => place += 1,
            // A share on another machine.
            Some('\\') => return Ok(false),
            _ => return Ok(place < WINDOW),
        }
    }
}
