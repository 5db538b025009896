//! What is remembered as statements, and the edit that puts a new one in the place of an old one.
//!
//! Which one that is, is decided in `supersede`.

use std::ops::Range;

use super::clause::Clause;
use super::languages::Language;
use super::reading::ShownBlock;
use super::shapes::{Shape, shape_of};
use super::speech::Fact;
use super::supersede::{alike, is_bare, same_subject, sort, supersedes};
use super::words::{Word, contains, fold};

/// A remembered statement and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Note {
    /// Index of its block.
    pub(super) block: usize,
    /// Its whole line, as the block has it.
    pub(super) line: String,
    pub(super) clause: Clause,
}

/// A change of one block's text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edit {
    Insert(Vec<String>),
    Replace { block: usize, old: String, new: String },
}

/// The statements of the blocks that `wanted` accepts.
pub(super) fn notes(blocks: &[ShownBlock], usual: Language, wanted: impl Fn(&ShownBlock) -> bool) -> Vec<Note> {
    let mut notes = Vec::new();
    for (block, shown) in blocks.iter().enumerate().filter(|(_, shown)| wanted(shown)) {
        for line in shown.value.lines().filter(|line| !line.trim().is_empty()) {
            let bare = line.trim().trim_start_matches(['-', '*', '•']).trim();
            notes.extend(notes_of(block, line, bare, usual));
        }
    }
    notes
}

/// The statements of one line, and the whole line where all of them are about the speaker.
pub(super) fn notes_of(block: usize, line: &str, bare: &str, usual: Language) -> Vec<Note> {
    let clauses = Clause::all(bare, usual);
    let note = |clause: Clause| Note { block, line: line.to_owned(), clause };
    let alike = clauses.iter().all(|clause| clause.speaker && !clause.pronoun);
    // After a colon comes an explanation of what stands before.
    let explained =
        bare.contains(": ") && !clauses.iter().any(|clause| clause.entities().any(|(_, word)| word.is_person()));
    let joined = clauses.len() > 1 && (alike || explained);
    let whole = joined.then(|| note(Clause { joined, ..Clause::read(bare, usual) }));
    clauses.into_iter().map(note).chain(whole).collect()
}

/// Whether the line is remembered word for word.
pub(super) fn is_known(text: &str, notes: &[Note]) -> bool {
    let plain = |text: &str| fold(text).trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    notes.iter().any(|note| plain(&note.line) == plain(text) || plain(&note.clause.text) == plain(text))
}

/// The note that `fact` takes the place of, with the text that it then has.
pub(super) fn replacement(
    fact: &Fact,
    notes: &[Note],
    mentioned: Option<&Note>,
    usual: Language,
) -> Option<(Note, String)> {
    let new = Clause::read(&fact.text, usual);
    let leans = new.has_object_pronoun() && !fact.corrects && !fact.changes && notes_nothing(&new);
    let dangling = new.pronoun || is_bare(&new) || leans;
    if dangling && fact.wrong.is_none() {
        let note = mentioned?;
        return match (fact.corrects, revalued(&note.clause, &new, None)) {
            (true, Some(text)) => Some((note.clone(), text)),
            _ => continued(&new, note),
        };
    }
    let clauses = Clause::all(&fact.text, usual);
    let pairs = notes.iter().flat_map(|note| clauses.iter().map(move |clause| (note, clause)));
    let superseded = pairs
        .filter_map(|(note, clause)| Some((supersedes(fact, (clause, &new), &note.clause)?, note, clause)))
        .max_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let (_, note, clause) = superseded?;
    let text = if dangling {
        revalued(&note.clause, &new, fact.wrong.as_deref())
    } else {
        let merged = || refined(&note.clause, clause).or_else(|| grafted(&note.clause, clause));
        says_it_all(clause, &clauses, &note.clause).then(merged).flatten()
    };
    let text = text.or_else(|| (!dangling).then(|| fact.text.clone()))?;
    Some((note.clone(), text))
}

/// Whether it has no noun of its own that could be asked for.
fn notes_nothing(clause: &Clause) -> bool {
    let verb = clause.main_verb();
    let nouns =
        clause.read.content().filter(|(at, word)| Some(*at) != verb && !word.is_number() && !clause.is_time(*at));
    nouns.filter(|(at, word)| !clause.is_name(*at) && !word.is_attribute()).count() == 0
}

/// Whether the other statements beside `clause` only lead to it: "he has moved, he lives in …".
fn says_it_all(clause: &Clause, clauses: &[Clause], old: &Clause) -> bool {
    let rest = clauses.iter().filter(|other| *other != clause).flat_map(|other| other.read.content());
    let known = |word: &Word| old.read.content().any(|(_, other)| alike(word, other));
    rest.into_iter().filter(|(_, word)| !known(word)).count() <= 1
}

/// The old statement with the new time or number, where the new one says less of what it is about: "the flight leaves
/// at 9:20" does not take away where the flight goes.
fn refined(old: &Clause, new: &Clause) -> Option<String> {
    let said = |clause: &Clause| -> Vec<Word> {
        let words = clause.read.content().filter(|(at, word)| !clause.is_time(*at) && !word.is_number());
        words.map(|(_, word)| word.clone()).collect()
    };
    let (news, olds) = (said(new), said(old));
    let known = |word: &Word, others: &[Word]| others.iter().any(|other| alike(word, other));
    let less = olds.iter().filter(|word| !known(word, &news)).count() > 0;
    let other_subject = !same_subject(new, old) && !new.speaker && !old.speaker;
    if !(less || other_subject) || new.denies() != old.denies() || new.speaker != old.speaker {
        return None;
    }
    let put = |from: Range<usize>, to: Range<usize>| {
        format!("{}{}{}", &old.text[..from.start], &new.text[to], &old.text[from.end..])
    };
    if other_subject || news.iter().all(|word| known(word, &olds)) {
        let numbers = new.read.words.iter().enumerate().filter(|(at, word)| new.is_time(*at) || word.is_number());
        let told = |word: &Word| old.read.words.iter().any(|other| other.folded == word.folded);
        // Whatever says nothing new takes nothing away.
        let same = (!other_subject && numbers.into_iter().all(|(_, word)| told(word))).then(|| old.text.clone());
        return swapped(old, new).or_else(|| retimed(old, new)).or(same);
    }
    let (from, to) = (place_span(old)?, place_span(new)?);
    let unknown = new.read.content().filter(|(_, word)| !known(word, &olds) && !to.contains(&word.start));
    (unknown.count() == 0).then(|| put(from, to))
}

/// `old` with the time of `new`.
fn retimed(old: &Clause, new: &Clause) -> Option<String> {
    let (from, to) = (time_span(old)?, time_span(new)?);
    Some(format!("{}{}{}", &old.text[..from.start], &new.text[to], &old.text[from.end..]))
}

/// The name of the place that a statement tells, if it tells one.
fn place_span(clause: &Clause) -> Option<Range<usize>> {
    let locatives = &clause.read.grammar().locatives;
    let named = |at: usize| at > 0 && locatives.has(clause.read.folded(at - 1)) && clause.is_name(at);
    let mut places = (0..clause.read.words.len()).filter(|at| named(*at));
    let (Some(first), None) = (places.next(), places.next()) else { return None };
    let last = (first..clause.read.words.len()).take_while(|at| clause.is_name(*at)).last()?;
    Some(clause.read.words[first].start..clause.read.words[last].end)
}

/// What `new` says of the one whom `old` names in more words: "Tom is …" after "my brother Tom was …".
fn grafted(old: &Clause, new: &Clause) -> Option<String> {
    let count = |clause: &Clause| clause.entities().count();
    let spaced = !old.read.language.is_unspaced() && old.read.language == new.read.language;
    let fuller = count(old) > count(new) && same_subject(new, old) && !old.inverted && !new.inverted && !new.speaker;
    let begins = old.subject.start == 0 && new.subject.start == 0 && old.inherited.is_empty();
    if !spaced || !fuller || !begins {
        return None;
    }
    let (subject, predicate) = (old.read.words.get(old.subject.end)?, new.read.words.get(new.subject.end)?);
    Some(format!("{}{}", &old.text[..subject.start], &new.text[predicate.start..]))
}

/// Where a statement tells its time, if it does so in one place.
fn time_span(clause: &Clause) -> Option<Range<usize>> {
    let timed = |at: usize| clause.is_time(at) || clause.read.words[at].is_number();
    let places: Vec<usize> = (0..clause.read.words.len()).filter(|at| timed(*at)).collect();
    let (first, last) = (*places.first()?, *places.last()?);
    let near = places.windows(2).all(|pair| pair[1] - pair[0] <= 2);
    near.then(|| clause.read.words[first].start..clause.read.words[last].end)
}

/// A sentence about "she" or "it" goes on with the line that it is about, so that the line can be understood alone.
fn continued(new: &Clause, note: &Note) -> Option<(Note, String)> {
    if !new.pronoun && !new.has_object_pronoun() {
        return None;
    }
    let line = note.line.trim_end();
    let end = if line.ends_with(['.', '!', '?', '。', '"', '”']) { "" } else { "." };
    let whole = Note { clause: Clause { text: line.to_owned(), ..note.clause.clone() }, ..note.clone() };
    Some((whole, format!("{line}{end} {}", new.text)))
}

/// `old` with the value that `new` gives, if that is a value of the same sort.
fn revalued(old: &Clause, new: &Clause, wrong: Option<&str>) -> Option<String> {
    if let Some(at) = wrong.and_then(|wrong| old.text.to_lowercase().find(&wrong.to_lowercase())) {
        let end = at + wrong?.len();
        let value = news(new, old)?.trim_end_matches(['.', '!']);
        let rest = old.text.get(end..)?;
        // "7:30 pm" corrected to "8:15 pm" has one "pm".
        let unit = value.rsplit(' ').next().filter(|_| value.contains(' '))?;
        let rest = rest.trim_start().strip_prefix(unit).unwrap_or(rest);
        return Some(format!("{}{value}{rest}", old.text.get(..at)?));
    }
    if let Some(text) = swapped(old, new).or_else(|| retimed(old, new)) {
        return Some(text);
    }
    let value = if is_bare(new) { new.text.as_str() } else { new.value()? };
    let value = value.trim_end_matches(['.', '!']);
    let (olds, news) = (old.attributes(), new.attributes());
    let alike = news.iter().any(|topic| olds.contains(topic)) || news.is_empty() && sort(new) == sort(old);
    (alike || (is_bare(new) && !new.read.has_word(CHATTER))).then(|| with_value(old, value)).flatten()
}

/// What `new` says from the first word on that `old` has not.
fn news<'a>(new: &'a Clause, old: &Clause) -> Option<&'a str> {
    let known = |word: &Word| old.read.content().any(|(_, other)| alike(word, other));
    let first = new.read.content().find(|(_, word)| !known(word))?.1;
    Some(&new.text[first.start..])
}

/// Words of short answers that correct nothing.
const CHATTER: &str = "idea problem worries way great good nice fine sure cool true right wrong matter kidding joke joking \
    mind late hurry time luck doubt clue";

/// `old` with a number, hour or address of `new` in the place of its own.
fn swapped(old: &Clause, new: &Clause) -> Option<String> {
    let shaped = |clause: &Clause| -> Vec<(Shape, Range<usize>)> {
        let words = clause.read.words.iter();
        words.filter_map(|word| Some((shape_of(&word.folded)?, word.start..word.end))).collect()
    };
    let (olds, news) = (shaped(old), shaped(new));
    let [(shape, new_at)] = news.as_slice() else { return None };
    let mut same = olds.iter().filter(|(old, _)| old == shape);
    let (Some((_, at)), None) = (same.next(), same.next()) else { return None };
    let dated = old.tells_date() && new.read.content().any(|(at, _)| new.is_time(at));
    (!dated).then(|| format!("{}{}{}", &old.text[..at.start], &new.text[new_at.clone()], &old.text[at.end..]))
}

/// `old` with another value.
pub(super) fn with_value(old: &Clause, value: &str) -> Option<String> {
    if let Some(from) = old.value_from() {
        let end = if old.text.ends_with('.') { "." } else { "" };
        return Some(format!("{}{value}{end}", &old.text[..old.read.words[from].start]));
    }
    // Where the verb comes last, the value is the name before it.
    let name = (0..old.read.words.len()).rev().find(|at| old.is_name(*at))?;
    let word = &old.read.words[name];
    Some(format!("{}{value}{}", &old.text[..word.start], &old.text[word.end..]))
}

/// The edit that gives `note` the text `new`; an empty text removes it.
pub(super) fn edit(note: &Note, new: &str, blocks: &[ShownBlock]) -> Option<Edit> {
    let value = &blocks.get(note.block)?.value;
    let whole = note.line.trim().trim_start_matches(['-', '*', '•', ' ']);
    let is_whole = whole.trim_end_matches(['.', '!']) == note.clause.text.trim_end_matches(['.', '!']);
    let line = match (is_whole, new.is_empty()) {
        (true, true) => String::new(),
        (true, false) => note.line.replacen(whole, new, 1),
        (false, true) => without_clause(&note.line, &note.clause.text),
        (false, false) if stands_inside(note, new) => {
            note.line.replacen(&note.clause.text, new.trim_end_matches('.'), 1)
        }
        (false, false) => format!("{}\n{new}", without_clause(&note.line, &note.clause.text)),
    };
    let (old, new) = unique_passage(value, &note.line, &line)?;
    Some(Edit::Replace { block: note.block, old, new })
}

/// Whether the new text has to stand where the old one did: the rest of the line leans on it, or it is the old text
/// with another value.
fn stands_inside(note: &Note, new: &str) -> bool {
    let leans = Clause::all(&note.line, note.clause.read.language).iter().any(|clause| clause.pronoun);
    let start: String = note.clause.text.chars().take(6).collect();
    leans || new.starts_with(&start)
}

/// The line without one of its statements and the joint beside it.
fn without_clause(line: &str, clause: &str) -> String {
    let Some(at) = line.find(clause) else { return line.to_owned() };
    let before = line[..at].trim_end_matches([' ', ',', ';']);
    let after = line[at + clause.len()..].trim_start_matches([' ', ',', ';']);
    let joint = |word: &str| contains("and but und aber et mais y e ed pero ma mas en maar", &word.to_lowercase());
    let before = before.rsplit_once(' ').filter(|(_, last)| joint(last)).map_or(before, |(rest, _)| rest);
    let after = after.split_once(' ').filter(|(first, _)| joint(first)).map_or(after, |(_, rest)| rest);
    let space = if before.is_empty() || !after.chars().next().is_some_and(char::is_alphanumeric) { "" } else { " " };
    format!("{before}{space}{after}")
}

/// A passage of `value` that stands there once and holds `line`, and what it becomes. An emptied line loses its break.
fn unique_passage(value: &str, line: &str, new: &str) -> Option<(String, String)> {
    let once = |passage: &str| value.matches(passage).count() == 1;
    let after = format!("{line}\n");
    let before = format!("\n{line}");
    let candidates = if new.is_empty() {
        vec![(after, String::new()), (before, String::new()), (line.to_owned(), String::new())]
    } else {
        vec![(line.to_owned(), new.to_owned()), (after, format!("{new}\n")), (before, format!("\n{new}"))]
    };
    let whole = || (value.to_owned(), value.replacen(line, new, 1));
    value.contains(line).then(|| candidates.into_iter().find(|(old, _)| once(old)).unwrap_or_else(whole))
}
