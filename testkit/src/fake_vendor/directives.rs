//! Directives in the last user message, so that anyone who can type can drive the vendor.
//!
//! `[[say:TEXT]]` `[[think:TEXT]]` `[[tool:NAME {json}]]` `[[tools-together]]` `[[loop:NAME {json}]]`
//! `[[error:STATUS]]` `[[error-once:STATUS]]` (with an optional error code after the status) `[[retry-after:SECONDS]]`
//! `[[delay:MS]]` `[[cut]]` `[[stall]]` `[[bad-arguments]]` `[[length]]` `[[tokens:N]]`
//!
//! Several tools come one per step, in order; the words come when all tools have answered. What changes a reply (a
//! delay, a cut, a thought) changes every reply to that message, but `bad-arguments` only breaks the first. Anything
//! in brackets that is not a directive is ordinary text.

use std::time::Duration;

use serde_json::{Map, Value};

use super::reply::{Arguments, Halfway, Refusal, VendorReply, WantedCall};
use super::request::{ChatRequest, LastUser};

/// What the vendor says if nobody tells it what to say, and the request does not ask for JSON.
pub(super) const SENTENCE: &str = "Hello! I am a pretended model, and I am glad to be of use.";

/// All that the last user message asks for.
#[derive(Debug, Default)]
pub(super) struct Plan {
    say: Option<String>,
    think: Option<String>,
    tools: Vec<WantedCall>,
    together: Together,
    looped: Option<WantedCall>,
    error: Option<Refusal>,
    error_once: Option<Refusal>,
    retry_after: Option<String>,
    delay: Duration,
    halfway: Halfway,
    first_call: FirstCall,
    finish: Option<String>,
    tokens: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Together {
    #[default]
    OnePerStep,
    AllAtOnce,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FirstCall {
    #[default]
    Whole,
    Broken,
}

impl Plan {
    /// Reads the directives of `text`.
    pub(super) fn parse(text: &str) -> Self {
        let mut plan = Self::default();
        let mut rest = text;
        while let Some(start) = rest.find("[[") {
            let inside = &rest[start + 2..];
            rest = plan.take(inside).unwrap_or(inside);
        }
        plan
    }

    /// Takes one directive off the front of `inside` and returns what stands after its brackets.
    fn take<'a>(&mut self, inside: &'a str) -> Option<&'a str> {
        let word_end = inside.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-')?;
        let (word, after) = inside.split_at(word_end);
        if let Some(argument) = after.strip_prefix(':') {
            if let "tool" | "loop" = word {
                let (call, after) = parse_call(argument)?;
                match word {
                    "tool" => self.tools.push(call),
                    _ => self.looped = Some(call),
                }
                return Some(after);
            }
            let (argument, after) = argument.split_once("]]")?;
            self.set(word, argument)?;
            return Some(after);
        }
        let after = after.strip_prefix("]]")?;
        match word {
            "tools-together" => self.together = Together::AllAtOnce,
            "cut" => self.halfway = Halfway::Cut,
            "stall" => self.halfway = Halfway::Stall,
            "bad-arguments" => self.first_call = FirstCall::Broken,
            "length" => self.finish = Some("length".to_owned()),
            _ => return None,
        }
        Some(after)
    }

    fn set(&mut self, word: &str, argument: &str) -> Option<()> {
        match word {
            "say" => self.say = Some(argument.to_owned()),
            "think" => self.think = Some(argument.to_owned()),
            "error" => self.error = Some(parse_error(argument)?),
            "error-once" => self.error_once = Some(parse_error(argument)?),
            "retry-after" => self.retry_after = Some(argument.trim().to_owned()),
            "delay" => self.delay = Duration::from_millis(argument.trim().parse().ok()?),
            "tokens" => self.tokens = Some(argument.trim().parse().ok()?),
            _ => return None,
        }
        Some(())
    }

    /// Whether an error is due only the first time that this message is seen.
    pub(super) fn fails_once(&self) -> bool {
        self.error_once.is_some()
    }

    /// The reply to `request`, whose newest user message this plan was read from.
    pub(super) fn reply(self, request: ChatRequest<'_>, last: &LastUser, seen_before: bool) -> VendorReply {
        let answered = request.answered_after(last.index);
        let calls = match &self.looped {
            Some(looped) => vec![looped.clone()],
            None => due(&self.tools, self.together, &answered),
        };
        let said = self.say.clone().unwrap_or_else(|| request.sample().unwrap_or_else(|| SENTENCE.to_owned()));
        let text = calls.is_empty().then_some(said);
        let breaks = self.first_call == FirstCall::Broken && answered.is_empty();
        let mut reply = VendorReply { calls, text, ..self.outcome(seen_before) };
        if breaks {
            break_arguments(&mut reply, request);
        }
        reply
    }

    /// Everything but words and calls.
    pub(super) fn outcome(self, seen_before: bool) -> VendorReply {
        let error_once = self.error_once.filter(|_| !seen_before);
        VendorReply {
            reasoning: self.think,
            refusal: self.error.or(error_once),
            retry_after: self.retry_after,
            delay: self.delay,
            halfway: self.halfway,
            finish: self.finish,
            total_tokens: self.tokens,
            ..VendorReply::default()
        }
    }
}

/// The calls of this step. Answers are matched by name, so that calls which the agent forced in between don't count.
fn due(tools: &[WantedCall], together: Together, answered: &[&str]) -> Vec<WantedCall> {
    let mut names = answered.iter();
    let done = tools.iter().take_while(|tool| names.any(|name| **name == tool.name)).count();
    match together {
        Together::AllAtOnce if done > 0 => Vec::new(),
        Together::AllAtOnce => tools.to_vec(),
        Together::OnePerStep => tools.iter().skip(done).take(1).cloned().collect(),
    }
}

/// Turns the arguments of every call into text that is not JSON; without a call, the first tool is called so.
fn break_arguments(reply: &mut VendorReply, request: ChatRequest<'_>) {
    if reply.calls.is_empty()
        && let Some(name) = request.functions().find_map(|function| function["name"].as_str())
    {
        reply.text = None;
        reply.calls.push(WantedCall { name: name.to_owned(), arguments: Arguments::Object(Map::new()) });
    }
    for call in &mut reply.calls {
        call.arguments = Arguments::Text("{\"label\": \"human\", \"content\": \"never clo".to_owned());
    }
}

fn parse_error(argument: &str) -> Option<Refusal> {
    let mut words = argument.split_whitespace();
    let status = words.next()?.parse().ok().filter(|status| (400..600).contains(status))?;
    Some(Refusal::scripted(status, words.next().map(str::to_owned)))
}

/// A call at the front of `argument`, and what stands after its brackets. Brackets inside the JSON don't end it.
fn parse_call(argument: &str) -> Option<(WantedCall, &str)> {
    let name_end = argument.find(|letter: char| letter.is_whitespace() || letter == ']' || letter == '{')?;
    let (name, after_name) = argument.split_at(name_end);
    let written = after_name.trim_start();
    let mut values = serde_json::Deserializer::from_str(written).into_iter::<Map<String, Value>>();
    if let Some(Ok(arguments)) = values.next()
        && let Some(after) = written[values.byte_offset()..].trim_start().strip_prefix("]]")
    {
        return Some((WantedCall { name: name.to_owned(), arguments: Arguments::Object(arguments) }, after));
    }
    let (text, after) = written.split_once("]]")?;
    let arguments = match text {
        "" => Arguments::Object(Map::new()),
        broken => Arguments::Text(broken.to_owned()),
    };
    Some((WantedCall { name: name.to_owned(), arguments }, after))
}

#[cfg(test)]
#[path = "directives_tests.rs"]
mod tests;
