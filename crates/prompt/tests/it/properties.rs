//! Whatever blocks, rules and prompts hold: rendering is a function of them, and what was rendered is up to date.

use domain::{AgentType, Archival, Memory, ToolRule};
use prompt::directories::{Directories, Directory, FileView};
use prompt::system::{CORE_MEMORY, Metadata, SystemInput, needs_rebuild, render};
use proptest::prelude::*;

use crate::samples::{at, block, metadata};

/// Words of ours that could confuse a search, between arbitrary ones.
fn tricky_text() -> impl Strategy<Value = String> {
    let ours = prop::sample::select(vec![
        CORE_MEMORY,
        "</memory_blocks>",
        "\n\n<memory_metadata>\n",
        "- The current system date is: November 18, 2026\n",
        "\n</memory_metadata>",
        "</value>\n</human>\n\n</memory_blocks>",
        "<tool_usage_rules>",
        "{{ tool_name }}",
        "1→ ",
        "\n",
        "猫🐈",
    ]);
    let piece = prop_oneof![ours.prop_map(str::to_owned), "[^\0]{0,12}"];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

#[derive(Debug, Clone)]
struct Case {
    base: String,
    kind: AgentType,
    memory: Memory,
    rules: Vec<ToolRule>,
    directories: Directories,
    line_numbers: bool,
    tags: Vec<String>,
}

impl Case {
    fn archival(&self, count: u64) -> Archival {
        Archival { passages: count % 3, tags: self.tags.clone().into() }
    }

    fn input(&self) -> SystemInput<'_> {
        SystemInput {
            base: &self.base,
            kind: self.kind,
            memory: &self.memory,
            tool_rules: &self.rules,
            directories: Some(&self.directories),
            line_numbers: self.line_numbers,
        }
    }

    fn metadata(&self, count: u64) -> Metadata<'_> {
        let now = at() + jiff::SignedDuration::from_hours(i64::try_from(count % 100_000).unwrap());
        Metadata {
            now,
            previous_messages: count,
            archival_memories: count % 3,
            archival_tags: &self.tags,
            ..metadata("UTC")
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    let blocks = prop::collection::vec((tricky_text(), any::<bool>()), 0..4);
    let memory = blocks.prop_map(|blocks| {
        let blocks = blocks.iter().enumerate().map(|(index, (value, read_only))| {
            let label = format!("block {index}");
            block(&label, value, *read_only)
        });
        Memory::new(blocks.collect())
    });
    let rules = prop::collection::vec(prop::option::of(tricky_text()), 0..3).prop_map(|templates| {
        let rule = |prompt_template| ToolRule::ExitLoop { tool_name: "end".to_owned(), prompt_template };
        templates.into_iter().map(rule).collect()
    });
    let directories = prop::collection::vec((tricky_text(), any::<bool>()), 0..3).prop_map(directories);
    let kind = prop::sample::select(AgentType::ALL.to_vec());
    let tags = prop::collection::vec(tricky_text(), 0..3);
    (tricky_text(), kind, memory, rules, directories, any::<bool>(), tags).prop_map(
        |(base, kind, memory, rules, directories, line_numbers, tags)| Case {
            base,
            kind,
            memory,
            rules,
            directories,
            line_numbers,
            tags,
        },
    )
}

fn directories(files: Vec<(String, bool)>) -> Directories {
    let files = files.into_iter().map(|(value, open)| FileView {
        name: "shelf/book.txt".to_owned(),
        open,
        description: None,
        read_only: true,
        chars_current: value.chars().count(),
        chars_limit: 15_000,
        value,
    });
    let shelf = Directory { name: "shelf".to_owned(), description: None, instructions: None, files: files.collect() };
    Directories { files_open: 1, max_files_open: 5, directories: vec![shelf] }
}

proptest! {
    #[test]
    fn what_was_rendered_is_up_to_date(case in case(), count in any::<u64>()) {
        let text = render(&case.input(), &case.metadata(count));
        prop_assert_eq!(&text, &render(&case.clone().input(), &case.metadata(count)));
        prop_assert!(!needs_rebuild(&text, &case.input(), &case.archival(count)));
    }

    #[test]
    fn another_memory_needs_a_rebuild(old in case(), new in case(), count in any::<u64>()) {
        let text = render(&old.input(), &old.metadata(count));
        // The same metadata makes the whole texts comparable.
        let fresh = render(&new.input(), &old.metadata(count));
        prop_assert_eq!(needs_rebuild(&text, &new.input(), &old.archival(count)), text != fresh);
    }

    #[test]
    fn one_changed_value_needs_a_rebuild(old in tricky_text(), new in tricky_text(), count in any::<u64>()) {
        let memory = |value: &str| Memory::new(vec![block("human", value, false)]);
        let (before, after) = (memory(&old), memory(&new));
        let input = |memory| crate::samples::input(AgentType::LettaV1, memory);
        let metadata = Metadata { previous_messages: count, ..metadata("UTC") };
        let text = render(&input(&before), &metadata);
        prop_assert_eq!(needs_rebuild(&text, &input(&after), &Archival::default()), old != new);
    }
}
