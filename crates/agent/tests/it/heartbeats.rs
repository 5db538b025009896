//! Agents that must call a tool in every step: `memgpt_agent`, `memgpt_v2_agent` and most others.

use domain::seams::chat_model::{FinishReason, ToolChoice, ToolSpec};
use domain::{AgentType, ResponseFormat, Role};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::Reply;

use crate::house::{House, insert, say};
use crate::played::spoken;

fn insert_and(request_heartbeat: bool) -> Reply {
    let arguments = json!({"label": "human", "new_str": "Likes tea.", "request_heartbeat": request_heartbeat});
    Reply::call("memory_insert", &arguments)
}

/// Plays `replies` to an agent with `send_message` and `memory_insert`.
async fn check(replies: impl IntoIterator<Item = Reply>, expected: Expect) {
    House::v2(&["memory_insert"], json!([])).await.run(replies).await.expect(expected);
}

#[tokio::test]
async fn send_message_ends_the_run() {
    let mut scripts = Vec::new();
    for kind in [AgentType::Memgpt, AgentType::MemgptV2] {
        let exit = json!([{"type": "exit_loop", "tool_name": "send_message"}]);
        let house = House::of(kind, &["send_message", "memory_insert"], exit).await;
        scripts.push(house.run([say("Hi!")]).await.script());
    }
    scripts.dedup();
    expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls send_message {"message":"Hi!"}
        tool send_message: Sent message successfully.
        end_turn"#]]
    .assert_eq(&scripts.concat());
}

#[tokio::test]
async fn a_call_may_ask_to_go_on() {
    check(
        [insert_and(true), say("Noted.")],
        expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea.","request_heartbeat":true}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        user: (heartbeat) Function called using request_heartbeat=true, returning control
        > must call one of send_message, memory_insert
        assistant calls send_message {"message":"Noted."}
        tool send_message: Sent message successfully.
        end_turn"#]],
    )
    .await;
    check(
        [insert_and(false)],
        expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea.","request_heartbeat":false}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        end_turn"#]],
    )
    .await;
}

#[tokio::test]
async fn a_heartbeat_has_the_recorded_envelope_and_is_shown_to_the_model() {
    let house = House::v2(&["memory_insert"], json!([])).await;
    let played = house.run([insert_and(true), say("Noted.")]).await;
    let heartbeat = played.requests[1].messages.last().unwrap();
    assert_eq!(heartbeat.role, Role::User);
    expect![[r#"
        {
          "type": "heartbeat",
          "reason": "[This is an automated system message hidden from the user] Function called using request_heartbeat=true, returning control",
          "time": "2027-01-15 08:00:12 AM UTC+0000"
        }"#]].assert_eq(heartbeat.content[0].as_text().unwrap());
}

#[tokio::test]
async fn what_fails_goes_on() {
    let nowhere = Reply::call("memory_insert", &json!({"label": "shelf", "new_str": "x", "request_heartbeat": false}));
    check([nowhere, say("I have no shelf.")], expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls memory_insert {"label":"shelf","new_str":"x","request_heartbeat":false}
        tool memory_insert failed: There is no memory block `shelf`. The blocks that you have: `human`, `persona`.
        user: (heartbeat) Your last tool call failed, so control is back with you: read its error, then correct the call or go another way.
        > must call one of send_message, memory_insert
        assistant calls send_message {"message":"I have no shelf."}
        tool send_message: Sent message successfully.
        end_turn"#]]).await;
    let no_words = Reply::call("send_message", &json!({}));
    check([no_words, say("Now with words.")], expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls send_message {}
        tool send_message failed: The argument `message` is missing: give it as a string.
        user: (heartbeat) Your last tool call failed, so control is back with you: read its error, then correct the call or go another way.
        > must call one of send_message, memory_insert
        assistant calls send_message {"message":"Now with words."}
        tool send_message: Sent message successfully.
        end_turn"#]]).await;
}

#[tokio::test]
async fn words_without_a_call_are_kept_and_stop_the_run() {
    check(
        [Reply::say("I forgot to call.")],
        expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant: I forgot to call.
        no_tool_call"#]],
    )
    .await;
    check(
        [Reply::say("I was cut o").finished_as(FinishReason::Length)],
        expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant: I was cut o
        max_tokens_exceeded"#]],
    )
    .await;
}

#[tokio::test]
async fn words_beside_a_call_are_thoughts() {
    check(
        [Reply::say("She likes tea.").and_call("send_message", &json!({"message": "Tea?"}))],
        expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant thinks: She likes tea.
        assistant calls send_message {"message":"Tea?"}
        tool send_message: Sent message successfully.
        end_turn"#]],
    )
    .await;
}

#[tokio::test]
async fn only_the_first_call_of_a_reply_counts() {
    check(
        [insert("Likes tea.").and_call("send_message", &json!({"message": "Noted."}))],
        expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        end_turn"#]],
    )
    .await;
}

#[tokio::test]
async fn the_wish_to_go_on_is_offered_where_it_can_be_had() {
    let names = |tool: &ToolSpec| format!("{}: {}", tool.name, tool.parameters["required"]);
    let v2 = House::v2(&["memory_insert"], json!([])).await.run([say("Hi!")]).await;
    let offered: Vec<String> = v2.requests[0].tools.iter().map(names).collect();
    assert_eq!(offered, [r#"send_message: ["message"]"#, r#"memory_insert: ["label","new_str","request_heartbeat"]"#]);
    let v3 = House::v3(&["memory_insert"], json!([])).await.run([Reply::say("Hi!")]).await;
    assert_eq!(names(&v3.requests[0].tools[0]), r#"memory_insert: ["label","new_str"]"#);
}

#[tokio::test]
async fn a_tool_is_required_and_the_only_one_is_forced() {
    let two = House::v2(&["memory_insert"], json!([])).await.run([say("Hi!")]).await;
    assert_eq!(two.requests[0].tool_choice, ToolChoice::Required);
    assert!(!two.requests[0].parallel_tool_calls);
    let one = House::v2(&[], json!([])).await.run([say("Hi!")]).await;
    assert_eq!(one.requests[0].tool_choice, ToolChoice::Function("send_message".into()));
}

#[tokio::test]
async fn inner_thoughts_are_asked_for_taken_out_and_kept() {
    let house = House::v2(&["memory_insert"], json!([])).await;
    house.adjust(|agent| agent.llm_config.put_inner_thoughts_in_kwargs = true).await;
    let thoughtful = json!({
        "thinking": "Worth keeping.", "label": "human", "new_str": "Likes tea.", "request_heartbeat": true,
    });
    let spoken = Reply::call("send_message", &json!({"thinking": "Be brief.", "message": "Noted."}));
    let played = house.run([Reply::call("memory_insert", &thoughtful), spoken]).await;
    played.expect(expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant thinks: Worth keeping.
        assistant calls memory_insert {"label":"human","new_str":"Likes tea.","request_heartbeat":true}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        user: (heartbeat) Function called using request_heartbeat=true, returning control
        > must call one of send_message, memory_insert
        assistant thinks: Be brief.
        assistant calls send_message {"message":"Noted."}
        tool send_message: Sent message successfully.
        end_turn"#]]);
    for tool in played.requests[0].tools.iter() {
        let properties = tool.parameters["properties"].as_object().unwrap();
        assert_eq!(properties.keys().next().unwrap(), "thinking", "the model thinks before it fills in the rest");
        assert_eq!(tool.parameters["required"][0], "thinking");
    }
    let call = &played.requests[1].messages[2].tool_calls[0];
    let shown: Value = serde_json::from_str(&call.arguments).unwrap();
    assert_eq!(shown, thoughtful, "the model sees its call as it wrote it");
}

#[tokio::test]
async fn a_response_format_is_the_shape_of_the_message() {
    let schema = json!({"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]});
    let format = ResponseFormat::JsonSchema { json_schema: json!({"name": "mood", "schema": schema, "strict": true}) };
    let house = House::v2(&["memory_insert"], json!([])).await;
    house.adjust(|agent| agent.response_format = Some(format.clone())).await;
    let played = house.run([Reply::call("send_message", &json!({"message": {"mood": "good"}}))]).await;
    let request = &played.requests[0];
    assert_eq!(request.tools[0].parameters["properties"]["message"], schema);
    assert_eq!(request.sampling.response_format, None, "a call can't have the format of an answer");
    let answer = played.stored().find(|message| message.role == Role::Assistant).unwrap();
    assert_eq!(spoken(answer), r#"{"mood":"good"}"#);
    played.expect(expect![[r#"
        > must call one of send_message, memory_insert
        user: Hello
        assistant calls send_message {"message":{"mood":"good"}}
        tool send_message: Sent message successfully.
        end_turn"#]]);

    let plain = House::v3(&["memory_insert"], json!([])).await;
    plain.adjust(|agent| agent.response_format = Some(format.clone())).await;
    let played = plain.run([Reply::say(r#"{"mood":"good"}"#)]).await;
    assert_eq!(played.requests[0].sampling.response_format, Some(format));
}
