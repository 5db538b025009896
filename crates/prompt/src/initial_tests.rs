//! Tests of the module beside this file.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

fn check(kind: AgentType, order: BootOrder, expected: Expect) {
    let at = "2026-11-18T05:52:39Z".parse().unwrap();
    let boot = Boot { kind, order, call_id: "4b8cdae2-4f8d-469d-a629-3537e6455925", at, zone: "UTC" };
    let mut text = String::new();
    for message in initial_sequence(&boot) {
        let name = message.name.as_deref().unwrap_or("-");
        writeln!(text, "{} {name}", message.role.as_str()).unwrap();
        for part in message.content {
            writeln!(text, "  {}", serde_json::to_string(&part).unwrap()).unwrap();
        }
        for call in message.tool_calls {
            writeln!(text, "  {}", serde_json::to_string(&call).unwrap()).unwrap();
        }
        for returned in message.tool_returns {
            writeln!(text, "  {}", serde_json::to_string(&returned).unwrap()).unwrap();
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn a_chat_agent_speaks_once_before_the_user_logs_in() {
    for kind in [AgentType::Memgpt, AgentType::MemgptV2, AgentType::SplitThread, AgentType::VoiceConvo] {
        check(
            kind,
            BootOrder::AssistantFirst,
            expect![[r#"
            assistant -
              {"type":"reasoning","text":"Bootup sequence complete. Persona activated. Testing messaging functionality.","is_native":false}
              {"id":"4b8cdae2-4f8d-469d-a629-3537e","name":"send_message","arguments":"{\n  \"message\": \"More human than human is our motto.\"\n}"}
            tool send_message
              {"type":"text","text":"{\n  \"status\": \"OK\",\n  \"message\": null,\n  \"time\": \"2026-11-18 05:52:39 AM UTC+0000\"\n}"}
              {"call_id":"4b8cdae2-4f8d-469d-a629-3537e","name":"send_message","status":"success","text":"None"}
            user -
              {"type":"text","text":"{\n  \"type\": \"login\",\n  \"last_login\": \"Never (first login)\",\n  \"time\": \"2026-11-18 05:52:39 AM UTC+0000\"\n}"}
        "#]],
        );
    }
}

#[test]
fn the_user_comes_first_where_the_model_wants_it() {
    check(
        AgentType::Memgpt,
        BootOrder::UserFirst,
        expect![[r#"
        user -
          {"type":"text","text":"{\n  \"type\": \"login\",\n  \"last_login\": \"Never (first login)\",\n  \"time\": \"2026-11-18 05:52:39 AM UTC+0000\"\n}"}
        assistant -
          {"type":"reasoning","text":"Bootup sequence complete. Persona activated. Testing messaging functionality.","is_native":false}
          {"id":"4b8cdae2-","name":"send_message","arguments":"{\n  \"message\": \"More human than human is our motto.\"\n}"}
        tool send_message
          {"type":"text","text":"{\n  \"status\": \"OK\",\n  \"message\": null,\n  \"time\": \"2026-11-18 05:52:39 AM UTC+0000\"\n}"}
          {"call_id":"4b8cdae2-","name":"send_message","status":"success","text":"None"}
    "#]],
    );
}

#[test]
fn agents_that_do_not_speak_start_with_the_login() {
    for kind in [AgentType::Sleeptime, AgentType::VoiceSleeptime, AgentType::React, AgentType::Workflow] {
        check(
            kind,
            BootOrder::AssistantFirst,
            expect![[r#"
            user -
              {"type":"text","text":"{\n  \"type\": \"login\",\n  \"last_login\": \"Never (first login)\",\n  \"time\": \"2026-11-18 05:52:39 AM UTC+0000\"\n}"}
        "#]],
        );
    }
}

#[test]
fn an_agent_that_answers_in_words_starts_with_nothing() {
    check(AgentType::LettaV1, BootOrder::AssistantFirst, expect![""]);
    check(AgentType::LettaV1, BootOrder::UserFirst, expect![""]);
}
