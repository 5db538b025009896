//! The catalog's schemas as facts, and the tools and rules that each kind of agent is born with.

use domain::{Actor, AgentType};
use expect_test::{Expect, expect};

use super::*;

fn shapes() -> String {
    let shape = |tool: &Builtin| {
        let parameters = tool.parameters();
        let required: Vec<&str> =
            parameters["required"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let arguments: Vec<String> = parameters["properties"]
            .as_object()
            .expect("an object")
            .iter()
            .map(|(name, schema)| {
                let optional = if required.contains(&name.as_str()) { "" } else { "?" };
                format!("{name}{optional}: {}", schema["type"].as_str().expect("a type"))
            })
            .collect();
        format!("{} {}({})\n", tool.kind.as_str(), tool.name, arguments.join(", "))
    };
    all().iter().map(shape).collect()
}

#[test]
fn names_and_arguments_are_those_that_clients_know() {
    expect![[r#"
        letta_core send_message(message: string)
        letta_core conversation_search(query: string, roles?: array, limit?: integer, start_date?: string, end_date?: string)
        letta_core archival_memory_insert(content: string, tags?: array)
        letta_core archival_memory_search(query: string, tags?: array, tag_match_mode?: string, top_k?: integer, start_datetime?: string, end_datetime?: string)
        letta_memory_core core_memory_append(label: string, content: string)
        letta_memory_core core_memory_replace(label: string, old_content: string, new_content: string)
        letta_memory_core memory(command: string, path?: string, file_text?: string, description?: string, old_str?: string, new_str?: string, insert_line?: integer, insert_text?: string, old_path?: string, new_path?: string)
        letta_memory_core memory_apply_patch(label: string, patch: string)
        letta_sleeptime_core memory_replace(label: string, old_str: string, new_str: string)
        letta_sleeptime_core memory_insert(label: string, new_str: string, insert_line?: integer)
        letta_sleeptime_core memory_rethink(label: string, new_memory: string)
        letta_sleeptime_core memory_finish_edits()
    "#]]
    .assert_eq(&shapes());
}

#[test]
fn every_argument_is_described_and_no_text_has_stray_spaces() {
    for tool in all() {
        let parameters = tool.parameters();
        assert_eq!(parameters["type"], "object");
        let mut texts = vec![tool.description.to_owned()];
        for (name, schema) in parameters["properties"].as_object().expect("an object") {
            let description = schema["description"].as_str().unwrap_or_else(|| panic!("{}.{name}", tool.name));
            texts.push(description.to_owned());
        }
        for text in texts {
            assert!(!text.contains("  ") && text.trim() == text, "{text:?}");
        }
    }
}

fn born_with(kind: AgentType, enable_sleeptime: bool, memory: MemoryVariant, expected: Expect) {
    expected.assert_eq(&base_tools(kind, enable_sleeptime, memory).join(" "));
}

#[test]
fn each_kind_of_agent_has_its_tools() {
    use MemoryVariant::{Omni, Separate};
    born_with(
        AgentType::Memgpt,
        false,
        Separate,
        expect![
            "send_message conversation_search archival_memory_insert archival_memory_search core_memory_append core_memory_replace"
        ],
    );
    born_with(
        AgentType::Memgpt,
        false,
        Omni,
        expect![
            "send_message conversation_search archival_memory_insert archival_memory_search core_memory_append core_memory_replace"
        ],
    );
    born_with(
        AgentType::MemgptV2,
        false,
        Separate,
        expect![
            "send_message conversation_search archival_memory_insert archival_memory_search memory_replace memory_insert"
        ],
    );
    born_with(
        AgentType::MemgptV2,
        false,
        Omni,
        expect!["send_message conversation_search archival_memory_insert archival_memory_search memory"],
    );
    born_with(
        AgentType::SplitThread,
        false,
        Separate,
        expect![
            "send_message conversation_search archival_memory_insert archival_memory_search core_memory_append core_memory_replace"
        ],
    );
    born_with(
        AgentType::LettaV1,
        false,
        Separate,
        expect!["conversation_search archival_memory_insert archival_memory_search memory_replace memory_insert"],
    );
    born_with(
        AgentType::LettaV1,
        false,
        Omni,
        expect!["conversation_search archival_memory_insert archival_memory_search memory"],
    );
    born_with(AgentType::LettaV1, true, Separate, expect!["send_message conversation_search archival_memory_search"]);
    born_with(
        AgentType::Sleeptime,
        false,
        Omni,
        expect!["memory_replace memory_insert memory_rethink memory_finish_edits"],
    );
    born_with(AgentType::React, false, Separate, expect![""]);
    born_with(AgentType::Workflow, true, Separate, expect![""]);
}

#[test]
fn the_endpoint_type_chooses_the_memory_tools() {
    assert_eq!(MemoryVariant::for_endpoint_type("anthropic"), MemoryVariant::Omni);
    assert_eq!(MemoryVariant::for_endpoint_type("openai"), MemoryVariant::Separate);
}

#[test]
fn built_in_tools_come_with_rules_and_others_with_none() {
    let names = ["conversation_search", "memory_insert", "send_message", "roll_dice", "memory_finish_edits", "memory"];
    let rules: Vec<String> =
        default_rules(&names).iter().map(|rule| serde_json::to_string(rule).expect("a rule is JSON")).collect();
    expect![[r#"
        {"type":"continue_loop","tool_name":"conversation_search","prompt_template":null}
        {"type":"continue_loop","tool_name":"memory_insert","prompt_template":null}
        {"type":"exit_loop","tool_name":"send_message","prompt_template":null}
        {"type":"exit_loop","tool_name":"memory_finish_edits","prompt_template":null}
        {"type":"continue_loop","tool_name":"memory","prompt_template":null}"#]]
    .assert_eq(&rules.join("\n"));
}

#[test]
fn gated_tools_come_with_an_approval_rule() {
    let plain =
        by_name("memory").expect("it exists").to_tool(ToolId::random(), Actor::default_user(), Timestamp::UNIX_EPOCH);
    let gated = Tool { default_requires_approval: true, name: "roll_dice".into(), ..plain.clone() };
    let rules = approval_rules([&plain, &gated]);
    assert_eq!(rules.iter().map(domain::ToolRule::tool_name).collect::<Vec<_>>(), ["roll_dice"]);
}
