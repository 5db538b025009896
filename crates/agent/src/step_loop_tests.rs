//! Both policies, step by step: what a reply and its returns make of a run.

use domain::tool::DEFAULT_RETURN_CHAR_LIMIT;
use domain::{OrganizationId, Timestamp, ToolId, ToolRule, ToolType, UserId};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

fn tool(name: &str) -> Arc<Tool> {
    Arc::new(Tool {
        id: ToolId::random(),
        organization: OrganizationId::random(),
        created_by: UserId::random(),
        name: name.into(),
        description: "".into(),
        kind: ToolType::Custom,
        parameters: Arc::new(json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": []})),
        tags: Vec::new(),
        return_char_limit: DEFAULT_RETURN_CHAR_LIMIT,
        default_requires_approval: false,
        enable_parallel_execution: false,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    })
}

fn rules(rules: Value) -> RuleSolver {
    RuleSolver::new(serde_json::from_value::<Vec<ToolRule>>(rules).unwrap())
}

/// One step of a script: the calls that the model makes (`name args`), and what they return (`!text` is a failure).
struct Played(&'static [&'static str], &'static [&'static str], FinishReason);

fn calls(calls: &'static [&'static str], returns: &'static [&'static str]) -> Played {
    Played(calls, returns, FinishReason::ToolCalls)
}

fn words() -> Played {
    Played(&[], &[], FinishReason::Stop)
}

/// Plays a run with the tools `search`, `note` and `send_message` and writes down every decision.
fn check(policy: LoopPolicy, tool_rules: Value, max_steps: u32, script: &[Played], expected: Expect) {
    let tools = [tool("search"), tool("note"), tool("send_message")];
    let mut steps = StepLoop::new(policy, rules(tool_rules), max_steps);
    let mut log = String::new();
    for Played(calls, returns, finish) in script {
        match steps.decide(&tools) {
            Next::CallModel(ask) => log += &format!("ask {:?} {:?}\n", ask.choice, ask.allowed),
            other => log += &format!("{other:?}\n"),
        }
        let raw = calls.iter().enumerate().map(|(index, call)| {
            let (name, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
            RawCall { id: format!("call_{index}"), name: name.into(), arguments: arguments.into() }
        });
        let planned = steps.model_replied(Reply { calls: raw.collect(), finish: *finish }, &tools);
        for call in &planned {
            log += &format!("  {} {} {:?}\n", call.call.name, call.call.arguments, call.verdict);
        }
        let returned = planned.iter().zip(*returns).map(|(call, text)| {
            let refused = !matches!(call.verdict, Verdict::Run);
            let status = if refused || text.starts_with('!') { ToolStatus::Error } else { ToolStatus::Success };
            Returned { status, text: (*text).into() }
        });
        let returned: Vec<Returned> = returned.collect();
        if !planned.is_empty() {
            steps.tools_returned(returned);
        }
        let Next::CloseStep(close) = steps.decide(&tools) else { panic!("the step does not close") };
        log += &format!("  -> {close:?}\n");
        steps.step_committed(&close);
    }
    match steps.decide(&tools) {
        Next::Finish(reason) => log += &format!("finish {}", reason.as_str()),
        other => log += &format!("{other:?}"),
    }
    expected.assert_eq(&log);
}

fn base_rules() -> Value {
    json!([{"type": "exit_loop", "tool_name": "send_message"}, {"type": "continue_loop", "tool_name": "note"}])
}

#[test]
fn v2_must_call_and_send_message_ends_the_run() {
    check(
        LoopPolicy::V2,
        base_rules(),
        50,
        &[calls(&[r#"note {"x":"a","request_heartbeat":false}"#], &["ok"]), calls(&["send_message"], &["sent"])],
        expect![[r#"
            ask Required ["search", "note", "send_message"]
              note {"x":"a","request_heartbeat":false} Run
              -> StepClose { heartbeat: Some(ContinueRule), stop: None }
            ask Required ["search", "note", "send_message"]
              send_message {} Run
              -> StepClose { heartbeat: None, stop: Some(EndTurn) }
            finish end_turn"#]],
    );
}

#[test]
fn v2_without_rules_goes_on_only_by_heartbeat() {
    let script = [
        calls(&[r#"note {"request_heartbeat":true}"#], &["ok"]),
        calls(&[r#"note {"request_heartbeat":false}"#], &["ok"]),
    ];
    check(
        LoopPolicy::V2,
        json!([]),
        50,
        &script,
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          note {"request_heartbeat":true} Run
          -> StepClose { heartbeat: Some(Requested), stop: None }
        ask Required ["search", "note", "send_message"]
          note {"request_heartbeat":false} Run
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
}

#[test]
fn v2_a_failed_tool_continues_even_if_it_would_end_the_run() {
    let script = [calls(&["send_message"], &["!no"]), calls(&["search"], &["!no"]), calls(&["search"], &["ok"])];
    check(
        LoopPolicy::V2,
        base_rules(),
        50,
        &script,
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          send_message {} Run
          -> StepClose { heartbeat: Some(ToolFailed), stop: None }
        ask Required ["search", "note", "send_message"]
          search {} Run
          -> StepClose { heartbeat: Some(ToolFailed), stop: None }
        ask Required ["search", "note", "send_message"]
          search {} Run
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
}

#[test]
fn v2_takes_one_call_and_needs_one() {
    check(
        LoopPolicy::V2,
        base_rules(),
        50,
        &[calls(&["search", "note"], &["ok", "ok"])],
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          search {} Run
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
    check(
        LoopPolicy::V2,
        base_rules(),
        50,
        &[words()],
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(NoToolCall) }
        finish no_tool_call"#]],
    );
}

#[test]
fn v2_a_terminal_tool_that_asks_for_a_heartbeat_is_stopped_by_the_rule() {
    let script = [calls(&[r#"send_message {"request_heartbeat":true}"#], &["sent"])];
    check(
        LoopPolicy::V2,
        base_rules(),
        50,
        &script,
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          send_message {"request_heartbeat":true} Run
          -> StepClose { heartbeat: None, stop: Some(ToolRule) }
        finish tool_rule"#]],
    );
}

#[test]
fn v3_words_end_the_run_and_calls_continue_it() {
    check(
        LoopPolicy::V3,
        json!([]),
        50,
        &[calls(&["search", "note"], &["a", "b"]), words()],
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          search {} Run
          note {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
}

#[test]
fn v3_a_terminal_tool_ends_the_run_if_it_worked() {
    let script = [calls(&["search", "send_message"], &["a", "!b"]), calls(&["send_message"], &["sent"])];
    check(
        LoopPolicy::V3,
        base_rules(),
        50,
        &script,
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          search {} Run
          send_message {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          send_message {} Run
          -> StepClose { heartbeat: None, stop: Some(ToolRule) }
        finish tool_rule"#]],
    );
}

#[test]
fn v3_a_reply_that_was_cut_for_length_says_so() {
    check(
        LoopPolicy::V3,
        json!([]),
        50,
        &[Played(&[], &[], FinishReason::Length)],
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(MaxTokensExceeded) }
        finish max_tokens_exceeded"#]],
    );
}

#[test]
fn the_last_step_ends_the_run_whatever_the_model_wants() {
    let script = || [calls(&["search"], &["a"]), calls(&["search"], &["a"])];
    check(
        LoopPolicy::V3,
        json!([]),
        2,
        &script(),
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          search {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          search {} Run
          -> StepClose { heartbeat: None, stop: Some(MaxSteps) }
        finish max_steps"#]],
    );
    check(
        LoopPolicy::V2,
        base_rules(),
        2,
        &[calls(&["note"], &["a"]), calls(&["note"], &["a"])],
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          note {} Run
          -> StepClose { heartbeat: Some(ContinueRule), stop: None }
        ask Required ["search", "note", "send_message"]
          note {} Run
          -> StepClose { heartbeat: None, stop: Some(MaxSteps) }
        finish max_steps"#]],
    );
}

#[test]
fn unknown_tools_and_broken_arguments_are_answered_and_the_run_goes_on() {
    let script = [calls(&["nothing {\"a\":1}", "note {broken", "note [1]"], &["-", "-", "-"]), words()];
    check(
        LoopPolicy::V3,
        json!([]),
        50,
        &script,
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          nothing {"a":1} Refused(NotAllowed("The tool `nothing` does not exist, so nothing was run. Tools that may be called now: search, note, send_message."))
          note {"invalid_arguments":"{broken"} Refused(BadArguments("The arguments of `note` could not be read, so nothing was run: invalid JSON: key must be a string (line 1, column 2). Call it again with one valid JSON object."))
          note {"invalid_arguments":"[1]"} Refused(BadArguments("The arguments of `note` could not be read, so nothing was run: expected a JSON object with the arguments by name, but got an array. Call it again with one valid JSON object."))
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
    check(
        LoopPolicy::V2,
        base_rules(),
        50,
        &[calls(&["nothing"], &["-"]), calls(&["note {"], &["-"])],
        expect![[r#"
            ask Required ["search", "note", "send_message"]
              nothing {} Refused(NotAllowed("The tool `nothing` does not exist, so nothing was run. Tools that may be called now: search, note, send_message."))
              -> StepClose { heartbeat: Some(RuleViolated), stop: None }
            ask Required ["search", "note", "send_message"]
              note {"invalid_arguments":"{"} Refused(BadArguments("The arguments of `note` could not be read, so nothing was run: invalid JSON: EOF while parsing an object (line 1, column 1). Call it again with one valid JSON object."))
              -> StepClose { heartbeat: Some(ToolFailed), stop: None }
            CallModel(Ask { allowed: ["search", "note", "send_message"], offers_client: false, choice: Required })"#]],
    );
}

#[test]
fn a_first_tool_is_forced_and_its_prefilled_arguments_win() {
    let run_first = json!([{"type": "run_first", "tool_name": "search", "args": {"x": "fixed"}}]);
    let script = || [calls(&[r#"search {"x":"mine"}"#], &["found"]), words()];
    check(
        LoopPolicy::V3,
        run_first.clone(),
        50,
        &script(),
        expect![[r#"
        ask Function("search") ["search"]
          search {"x":"fixed"} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
    check(
        LoopPolicy::V3,
        run_first,
        50,
        &[calls(&["note"], &["-"])],
        expect![[r#"
            ask Function("search") ["search"]
              note {} Refused(NotAllowed("The tool `note` is not allowed at this point by the tool rules, so nothing was run. Tools that may be called now: search."))
              -> StepClose { heartbeat: None, stop: None }
            CallModel(Ask { allowed: ["search"], offers_client: false, choice: Function("search") })"#]],
    );
}

#[test]
fn prefilled_arguments_that_the_tool_does_not_take_stop_the_run() {
    let run_first = json!([{"type": "run_first", "tool_name": "search", "args": {"y": 1}}]);
    check(
        LoopPolicy::V3,
        run_first,
        50,
        &[calls(&["search"], &["-"])],
        expect![[r#"
        ask Function("search") ["search"]
          search {} Refused(BadPrefill("A tool rule prefills arguments that `search` does not take (InitToolRule(search) sets `y`, which is not an argument of the tool), so nothing was run."))
          -> StepClose { heartbeat: None, stop: Some(InvalidToolCall) }
        finish invalid_tool_call"#]],
    );
}

#[test]
fn required_tools_hold_the_exit_until_they_were_called() {
    let required = json!([{"type": "required_before_exit", "tool_name": "note"}, {"type": "exit_loop", "tool_name": "send_message"}]);
    check(
        LoopPolicy::V3,
        required.clone(),
        50,
        &[words(), calls(&["note"], &["ok"]), words()],
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          -> StepClose { heartbeat: Some(RequiredBeforeExit(["note"])), stop: None }
        ask Required ["search", "note", "send_message"]
          note {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
    let script = [calls(&["send_message"], &["sent"]), calls(&["note"], &["ok"])];
    check(
        LoopPolicy::V2,
        required.clone(),
        50,
        &script,
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          send_message {} Run
          -> StepClose { heartbeat: Some(RequiredBeforeExit(["note"])), stop: None }
        ask Required ["search", "note", "send_message"]
          note {} Run
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
    check(
        LoopPolicy::V3,
        required,
        1,
        &[words()],
        expect![[r#"
        ask Required ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(MaxSteps) }
        finish max_steps"#]],
    );
}

#[test]
fn children_and_parents_narrow_what_is_offered() {
    let child = json!([{"type": "constrain_child_tools", "tool_name": "search", "children": ["note"]}]);
    check(
        LoopPolicy::V3,
        child.clone(),
        50,
        &[calls(&["search"], &["x"]), calls(&["note"], &["x"]), words()],
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          search {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Function("note") ["note"]
          note {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
    check(
        LoopPolicy::V2,
        child,
        50,
        &[calls(&["search"], &["x"])],
        expect![[r#"
            ask Required ["search", "note", "send_message"]
              search {} Run
              -> StepClose { heartbeat: Some(ChildRule), stop: None }
            CallModel(Ask { allowed: ["note"], offers_client: false, choice: Function("note") })"#]],
    );
    let parent = json!([{"type": "parent_last_tool", "tool_name": "search", "children": ["note"]}]);
    check(
        LoopPolicy::V3,
        parent,
        50,
        &[calls(&["search"], &["x"]), calls(&["note"], &["x"]), words()],
        expect![[r#"
        ask Auto ["search", "send_message"]
          search {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["note"]
          note {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
}

#[test]
fn conditions_and_counts_narrow_what_is_offered() {
    let condition = json!([{"type": "conditional", "tool_name": "search", "child_output_mapping": {"found": "note"}, "default_child": "send_message"}]);
    check(
        LoopPolicy::V3,
        condition.clone(),
        50,
        &[calls(&["search"], &["found"])],
        expect![[r#"
            ask Auto ["search", "note", "send_message"]
              search {} Run
              -> StepClose { heartbeat: None, stop: None }
            CallModel(Ask { allowed: ["note"], offers_client: false, choice: Function("note") })"#]],
    );
    check(
        LoopPolicy::V3,
        condition,
        50,
        &[calls(&["search"], &["nothing"])],
        expect![[r#"
            ask Auto ["search", "note", "send_message"]
              search {} Run
              -> StepClose { heartbeat: None, stop: None }
            CallModel(Ask { allowed: ["send_message"], offers_client: false, choice: Function("send_message") })"#]],
    );
    let count = json!([{"type": "max_count_per_step", "tool_name": "search", "max_count_limit": 1}]);
    check(
        LoopPolicy::V3,
        count,
        50,
        &[calls(&["search"], &["x"]), calls(&["search"], &["-"])],
        expect![[r#"
            ask Auto ["search", "note", "send_message"]
              search {} Run
              -> StepClose { heartbeat: None, stop: None }
            ask Auto ["note", "send_message"]
              search {} Refused(NotAllowed("The tool `search` is not allowed at this point by the tool rules, so nothing was run. Tools that may be called now: note, send_message."))
              -> StepClose { heartbeat: None, stop: None }
            CallModel(Ask { allowed: ["note", "send_message"], offers_client: false, choice: Auto })"#]],
    );
}

#[test]
fn a_call_that_needs_approval_is_not_run_but_asked_for() {
    let approval = json!([{"type": "requires_approval", "tool_name": "note"}]);
    let tools = [tool("note")];
    let mut steps = StepLoop::new(LoopPolicy::V3, rules(approval), 50);
    steps.decide(&tools);
    let call = RawCall { id: "1".into(), name: "note".into(), arguments: "{}".into() };
    steps.model_replied(Reply { calls: vec![call], finish: FinishReason::ToolCalls }, &tools);
    assert!(matches!(steps.decide(&tools), Next::AskClient(calls) if calls[0].verdict == Verdict::NeedsApproval));
}

#[test]
fn tools_may_return_again_before_the_step_is_committed() {
    let count = json!([{"type": "max_count_per_step", "tool_name": "search", "max_count_limit": 2}]);
    let tools = [tool("search")];
    let mut steps = StepLoop::new(LoopPolicy::V3, rules(count), 50);
    steps.decide(&tools);
    let call = RawCall { id: "1".into(), name: "search".into(), arguments: "{}".into() };
    steps.model_replied(Reply { calls: vec![call], finish: FinishReason::ToolCalls }, &tools);
    for _ in 0..3 {
        steps.tools_returned(vec![Returned { status: ToolStatus::Success, text: "x".into() }]);
    }
    let Next::CloseStep(close) = steps.decide(&tools) else { panic!("the step does not close") };
    steps.step_committed(&close);
    assert!(matches!(steps.decide(&tools), Next::CallModel(ask) if ask.allowed == ["search"]));
}

#[test]
fn where_rules_order_calls_only_the_first_of_a_reply_runs() {
    let limit = json!([{"type": "max_count_per_step", "tool_name": "note", "max_count_limit": 1}]);
    check(
        LoopPolicy::V3,
        limit,
        5,
        &[calls(&["note", "note"], &["ok", "!no"]), words()],
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          note {} Run
          note {} Refused(NotAllowed("The tool rules allow one call at a time, so `note` was not run. Look at the first return, then call it again if it is still needed."))
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
    let ends = json!([{"type": "exit_loop", "tool_name": "send_message"}]);
    check(
        LoopPolicy::V3,
        ends,
        5,
        &[calls(&["note", "note"], &["ok", "ok"]), words()],
        expect![[r#"
        ask Auto ["search", "note", "send_message"]
          note {} Run
          note {} Run
          -> StepClose { heartbeat: None, stop: None }
        ask Auto ["search", "note", "send_message"]
          -> StepClose { heartbeat: None, stop: Some(EndTurn) }
        finish end_turn"#]],
    );
}
