//! How answers look, event by event.

use expect_test::{Expect, expect};

use super::*;

fn answer(message: &str, text: &str) -> StreamEvent {
    StreamEvent::Answer { message: message.to_owned(), text: text.to_owned() }
}

fn thought(text: &str) -> StreamEvent {
    StreamEvent::Reasoning { message: "m1".to_owned(), text: text.to_owned() }
}

fn call(name: &str, arguments: &str) -> StreamEvent {
    StreamEvent::Call { id: "c1".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn returned(succeeded: bool, text: &str) -> StreamEvent {
    StreamEvent::Return { id: "c1".to_owned(), name: "f".to_owned(), succeeded, text: text.to_owned() }
}

fn stopped(reason: &str) -> StreamEvent {
    StreamEvent::Stopped(reason.to_owned())
}

fn shown(reasoning: bool, events: Vec<StreamEvent>) -> String {
    let mut view = ReplyView::new(Look { style: Style { colours: false }, reasoning });
    let mut text: String = events.into_iter().map(|event| view.hear(event)).collect();
    let ending = view.end();
    text.push_str(&ending.text);
    if let Some(failure) = ending.failure {
        text.push_str(&format!("FAILED {failure}\n"));
    }
    text
}

fn check(events: Vec<StreamEvent>, expected: &Expect) {
    expected.assert_eq(&shown(false, events));
}

#[test]
fn a_memory_edit_is_shown_when_it_has_happened() {
    check(
        vec![
            call("memory_insert", ""),
            call("", r#"{"label":"human","new_"#),
            call("", r#"str":"my cat is called Miso"}"#),
            returned(true, "done"),
            answer("m2", "I will "),
            answer("m2", "remember that."),
            stopped("end_turn"),
            StreamEvent::Done,
        ],
        &expect![[r#"
              memory  human: + my cat is called Miso
            I will remember that.
        "#]],
    );
}

#[test]
fn an_edit_that_failed_is_shown_as_such() {
    let replace = call("memory_replace", r#"{"label":"human","old_str":"x","new_str":"y"}"#);
    check(
        vec![replace, returned(false, "not\nthere"), answer("m2", "Sorry.")],
        &expect![[r#"
              memory  human: not changed: not there
            Sorry.
        "#]],
    );
}

#[test]
fn other_tools_are_named() {
    check(
        vec![answer("m1", "Let me see."), call("roll_dice", "{}"), returned(true, "6")],
        &expect![[r#"
            Let me see.
              tool    roll_dice: done
        "#]],
    );
}

#[test]
fn messages_do_not_run_into_each_other() {
    check(
        vec![answer("m1", "One."), answer("m2", "Two.\n"), answer("m3", "Three.")],
        &expect![[r#"
            One.
            Two.
            Three.
        "#]],
    );
}

#[test]
fn reasoning_is_shown_on_request_only() {
    let events = || vec![thought("Hm, "), thought("tea."), answer("m1", "Tea!")];
    expect![[r#"
        Tea!
    "#]]
    .assert_eq(&shown(false, events()));
    expect![[r#"
        Hm, tea.
        Tea!
    "#]]
    .assert_eq(&shown(true, events()));
}

#[test]
fn a_failure_is_told_once() {
    check(
        vec![
            answer("m1", "Well"),
            stopped("llm_api_error"),
            StreamEvent::Failed("no model".to_owned()),
            StreamEvent::Done,
        ],
        &expect![[r#"
            Well
            FAILED no model
        "#]],
    );
}

#[test]
fn an_unusual_end_is_explained() {
    check(
        vec![answer("m1", "Well"), stopped("max_steps")],
        &expect![[r#"
            Well
              stopped after the most steps that one answer may take: ask it to go on
        "#]],
    );
    check(
        vec![answer("m1", "Well"), stopped("no_tool_call")],
        &expect![[r#"
            Well
              stopped: no tool call
        "#]],
    );
}

#[test]
fn models_can_not_drive_the_terminal() {
    check(
        vec![
            answer("m1", "\x1b[2Jboo"),
            call("memory_insert", r#"{"label":"h\u001b","new_str":"\u001b]0;x"}"#),
            returned(true, ""),
        ],
        &expect![[r#"
            [2Jboo
              memory  h: + ]0;x
        "#]],
    );
}

#[test]
fn what_was_written_stays_when_the_person_stops_it() {
    let mut view = ReplyView::new(Look { style: Style { colours: false }, reasoning: false });
    view.hear(answer("m1", "Once upon a"));
    let ending = view.interrupted();
    assert_eq!(ending, Ending { text: "\n  stopped\n".to_owned(), failure: None });
}
