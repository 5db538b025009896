//! What the guide does next: one tool call, or words.
//!
//! Every request is decided from what it shows, so a part of the message counts as done once a call that did it can be
//! seen. However a tool answers, a run ends: the number of calls is limited, and no call is made again as it was.

use domain::seams::chat_model::{ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value};

use super::calls::{self, Call, Effect, Filling, effect};
use super::clause::Clause;
use super::evidence::{self, Findings, names};
use super::facts::{self, Edit, Note, is_known, notes, replacement, with_value};
use super::languages::Language;
use super::reading::{Event, PastCall, Seen, ShownBlock};
use super::recall::Question;
use super::replay;
use super::reply::{Outcome, compose};
use super::searching::{self, Recalled};
use super::small_talk::Talk;
use super::speech::{Fact, Speech, Utterance};
use super::words::fold;

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Move {
    Call(Call),
    Say(String),
}

/// At most so many calls for one message.
const MAX_CALLS: usize = 16;
const SEND_MESSAGE: &str = "send_message";

/// The next move for `request`.
pub(super) fn next_move(request: &ModelRequest) -> Move {
    let seen = Seen::read(request);
    let speech = seen.user.as_deref().map(Speech::read);
    let language = speech.as_ref().map_or(Language::English, |speech| speech.language);
    if let Some(name) = demanded(request, &seen) {
        return Move::Call(filled_call(&request.tools, &name, &seen));
    }
    let work = Work { tools: &request.tools, blocks: shown_now(&seen), seen: &seen, language };
    match work.outcomes(speech.as_ref()) {
        Err(call) => Move::Call(work.shaped(call)),
        Ok(outcomes) => speak(request, &seen, compose(&outcomes, language, &seen)),
    }
}

/// A tool that must be called now, whatever was said: the engine chose it, or waits for it before it ends the run.
fn demanded(request: &ModelRequest, seen: &Seen) -> Option<String> {
    if let ToolChoice::Function(name) = &request.tool_choice {
        return (&**name != SEND_MESSAGE && calls::find(&request.tools, name).is_some()).then(|| name.to_string());
    }
    let reason = seen.last_heartbeat()?;
    let waits = |tool: &&ToolSpec| {
        &*tool.name != SEND_MESSAGE
            && reason.contains("can't end yet")
            && reason.contains(&format!("`{}`", tool.name))
            && !seen.calls().any(|call| call.name == *tool.name)
    };
    request.tools.iter().find(waits).map(|tool| tool.name.to_string())
}

/// A call of `name` with whatever its schema asks for.
fn filled_call(tools: &[ToolSpec], name: &str, seen: &Seen) -> Call {
    let words = seen.user.as_deref().unwrap_or_default();
    let filling = Filling { words, thought: "This tool has to be called now.", goes_on: true };
    let arguments = calls::find(tools, name).map(|spec| calls::conform(spec, Map::new(), &filling));
    Call { name: name.to_owned(), arguments: arguments.unwrap_or_default() }
}

/// Brings `words` to the user in the way that the tools allow.
fn speak(request: &ModelRequest, seen: &Seen, words: String) -> Move {
    if let Some(spec) = calls::find(&request.tools, SEND_MESSAGE) {
        let filling = Filling { words: &words, thought: "Answering the user.", goes_on: false };
        let mut arguments = Map::new();
        arguments.insert("message".to_owned(), Value::from(words.as_str()));
        let arguments = calls::conform(spec, arguments, &filling);
        return Move::Call(Call { name: SEND_MESSAGE.to_owned(), arguments });
    }
    // Agents that look after memory say that they are done with a tool.
    let closing = "memory_finish_edits";
    let closes = calls::find(&request.tools, closing).is_some() && !seen.calls().any(|call| call.name == closing);
    if closes && request.tool_choice != ToolChoice::Auto {
        return Move::Call(filled_call(&request.tools, closing, seen));
    }
    Move::Say(words)
}

/// The blocks with what this run's calls did to them, where the system message does not show it yet.
fn shown_now(seen: &Seen) -> Vec<ShownBlock> {
    let mut blocks = seen.blocks.clone();
    for call in seen.calls().filter(|call| call.returned.as_ref().is_some_and(|returned| !returned.failed)) {
        let (Some(effect), Some(label)) = (effect(call), calls::label_of(call)) else { continue };
        let Some(block) = blocks.iter_mut().find(|block| block.label == label) else { continue };
        if effect.old.is_empty() && !effect.new.is_empty() && !block.value.contains(&effect.new) {
            block.value = format!("{}\n{}", block.value, effect.new).trim_start_matches('\n').to_owned();
        } else if !effect.old.is_empty()
            && block.value.matches(&effect.old).count() == 1
            && !effect.new.contains(&effect.old)
        {
            block.value = block.value.replacen(&effect.old, &effect.new, 1);
        }
    }
    blocks
}

/// One request's work.
struct Work<'a> {
    tools: &'a [ToolSpec],
    seen: &'a Seen,
    blocks: Vec<ShownBlock>,
    language: Language,
}

impl Work<'_> {
    /// What came of every part of the message, or the call that has to be made first.
    fn outcomes(&self, speech: Option<&Speech>) -> Result<Vec<Outcome>, Call> {
        let Some(speech) = speech else { return Ok(vec![Outcome::Talk(Talk::Greeting)]) };
        let mut outcomes = Vec::new();
        for at in 0..speech.parts.len() {
            let outcome = match &speech.parts[at] {
                Utterance::Fact(fact) => self.fact(fact, &speech.parts[at + 1..]),
                Utterance::Archive(text) => self.archive(text),
                Utterance::Change { what, to } => self.change(what, to),
                Utterance::Forget(what) => self.forget(what),
                Utterance::Question(text) => self.question(text),
                Utterance::Talk(Talk::Everything) => Ok(Outcome::Everything(self.everything())),
                Utterance::Talk(talk) => Ok(Outcome::Talk(*talk)),
                Utterance::Other => Ok(Outcome::NotUnderstood),
            };
            match outcome {
                Ok(outcome) => outcomes.push(outcome),
                Err(call) if self.seen.calls().count() < MAX_CALLS => return Err(call),
                Err(_) => outcomes.push(Outcome::NoPlace),
            }
        }
        let said_more = outcomes
            .iter()
            .any(|outcome| !matches!(outcome, Outcome::NotUnderstood | Outcome::Talk(Talk::Greeting | Talk::Thanks)));
        outcomes.retain(|outcome| {
            !said_more || !matches!(outcome, Outcome::NotUnderstood | Outcome::Talk(Talk::Greeting | Talk::Thanks))
        });
        Ok(outcomes)
    }

    fn shaped(&self, call: Call) -> Call {
        let words = self.seen.user.as_deref().unwrap_or_default();
        let filling = Filling { words, thought: "Looking after what the user told.", goes_on: true };
        let spec = calls::find(self.tools, &call.name);
        let arguments = match spec {
            Some(spec) => calls::conform(spec, call.arguments, &filling),
            None => call.arguments,
        };
        Call { name: call.name, arguments }
    }

    fn notes(&self) -> Vec<Note> {
        notes(&self.blocks, self.language, |block| !is_own(block))
    }

    fn fact(&self, fact: &Fact, rest: &[Utterance]) -> Result<Outcome, Call> {
        let value = Clause::read(&fact.text, self.language).value().map(str::to_owned);
        let made = self.made(|effect| {
            effect.new.contains(&fact.text)
                || value.as_ref().is_some_and(|value| !effect.old.is_empty() && effect.new.contains(value))
        });
        if let Some(done) = Self::done(&made, &fact.text) {
            return Ok(done);
        }
        let notes = self.notes();
        if made.is_empty() && is_known(&fact.text, &notes) {
            return Ok(Outcome::Known(fact.text.clone()));
        }
        let replaced = replacement(fact, &notes, self.mentioned(&notes), self.language);
        let edit = match &replaced {
            Some((note, new)) => facts::edit(note, new, &self.blocks),
            None => Some(Edit::Insert(self.batch(fact, rest, &notes))),
        };
        // A correction that was put in already changes nothing more.
        if let (Some(Edit::Replace { old, new, .. }), Some((note, _))) = (&edit, &replaced)
            && old == new
        {
            let put_in = self.made(|effect| effect.new.contains(&note.clause.text));
            return Ok(Self::done(&put_in, &note.clause.text).unwrap_or(Outcome::Known(note.line.clone())));
        }
        self.write(edit, &made)
    }

    /// The fact and those after it that are new, so that one call keeps them all.
    fn batch(&self, fact: &Fact, rest: &[Utterance], notes: &[Note]) -> Vec<String> {
        let mut lines = vec![fact.text.clone()];
        let mut known: Vec<Note> = notes.to_vec();
        for part in rest {
            let clauses = Clause::all(&lines[lines.len() - 1], self.language).into_iter();
            let line = lines[lines.len() - 1].clone();
            known.extend(clauses.map(|clause| Note { block: 0, line: line.clone(), clause }));
            let Utterance::Fact(next) = part else { break };
            if is_known(&next.text, &known) || replacement(next, &known, known.last(), self.language).is_some() {
                break;
            }
            lines.push(next.text.clone());
        }
        lines
    }

    fn change(&self, what: &str, to: &str) -> Result<Outcome, Call> {
        let made = self.made(|effect| effect.new.contains(to));
        if let Some(done) = Self::done(&made, to) {
            return Ok(done);
        }
        let question = Question::read(what, self.language);
        let notes = self.notes();
        let note = notes.iter().find(|note| names(&question, &note.clause));
        let new = note.and_then(|note| Some((note, with_value(&note.clause, to)?)));
        let edit = match new {
            Some((note, new)) => facts::edit(note, &new, &self.blocks),
            None => Some(Edit::Insert(vec![format!("{what}: {to}")])),
        };
        self.write(edit, &made)
    }

    fn forget(&self, what: &str) -> Result<Outcome, Call> {
        let question = Question::read(what, self.language);
        let made = self.made(|effect| effect.old.len() > effect.new.len());
        if let Some(failed) = made.iter().find_map(|(call, _)| error_of(call)) {
            return Ok(Outcome::Failed(failed));
        }
        let notes = self.notes();
        let Some(note) = notes.iter().find(|note| names(&question, &note.clause)) else {
            let gone: Vec<String> = made.iter().map(|(_, effect)| effect.old.trim().to_owned()).collect();
            return Ok(if gone.is_empty() { Outcome::NothingToForget } else { Outcome::Forgotten(gone.join("; ")) });
        };
        self.write(facts::edit(note, "", &self.blocks), &made)
    }

    fn question(&self, text: &str) -> Result<Outcome, Call> {
        let mut question = Question::read(text, self.language);
        if question.about_listener {
            return Ok(Outcome::Talk(Talk::Identity));
        }
        question.resolve(&replay::last_named(self.seen));
        if question.is_empty() || question.dangles() {
            return Ok(Outcome::Unknown);
        }
        let notes = self.notes();
        let kept = evidence::find(&question, &notes);
        if let Findings::Answer(lines) = kept {
            return Ok(Outcome::Told(lines));
        }
        let said = evidence::find(&question, &replay::told_before(self.seen));
        if let Findings::Answer(lines) = said {
            return Ok(Outcome::ToldBefore(lines));
        }
        let recalled = searching::recall(self.seen, &question, &notes);
        if let Recalled::Answer(lines) = recalled {
            return Ok(Outcome::Found(lines));
        }
        if let Some(call) = self.search(&question, text) {
            return Err(call);
        }
        Ok(match (kept, said, recalled) {
            (Findings::Nearest(line), ..) | (_, Findings::Nearest(line), _) | (.., Recalled::Nearest(line)) => {
                Outcome::Nearest(line)
            }
            _ => Outcome::Unknown,
        })
    }

    /// The search that may still answer, as long as calls are left.
    fn search(&self, question: &Question, text: &str) -> Option<Call> {
        let left = self.seen.calls().count() < MAX_CALLS;
        left.then(|| searching::next_search(self.tools, self.seen, question, text)).flatten()
    }

    /// A text for the archive, or for a block where there is no archive.
    fn archive(&self, text: &str) -> Result<Outcome, Call> {
        let made = self.made(|effect| effect.new.contains(text));
        if let Some(done) = Self::done(&made, text) {
            return Ok(done);
        }
        let edit = Edit::Insert(vec![text.to_owned()]);
        match calls::archive_call(self.tools, &edit).filter(|_| made.is_empty()) {
            Some(call) => Err(call),
            None => self.write(Some(edit), &made),
        }
    }

    fn everything(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.notes().into_iter().map(|note| note.line).collect();
        lines.dedup();
        lines
    }

    /// The memory calls of this run whose effect fits.
    fn made(&self, fits: impl Fn(&Effect) -> bool) -> Vec<(&PastCall, Effect)> {
        let calls = self.seen.calls().filter_map(|call| Some((call, effect(call)?)));
        calls.filter(|(_, effect)| fits(effect)).collect()
    }

    fn done(made: &[(&PastCall, Effect)], text: &str) -> Option<Outcome> {
        let (_, effect) = made.iter().find(|(call, _)| is_done(call))?;
        let trimmed = |text: &str| text.trim().to_owned();
        if made.iter().any(|(call, _)| call.name == calls::ARCHIVE_INSERT && is_done(call)) {
            return Some(Outcome::Archived(trimmed(text)));
        }
        Some(if effect.old.is_empty() || effect.new.starts_with(effect.old.trim_end()) {
            Outcome::Noted(trimmed(text))
        } else {
            let new = if effect.new.contains(text) { text } else { &effect.new };
            Outcome::Replaced { new: trimmed(new), old: trimmed(&effect.old) }
        })
    }

    /// The call that makes `edit` in a place where it was not tried yet.
    fn write(&self, edit: Option<Edit>, made: &[(&PastCall, Effect)]) -> Result<Outcome, Call> {
        let Some(edit) = edit else { return Ok(Outcome::NoPlace) };
        let tried = |call: &Call| {
            let place = calls::label_in(&call.arguments);
            made.iter().any(|(past, _)| past.name == call.name && calls::label_of(past) == place)
        };
        let targets = self.targets().into_iter().map(Some).chain([None]);
        let repeated = |call: &Call| self.seen.calls().any(|past| Self::is_same(past, call));
        let call = targets
            .filter_map(|target| calls::memory_call(self.tools, &edit, &self.blocks, target))
            .find(|call| !tried(call) && !repeated(call));
        match (call, made.iter().find_map(|(call, _)| error_of(call))) {
            (Some(call), _) => Err(call),
            (None, Some(error)) => Ok(Outcome::Failed(error)),
            (None, None) => Ok(Outcome::NoPlace),
        }
    }

    /// Whether a call was made before with all that it says.
    fn is_same(past: &PastCall, call: &Call) -> bool {
        let given = |(name, value): (&String, &Value)| past.arguments.get(name) == Some(value);
        past.name == call.name && call.arguments.iter().all(given)
    }

    /// Blocks that may take new lines, the best first: what is about the user, then anything but the agent's own.
    fn targets(&self) -> Vec<usize> {
        let mut targets: Vec<usize> =
            (0..self.blocks.len()).filter(|at| !self.blocks[*at].read_only && !is_own(&self.blocks[*at])).collect();
        targets.sort_by_key(|at| self.blocks[*at].label != "human");
        targets
    }

    /// The note that the conversation touched last.
    fn mentioned<'n>(&self, notes: &'n [Note]) -> Option<&'n Note> {
        let events = self.seen.earlier.iter().chain(&self.seen.since).rev();
        let texts = events.filter_map(|event| match event {
            Event::Call(call) => effect(call).map(|effect| effect.new),
            Event::Agent(words) => Some(words.clone()),
            Event::User(_) | Event::Heartbeat(_) => None,
        });
        texts.filter(|text| !text.is_empty()).find_map(|text| {
            let folded = fold(&text);
            let held = notes.iter().filter(|note| folded.contains(&fold(&note.clause.text)));
            held.max_by_key(|note| folded.rfind(&fold(&note.clause.text)))
        })
    }
}

/// Blocks that hold what the agent is and how it is to answer, and not what it was told.
const NOT_TOLD: [&str; 4] = ["persona", "rules", "answer_mode", "proxy_system_overlay"];

/// Whether a block is of that kind. A block of rules that an agent may write is where it keeps rules that it was told.
fn is_own(block: &ShownBlock) -> bool {
    NOT_TOLD.contains(&block.label.as_str()) && (block.label == "persona" || block.read_only)
}

fn is_done(call: &PastCall) -> bool {
    call.returned.as_ref().is_some_and(|returned| !returned.failed)
}

fn error_of(call: &PastCall) -> Option<String> {
    call.returned.as_ref().filter(|returned| returned.failed).map(|returned| returned.text.clone())
}
