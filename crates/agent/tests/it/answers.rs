//! Agents that may answer in plain words: `letta_v1_agent` and `sleeptime_agent`.

use domain::seams::chat_model::FinishReason;
use domain::{AgentType, Role, ToolStatus, Usage};
use expect_test::expect;
use serde_json::{Value, json};
use storage::BlockEditor;
use testkit::Reply;

use crate::house::{House, days_pass, insert};

#[tokio::test]
async fn words_end_the_run() {
    let mut scripts = Vec::new();
    for kind in [AgentType::LettaV1, AgentType::Sleeptime] {
        let house = House::of(kind, &["memory_insert"], json!([])).await;
        let played = house.run([Reply::say("Good morning!")]).await;
        let request = &played.requests[0];
        assert_eq!((&*request.model, request.conversation), ("one", house.conversation));
        assert_eq!(request.messages.iter().map(|message| message.role).collect::<Vec<_>>(), [Role::System, Role::User]);
        scripts.push(played.script());
    }
    scripts.dedup();
    expect![[r#"
        > may call memory_insert
        user: Hello
        assistant: Good morning!
        end_turn"#]]
    .assert_eq(&scripts.concat());
}

#[tokio::test]
async fn a_tool_call_goes_on_to_an_answer() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let played = house.run([insert("Likes tea."), Reply::say("Noted.")]).await;
    played.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > may call memory_insert
        assistant: Noted.
        end_turn"#]]);
    let returned = played.requests[1].messages.last().unwrap();
    assert_eq!(returned.tool_call_id.as_deref(), Some("call_1"));
    let envelope: Value = serde_json::from_str(returned.content[0].as_text().unwrap()).unwrap();
    assert_eq!(envelope.as_object().unwrap().keys().collect::<Vec<_>>(), ["status", "message", "time"]);
    assert_eq!(envelope["status"], "OK");
}

#[tokio::test]
async fn the_next_run_remembers_this_one_and_both_count_their_tokens() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let first = house.run([insert("Likes tea."), Reply::say("Noted.")]).await;
    let usage = Usage { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9, ..Usage::default() };
    let second = house.run([Reply::say("Tea?").using(usage)]).await;
    assert_eq!(first.finished.usage.total_tokens, 30);
    assert_eq!(second.finished.usage, usage);
    let texts = second.requests[0].messages.iter().filter(|message| message.role != Role::System);
    let roles: Vec<&str> = texts.map(|message| message.role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
}

#[tokio::test]
async fn calls_of_one_reply_see_what_earlier_ones_changed_and_are_one_message() {
    let house = House::v3(&["memory_insert", "memory_replace"], json!([])).await;
    let edits = insert("Likes tea.")
        .and_call("memory_replace", &json!({"label": "human", "old_str": "tea", "new_str": "coffee"}))
        .and_call("memory_replace", &json!({"label": "human", "old_str": "tea", "new_str": "milk"}));
    let played = house.run([edits, Reply::say("Done.")]).await;
    played.expect(expect![[r#"
        > may call memory_insert, memory_replace
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        assistant calls memory_replace {"label":"human","old_str":"tea","new_str":"coffee"}
        assistant calls memory_replace {"label":"human","old_str":"tea","new_str":"milk"}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        tool memory_replace: Replaced `tea` in the memory block `human` with `coffee`.
        tool memory_replace failed: `old_str` stands 0 times in the memory block `human`, so nothing was replaced. Copy the text exactly, spaces and line breaks included. What was looked for: `tea`.
        > may call memory_insert, memory_replace
        assistant: Done.
        end_turn"#]]);
    let roles: Vec<&str> = played.stored().map(|message| message.role.as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"]);
    let block = house.block("human").await;
    assert_eq!((block.value(), block.version), ("Name: Ada\nLikes coffee.", 2), "all edits of a step are one version");
    let shown = played.requests[1].messages.iter().filter(|message| message.role == Role::Tool);
    let answered: Vec<_> = shown.filter_map(|message| message.tool_call_id.as_deref()).collect();
    assert_eq!(answered, ["call_1", "call_2", "call_3"]);
}

#[tokio::test]
async fn a_label_that_one_call_frees_may_be_taken_by_the_next() {
    let house = House::v3(&["memory"], json!([])).await;
    let rename = |from: &str, to: &str| json!({"command": "rename", "old_path": from, "new_path": to});
    let renames = Reply::call("memory", &rename("/memories/persona", "/memories/self"))
        .and_call("memory", &rename("/memories/human", "/memories/persona"));
    house.run([renames, Reply::say("Done.")]).await.expect(expect![[r#"
        > may call memory
        user: Hello
        assistant calls memory {"command":"rename","old_path":"/memories/persona","new_path":"/memories/self"}
        assistant calls memory {"command":"rename","old_path":"/memories/human","new_path":"/memories/persona"}
        tool memory: Memory block `persona`: renamed it to `self`.
        tool memory: Memory block `human`: renamed it to `persona`.
        > may call memory
        assistant: Done.
        end_turn"#]]);
    assert_eq!(house.block("self").await.value(), "A librarian.");
    assert_eq!(house.block("persona").await.value(), "Name: Ada");
}

#[tokio::test]
async fn the_history_tells_who_tended_memory_in_its_sleep() {
    let house = House::of(AgentType::Sleeptime, &["memory_insert"], json!([])).await;
    let played = house.run([insert("Likes tea."), Reply::say("Done.")]).await;
    let block = house.block("human").await;
    let history = house.store.block_history(house.me.organization, block.id).await.unwrap();
    assert_eq!(history[1].editor, BlockEditor::Sleeptime(played.finished.run));
}

#[tokio::test]
async fn a_memory_edit_is_in_the_blocks_the_messages_and_the_next_system_message() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let played = house.run([insert("Likes tea."), Reply::say("Noted.")]).await;
    let block = house.block("human").await;
    let history = house.store.block_history(house.me.organization, block.id).await.unwrap();
    let history: Vec<_> = history.iter().map(|one| (one.version, one.value.as_str(), one.editor)).collect();
    let tool = BlockEditor::Tool(played.finished.run);
    assert_eq!(history, [(1, "Name: Ada", BlockEditor::Api), (2, "Name: Ada\nLikes tea.", tool)]);
    let returned = played.stored().find(|message| message.role == Role::Tool).unwrap();
    assert_eq!(returned.tool_returns[0].status, ToolStatus::Success);
    assert!(!played.system(0).contains("Likes tea."));
    assert!(played.system(1).contains("Name: Ada\nLikes tea."));
    let systems: Vec<_> = played.stored().filter(|message| message.role == Role::System).collect();
    assert_eq!(systems.len(), 1, "the message is rewritten, not doubled");
    assert_eq!(systems[0].first_text(), played.system(1), "what is stored is what was shown");
}

#[tokio::test]
async fn the_system_message_keeps_its_bytes_until_memory_changes() {
    let house = House::v3(&["memory_finish_edits"], json!([])).await;
    let finish = || Reply::call("memory_finish_edits", &json!({}));
    let first = house.run([finish(), Reply::say("One.")]).await;
    days_pass(3);
    let second = house.run([Reply::say("Two.")]).await;
    assert_eq!(first.system(0), first.system(1));
    assert_eq!(first.system(0), second.system(0), "another day and more messages are no reason");
    house.add_line("human", "Likes tea.").await;
    let third = house.run([Reply::say("Three.")]).await;
    assert!(first.system(0).contains("January 15, 2027"));
    assert!(third.system(0).contains("January 18, 2027"), "a rewritten message has fresh metadata");
    assert!(third.system(0).contains("Likes tea."));
    house.adjust(|agent| agent.system = "You keep maps.".to_owned()).await;
    assert!(house.run([Reply::say("Four.")]).await.system(0).starts_with("You keep maps."));
}

#[tokio::test]
async fn an_answer_that_was_cut_for_length_is_kept_and_says_so() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    house.run([Reply::say("Half a thou").finished_as(FinishReason::Length)]).await.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant: Half a thou
        max_tokens_exceeded"#]]);
}

#[tokio::test]
async fn an_answer_whose_length_went_into_reasoning_says_so() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let played = house.run([Reply::think("Well, perhaps").finished_as(FinishReason::Length)]).await;
    played.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant reasons: Well, perhaps
        max_tokens_exceeded"#]]);
}

#[tokio::test]
async fn native_reasoning_is_kept_with_its_signature_and_shown_again() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    let played = house.run([Reply::think("She greets.").and_sign("proof").and_say("Hi!")]).await;
    played.expect(expect![[r#"
        > may call memory_insert
        user: Hello
        assistant reasons: She greets.
        assistant: Hi!
        end_turn"#]]);
    let again = house.run([Reply::say("Hi again!")]).await;
    let answer = again.requests[0].messages.iter().find(|message| message.role == Role::Assistant).unwrap();
    let kept = played.stored().find(|message| message.role == Role::Assistant).unwrap();
    assert_eq!(answer.content, kept.content);
    expect![[r#"Reasoning { text: "She greets.", is_native: true, signature: Some("proof") }"#]]
        .assert_eq(&format!("{:?}", answer.content[0]));
}

#[tokio::test]
async fn an_agent_that_clears_its_buffer_begins_each_run_with_its_system_message_alone() {
    let house = House::v3(&["memory_insert"], json!([])).await;
    house.adjust(|agent| agent.message_buffer_autoclear = true).await;
    for _ in 0..2 {
        let played = house.run([insert("Likes tea."), Reply::say("Noted.")]).await;
        let roles =
            |request: usize| played.requests[request].messages.iter().map(|message| message.role).collect::<Vec<_>>();
        assert_eq!(roles(0), [Role::System, Role::User]);
        assert_eq!(roles(1), [Role::System, Role::User, Role::Assistant, Role::Tool]);
    }
    assert_eq!(house.snapshot().await.context.len(), 5);
    assert_eq!(house.messages().await.len(), 9, "what went out of context is kept");
}
