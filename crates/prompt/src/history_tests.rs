//! Tests of the module beside this file.

use std::fmt::Write as _;

use domain::{Actor, AgentId, ConversationId, MessageId, Timestamp, ToolStatus};
use expect_test::{Expect, expect};

use super::*;

const PLAIN: HistoryOptions = HistoryOptions { inner_thoughts: false, max_return_chars: None, images: true };
const THOUGHTS: HistoryOptions = HistoryOptions { inner_thoughts: true, max_return_chars: None, images: true };

fn message(role: Role, content: Vec<ContentPart>) -> Message {
    Message {
        id: MessageId::from_bytes([1; 16]),
        organization: Actor::default_user().organization,
        agent: AgentId::from_bytes([2; 16]),
        conversation: ConversationId::from_bytes([3; 16]),
        identity: None,
        sequence_id: 0,
        role,
        content: content.into(),
        tool_calls: Arc::default(),
        tool_returns: Arc::default(),
        name: None,
        model: None,
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

fn says(role: Role, text: &str) -> Message {
    message(role, vec![ContentPart::text(text)])
}

fn thought(text: &str, is_native: bool) -> ContentPart {
    ContentPart::Reasoning { text: text.into(), is_native, signature: None }
}

fn calls(content: Vec<ContentPart>, calls: &[(&str, &str)]) -> Message {
    let call = |(id, arguments): &(&str, &str)| ToolCall {
        id: (*id).into(),
        name: "tool".into(),
        arguments: (*arguments).into(),
    };
    let mut message = message(Role::Assistant, content);
    message.tool_calls = calls.iter().map(call).collect();
    message
}

fn returns(returns: &[(&str, &str)]) -> Message {
    let content = returns.iter().map(|(_, text)| ContentPart::text(format!("{{\"message\":\"{text}\"}}")));
    let mut message = message(Role::Tool, content.collect());
    let returned = |(id, text): &(&str, &str)| ToolReturn {
        call_id: (*id).into(),
        name: "tool".into(),
        status: ToolStatus::Success,
        text: (*text).into(),
    };
    message.tool_returns = returns.iter().map(returned).collect();
    message
}

fn check(context: Vec<Message>, options: &HistoryOptions, expected: Expect) {
    let context: Vec<_> = context.into_iter().map(Arc::new).collect();
    let mut text = String::new();
    for shown in chat_messages(&context, options) {
        text.push_str(shown.role.as_str());
        if let Some(id) = shown.tool_call_id {
            write!(text, " {id}").unwrap();
        }
        text.push('\n');
        for part in shown.content.iter() {
            let line = match part {
                ContentPart::Text { text } => format!("  {text}"),
                ContentPart::Reasoning { text, .. } => format!("  ({text})"),
                ContentPart::Image(_) => "  <an image>".to_owned(),
            };
            writeln!(text, "{line}").unwrap();
        }
        for call in shown.tool_calls.iter() {
            writeln!(text, "  {} {}", call.id, call.arguments).unwrap();
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn common_messages_are_shared_not_copied() {
    let context = [
        says(Role::System, "Base."),
        says(Role::User, "Hi"),
        calls(vec![ContentPart::text("Wait.")], &[("c1", "{}")]),
        returns(&[("c1", "one")]),
    ];
    let context: Vec<_> = context.into_iter().map(Arc::new).collect();
    let shown = chat_messages(&context, &PLAIN);
    assert_eq!(shown.len(), context.len());
    for (shown, message) in shown.iter().zip(&context) {
        assert!(Arc::ptr_eq(&shown.content, &message.content));
    }
    assert!(Arc::ptr_eq(&shown[2].tool_calls, &context[2].tool_calls));
}

#[test]
fn each_return_is_a_message_of_its_own() {
    let several = calls(vec![], &[("c1", "{}"), ("c2", "{}"), ("c3", "{}")]);
    check(
        vec![several, returns(&[("c2", "two"), ("c1", "one")]), returns(&[("c3", "three")])],
        &PLAIN,
        expect![[r#"
            assistant
              c1 {}
              c2 {}
              c3 {}
            tool c2
              {"message":"two"}
            tool c1
              {"message":"one"}
            tool c3
              {"message":"three"}
        "#]],
    );
}

#[test]
fn a_return_without_its_call_is_dropped() {
    let cut_off = vec![
        says(Role::System, "Base."),
        returns(&[("c0", "zero")]),
        says(Role::User, "Hi"),
        returns(&[("c0", "zero")]),
        calls(vec![], &[("c1", "{}")]),
        returns(&[("c9", "nine"), ("c1", "one"), ("c1", "again")]),
    ];
    check(
        cut_off,
        &PLAIN,
        expect![[r#"
        system
          Base.
        user
          Hi
        assistant
          c1 {}
        tool c1
          {"message":"one"}
    "#]],
    );
}

#[test]
fn a_call_without_its_return_is_dropped() {
    let open = vec![
        calls(vec![ContentPart::text("Both.")], &[("c1", "{}"), ("c2", "{}")]),
        returns(&[("c2", "two")]),
        says(Role::User, "And?"),
        calls(vec![ContentPart::text("Soon.")], &[("c3", "{}")]),
        says(Role::User, "Now?"),
        calls(vec![], &[("c4", "{}")]),
    ];
    check(
        open,
        &PLAIN,
        expect![[r#"
        assistant
          Both.
          c2 {}
        tool c2
          {"message":"two"}
        user
          And?
        assistant
          Soon.
        user
          Now?
    "#]],
    );
}

#[test]
fn the_same_id_may_be_used_again() {
    let again = vec![
        calls(vec![], &[("c", "{\"n\":1}")]),
        returns(&[("c", "one")]),
        calls(vec![], &[("c", "{\"n\":2}"), ("c", "{\"n\":3}")]),
        returns(&[("c", "two"), ("c", "three")]),
    ];
    check(
        again,
        &PLAIN,
        expect![[r#"
        assistant
          c {"n":1}
        tool c
          {"message":"one"}
        assistant
          c {"n":2}
          c {"n":3}
        tool c
          {"message":"two"}
        tool c
          {"message":"three"}
    "#]],
    );
}

#[test]
fn a_request_for_approval_is_the_call_and_its_answer_is_not_shown() {
    let mut request = calls(vec![], &[("c1", "{}")]);
    request.role = Role::Approval;
    let answer = says(Role::Approval, "approved");
    check(
        vec![request, answer, returns(&[("c1", "one")])],
        &PLAIN,
        expect![[r#"
        assistant
          c1 {}
        tool c1
          {"message":"one"}
    "#]],
    );
}

#[test]
fn only_native_reasoning_is_shown_without_inner_thoughts() {
    let context = vec![
        calls(vec![thought("native", true), thought("written", false), ContentPart::text("Hm.")], &[("c1", "{}")]),
        returns(&[("c1", "one")]),
        message(Role::Assistant, vec![thought("written", false)]),
        message(Role::Assistant, vec![thought("native", true), ContentPart::text("Yes.")]),
    ];
    check(
        context,
        &PLAIN,
        expect![[r#"
        assistant
          (native)
          Hm.
          c1 {}
        tool c1
          {"message":"one"}
        assistant
          (native)
          Yes.
    "#]],
    );
}

#[test]
fn inner_thoughts_are_the_first_argument_of_the_first_call() {
    let context = vec![
        calls(
            vec![thought("first", false), thought("second", false)],
            &[("c1", r#"{"b":[1,{"ü":null}],"thinking":"old","a":{}}"#), ("c2", r#"{"x":1}"#)],
        ),
        returns(&[("c1", "one"), ("c2", "two")]),
        calls(vec![thought("native", true)], &[("c3", r#"{"x":1}"#)]),
        returns(&[("c3", "three")]),
        calls(vec![thought("lost", false)], &[("c4", r#"{"x":"#)]),
        returns(&[("c4", "four")]),
        message(Role::Assistant, vec![thought("alone", false), ContentPart::text("Yes.")]),
    ];
    check(
        context,
        &THOUGHTS,
        expect![[r#"
        assistant
          c1 {
          "thinking": "first\nsecond",
          "b": [
            1,
            {
              "ü": null
            }
          ],
          "a": {}
        }
          c2 {"x":1}
        tool c1
          {"message":"one"}
        tool c2
          {"message":"two"}
        assistant
          (native)
          c3 {"x":1}
        tool c3
          {"message":"three"}
        assistant
          c4 {"x":
        tool c4
          {"message":"four"}
        assistant
          Yes.
    "#]],
    );
}

#[test]
fn a_long_return_is_cut_inside_its_envelope() {
    let cut_to_four = HistoryOptions { inner_thoughts: false, max_return_chars: Some(4), images: true };
    let mut bare = returns(&[("c4", "no envelope")]);
    bare.content = Arc::new([ContentPart::text("no envelope")]);
    let context = vec![
        calls(vec![], &[("c1", "{}"), ("c2", "{}"), ("c3", "{}"), ("c4", "{}")]),
        returns(&[("c1", "four"), ("c2", "größer"), ("c3", "🐈🐈🐈🐈")]),
        bare,
    ];
    check(
        context,
        &cut_to_four,
        expect![[r#"
        assistant
          c1 {}
          c2 {}
          c3 {}
          c4 {}
        tool c1
          {"message":"four"}
        tool c2
          {
          "message": "größ… [cut here: 2 more characters are not shown]"
        }
        tool c3
          {"message":"🐈🐈🐈🐈"}
        tool c4
          no e… [cut here: 7 more characters are not shown]
    "#]],
    );
}

#[test]
fn a_model_that_sees_nothing_is_shown_marks_of_images() {
    let source = domain::ImageSource::from_url("https://example.com/a.png").unwrap();
    let image = ContentPart::Image(domain::Image { source, detail: None });
    let context =
        || vec![says(Role::User, "No image."), message(Role::User, vec![ContentPart::text("See"), image.clone()])];
    check(
        context(),
        &PLAIN,
        expect![[r#"
            user
              No image.
            user
              See
              <an image>
        "#]],
    );
    check(
        context(),
        &HistoryOptions { images: false, ..PLAIN },
        expect![[r#"
            user
              No image.
            user
              See
              [image]
        "#]],
    );
}

#[test]
fn no_request_holds_more_of_images_than_vendors_take() {
    let size = 5 * 1024 * 1024;
    let source = domain::ImageSource::from_base64("image/png", &"A".repeat(size)).unwrap();
    let part = ContentPart::Image(domain::Image { source, detail: None });
    let context: Vec<_> = (0..6).map(|_| Arc::new(message(Role::User, vec![part.clone()]))).collect();
    let shown = chat_messages(&context, &PLAIN);
    let marks: Vec<bool> = shown.iter().map(|message| message.content[0].as_image().is_none()).collect();
    assert_eq!(marks, [true, true, false, false, false, false]);
}
