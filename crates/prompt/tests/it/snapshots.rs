//! The whole system message of every agent type, kept as a text to read.

use domain::{AgentType, Memory};
use expect_test::expect_file;
use prompt::system::{Metadata, SystemInput, render};

use crate::samples::{block, chat_rules, human_and_persona, input, metadata, one_open_file};

fn check(kind: AgentType, directories: bool, line_numbers: bool, name: &str) {
    let mut blocks = human_and_persona().blocks().to_vec();
    blocks.push(block("house_rules", "", true));
    let (memory, rules, open, tags) = (Memory::new(blocks), chat_rules(), one_open_file(), ["tea".to_owned()]);
    let input = SystemInput {
        tool_rules: if kind == AgentType::LettaV1 { &[] } else { &rules },
        directories: directories.then_some(&open),
        line_numbers,
        ..input(kind, &memory)
    };
    let metadata =
        Metadata { previous_messages: 12, archival_memories: 1, archival_tags: &tags, ..metadata("Europe/Berlin") };
    expect_file![format!("../snapshots/{name}.txt")].assert_eq(&render(&input, &metadata));
}

#[test]
fn every_agent_type() {
    for kind in AgentType::ALL {
        check(kind, false, false, kind.as_str());
    }
}

#[test]
fn numbered_lines_are_shown_to_three_types() {
    check(AgentType::Sleeptime, false, true, "sleeptime_agent_numbered");
    check(AgentType::MemgptV2, false, true, "memgpt_v2_agent_numbered");
    check(AgentType::LettaV1, false, true, "letta_v1_agent_numbered");
    // The others are shown what they are shown without the wish for numbers.
    for kind in [AgentType::Memgpt, AgentType::React, AgentType::SplitThread, AgentType::VoiceConvo] {
        check(kind, false, true, kind.as_str());
    }
}

#[test]
fn open_files() {
    check(AgentType::LettaV1, true, false, "letta_v1_agent_files");
    check(AgentType::React, true, false, "react_agent_files");
}
