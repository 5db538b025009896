//! Which reply each directive gives.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

/// The reply to `text` after calls of the tools `answered`, in short.
fn check(text: &str, answered: &[&str], expected: &Expect) {
    let mut messages = vec![json!({"role": "user", "content": text})];
    for (number, name) in answered.iter().enumerate() {
        let id = format!("call_{number}");
        let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "done"}));
    }
    let body = json!({"messages": messages, "tools": [{"type": "function", "function": {"name": "first"}}]});
    let request = ChatRequest::new(&body);
    let last = request.last_user().unwrap();
    expected.assert_eq(&short(&Plan::parse(&last.text).reply(request, &last, false)));
}

fn short(reply: &VendorReply) -> String {
    let mut words = Vec::new();
    words.extend(reply.refusal.as_ref().map(|refusal| format!("error {} {:?}", refusal.status, refusal.code)));
    words.extend(reply.retry_after.as_ref().map(|seconds| format!("retry after {seconds}")));
    words.extend((!reply.delay.is_zero()).then(|| format!("delay {:?}", reply.delay)));
    words.extend(reply.reasoning.as_ref().map(|text| format!("think {text}")));
    words.extend(reply.text.as_ref().map(|text| format!("say {text}")));
    words.extend(reply.calls.iter().map(|call| match &call.arguments {
        Arguments::Object(arguments) => format!("call {} {}", call.name, Value::Object(arguments.clone())),
        Arguments::Text(text) => format!("call {} text {text}", call.name),
    }));
    words.extend(reply.finish.as_ref().map(|reason| format!("finish {reason}")));
    words.extend(reply.total_tokens.map(|tokens| format!("tokens {tokens}")));
    match reply.halfway {
        Halfway::GoOn => {}
        Halfway::Cut => words.push("cut".to_owned()),
        Halfway::Stall => words.push("stall".to_owned()),
        Halfway::Hold(_) => words.push("hold".to_owned()),
    }
    words.join("; ")
}

#[test]
fn without_directives_it_says_its_sentence() {
    let sentence = expect!["say Hello! I am a pretended model, and I am glad to be of use."];
    for text in ["hello", "", "[[", "[[unknown]]", "[[say:open", "[[error:20]]", "[[delay:soon]]", "a[[1]][[cut"] {
        check(text, &[], &sentence);
    }
}

#[test]
fn words_thoughts_and_faults() {
    check("x [[say:Good day, ] you]] y", &[], &expect!["say Good day, ] you"]);
    check("[[think:why]][[say:so]]", &[], &expect!["think why; say so"]);
    check("[[say:a]][[cut]]", &[], &expect!["say a; cut"]);
    check("[[say:a]][[stall]]", &[], &expect!["say a; stall"]);
    check("[[say:a]][[length]][[tokens:70]]", &[], &expect!["say a; finish length; tokens 70"]);
    check("[[say:a]][[delay:20]]", &[], &expect!["delay 20ms; say a"]);
    check(
        "[[error:429]][[retry-after:2]][[say:a]]",
        &[],
        &expect![[r#"error 429 Some("rate_limit_exceeded"); retry after 2; say a"#]],
    );
    check(
        "[[error:400 context_length_exceeded]][[say:a]]",
        &[],
        &expect![[r#"error 400 Some("context_length_exceeded"); say a"#]],
    );
}

#[test]
fn tools_come_one_per_step_and_then_the_words() {
    let text = r#"[[tool:first {"a": [[1], ["]]"]]}]] then [[tool:second]] [[say:done]]"#;
    check(text, &[], &expect![[r#"call first {"a":[[1],["]]"]]}"#]]);
    check(text, &["first"], &expect!["call second {}"]);
    check(text, &["first", "second"], &expect!["say done"]);
    check(text, &["forced", "first", "forced"], &expect!["call second {}"]);
}

#[test]
fn tools_together_loops_and_broken_arguments() {
    let text = "[[tools-together]][[tool:first]][[tool:second {}]][[say:done]]";
    check(text, &[], &expect!["call first {}; call second {}"]);
    check(text, &["first", "second"], &expect!["say done"]);
    check("[[loop:first {}]]", &["first", "first"], &expect!["call first {}"]);
    check("[[tool:first not json]]", &[], &expect!["call first text not json"]);
    let broken = expect![[r#"call first text {"label": "human", "content": "never clo"#]];
    check("[[tool:first {}]][[bad-arguments]][[say:done]]", &[], &broken);
    check("[[bad-arguments]][[say:done]]", &[], &broken);
    check("[[tool:first {}]][[bad-arguments]][[say:done]]", &["first"], &expect!["say done"]);
}

#[test]
fn an_error_once_is_gone_when_the_message_was_seen() {
    let body = json!({"messages": [{"role": "user", "content": "[[error-once:500]][[say:ok]]"}]});
    let request = ChatRequest::new(&body);
    let last = request.last_user().unwrap();
    let reply = |seen| short(&Plan::parse(&last.text).reply(request, &last, seen));
    assert_eq!(reply(false), "error 500 None; say ok");
    assert_eq!(reply(true), "say ok");
}
