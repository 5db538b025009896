//! Tests of the module beside this file.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn check(rules: Value, expected: Expect) {
    let rules: Vec<ToolRule> = serde_json::from_value(rules).unwrap();
    expected.assert_eq(&compile(&rules).unwrap_or_default());
}

#[test]
fn no_rules_have_no_section() {
    check(json!([]), expect![""]);
}

#[test]
fn every_kind_has_its_sentence() {
    check(
        json!([
            { "type": "run_first", "tool_name": "a" },
            { "type": "exit_loop", "tool_name": "b" },
            { "type": "continue_loop", "tool_name": "c" },
            { "type": "conditional", "tool_name": "d", "child_output_mapping": { "yes": "x", "no": "y" } },
            { "type": "conditional", "tool_name": "d", "child_output_mapping": { "1": "x" }, "default_child": "z" },
            { "type": "conditional", "tool_name": "d", "child_output_mapping": {}, "require_output_mapping": true },
            { "type": "constrain_child_tools", "tool_name": "e", "children": ["x", "y"] },
            { "type": "constrain_child_tools", "tool_name": "e", "children": [] },
            { "type": "max_count_per_step", "tool_name": "f", "max_count_limit": 3 },
            { "type": "max_count_per_step", "tool_name": "f", "max_count_limit": 1 },
            { "type": "parent_last_tool", "tool_name": "g", "children": ["x"] },
            { "type": "required_before_exit", "tool_name": "h" },
            { "type": "requires_approval", "tool_name": "i" },
        ]),
        expect![[r#"
            <tool_usage_rules>
            Your tools are subject to the rules below. Keep to every one of them: a call that breaks a rule is refused, and a run that breaks one is made to go on.

            <tool_rule>
            `a` is an opening tool: the first call of a run must go to an opening tool.
            </tool_rule>
            <tool_rule>
            A call of `b` ends your run, so make it your last.
            </tool_rule>
            <tool_rule>
            After `c` your run goes on: take another step.
            </tool_rule>
            <tool_rule>
            What `d` returns decides which tool comes next: `yes` leads to `x`, `no` leads to `y`, anything else leaves the choice to you.
            </tool_rule>
            <tool_rule>
            What `d` returns decides which tool comes next: `1` leads to `x`, anything else leads to `z`.
            </tool_rule>
            <tool_rule>
            What `d` returns decides which tool comes next: anything else allows no tool at all.
            </tool_rule>
            <tool_rule>
            Straight after `e` you may call only: `x`, `y`.
            </tool_rule>
            <tool_rule>
            Straight after `e` you may call only: none.
            </tool_rule>
            <tool_rule>
            `f` may be called at most 3 times in a run.
            </tool_rule>
            <tool_rule>
            `f` may be called once in a run.
            </tool_rule>
            <tool_rule>
            These tools may be called only straight after `g`: `x`.
            </tool_rule>
            <tool_rule>
            `h` must have been called before your run can end.
            </tool_rule>
            <tool_rule>
            A call of `i` waits until a person has approved it.
            </tool_rule>
            </tool_usage_rules>"#]],
    );
}

#[test]
fn a_template_replaces_the_sentence() {
    check(
        json!([
            { "type": "exit_loop", "tool_name": "end", "prompt_template": "Finish with {{ tool_name }} or {{tool_name}}." },
            { "type": "exit_loop", "tool_name": "{{ tool_name }}", "prompt_template": "{{ {{ tool_name }} {{ other }}" },
            { "type": "exit_loop", "tool_name": "x", "prompt_template": "<tool_rule>\n{{ tool_name }}!\n</tool_rule>\n" },
        ]),
        expect![[r#"
            <tool_usage_rules>
            Your tools are subject to the rules below. Keep to every one of them: a call that breaks a rule is refused, and a run that breaks one is made to go on.

            <tool_rule>
            Finish with end or end.
            </tool_rule>
            <tool_rule>
            {{ {{ tool_name }} {{ other }}
            </tool_rule>
            <tool_rule>
            x!
            </tool_rule>
            </tool_usage_rules>"#]],
    );
}

#[test]
fn the_same_sentence_is_said_once_and_the_order_is_kept() {
    check(
        json!([
            { "type": "exit_loop", "tool_name": "z" },
            { "type": "exit_loop", "tool_name": "a" },
            { "type": "exit_loop", "tool_name": "z" },
        ]),
        expect![[r#"
            <tool_usage_rules>
            Your tools are subject to the rules below. Keep to every one of them: a call that breaks a rule is refused, and a run that breaks one is made to go on.

            <tool_rule>
            A call of `z` ends your run, so make it your last.
            </tool_rule>
            <tool_rule>
            A call of `a` ends your run, so make it your last.
            </tool_rule>
            </tool_usage_rules>"#]],
    );
}
