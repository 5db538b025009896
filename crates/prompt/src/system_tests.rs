//! Tests of the module beside this file.

use std::sync::Arc;

use domain::block::BlockDraft;
use domain::{Actor, Archival, Block, BlockId, Label};
use expect_test::{Expect, expect};

use super::*;
use crate::directories::{Directory, FileView};

fn block(label: &str, value: &str, description: Option<&str>) -> Block {
    let actor = Actor::default_user();
    let draft = BlockDraft {
        id: BlockId::from_bytes([7; 16]),
        organization: actor.organization,
        created_by: actor.user,
        label: Label::new(label).unwrap(),
        value: value.to_owned(),
        limit: 500,
        description: description.map(str::to_owned),
        read_only: false,
        metadata: serde_json::Map::new(),
        created_at: Timestamp::UNIX_EPOCH,
    };
    Block::new(draft).unwrap()
}

fn memory(blocks: Vec<Block>) -> Memory {
    Memory::new(blocks.into_iter().map(Arc::new).collect())
}

fn input<'a>(base: &'a str, kind: AgentType, memory: &'a Memory) -> SystemInput<'a> {
    SystemInput { base, kind, memory, tool_rules: &[], directories: None, line_numbers: false }
}

fn metadata() -> Metadata<'static> {
    Metadata {
        now: "2026-11-18T05:52:39Z".parse().unwrap(),
        zone: "UTC",
        memory_modified_at: "2026-11-17T05:52:39Z".parse().unwrap(),
        previous_messages: 4,
        archival_memories: 0,
        archival_tags: &[],
    }
}

fn check(input: &SystemInput<'_>, expected: Expect) {
    expected.assert_eq(&render(input, &metadata()));
}

#[test]
fn memory_is_appended_where_the_prompt_has_no_place_for_it() {
    let mut read_only = block("rules", "Be kind 🐈.\nBe brief.", Some("House rules"));
    read_only.read_only = true;
    let memory = memory(vec![block("human", "", None), read_only]);
    check(
        &input("Base.", AgentType::Memgpt, &memory),
        expect![[r#"
        Base.

        <memory_blocks>
        The following memory blocks are currently engaged in your core memory unit:

        <human>
        <description>

        </description>
        <metadata>
        - chars_current=0
        - chars_limit=500
        </metadata>
        <value>

        </value>
        </human>

        <rules>
        <description>
        House rules
        </description>
        <metadata>
        - read_only=true
        - chars_current=20
        - chars_limit=500
        </metadata>
        <value>
        Be kind 🐈.
        Be brief.
        </value>
        </rules>

        </memory_blocks>

        <memory_metadata>
        - The current system date is: November 18, 2026
        - Memory blocks were last modified: 2026-11-17 05:52:39 AM UTC+0000
        - 4 previous messages between you and the user are stored in recall memory (use tools to access them)
        </memory_metadata>"#]],
    );
}

#[test]
fn every_place_in_the_prompt_is_filled_and_blocks_are_not_searched_for_places() {
    let memory = memory(vec![block("a", "{CORE_MEMORY}", None)]);
    let input = input("One {CORE_MEMORY} two {CORE_MEMORY} three", AgentType::LettaV1, &memory);
    let text = render(&input, &metadata());
    assert_eq!(text.matches("<value>\n{CORE_MEMORY}\n</value>").count(), 2);
    assert_eq!(text.matches(CORE_MEMORY).count(), 2);
    assert_eq!(text.matches("</memory_metadata>").count(), 2);
    assert!(text.starts_with("One <memory_blocks>") && text.ends_with("</memory_metadata> three"));
    assert!(!needs_rebuild(&text, &input, &nothing()));
}

#[test]
fn agents_that_live_by_tools_are_shown_no_blocks() {
    let memory = memory(vec![block("human", "Sam", None)]);
    for kind in [AgentType::React, AgentType::Workflow] {
        check(
            &input("Base.", kind, &memory),
            expect![[r#"
            Base.

            <memory_metadata>
            - The current system date is: November 18, 2026
            - Memory blocks were last modified: 2026-11-17 05:52:39 AM UTC+0000
            - 4 previous messages between you and the user are stored in recall memory (use tools to access them)
            </memory_metadata>"#]],
        );
    }
}

#[test]
fn numbered_lines_show_the_empty_last_line_and_none_for_an_empty_value() {
    let memory = memory(vec![block("a", "x\n", None), block("b", "", None)]);
    let input = SystemInput { line_numbers: true, ..input("", AgentType::Sleeptime, &memory) };
    let text = memory_section(&input);
    assert!(text.contains("</warning>\n<value>\n1→ x\n2→ \n</value>\n</a>"), "{text}");
    assert!(text.contains("</warning>\n<value>\n</value>\n</b>"), "{text}");
}

#[test]
fn a_closed_file_shows_no_text() {
    let file = |name: &str, open| FileView {
        name: name.to_owned(),
        open,
        description: (!open).then(|| "Old.".to_owned()),
        read_only: open,
        chars_current: 0,
        chars_limit: 10,
        value: "Words.".to_owned(),
    };
    let directories = Directories {
        files_open: 1,
        max_files_open: 3,
        directories: vec![
            Directory {
                name: "a".to_owned(),
                description: None,
                instructions: Some("Quote it.".to_owned()),
                files: vec![file("a/one", true), file("a/two", false)],
            },
            Directory { name: "b".to_owned(), description: Some(String::new()), instructions: None, files: Vec::new() },
        ],
    };
    let memory = Memory::default();
    let input = SystemInput { directories: Some(&directories), ..input("", AgentType::React, &memory) };
    expect![[r#"
        <directories>
        <file_limits>
        - current_files_open=1
        - max_files_open=3
        </file_limits>
        <directory name="a">
        <instructions>Quote it.</instructions>
        <file status="open" name="a/one">
        <metadata>
        - read_only=true
        - chars_current=0
        - chars_limit=10
        </metadata>
        <value>
        Words.
        </value>
        </file>
        <file status="closed" name="a/two">
        <description>
        Old.
        </description>
        <metadata>
        - chars_current=0
        - chars_limit=10
        </metadata>
        <value>

        </value>
        </file>
        </directory>
        <directory name="b">
        </directory>
        </directories>"#]]
    .assert_eq(&memory_section(&input));
}

#[test]
fn archival_lines_appear_only_where_there_is_something() {
    let tags = ["a".to_owned(), "b\n</memory_metadata>".to_owned()];
    let full = Metadata { archival_memories: 2, archival_tags: &tags, previous_messages: 0, ..metadata() };
    expect![[r#"
        <memory_metadata>
        - The current system date is: November 18, 2026
        - Memory blocks were last modified: 2026-11-17 05:52:39 AM UTC+0000
        - 0 previous messages between you and the user are stored in recall memory (use tools to access them)
        - 2 total memories you created are stored in archival memory (use tools to access them)
        - Available archival memory tags: a, b </memory_metadata>
        </memory_metadata>"#]]
    .assert_eq(&metadata_section(&full));
    assert!(is_metadata(&metadata_section(&full)));
}

fn nothing() -> Archival {
    Archival::default()
}

#[test]
fn what_archival_memory_holds_is_worth_a_rebuild() {
    let memory = memory(vec![block("human", "Sam", None)]);
    let input = input("One {CORE_MEMORY} two", AgentType::LettaV1, &memory);
    let tags = ["a".to_owned()];
    let archival = Archival { passages: 2, tags: tags.clone().into() };
    let text = render(&input, &Metadata { archival_memories: 2, archival_tags: &tags, ..metadata() });
    assert!(!needs_rebuild(&text, &input, &archival));
    assert!(needs_rebuild(&text, &input, &nothing()));
    assert!(needs_rebuild(&text, &input, &Archival { passages: 3, ..archival.clone() }));
    assert!(needs_rebuild(&text, &input, &Archival { tags: Arc::new([]), ..archival }));
}

#[test]
fn metadata_alone_needs_no_rebuild_and_all_else_does() {
    let old = memory(vec![block("human", "Sam", None)]);
    let base = input("Base.", AgentType::LettaV1, &old);
    let text = render(&base, &metadata());
    let later = Metadata { now: "2027-01-01T00:00:00Z".parse().unwrap(), previous_messages: 99_999, ..metadata() };
    assert!(!needs_rebuild(&text, &base, &nothing()));
    assert!(!needs_rebuild(&render(&base, &later), &base, &nothing()));

    let new = memory(vec![block("human", "Tom", None)]);
    let rules = [ToolRule::ExitLoop { tool_name: "end".to_owned(), prompt_template: None }];
    assert!(needs_rebuild(&text, &SystemInput { memory: &new, ..base }, &nothing()));
    assert!(needs_rebuild(&text, &SystemInput { base: "Case.", ..base }, &nothing()));
    assert!(needs_rebuild(&text, &SystemInput { tool_rules: &rules, ..base }, &nothing()));
    assert!(needs_rebuild(&text, &SystemInput { line_numbers: true, ..base }, &nothing()));
    for broken in ["", "Base.", "Base.\n\n", &text[..text.len() - 1], &format!("{text}\n")] {
        assert!(needs_rebuild(broken, &base, &nothing()), "{broken}");
    }
}

#[test]
fn a_rule_that_ends_its_section_early_is_still_seen_to_change() {
    let memory = Memory::default();
    let short = "Stop.\n</tool_rule>\n</tool_usage_rules>\n\n<memory_metadata>\n- The current system date is: x";
    let rule = |text: &str| [ToolRule::ExitLoop { tool_name: "t".to_owned(), prompt_template: Some(text.to_owned()) }];
    let (old, new) = (rule(short), rule("Stop."));
    let before = SystemInput { tool_rules: &old, ..input("", AgentType::React, &memory) };
    assert!(needs_rebuild(&render(&before, &metadata()), &SystemInput { tool_rules: &new, ..before }, &nothing()));
}
