//! One table for every kind of rule. A rule is written as its JSON, a call as `tool` or `tool=return`.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const TOOLS: [&str; 4] = ["search", "edit", "check", "send_message"];

fn solver(rules: Value) -> RuleSolver {
    let rules: Vec<ToolRule> = serde_json::from_value(rules).expect("the rules are valid");
    RuleSolver::new(rules)
}

fn calls(history: &[&str]) -> Vec<CallRecord> {
    history
        .iter()
        .map(|call| {
            let (name, returned) = call.split_once('=').unwrap_or((call, "None"));
            CallRecord { name: name.into(), returned: returned.into() }
        })
        .collect()
}

fn check(rules: &Value, history: &[&str], expected: Expect) {
    let solver = solver(rules.clone());
    let history = calls(history);
    let allowed = solver.allowed(&history, &TOOLS);
    let forced = if solver.must_call_tool(&history) { " (forced)" } else { "" };
    let mut shown = format!("{}{forced}", allowed.names.join(" "));
    for (name, prefilled) in &allowed.prefilled {
        shown.push_str(&format!("; {name} {} by {}", Value::Object(prefilled.args.clone()), prefilled.provenance));
    }
    expected.assert_eq(&shown);
}

#[test]
fn no_rules_allow_everything() {
    check(&json!([]), &[], expect!["search edit check send_message"]);
    check(&json!([]), &["edit", "edit"], expect!["search edit check send_message"]);
}

#[test]
fn run_first_narrows_the_first_step_only() {
    let rules = json!([{"type": "run_first", "tool_name": "search"}, {"type": "run_first", "tool_name": "check"}]);
    check(&rules, &[], expect!["search check (forced)"]);
    check(&rules, &["check"], expect!["search edit check send_message"]);
}

#[test]
fn run_first_of_a_tool_that_the_agent_lacks_allows_nothing() {
    check(&json!([{"type": "run_first", "tool_name": "absent"}]), &[], expect![" (forced)"]);
}

#[test]
fn run_first_goes_before_all_other_rules() {
    let rules = json!([
        {"type": "run_first", "tool_name": "check"},
        {"type": "parent_last_tool", "tool_name": "search", "children": ["check"]},
        {"type": "max_count_per_step", "tool_name": "check", "max_count_limit": 0},
    ]);
    check(&rules, &[], expect!["check (forced)"]);
}

#[test]
fn run_first_prefills_arguments() {
    let rules = json!([{"type": "run_first", "tool_name": "search", "args": {"query": "today"}}]);
    check(&rules, &[], expect![[r#"search (forced); search {"query":"today"} by InitToolRule(search)"#]]);
    check(&rules, &["search"], expect!["search edit check send_message"]);
}

#[test]
fn child_tools_narrow_only_the_step_after_their_parent() {
    let rules = json!([{"type": "constrain_child_tools", "tool_name": "search", "children": ["edit", "check"]}]);
    check(&rules, &[], expect!["search edit check send_message"]);
    check(&rules, &["search"], expect!["edit check (forced)"]);
    check(&rules, &["search", "edit"], expect!["search edit check send_message"]);
}

#[test]
fn child_tools_prefill_arguments() {
    let rules = json!([{
        "type": "constrain_child_tools", "tool_name": "search", "children": ["edit", "check"],
        "child_arg_nodes": [{"name": "edit", "args": {"label": "human"}}, {"name": "check"}],
    }]);
    check(
        &rules,
        &["search"],
        expect![[r#"edit check (forced); edit {"label":"human"} by ChildToolRule(search->edit)"#]],
    );
    check(&rules, &["edit"], expect!["search edit check send_message"]);
}

#[test]
fn prefilled_arguments_of_a_forbidden_child_are_dropped() {
    let rules = json!([
        {"type": "constrain_child_tools", "tool_name": "search", "children": ["edit", "check"],
         "child_arg_nodes": [{"name": "edit", "args": {"label": "human"}}]},
        {"type": "max_count_per_step", "tool_name": "edit", "max_count_limit": 1},
    ]);
    check(&rules, &["edit", "search"], expect!["check (forced)"]);
}

#[test]
fn two_rules_may_prefill_one_tool() {
    let rules = json!([
        {"type": "run_first", "tool_name": "search", "args": {"query": "a", "limit": 1}},
        {"type": "run_first", "tool_name": "search", "args": {"query": "b"}},
    ]);
    check(
        &rules,
        &[],
        expect![[r#"search (forced); search {"query":"b","limit":1} by InitToolRule(search), InitToolRule(search)"#]],
    );
}

#[test]
fn a_child_rule_without_children_allows_nothing_and_forces_nothing() {
    let rules = json!([{"type": "constrain_child_tools", "tool_name": "search", "children": []}]);
    check(&rules, &["search"], expect![""]);
}

#[test]
fn parent_last_tool_keeps_its_children_for_the_step_after_the_parent() {
    let rules = json!([{"type": "parent_last_tool", "tool_name": "search", "children": ["edit"]}]);
    check(&rules, &[], expect!["search check send_message"]);
    check(&rules, &["search"], expect!["edit"]);
    check(&rules, &["search", "edit"], expect!["search check send_message"]);
}

fn conditional(default_child: Option<&str>, require_output_mapping: bool) -> Value {
    json!([{
        "type": "conditional", "tool_name": "check", "default_child": default_child,
        "child_output_mapping": {"True": "edit", "false": "search", "2": "search", "ok": "send_message"},
        "require_output_mapping": require_output_mapping,
    }])
}

#[test]
fn conditional_follows_the_return() {
    let rules = conditional(None, false);
    check(&rules, &["check=ok"], expect!["send_message (forced)"]);
    check(&rules, &["check=True"], expect!["edit (forced)"]);
    check(&rules, &["check=true"], expect!["edit (forced)"]);
    check(&rules, &["check=False"], expect!["search (forced)"]);
    check(&rules, &["check=2.0"], expect!["search (forced)"]);
    check(&rules, &["check=002"], expect!["search edit check send_message"]);
    check(&rules, &["check=OK"], expect!["search edit check send_message"]);
    check(&rules, &["check=ok", "search"], expect!["search edit check send_message"]);
    check(&rules, &[], expect!["search edit check send_message"]);
}

#[test]
fn conditional_falls_back_to_its_default_child() {
    check(&conditional(Some("search"), false), &["check=other"], expect!["search (forced)"]);
}

#[test]
fn conditional_with_a_required_mapping_allows_nothing_outside_it() {
    check(&conditional(None, true), &["check=other"], expect![""]);
    check(&conditional(Some("search"), true), &["check=other"], expect![""]);
    check(&conditional(None, true), &["check=ok"], expect!["send_message (forced)"]);
}

#[test]
fn max_count_takes_a_tool_away_when_it_is_used_up() {
    let rules = json!([{"type": "max_count_per_step", "tool_name": "edit", "max_count_limit": 2}]);
    check(&rules, &["edit"], expect!["search edit check send_message"]);
    check(&rules, &["edit", "search", "edit"], expect!["search check send_message"]);
}

#[test]
fn exit_continue_and_approval_forbid_no_call() {
    let rules = json!([
        {"type": "exit_loop", "tool_name": "send_message"},
        {"type": "continue_loop", "tool_name": "edit"},
        {"type": "requires_approval", "tool_name": "check"},
    ]);
    check(&rules, &[], expect!["search edit check send_message"]);
    let solver = solver(rules);
    let flags = |name: &str| {
        (solver.is_terminal(name), solver.is_continue(name), solver.requires_approval(name), solver.has_children(name))
    };
    assert_eq!(flags("send_message"), (true, false, false, false));
    assert_eq!(flags("edit"), (false, true, false, false));
    assert_eq!(flags("check"), (false, false, true, false));
    assert_eq!(flags("search"), (false, false, false, false));
}

#[test]
fn required_before_exit_forces_calls_until_all_were_made() {
    let rules = json!([
        {"type": "required_before_exit", "tool_name": "check"},
        {"type": "required_before_exit", "tool_name": "edit"},
        {"type": "required_before_exit", "tool_name": "check"},
    ]);
    check(&rules, &[], expect!["search edit check send_message (forced)"]);
    check(&rules, &["check"], expect!["search edit check send_message (forced)"]);
    check(&rules, &["check", "search", "edit"], expect!["search edit check send_message"]);
    let solver = solver(rules);
    assert_eq!(solver.missing_before_exit(&[]), ["check", "edit"]);
    assert_eq!(solver.missing_before_exit(&calls(&["check"])), ["edit"]);
    assert!(solver.missing_before_exit(&calls(&["edit", "check"])).is_empty());
}

#[test]
fn child_and_conditional_rules_have_children() {
    let solver = solver(json!([
        {"type": "constrain_child_tools", "tool_name": "search", "children": ["edit"]},
        {"type": "constrain_child_tools", "tool_name": "edit", "children": []},
        {"type": "conditional", "tool_name": "check", "child_output_mapping": {}},
        {"type": "parent_last_tool", "tool_name": "send_message", "children": ["edit"]},
    ]));
    let parents: Vec<&str> = TOOLS.into_iter().filter(|name| solver.has_children(name)).collect();
    assert_eq!(parents, ["search", "check"]);
}

#[test]
fn rules_intersect() {
    let rules = json!([
        {"type": "constrain_child_tools", "tool_name": "search", "children": ["edit", "check"]},
        {"type": "constrain_child_tools", "tool_name": "search", "children": ["check", "send_message"]},
        {"type": "max_count_per_step", "tool_name": "check", "max_count_limit": 1},
    ]);
    check(&rules, &["search"], expect!["check (forced)"]);
    check(&rules, &["check", "search"], expect![" (forced)"]);
}

#[test]
fn the_only_allowed_tool_is_named() {
    let solver = solver(json!([{"type": "constrain_child_tools", "tool_name": "search", "children": ["edit"]}]));
    assert_eq!(solver.allowed(&calls(&["search"]), &TOOLS).only(), Some("edit"));
    assert_eq!(solver.allowed(&[], &TOOLS).only(), None);
}

proptest! {
    #[test]
    fn returns_of_any_text_are_judged(returned in any::<String>(), key in any::<String>()) {
        let mut mapping = Map::new();
        mapping.insert(key.clone(), json!("edit"));
        let rule = json!([{"type": "conditional", "tool_name": "check", "child_output_mapping": mapping}]);
        let solver = solver(rule);
        let call = |text: &str| CallRecord { name: "check".into(), returned: text.into() };
        let mapped = solver.allowed(&[call(&key)], &TOOLS);
        prop_assert_eq!(mapped.only(), Some("edit"));
        prop_assert!(!solver.allowed(&[call(&returned)], &TOOLS).names.is_empty());
    }
}
