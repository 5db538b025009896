//! The system message has the skeleton of the recorded ones.

use domain::AgentType;
use prompt::system::{Metadata, SystemInput, render};

use crate::line_kinds::{facts, system_lines};
use crate::samples::{chat_rules, human_and_persona, input, metadata, one_open_file};

const NEW_YORK: &str = "America/New_York";

/// Compares what follows the base prompt.
fn check(input: &SystemInput<'_>, metadata: &Metadata<'_>, recorded: &str) {
    let text = render(input, metadata);
    let rendered = system_lines(text.strip_prefix(input.base).unwrap());
    assert_eq!(facts(recorded), serde_json::json!(rendered), "{text}");
}

#[test]
fn blocks() {
    let memory = human_and_persona();
    check(&input(AgentType::LettaV1, &memory), &metadata(NEW_YORK), include_str!("../facts/blocks.json"));
}

#[test]
fn tool_rules() {
    let (memory, rules) = (human_and_persona(), chat_rules());
    let input = SystemInput { tool_rules: &rules, ..input(AgentType::MemgptV2, &memory) };
    check(&input, &metadata("UTC"), include_str!("../facts/tool_rules.json"));
}

#[test]
fn archival_counts_and_tags() {
    let (memory, tags) = (human_and_persona(), ["animals".to_owned(), "tech".to_owned()]);
    let metadata = Metadata { archival_memories: 3, archival_tags: &tags, ..metadata(NEW_YORK) };
    check(&input(AgentType::LettaV1, &memory), &metadata, include_str!("../facts/archival.json"));
}

#[test]
fn directories() {
    let (memory, directories, tags) = (human_and_persona(), one_open_file(), ["tech".to_owned()]);
    let input = SystemInput { directories: Some(&directories), ..input(AgentType::LettaV1, &memory) };
    let metadata = Metadata { archival_memories: 2, archival_tags: &tags, ..metadata(NEW_YORK) };
    check(&input, &metadata, include_str!("../facts/directories.json"));
}

#[test]
fn numbered_lines() {
    let memory = human_and_persona();
    let input = SystemInput { line_numbers: true, ..input(AgentType::Sleeptime, &memory) };
    let lines = system_lines(&render(&input, &metadata("UTC")));
    let start = lines.iter().position(|line| line == "<warning>").unwrap();
    let end = lines.iter().position(|line| line == "</value>").unwrap();
    assert_eq!(facts(include_str!("../facts/line_numbers.json")), serde_json::json!(lines[start..=end]));
}
