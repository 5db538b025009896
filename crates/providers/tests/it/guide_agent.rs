//! A small agent that plays the part of the engine for the guide: it keeps blocks, runs memory tools, shows the system
//! message as Letta does, and goes on until the run ends. Calls that a schema does not allow fail the test.

use std::fmt::Write as _;
use std::sync::Arc;

use domain::message::{ContentPart, Role, ToolCall};
use domain::seams::chat_model::{
    ChatMessage, ChatModel, FinishReason, ModelEvent, ModelRequest, Sampling, ToolChoice, ToolSpec,
};
use domain::{ConversationId, StepId};
use futures_util::StreamExt;
use providers::guide::Guide;
use serde_json::{Map, Value, json};

/// No run of the guide may take longer.
const MAX_STEPS: usize = 20;

#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) limit: usize,
    pub(crate) read_only: bool,
}

impl Block {
    pub(crate) fn new(label: &str, value: &str) -> Self {
        Self { label: label.to_owned(), value: value.to_owned(), limit: 20_000, read_only: false }
    }
}

/// What a run did.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// What the user read.
    pub(crate) words: String,
    pub(crate) steps: usize,
    /// Names of the tools that were called.
    pub(crate) calls: Vec<String>,
}

/// Which of Letta's generations of agents is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Must call a tool in every step, speaks with `send_message`, goes on by heartbeats.
    V2,
    /// Plain text ends the run.
    V3,
}

pub(crate) struct Agent {
    pub(crate) blocks: Vec<Block>,
    policy: Policy,
    tools: Arc<[ToolSpec]>,
    history: Vec<ChatMessage>,
    numbered: bool,
    /// All that was ever said, and on which day.
    said: Vec<(usize, Role, String)>,
    /// The archive.
    pub(crate) passages: Vec<(usize, String)>,
    /// The day of the year 2026, counted from the first of March.
    pub(crate) day: usize,
}

impl Agent {
    /// A chat agent of today: numbered blocks, `memory_insert` and `memory_replace`.
    pub(crate) fn v3() -> Self {
        Self::new(Policy::V3, &["memory_replace", "memory_insert"])
    }

    /// An agent of the first generation: `send_message`, `core_memory_append` and `core_memory_replace`.
    pub(crate) fn v2() -> Self {
        Self::new(Policy::V2, &["send_message", "core_memory_append", "core_memory_replace"])
    }

    /// An agent with these tools.
    pub(crate) fn new(policy: Policy, tools: &[&str]) -> Self {
        let blocks = vec![
            Block::new(
                "persona",
                "I am Librarian. I keep what people tell me in my memory and give it back when it matters.",
            ),
            Block::new(
                "human",
                "I don't know anything about this person yet. What they tell me about themselves goes here.",
            ),
        ];
        let tools = tools.iter().map(|name| spec(name, policy)).collect();
        Self {
            blocks,
            policy,
            tools,
            history: Vec::new(),
            numbered: policy == Policy::V3,
            said: Vec::new(),
            passages: Vec::new(),
            day: 0,
        }
    }

    /// An agent that can search, but whose memory nobody can write to.
    pub(crate) fn searching(policy: Policy) -> Self {
        let tools = ["send_message", "conversation_search", "archival_memory_search"];
        Self::new(policy, if policy == Policy::V3 { &tools[1..] } else { &tools })
    }

    /// Forgets the conversation but not the blocks.
    pub(crate) fn new_conversation(&mut self) {
        self.history.clear();
    }

    /// One message of the user, and what came of it.
    pub(crate) async fn say(&mut self, text: &str) -> Run {
        self.push(Role::User, text, Vec::new(), None);
        let mut run = Run::default();
        while self.step(&mut run).await {
            assert!(run.steps < MAX_STEPS, "the run does not end: {text:?} {:?}", run.calls);
        }
        assert!(!run.words.trim().is_empty(), "nothing was said: {text:?} {:?}", run.calls);
        self.said.push((self.day, Role::User, text.to_owned()));
        self.said.push((self.day, Role::Assistant, run.words.clone()));
        run
    }

    /// One step; false if it ended the run.
    async fn step(&mut self, run: &mut Run) -> bool {
        run.steps += 1;
        let (text, calls, finish) = self.ask().await;
        self.push(Role::Assistant, &text, calls.clone(), None);
        let Some(call) = calls.first() else {
            assert!(self.policy == Policy::V3, "a step without a call: {text}");
            assert_eq!(finish, FinishReason::Stop);
            run.words.push_str(&text);
            return false;
        };
        assert_eq!(finish, FinishReason::ToolCalls);
        run.calls.push(call.name.to_string());
        let arguments: Map<String, Value> = serde_json::from_str(&call.arguments).expect("arguments are an object");
        self.check(call, &arguments);
        if &*call.name == "send_message" {
            run.words.push_str(arguments["message"].as_str().expect("the message is a text"));
            self.answer(call, "OK", "Sent message successfully.");
            return false;
        }
        let (status, words) = match self.run_tool(&call.name, &arguments) {
            Ok(words) => ("OK", words),
            Err(words) => ("Failed", words),
        };
        self.answer(call, status, &words);
        if self.policy == Policy::V2 {
            assert_eq!(arguments.get("request_heartbeat"), Some(&json!(true)), "nothing would be said after {call:?}");
            let beat = json!({"type": "heartbeat", "reason": "[This is an automated system message hidden from the user] Function called using request_heartbeat=true, returning control"});
            self.push(Role::User, &format!("{beat:#}"), Vec::new(), None);
        }
        true
    }

    async fn ask(&self) -> (String, Vec<ToolCall>, FinishReason) {
        let request = ModelRequest {
            conversation: ConversationId::random(),
            step: StepId::random(),
            model: "guide".into(),
            messages: std::iter::once(message(Role::System, &self.system())).chain(self.history.clone()).collect(),
            tools: self.tools.clone(),
            tool_choice: if self.policy == Policy::V2 { ToolChoice::Required } else { ToolChoice::Auto },
            parallel_tool_calls: false,
            sampling: Sampling::default(),
        };
        let mut stream = Guide::new().stream(Arc::new(request)).await.expect("the guide answers");
        let (mut text, mut calls, mut finish) = (String::new(), Vec::<ToolCall>::new(), None);
        while let Some(event) = stream.next().await {
            match event.expect("the guide does not break") {
                ModelEvent::Text(piece) => text.push_str(&piece),
                ModelEvent::ToolCallStarted { id, name, .. } => {
                    calls.push(ToolCall { id: id.into(), name: name.into(), arguments: "".into() });
                }
                ModelEvent::ToolCallArguments { index, fragment } => {
                    calls[index].arguments = format!("{}{fragment}", calls[index].arguments).into();
                }
                ModelEvent::Finished(reason) => finish = Some(reason),
                _ => {}
            }
        }
        (text, calls, finish.expect("the stream is complete"))
    }

    /// Everything required is there, and nothing that the schema does not know.
    fn check(&self, call: &ToolCall, arguments: &Map<String, Value>) {
        let tool = self.tools.iter().find(|tool| tool.name == call.name).expect("only offered tools are called");
        for required in tool.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(arguments.contains_key(required), "{required} is missing: {call:?}");
        }
        for given in arguments.keys() {
            assert!(tool.parameters["properties"].get(given).is_some(), "{given} is unknown: {call:?}");
        }
    }

    fn push(&mut self, role: Role, text: &str, calls: Vec<ToolCall>, answers: Option<Arc<str>>) {
        let mut shown = message(role, text);
        shown.tool_calls = calls.into();
        shown.tool_call_id = answers;
        self.history.push(shown);
    }

    fn answer(&mut self, call: &ToolCall, status: &str, words: &str) {
        let packed = json!({"status": status, "message": words, "time": "2026-11-18 06:52:39 AM CET+0100"});
        self.push(Role::Tool, &format!("{packed:#}"), Vec::new(), Some(call.id.clone()));
    }

    fn run_tool(&mut self, name: &str, arguments: &Map<String, Value>) -> Result<String, String> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        match name {
            "conversation_search" => return Ok(self.conversation_search(arguments)),
            "archival_memory_search" => return Ok(self.archival_memory_search(arguments)),
            "archival_memory_insert" => {
                self.passages.push((self.day, text("content").to_owned()));
                return Ok("Stored.".to_owned());
            }
            _ => {}
        }
        let label = arguments.get("path").and_then(Value::as_str).unwrap_or_else(|| text("label"));
        let label = label.trim_start_matches("/memories/").to_owned();
        let block = self.blocks.iter_mut().find(|block| block.label == label);
        let block = block.ok_or_else(|| format!("There is no memory block `{label}`."))?;
        if block.read_only {
            return Err(format!("The memory block `{label}` is read-only: you can't change it."));
        }
        let added = match name {
            "memory_insert" => Some(text("new_str")),
            "core_memory_append" => Some(text("content")),
            "memory" if text("command") == "insert" => Some(text("insert_text")),
            _ => None,
        };
        let value = match added {
            Some(added) if block.value.is_empty() => added.to_owned(),
            Some(added) => format!("{}\n{added}", block.value),
            None => {
                let (old, new) = match name {
                    "core_memory_replace" => (text("old_content"), text("new_content")),
                    _ => (text("old_str"), text("new_str")),
                };
                if block.value.matches(old).count() != 1 {
                    return Err(format!("`{old}` does not stand exactly once in the memory block `{label}`."));
                }
                block.value.replacen(old, new, 1)
            }
        };
        if value.chars().count() > block.limit {
            return Err(format!("The memory block `{label}` would be longer than its limit. Nothing was changed."));
        }
        block.value = value;
        Ok("Done.".to_owned())
    }

    fn conversation_search(&self, arguments: &Map<String, Value>) -> String {
        let roles = arguments.get("roles").and_then(Value::as_array);
        let wanted = |role: &Role| roles.is_none_or(|roles| roles.contains(&json!(role.as_str())));
        let texts = self.said.iter().filter(|(_, role, _)| wanted(role));
        let results = ranked(texts.map(|(day, role, text)| (text, (*day, *role))).collect(), arguments, "limit");
        let results: Vec<Value> = (1..)
            .zip(results)
            .map(|(rank, (text, (day, role)))| {
                json!({
                    "timestamp": timestamp(day), "time_ago": "a while ago", "role": role.as_str(),
                    "relevance": {"search_mode": "hybrid", "rrf_score": 0.5, "vector_rank": rank, "fts_rank": null},
                    "content": text,
                })
            })
            .collect();
        json!({"message": format!("Showing {} results:", results.len()), "results": results}).to_string()
    }

    fn archival_memory_search(&self, arguments: &Map<String, Value>) -> String {
        let results = ranked(self.passages.iter().map(|(day, text)| (text, *day)).collect(), arguments, "top_k");
        let results = (1..).zip(results).map(|(rank, (text, day))| {
            let relevance = json!({"rrf_score": 0.5, "vector_rank": rank, "fts_rank": null});
            json!({"timestamp": timestamp(day), "content": text, "tags": [], "relevance": relevance})
        });
        Value::Array(results.collect()).to_string()
    }

    /// The system message in the shape of `prompt`'s.
    fn system(&self) -> String {
        let mut text = "<base_instructions>\nYou are Librarian.\n</base_instructions>\n\n".to_owned();
        if !self.blocks.is_empty() {
            text.push_str(
                "<memory_blocks>\nThe following memory blocks are currently engaged in your core memory unit:\n",
            );
            for block in &self.blocks {
                self.show(&mut text, block);
            }
            text.push_str("\n</memory_blocks>\n\n");
        }
        text.push_str("<memory_metadata>\n- The current system date is: November 18, 2026\n</memory_metadata>");
        text
    }

    fn show(&self, text: &mut String, block: &Block) {
        let Block { label, value, limit, read_only } = block;
        let read_only = if *read_only { "- read_only=true\n" } else { "" };
        let chars = value.chars().count();
        let _ = write!(
            text,
            "\n<{label}>\n<description>\nWhat is kept under {label}.\n</description>\n<metadata>\n{read_only}- \
             chars_current={chars}\n- chars_limit={limit}\n</metadata>\n"
        );
        if self.numbered {
            text.push_str("<warning>\n# NOTE: Line numbers shown below (with arrows like '1→') are to help during editing. Do NOT include line number prefixes in your memory edit tool calls.\n</warning>\n<value>\n");
            for (at, line) in value.split('\n').enumerate().filter(|_| !value.is_empty()) {
                let _ = writeln!(text, "{}→ {line}", at + 1);
            }
        } else {
            let _ = writeln!(text, "<value>\n{value}");
        }
        let _ = writeln!(text, "</value>\n</{label}>");
    }
}

/// The texts that share most with the query, and after them others, as a search by meaning gives them too.
fn ranked<'a, T>(mut texts: Vec<(&'a String, T)>, arguments: &Map<String, Value>, limit: &str) -> Vec<(&'a String, T)> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
        words.map(|word| word.to_lowercase().chars().take(5).collect()).collect()
    };
    let query = arguments["query"].as_str().expect("a query is a text").to_owned();
    let asked = words(&query);
    let letters = |text: &str| query.chars().filter(|c| !c.is_ascii() && text.contains(*c)).count();
    texts.sort_by_cached_key(|(text, _)| {
        let shared = words(text).iter().filter(|word| asked.contains(word)).count();
        std::cmp::Reverse(10 * shared + letters(text))
    });
    texts.truncate(arguments.get(limit).and_then(Value::as_u64).unwrap_or(5) as usize);
    texts
}

fn timestamp(day: usize) -> String {
    format!("2026-{:02}-{:02}T09:30:00+01:00", 3 + day / 28, 1 + day % 28)
}

fn message(role: Role, text: &str) -> ChatMessage {
    let content: Vec<ContentPart> = if text.is_empty() { Vec::new() } else { vec![ContentPart::text(text)] };
    ChatMessage { role, content: content.into(), tool_calls: Arc::from([]), tool_call_id: None }
}

/// A tool as the catalog describes it, with what the policy adds.
fn spec(name: &str, policy: Policy) -> ToolSpec {
    let fields: &[(&str, bool)] = match name {
        "send_message" => &[("message", true)],
        "core_memory_append" => &[("label", true), ("content", true)],
        "core_memory_replace" => &[("label", true), ("old_content", true), ("new_content", true)],
        "memory_insert" => &[("label", true), ("new_str", true), ("insert_line", false)],
        "memory_replace" => &[("label", true), ("old_str", true), ("new_str", true)],
        "memory" => &[
            ("command", true),
            ("path", false),
            ("old_str", false),
            ("new_str", false),
            ("insert_line", false),
            ("insert_text", false),
        ],
        "conversation_search" => &[("query", true), ("roles", false), ("limit", false), ("start_date", false)],
        "archival_memory_search" => &[("query", true), ("tags", false), ("top_k", false)],
        "archival_memory_insert" => &[("content", true), ("tags", false)],
        _ => &[("text", true)],
    };
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    let thought: &[(&str, bool)] = if policy == Policy::V2 { &[("thinking", true)] } else { &[] };
    let beat: &[(&str, bool)] =
        if policy == Policy::V2 && name != "send_message" { &[("request_heartbeat", true)] } else { &[] };
    for (field, needed) in thought.iter().chain(fields).chain(beat) {
        let kind = match *field {
            "insert_line" | "limit" | "top_k" => "integer",
            "roles" | "tags" => "array",
            "request_heartbeat" => "boolean",
            _ => "string",
        };
        properties.insert((*field).to_owned(), json!({"type": kind}));
        required.extend(needed.then_some(*field));
    }
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    ToolSpec { name: name.into(), description: "A tool.".into(), parameters: Arc::new(parameters), strict: None }
}
