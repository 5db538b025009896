//! Tool rules, end to end: what is offered, what is run, and how the run goes on.

use domain::seams::chat_model::ModelError;
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::Reply;

use crate::house::{House, insert, say};

const TOOLS: [&str; 3] = ["memory_insert", "memory_replace", "memory_finish_edits"];

fn finish() -> Reply {
    Reply::call("memory_finish_edits", &json!({}))
}

fn replace(old: &str, new: &str) -> Reply {
    Reply::call("memory_replace", &json!({"label": "human", "old_str": old, "new_str": new}))
}

async fn check_v3(rules: Value, replies: impl IntoIterator<Item = Reply>, expected: Expect) -> House {
    let house = House::v3(&TOOLS, rules).await;
    house.run(replies).await.expect(expected);
    house
}

async fn check_v2(rules: Value, replies: impl IntoIterator<Item = Reply>, expected: Expect) -> House {
    let house = House::v2(&TOOLS, rules).await;
    house.run(replies).await.expect(expected);
    house
}

#[tokio::test]
async fn a_first_tool_is_forced_and_its_prefilled_arguments_win() {
    let rules = json!([{"type": "run_first", "tool_name": "memory_insert", "args": {"label": "persona"}}]);
    let replies = [insert("Likes tea."), Reply::say("Done.")];
    let house = check_v3(
        rules,
        replies,
        expect![[r#"
        > must call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"persona","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `persona`.
        > may call memory_insert, memory_replace, memory_finish_edits
        assistant: Done.
        end_turn"#]],
    )
    .await;
    assert_eq!(house.block("persona").await.value(), "A librarian.\nLikes tea.");
    assert_eq!(house.block("human").await.version, 1);
}

#[tokio::test]
async fn prefilled_arguments_that_the_tool_does_not_take_stop_the_run() {
    let unknown = json!([{"type": "run_first", "tool_name": "memory_insert", "args": {"shelf": 1}}]);
    let house = check_v3(unknown, [insert("Likes tea.")], expect![[r#"
        > must call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert failed: A tool rule prefills arguments that `memory_insert` does not take (InitToolRule(memory_insert) sets `shelf`, which is not an argument of the tool), so nothing was run.
        invalid_tool_call"#]]).await;
    assert_eq!(house.block("human").await.version, 1, "it was not run");
    let mistyped = json!([{"type": "run_first", "tool_name": "memory_insert", "args": {"insert_line": "top"}}]);
    let house = check_v2(mistyped, [insert("Likes tea.")], expect![[r#"
        > must call memory_insert
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert failed: A tool rule prefills arguments that `memory_insert` does not take (InitToolRule(memory_insert) sets `insert_line` to a value that is not of type integer), so nothing was run.
        invalid_tool_call"#]]).await;
    assert_eq!(house.block("human").await.version, 1, "it was not run");
}

#[tokio::test]
async fn an_exit_tool_ends_the_run_if_it_worked() {
    let rules = || json!([{"type": "exit_loop", "tool_name": "memory_replace"}]);
    check_v3(rules(), [replace("Bob", "Eve"), replace("Ada", "Eve")], expect![[r#"
        > may call memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_replace {"label":"human","old_str":"Bob","new_str":"Eve"}
        tool memory_replace failed: `old_str` stands 0 times in the memory block `human`, so nothing was replaced. Copy the text exactly, spaces and line breaks included. What was looked for: `Bob`.
        > may call memory_insert, memory_replace, memory_finish_edits
        assistant calls memory_replace {"label":"human","old_str":"Ada","new_str":"Eve"}
        tool memory_replace: Replaced `Ada` in the memory block `human` with `Eve`.
        tool_rule"#]]).await;
    check_v2(rules(), [replace("Bob", "Eve"), replace("Ada", "Eve")], expect![[r#"
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_replace {"label":"human","old_str":"Bob","new_str":"Eve"}
        tool memory_replace failed: `old_str` stands 0 times in the memory block `human`, so nothing was replaced. Copy the text exactly, spaces and line breaks included. What was looked for: `Bob`.
        user: (heartbeat) Your last tool call failed, so control is back with you: read its error, then correct the call or go another way.
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        assistant calls memory_replace {"label":"human","old_str":"Ada","new_str":"Eve"}
        tool memory_replace: Replaced `Ada` in the memory block `human` with `Eve`.
        end_turn"#]]).await;
}

#[tokio::test]
async fn a_continue_tool_needs_no_heartbeat() {
    let rules = json!([{"type": "continue_loop", "tool_name": "memory_insert"}]);
    check_v2(
        rules,
        [insert("Likes tea."), say("Noted.")],
        expect![[r#"
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        user: (heartbeat) A tool rule lets your run go on after this tool: take the next step.
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        assistant calls send_message {"message":"Noted."}
        tool send_message: Sent message successfully.
        end_turn"#]],
    )
    .await;
}

#[tokio::test]
async fn only_children_may_follow_and_their_arguments_may_be_set() {
    let rules = || {
        json!([{
            "type": "constrain_child_tools", "tool_name": "memory_insert", "children": ["memory_replace"],
            "child_arg_nodes": [{"name": "memory_replace", "args": {"new_str": "Eve"}}],
        }])
    };
    let replies = || [insert("Likes tea."), finish(), replace("Ada", "Bob")];
    let house = check_v3(rules(), replies().into_iter().chain([Reply::say("Done.")]), expect![[r#"
        > may call memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > must call memory_replace
        assistant calls memory_finish_edits {}
        tool memory_finish_edits failed: The tool `memory_finish_edits` is not allowed at this point by the tool rules, so nothing was run. Tools that may be called now: memory_replace.
        > must call memory_replace
        assistant calls memory_replace {"label":"human","old_str":"Ada","new_str":"Eve"}
        tool memory_replace: Replaced `Ada` in the memory block `human` with `Eve`.
        > may call memory_insert, memory_replace, memory_finish_edits
        assistant: Done.
        end_turn"#]]).await;
    assert_eq!(house.block("human").await.value(), "Name: Eve\nLikes tea.");
    check_v2(rules(), replies(), expect![[r#"
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        user: (heartbeat) A tool rule says which tools may follow this one, so your run goes on: call one of them now.
        > must call memory_replace
        assistant calls memory_finish_edits {}
        tool memory_finish_edits failed: The tool `memory_finish_edits` is not allowed at this point by the tool rules, so nothing was run. Tools that may be called now: memory_replace.
        user: (heartbeat) Your last tool call broke a tool rule and was not run: choose a tool that is allowed now.
        > must call memory_replace
        assistant calls memory_replace {"label":"human","old_str":"Ada","new_str":"Eve"}
        tool memory_replace: Replaced `Ada` in the memory block `human` with `Eve`.
        end_turn"#]]).await;
}

#[tokio::test]
async fn a_return_decides_what_comes_next() {
    let rules = json!([{
        "type": "conditional", "tool_name": "memory_finish_edits", "default_child": "memory_insert",
        "child_output_mapping": {"Memory editing is finished.": "memory_replace"},
    }]);
    check_v3(
        rules,
        [finish(), replace("Ada", "Eve"), Reply::say("Done.")],
        expect![[r#"
        > may call memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        > must call memory_replace
        assistant calls memory_replace {"label":"human","old_str":"Ada","new_str":"Eve"}
        tool memory_replace: Replaced `Ada` in the memory block `human` with `Eve`.
        > may call memory_insert, memory_replace, memory_finish_edits
        assistant: Done.
        end_turn"#]],
    )
    .await;
    let default = json!([{
        "type": "conditional", "tool_name": "memory_finish_edits", "default_child": "memory_insert",
        "child_output_mapping": {"other": "memory_replace"},
    }]);
    check_v2(
        default,
        [finish(), insert("Likes tea.")],
        expect![[r#"
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        user: (heartbeat) A tool rule says which tools may follow this one, so your run goes on: call one of them now.
        > must call memory_insert
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        end_turn"#]],
    )
    .await;
}

#[tokio::test]
async fn a_return_outside_a_mapping_that_must_cover_it_leaves_no_tool() {
    let rules = || {
        json!([{
            "type": "conditional", "tool_name": "memory_finish_edits", "require_output_mapping": true,
            "child_output_mapping": {"other": "memory_replace"},
        }])
    };
    check_v3(
        rules(),
        [finish(), Reply::say("Done.")],
        expect![[r#"
        > may call memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        > may call nothing
        assistant: Done.
        end_turn"#]],
    )
    .await;
    // It must call a tool and has none: nothing could come of asking it.
    check_v2(
        rules(),
        [finish()],
        expect![[r#"
            > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
            user: Hello
            assistant calls memory_finish_edits {}
            tool memory_finish_edits: Memory editing is finished.
            user: (heartbeat) A tool rule says which tools may follow this one, so your run goes on: call one of them now.
            error"#]],
    )
    .await;
}

#[tokio::test]
async fn a_tool_may_be_called_so_many_times() {
    let rules = json!([{"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 2}]);
    let replies = [insert("One."), insert("Two."), insert("Three."), Reply::say("Done.")];
    let house = check_v3(rules, replies, expect![[r#"
        > may call memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"One."}
        tool memory_insert: Inserted `One.` at the end of the memory block `human`.
        > may call memory_insert, memory_replace, memory_finish_edits
        assistant calls memory_insert {"label":"human","new_str":"Two."}
        tool memory_insert: Inserted `Two.` at the end of the memory block `human`.
        > may call memory_replace, memory_finish_edits
        assistant calls memory_insert {"label":"human","new_str":"Three."}
        tool memory_insert failed: The tool `memory_insert` is not allowed at this point by the tool rules, so nothing was run. Tools that may be called now: memory_replace, memory_finish_edits.
        > may call memory_replace, memory_finish_edits
        assistant: Done.
        end_turn"#]]).await;
    assert_eq!(house.block("human").await.value(), "Name: Ada\nOne.\nTwo.");
    let again = house.run([insert("Three."), Reply::say("Done.")]).await;
    assert_eq!(again.requests[0].tools.len(), 3, "another run counts anew");
    assert_eq!(house.block("human").await.value(), "Name: Ada\nOne.\nTwo.\nThree.");
}

#[tokio::test]
async fn a_child_may_only_follow_its_parent() {
    let rules =
        json!([{"type": "parent_last_tool", "tool_name": "memory_insert", "children": ["memory_finish_edits"]}]);
    check_v3(rules, [finish(), insert("Likes tea."), finish(), Reply::say("Done.")], expect![[r#"
        > may call memory_insert, memory_replace
        user: Hello
        assistant calls memory_finish_edits {}
        tool memory_finish_edits failed: The tool `memory_finish_edits` is not allowed at this point by the tool rules, so nothing was run. Tools that may be called now: memory_insert, memory_replace.
        > may call memory_insert, memory_replace
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert: Inserted `Likes tea.` at the end of the memory block `human`.
        > may call memory_finish_edits
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        > may call memory_insert, memory_replace
        assistant: Done.
        end_turn"#]]).await;
}

#[tokio::test]
async fn a_required_tool_holds_the_exit() {
    let rules = || json!([{"type": "required_before_exit", "tool_name": "memory_finish_edits"}]);
    check_v3(
        rules(),
        [Reply::say("Bye."), finish(), Reply::say("Bye now.")],
        expect![[r#"
        > must call one of memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant: Bye.
        user: (heartbeat) Your run can't end yet. A tool rule wants these called first: `memory_finish_edits`.
        > must call one of memory_insert, memory_replace, memory_finish_edits
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        > may call memory_insert, memory_replace, memory_finish_edits
        assistant: Bye now.
        end_turn"#]],
    )
    .await;
    check_v2(
        rules(),
        [say("Bye."), finish()],
        expect![[r#"
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls send_message {"message":"Bye."}
        tool send_message: Sent message successfully.
        user: (heartbeat) Your run can't end yet. A tool rule wants these called first: `memory_finish_edits`.
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        assistant calls memory_finish_edits {}
        tool memory_finish_edits: Memory editing is finished.
        end_turn"#]],
    )
    .await;
}

#[tokio::test]
async fn a_tool_that_needs_approval_is_refused_and_not_run() {
    let rules = || json!([{"type": "requires_approval", "tool_name": "memory_insert"}]);
    let house = check_v3(
        rules(),
        [insert("Likes tea."), Reply::say("I may not.")],
        expect![[r#"
        > may call memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert failed: This tool needs a person's approval, and none can be asked for here. It was not run.
        > may call memory_insert, memory_replace, memory_finish_edits
        assistant: I may not.
        end_turn"#]],
    )
    .await;
    assert_eq!(house.block("human").await.version, 1);
    let house = check_v2(rules(), [insert("Likes tea."), say("I may not.")], expect![[r#"
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        user: Hello
        assistant calls memory_insert {"label":"human","new_str":"Likes tea."}
        tool memory_insert failed: This tool needs a person's approval, and none can be asked for here. It was not run.
        user: (heartbeat) Your last tool call failed, so control is back with you: read its error, then correct the call or go another way.
        > must call one of send_message, memory_insert, memory_replace, memory_finish_edits
        assistant calls send_message {"message":"I may not."}
        tool send_message: Sent message successfully.
        end_turn"#]]).await;
    assert_eq!(house.block("human").await.version, 1);
}

#[tokio::test]
async fn rules_are_told_to_the_model_and_forbid_calls_side_by_side() {
    let rules = json!([{"type": "run_first", "tool_name": "memory_insert"}]);
    for (rules, side_by_side) in [(rules, false), (json!([]), true)] {
        let house = House::v3(&TOOLS, rules).await;
        house.adjust(|agent| agent.llm_config.parallel_tool_calls = true).await;
        let played = house.run([Reply::fail(ModelError::Refused { detail: String::new() })]).await;
        assert_eq!(played.requests[0].parallel_tool_calls, side_by_side);
        assert_eq!(played.system(0).contains("<tool_usage_rules>"), !side_by_side);
    }
}
