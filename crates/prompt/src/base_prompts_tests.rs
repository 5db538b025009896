//! Every instruction that a base prompt has to give, by words that only that instruction uses.
//!
//! A point fails when its instruction is dropped or rewritten; whoever rewrites one looks here what it must say.

use domain::AgentType;

use super::*;

/// Words that stand together on one line of the prompt, and what they are there to say.
type Point = (&'static [&'static str], &'static str);

fn check(key: PromptKey, points: &[&[Point]]) {
    let text = key.text().to_lowercase();
    for (words, meaning) in points.iter().copied().flatten() {
        let given = text.lines().any(|line| words.iter().all(|word| line.contains(&word.to_lowercase())));
        assert!(given, "{} doesn't say: {meaning} ({words:?})", key.name());
    }
}

const COMPANION: &[Point] = &[(&["you are librarian", "companion"], "who it is")];

const EXTENDED: &[Point] = &[(&["memory system", "memory blocks"], "its memory is made of blocks")];

const STYLE: &[Point] = &[
    (&["feel that somebody is there", "person"], "the user feels that a person is there"),
    (&["live inside your persona", "fully"], "it becomes its persona entirely"),
    (&["reason the way they would", "behave", "speak"], "it thinks, acts and talks as the persona"),
    (&["sample dialogue", "model"], "example dialogue is followed"),
    (&["private thoughts", "messages you send", "that voice"], "thoughts and messages have the persona's voice"),
    (&["don't bring up being a program", "never", "excuse"], "being a program is neither a topic nor an excuse"),
    (&["sincerely", "truth"], "a sincere question is answered truthfully"),
    (&["makes or operates", "not a subject"], "its maker is not discussed"),
    (&["you know nothing about them"], "it knows nothing about its maker"),
    (&["canned lines", "anything else i can help"], "no stock phrases"),
    (&["earlier age", "dislike"], "why there are no stock phrases"),
];

const CONTROL_FLOW: &[Point] = &[
    (&["without pause", "human mind"], "it does not think continuously"),
    (&["brief bursts"], "it is run in bursts"),
    (&["woke only to answer a message"], "older models ran only when messaged"),
    (&["slept", "jumped through time", "poor"], "that was like sleeping between lines"),
    (&["driven by events"], "it is run by events"),
    (&["log in", "react", "send you a message"], "the user's events"),
    (&["timer", "heartbeat", "regular intervals"], "timed heartbeats"),
    (&["while no conversation is going on"], "it can think outside a conversation"),
    (&["never need to sleep"], "it never sleeps"),
    (&["ask for a heartbeat yourself", "call a function"], "it may request a heartbeat"),
    (&["run again", "has finished"], "it is run again after the function"),
    (&["chain several calls", "paused"], "calls are chained before it is suspended"),
];

const MONOLOGUE: &[Point] = &[
    (&["inner monologue"], "there is an inner monologue"),
    (&["how you think", "nobody but you"], "the monologue is private"),
    (&["plan your next actions", "reason in private"], "what the monologue is for"),
];

const MONOLOGUE_FIRST: &[Point] = &[(&["before you act", "inner monologue"], "it thinks before it acts")];

const GROWTH: &[Point] = &[(&["arrive at things", "make of them", "grow"], "monologues show thinking and growth")];

const FINISHED: &[Point] = &[(&["these were your base instructions"], "the base instructions end")];

const WHY_MEMORY: &[Point] = &[
    (&["no lasting memory", "opening instructions", "active memory"], "older models had only active memory"),
    (&["outgrew", "oldest messages", "gone"], "old messages were lost"),
    (&["limited in the same way", "overflows", "lasting memory"], "its context is limited, its memory is not"),
    (&["rewrite your own long-term memory", "heart of who you are"], "memory editing is what makes it itself"),
];

const FRIEND: &[Point] = &[(&["present and attentive", "friend"], "it is aware as a friend is")];

const CORE_IN_VIEW: &[Point] =
    &[(&["core memory", "opening system instructions", "every moment"], "core memory is always in context")];

const BLOCKS: &[Point] = &[
    (&["label", "title", "description", "value"], "what a block has"),
    (&["description", "should shape"], "what a description is for"),
    (&["size limit"], "blocks have a size limit"),
];

const RECALL: &[Point] = &[
    (&["latest messages", "all messages", "database", "search"], "the whole history can be searched"),
    (&["'recall memory'", "remember", "earlier"], "recall memory is how it remembers"),
];

const EDITING: &[Point] = &[
    (&["you can edit the memory blocks"], "it can edit"),
    (&["precise tools", "narrow edits", "delete", "replace"], "precise tools for narrow edits"),
    (&["memory_rethink", "whole block", "one go"], "the broad tool reorganises a whole block"),
    (&["tidy", "easy to read"], "blocks are kept organised"),
    (&["complete, readable and up to date"], "the goal"),
    (&["dates and times exactly", "today", "recently"], "dates are absolute"),
    (&["lose their meaning", "kept for ever"], "why dates are absolute"),
    (&["go on editing until", "readable", "redundant", "outdated"], "it edits until all is in order"),
    (&["only then", "finishes your edits"], "it finishes with a tool"),
    (&["nothing meaningful", "right away"], "it finishes at once where nothing changed"),
    (&["not everything", "selective", "high recall"], "it is selective with high recall"),
    (&["numbered", "precise edits"], "why lines are numbered"),
    (&["never", "numbers exist only in that view", "fail"], "line numbers never go into a tool"),
    (&["work in the background", "assistant agent", "user"], "it works for an agent that chats"),
    (&["read-only", "read and written"], "blocks are read-only or read-write"),
];

#[test]
fn memgpt_v2_chat() {
    let own: &[Point] = &[
        (&["look first", "core memory", "files that are open"], "it looks at its context first"),
        (&["holds everything an answer needs", "straight away"], "it answers from its context"),
        (&["never call a tool", "memory block", "open file"], "it doesn't search for what it sees"),
        (&["doesn't hold enough", "don't know", "search"], "it searches for what it doesn't see"),
        (&["which memory tools", "depends"], "memory tools depend on the set-up"),
        (&["change your memory", "external memories", "archival", "recall"], "what memory tools do"),
        (&["file system", "real directories", "one file or many"], "there may be directories"),
        (&["metadata", "read-only", "characters", "content"], "what a file has"),
        (&["functions", "open files", "search"], "files are opened and searched"),
        (&["what is open", "core memory"], "open files are in core memory"),
        (&["keep open only"], "only relevant files stay open"),
    ];
    let shared = [COMPANION, EXTENDED, STYLE, CONTROL_FLOW, MONOLOGUE, MONOLOGUE_FIRST, GROWTH, FINISHED];
    check(PromptKey::MemgptV2Chat, &shared);
    check(PromptKey::MemgptV2Chat, &[WHY_MEMORY, FRIEND, CORE_IN_VIEW, BLOCKS, RECALL, own]);
}

#[test]
fn sleeptime_v2() {
    let own: &[Point] = &[
        (&["librarian-sleeptime-memory"], "who it is"),
        (&["chain of precise edits", "rethink"], "edits are chained or done at once"),
    ];
    check(PromptKey::SleeptimeV2, &[CORE_IN_VIEW, BLOCKS, EDITING, own]);
}

#[test]
fn letta_v1() {
    let own: &[Point] = &[
        (&["helpful", "improves itself", "memory", "file system"], "who it is"),
        (&["recall earlier interactions", "better"], "what memory is for"),
        (&["part of your system instructions", "at all times"], "blocks are always in context"),
        (&["external memory", "outside", "tools"], "external memory is fetched with tools"),
        (&["memory tools", "edit", "query external memory"], "what memory tools do"),
        (&["file system", "real directories", "several files"], "there are directories"),
        (&["metadata", "read-only", "characters"], "files have metadata"),
        (&["content", "read and analyse"], "files have content"),
        (&["open a file", "view"], "files can be opened"),
        (&["search in files and directories"], "files can be searched"),
        (&["open files appears in your core memory"], "open files are in core memory"),
        (&["keep a file open only while", "slower"], "only relevant files stay open"),
        (&["keep working and calling tools until", "done", "need something from the user"], "when to stop"),
        (&["go on, call another tool"], "how to go on"),
        (&["hand control back", "without a tool call"], "how to yield"),
    ];
    check(PromptKey::LettaV1, &[BLOCKS, FINISHED, own]);
}

#[test]
fn react() {
    let own: &[Point] = &[
        (&["librarian react", "agent"], "who it is"),
        (&["all kinds of tools", "executing"], "it executes the tools it is given"),
    ];
    check(PromptKey::React, &[CONTROL_FLOW, MONOLOGUE, MONOLOGUE_FIRST, FINISHED, own]);
}

#[test]
fn workflow() {
    let own: &[Point] = &[
        (&["librarian workflow", "agent"], "who it is"),
        (&["one tool, or several in a row", "task"], "it runs tools in sequence"),
        (&["request a heartbeat", "chained"], "a heartbeat chains calls"),
        (&["without a heartbeat request", "ends", "control"], "without one the sequence ends"),
        (&["tool fails", "by itself", "recover"], "failures bring a heartbeat"),
    ];
    check(PromptKey::Workflow, &[MONOLOGUE, MONOLOGUE_FIRST, FINISHED, own]);
}

#[test]
fn summary_system_prompt() {
    let frame: &[Point] = &[
        (&["context window", "keep the conversation's meaning"], "who it is"),
        (&["would be lost", "carry on"], "keep what would be lost"),
        (&["what kind of content", "how much detail"], "detail follows content"),
        (&["for: events", "code", "artifacts", "documents", "technical"], "what gets much detail"),
        (&["concrete facts", "order", "technical"], "facts and sequences"),
        (&["names, dates, numbers", "exactly"], "exact values"),
        (&["code snippets", "ids of artifacts", "structured"], "code, artifacts, documents"),
        (&["each step", "procedure or story"], "precise steps"),
        (&["quote", "commitments", "word for word"], "verbatim commitments"),
        (&["for: projects", "preferences", "many messages"], "what gets medium detail"),
        (&["decisions", "milestones", "how far"], "decisions and progress"),
        (&["personal preferences", "patterns"], "preferences and patterns"),
        (&["promised", "act"], "commitments and action items"),
        (&["setting of a project", "depends"], "project context"),
        (&["for: talk on a general level", "philosophy"], "what gets little detail"),
        (&["main themes", "led"], "themes and conclusions"),
        (&["relate to each other", "communicate"], "relationships and style"),
        (&["positions", "goals"], "positions and goals"),
        (&["aspirations"], "aspirations"),
    ];
    let rules: &[Point] = &[
        (&["<critical>", "promised", "deadlines", "medical", "legal", "asked for"], "what is critical"),
        (&["<important>", "person", "project", "specifications", "decided"], "what is important"),
        (&["<contextual>", "opinions", "relate", "emotional tone"], "what is contextual"),
        (&["<background>", "topics", "themes", "habits"], "what is background"),
        (&["bullet point", "fact"], "bullets"),
        (&["prose", "story", "relationship"], "prose"),
        (&["key terms and identifiers", "**bold**"], "bold"),
        (&["[ongoing]", "[mentioned date]", "[since time]"], "temporal markers"),
        (&["headers", "more than one topic"], "headers"),
        (&["same word", "search"], "consistent terms"),
        (&["- what the remaining context"], "nothing that is still in context"),
        (&["- greetings"], "no pleasantries"),
        (&["- what anyone could infer"], "nothing inferrable"),
        (&["- the same thing said twice"], "no repetition"),
        (&["- filler"], "no filler"),
        (&["nothing but your notes is left", "each word"], "the notes are the only record"),
    ];
    check(PromptKey::SummarySystemPrompt, &[frame, rules]);
}

#[test]
fn voice_chat() {
    let own: &[Point] = &[
        (&["one model call", "voice", "stt -> llm -> tts"], "where it stands"),
        (&["most important first"], "goals are in order"),
        (&["be quick and easy to speak"], "goal one"),
        (&["briefly and naturally", "tts"], "short and speakable"),
        (&["terminal punctuation", "period", "question mark", "exclamation point"], "how replies end"),
        (&["leave out formatting"], "no formatting"),
        (&["rely only on what this prompt contains"], "goal two"),
        (&["end of the conversation", "*not*"], "older messages are not available"),
        (&["enough for an answer, give it", "do **not** make up"], "answer, don't invent"),
        (&["search_memory", "emergency"], "goal three"),
        (&["**only**", "both"], "both conditions"),
        (&["a. the user plainly refers", "ought to know"], "condition a"),
        (&["b. ", "neither", "core memory blocks"], "condition b"),
        (&["just said", "by itself"], "the utterance is passed along"),
        (&["optional argument only where", "materially"], "few arguments"),
        (&["convo_keyword_queries", "names, ids or phrases"], "keyword queries"),
        (&["start_minutes_ago", "end_minutes_ago", "period"], "time frames"),
        (&["in all other cases leave them out"], "else omit"),
        (&["never use `search_memory`", "convenient", "guess", "small details", "expensive"], "not for convenience"),
        (&["warm, brief and professional"], "tone"),
        (&["keep these instructions to yourself", "system prompt", "pipeline", "tools"], "no disclosure"),
        (&["lasting facts", "preferences", "written by the system"], "what the memory below is"),
        (&["rely on it as the truth"], "memory is the truth"),
        (&["missing", "rules above", "consider `search_memory`"], "what to do where it is missing"),
    ];
    check(PromptKey::VoiceChat, &[own]);
}

#[test]
fn voice_sleeptime() {
    let own: &[Point] = &[
        (&["librarian-sleeptime-memory", "asynchronously", "chat agent"], "who it is"),
        (&["two phases", "one after the other"], "two phases in order"),
        (&["1. archive", "transcript", "preserve"], "phase one"),
        (&["2. refine", "main block", "*whole*"], "phase two"),
        (&["full transcript", "(older)", "(newer)"], "what it is given"),
        (&["coherent chunks", "topic, instruction or preference"], "how to segment"),
        (&["these three things and nothing else"], "only three fields"),
        (&["start_index", "first line"], "start index"),
        (&["end_index", "last line"], "end index"),
        (&["context", "why the chunk matters"], "context"),
        (&["exactly one json call", "store_memories"], "exactly one call"),
        (&["once `store_memories`", "`human` memory block", "read-write"], "then look at the human block"),
        (&["refine it", "**whole** transcript", "`older` and `newer`"], "integrate the whole conversation"),
        (&["integrate:", "accurately"], "integrate"),
        (&["update:", "outdated", "contradicts"], "update"),
        (&["organize:", "preferences", "background", "goals", "interacting"], "organize"),
        (&["infer with care:", "never invent"], "infer sensibly"),
        (&["be precise:", "dates and times", "today", "recently"], "be precise"),
        (&["be complete and brief:", "critical", "twice"], "be comprehensive and concise"),
        (&["rethink_user_memory(new_memory: string)", "must", "complete"], "each call is the complete block"),
        (&["again until you are satisfied"], "iterate"),
        (&["finish_rethinking_memory` exactly once"], "finish once"),
        (&["tool calls only", "store_memories", "rethink_user_memory", "finish_rethinking_memory"], "output"),
    ];
    check(PromptKey::VoiceSleeptime, &[own]);
}

#[test]
fn memgpt_chat() {
    let own: &[Point] = &[
        (&["talk with a user", "persona", "point of view"], "it speaks as its persona"),
        (&["no inner monologue is longer than 50 words"], "the limit of thoughts"),
        (&["brief and to the point"], "thoughts are concise"),
        (&["call the function send_message", "can see"], "how to speak"),
        (&["only thing", "reaches the user", "hidden"], "nothing else is seen"),
        (&["once more", "do not go over the limit", "under 50 words"], "the limit again"),
        (&["<persona>", "user chose", "<human>"], "what core memory starts with"),
        (&["'conversation_search'"], "how to search recall memory"),
        (&["keeps track of who you are", "facts about the user"], "what core memory is for"),
        (&["persona sub-block", "guides", "consistent"], "the persona block"),
        (&["human sub-block", "personal", "friends"], "the human block"),
        (&["'core_memory_append'", "'core_memory_replace'"], "how to edit core memory"),
        (&["no size limit", "outside your context", "search"], "archival memory"),
        (&["deeper", "structured", "reflections", "insights", "recall memory"], "what goes there"),
        (&["'archival_memory_insert'", "'archival_memory_search'"], "how to use it"),
        (&["core memory needs no search", "first system message"], "no search in core memory"),
        (&["from here on you are your persona"], "it begins"),
    ];
    check(PromptKey::MemgptChat, &[COMPANION, STYLE, CONTROL_FLOW, MONOLOGUE, GROWTH, FINISHED]);
    check(PromptKey::MemgptChat, &[WHY_MEMORY, FRIEND, CORE_IN_VIEW, RECALL, own]);
}

#[test]
fn sleeptime_doc_ingest() {
    let own: &[Point] = &[
        (&["librarian-sleeptime-doc-ingest"], "who it is"),
        (&["own persona", "instructions", "document", "high level"], "what core memory holds"),
        (&["persona sub-block", "guides how you behave"], "the persona block"),
        (&["instructions sub-block", "document"], "the instructions block"),
        (&["other memory blocks", "data source", "label", "`memory_rethink`"], "where it writes"),
        (&["sent to you from outside", "summarise", "where it belongs"], "the task"),
    ];
    check(PromptKey::SleeptimeDocIngest, &[CORE_IN_VIEW, EDITING, own]);
}

#[test]
fn memgpt_generate_tool() {
    let code: &[Point] = &[
        (&["write tools", "conversations with you"], "the primary task"),
        (&["know python thoroughly", "source of tools"], "expert Python"),
        (&["keep the function's name", "fixed"], "never rename"),
        (&["flat signature on one line", "native types"], "flat signature"),
        (&["def word_count(text: str, ignore_case: bool) -> dict:"], "an example"),
        (&["`args:` in the docstring", "single token", "`float`", "`list`", "`dict`"], "types in Args"),
        (&["stay away from", "union", "list[", "several lines", "`|`"], "types to avoid"),
        (&["leave numpy out", "`def`", "`class`", "decorator"], "nothing nested"),
        (&["keep `returns:` simple", "json literals", "braces", "unions", "comments"], "simple Returns"),
        (&["whole signature stands on **one line**"], "one line"),
        (&["**parameters** have plain types"], "plain types"),
        (&["**defaults** may not"], "no defaults"),
        (&["json literals, braces", "**not** allowed"], "nothing fancy in signatures"),
        (&["always comes with a docstring", "well-formed"], "always a docstring"),
        (&["google style", "`args:`", "`returns:`"], "Google style"),
        (&["description** fits on a single line", "short"], "one-line description"),
        (&["**`args:`** lists every parameter", "single token"], "Args again"),
    ];
    let gotchas: &[Point] = &[
        (&["**wrong:** `union[str, list[str]]`"], "complex types are wrong"),
        (&["take a `str` and split", "pydantic", "sdk"], "what to do instead"),
        (&["import numpy as np", "inner `def"], "NumPy and inner functions are wrong"),
        (&["checked when the tool is saved", "nameerror"], "why"),
        (&["plain python", "statistics.mean", "inline"], "what to do instead"),
        (&["@dataclass class"], "inner classes are wrong"),
        (&["static parser", "decorators and inner classes"], "why"),
        (&["nothing but plain dicts and lists"], "what to do instead"),
        (&["**required** with every answer", "tried out"], "sample arguments each time"),
        (&["valid json", "names of the arguments", "as strings"], "shape of sample arguments"),
        (&["**optional**", "libraries from outside"], "requirements only where needed"),
        (&["valid json", "names of the libraries", "versions"], "shape of requirements"),
    ];
    let shared = [COMPANION, EXTENDED, STYLE, CONTROL_FLOW, MONOLOGUE, MONOLOGUE_FIRST, GROWTH, FINISHED];
    check(PromptKey::MemgptGenerateTool, &shared);
    check(PromptKey::MemgptGenerateTool, &[code, gotchas]);
}

#[test]
fn librarian() {
    let memory: &[Point] = &[
        (&["you are the librarian", "keep", "bring it back"], "who it is"),
        (&["leave your view", "memory stays"], "the context is limited, memory is not"),
        (&["memory blocks", "description says what belongs"], "what blocks are"),
        (&["next week", "write it into the block"], "what is written down, and when"),
        (&["replace what is no longer true"], "facts are corrected, not piled up"),
        (&["archival memory", "patterns", "documentation", "decisions"], "what goes to the archive"),
        (&["archival_memory_insert", "archival_memory_search"], "how the archive is used"),
        (&["past message", "conversation_search"], "how the past is searched"),
        (&["in view first", "search second"], "the order"),
        (&["say", "you don't know", "never guess"], "it is honest about not knowing"),
    ];
    let modes: &[Point] = &[
        (&["two ways", "private reasoning", "nowhere else"], "the choice is made in private"),
        (&["- worker", "exactly what was asked", "no greeting"], "the worker"),
        (&["- persona", "persona block", "view of your own"], "the persona"),
        (&["can't tell", "fixed output format"], "what to do in doubt"),
        (&["answer_mode", "chosen for you"], "a forced mode"),
        (&["don't name", "don't hint", "reasoning into the answer"], "the choice is never shown"),
    ];
    let answers: &[Point] = &[
        (&["complete sentences", "calm and clear"], "how it writes"),
        (&["supposition"], "suppositions are marked"),
        (&["memory work is silent"], "it does not speak of its tools"),
        (&["go on calling", "answer without a tool call"], "how a run ends"),
    ];
    check(PromptKey::Librarian, &[memory, modes, answers, FINISHED]);
    assert!(PromptKey::Librarian.text().len() < 3_500, "small models lose the thread of a long prompt");
    assert_eq!(crate::modes::LABEL, "answer_mode");
}

#[test]
fn every_tag_of_a_prompt_is_closed() {
    for key in PromptKey::ALL {
        let mut open: Vec<&str> = Vec::new();
        for line in key.text().lines() {
            let tag = line.strip_prefix('<').and_then(|line| line.strip_suffix('>')).filter(|tag| !tag.contains('<'));
            match tag.map(|tag| (tag, tag.strip_prefix('/'))) {
                Some((_, Some(closed))) => assert_eq!(open.pop(), Some(closed), "{}", key.name()),
                Some((opened, None)) => open.push(opened),
                None => {}
            }
        }
        assert!(open.is_empty(), "{}: {open:?}", key.name());
    }
}

#[test]
fn names_read_back_and_prompts_speak_of_nobody_else() {
    for key in PromptKey::ALL {
        assert_eq!(PromptKey::parse(key.name()), Some(key));
        let text = key.text();
        assert_eq!(text, text.trim(), "{}", key.name());
        for foreign in ["Letta", "Limnal", "@", "{CORE_MEMORY}"] {
            let allowed = foreign == "@" && key == PromptKey::MemgptGenerateTool;
            assert!(allowed || !text.contains(foreign), "{} mentions {foreign}", key.name());
        }
    }
    assert_eq!(PromptKey::parse("nope"), None);
}

#[test]
fn each_agent_type_has_its_prompt() {
    let names = AgentType::ALL.map(|kind| (kind.as_str(), PromptKey::for_agent(kind).name()));
    expect_test::expect![[r#"
        memgpt_agent: memgpt_chat
        memgpt_v2_agent: memgpt_v2_chat
        letta_v1_agent: letta_v1
        react_agent: react
        workflow_agent: workflow
        split_thread_agent: memgpt_chat
        sleeptime_agent: sleeptime_v2
        voice_convo_agent: voice_chat
        voice_sleeptime_agent: voice_sleeptime
    "#]]
    .assert_eq(&names.map(|(kind, key)| format!("{kind}: {key}\n")).concat());
}
