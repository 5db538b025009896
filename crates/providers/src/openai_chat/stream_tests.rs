//! How streams of compatible servers are understood, strays included.

use expect_test::{Expect, expect};

use super::*;

fn step() -> StepId {
    StepId::from_bytes([0xab; 16])
}

fn line(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Text(text) => format!("text {text:?}"),
        ModelEvent::Reasoning(text) => format!("reasoning {text:?}"),
        ModelEvent::ReasoningSignature(text) => format!("signature {text:?}"),
        ModelEvent::ToolCallStarted { index, id, name } => format!("call {index} {id} {name}"),
        ModelEvent::ToolCallArguments { index, fragment } => format!("arguments {index} {fragment}"),
        ModelEvent::Usage(u) => format!(
            "usage {}+{}={} cached {} written {} reasoning {}",
            u.prompt_tokens,
            u.completion_tokens,
            u.total_tokens,
            u.cached_input_tokens,
            u.cache_write_tokens,
            u.reasoning_tokens
        ),
        ModelEvent::Finished(reason) => format!("finished {reason:?}"),
    }
}

/// Feeds `events` and the end of the bytes.
fn check(events: &[&str], expected: Expect) {
    let mut assembler = Assembler::new(step());
    let mut out = VecDeque::new();
    let outcome = events
        .iter()
        .try_for_each(|data| assembler.accept(data, None, &mut out))
        .and_then(|()| assembler.cut("cut", &mut out));
    let mut lines: Vec<_> = out.iter().map(line).collect();
    lines.extend(outcome.err().map(|error| format!("error {error:?}")));
    expected.assert_eq(&lines.join("\n"));
}

/// Events with these deltas, then an orderly end.
fn check_deltas(deltas: &[&str], expected: Expect) {
    let mut events: Vec<_> = deltas.iter().map(|delta| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).collect();
    events.push(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned());
    events.push("[DONE]".to_owned());
    check(&events.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn text_usage_and_the_end_come_in_order() {
    check(
        &[
            r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
            "[DONE]",
            "never read",
        ],
        expect![[r#"
            text "Hel"
            text "lo"
            usage 10+5=15 cached 4 written 1 reasoning 2
            finished Stop"#]],
    );
}

#[test]
fn reasoning_has_two_names() {
    check_deltas(
        &[
            r#"{"reasoning_content":"a","content":null}"#,
            r#"{"reasoning":"b"}"#,
            r#"{"reasoning":"c","reasoning_content":"c"}"#,
            r#"{"content":"d","reasoning_content":""}"#,
        ],
        expect![[r#"
            reasoning "a"
            reasoning "b"
            reasoning "c"
            text "d"
            finished Stop"#]],
    );
}

#[test]
fn calls_come_in_pieces_by_index() {
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"say","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
        ],
        expect![[r#"
            call 0 a look
            arguments 0 {"q":
            call 1 b say
            arguments 1 {}
            arguments 0 1}
            finished ToolCalls"#]],
    );
}

#[test]
fn strays_of_compatible_servers_are_understood() {
    // Every call is number 0.
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"look","arguments":"{}"}}]}"#,
        ],
        expect![[r#"
            call 0 a look
            arguments 0 {}
            call 1 b look
            arguments 1 {}
            finished ToolCalls"#]],
    );
    // Neither index nor id; the second call begins where the first is whole.
    check_deltas(
        &[
            r#"{"tool_calls":[{"function":{"name":"look","arguments":"{\"q\":\"}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"look","arguments":"\"}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"look","arguments":{"q":2}}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"say","arguments":null}}]}"#,
        ],
        expect![[r#"
            call 0 call_ababababababababababababx0 look
            arguments 0 {"q":"}
            arguments 0 "}
            call 1 call_ababababababababababababx1 look
            arguments 1 {"q":2}
            call 2 call_ababababababababababababx2 say
            finished ToolCalls"#]],
    );
    // The name and the id are repeated with each piece.
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"}"}}]}"#,
        ],
        expect![[r#"
            call 0 a look
            arguments 0 {
            arguments 0 }
            finished ToolCalls"#]],
    );
    // Pieces are told apart by id alone.
    check_deltas(
        &[
            r#"{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{"}},{"id":"b","function":{"name":"say","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"id":"a","function":{"arguments":"}"}},{"id":"b","function":{"arguments":"}"}}]}"#,
        ],
        expect![[r#"
            call 0 a look
            arguments 0 {
            call 1 b say
            arguments 1 {
            arguments 0 }
            arguments 1 }
            finished ToolCalls"#]],
    );
}

#[test]
fn a_call_is_known_once_it_has_a_name() {
    // The name comes last.
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"look"}}]}"#,
        ],
        expect![[r#"
            call 0 a look
            arguments 0 {}
            finished ToolCalls"#]],
    );
    check_deltas(
        &[r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#],
        expect![[r#"error Broken { detail: "a tool call has no name" }"#]],
    );
}

#[test]
fn reasons_to_stop_are_named() {
    for (word, expected) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("tool_calls", FinishReason::ToolCalls),
        ("function_call", FinishReason::ToolCalls),
        ("content_filter", FinishReason::ContentFilter),
        ("eos", FinishReason::Stop),
    ] {
        let mut out = VecDeque::new();
        let mut assembler = Assembler::new(step());
        let event = format!(r#"{{"choices":[{{"delta":{{"content":"x"}},"finish_reason":"{word}"}}]}}"#);
        assembler.accept(&event, None, &mut out).unwrap();
        assembler.accept("[DONE]", None, &mut out).unwrap();
        assert_eq!(out.back(), Some(&ModelEvent::Finished(expected)), "{word}");
    }
}

#[test]
fn ends_are_told_apart_from_cuts() {
    let text = r#"{"choices":[{"delta":{"content":"x"}}]}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    check(
        &[text],
        expect![[r#"
        text "x"
        error Broken { detail: "cut" }"#]],
    );
    check(
        &[text, stop],
        expect![[r#"
        text "x"
        finished Stop"#]],
    );
    check(
        &[text, "[DONE]"],
        expect![[r#"
        text "x"
        finished Stop"#]],
    );
    check(&["[DONE]"], expect![[r#"error Broken { detail: "the stream ended before an answer began" }"#]]);
    check(&[], expect![[r#"error Broken { detail: "cut" }"#]]);
}

#[test]
fn errors_inside_a_stream_are_mapped() {
    let text = r#"{"choices":[{"delta":{"content":"x"}}]}"#;
    check(
        &[text, r#"{"error":{"message":"boom","type":"server_error"}}"#],
        expect![[r#"
        text "x"
        error Unavailable { detail: "boom" }"#]],
    );
    check(
        &[r#"{"error":"prompt is too long"}"#],
        expect![[r#"error ContextTooLong { detail: "prompt is too long" }"#]],
    );
    check(
        &[r#"{"object":"error","message":"rate limit"}"#],
        expect![[r#"error RateLimited { retry_after: None, detail: "rate limit" }"#]],
    );
    check(
        &[r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"bad"}}]}"#],
        expect![[r#"error Unavailable { detail: "502: bad" }"#]],
    );
    check(
        &[text, r#"{"choices":"#],
        expect![[r#"
        text "x"
        error Broken { detail: "an event is not the JSON of this dialect: EOF while parsing a value at line 1 column 11" }"#]],
    );
    check(
        &[r#"{"choices":[{"delta":{"content":7}}]}"#],
        expect![[
            r#"error Broken { detail: "an event is not the JSON of this dialect: invalid type: integer `7`, expected a string at line 1 column 33" }"#
        ]],
    );
}

#[test]
fn a_whole_answer_is_read_as_one() {
    let body = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,
        "reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let mut out = VecDeque::new();
    Assembler::new(step()).accept_whole(body.as_bytes(), None, &mut out).unwrap();
    expect![[r#"
        reasoning "hm"
        call 0 a look
        arguments 0 {}
        usage 1+2=3 cached 0 written 0 reasoning 0
        finished ToolCalls"#]]
    .assert_eq(&out.iter().map(line).collect::<Vec<_>>().join("\n"));
    for body in ["{}", r#"{"choices":[]}"#, "", r#"{"error":{"message":"no"}}"#] {
        Assembler::new(step()).accept_whole(body.as_bytes(), None, &mut out).unwrap_err();
    }
}

#[test]
fn an_answer_with_too_many_calls_is_refused() {
    let mut assembler = Assembler::new(step());
    let mut out = VecDeque::new();
    let mut outcome = Ok(());
    for index in 0..=CALL_CAP {
        let event = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"id":"c{index}","function":{{"name":"f"}}}}]}}}}]}}"#
        );
        outcome = assembler.accept(&event, None, &mut out);
    }
    assert_eq!(outcome, Err(broken("the answer holds more than 128 tool calls")));
}
