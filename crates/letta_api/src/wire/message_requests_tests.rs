//! What clients may send to agents.

use super::*;

fn read(body: &str) -> Result<MessageRequest, String> {
    MessageRequest::read(Fields::parse(body.as_bytes()).expect("JSON"), false).map_err(|error| error.to_string())
}

fn texts(request: &MessageRequest) -> Vec<(Role, Vec<&str>)> {
    let words = |message: &'_ InputMessage| message.role;
    let parts = request.input.iter().map(|message| message.content.iter().filter_map(ContentPart::as_text).collect());
    request.input.iter().map(words).zip(parts).collect()
}

#[test]
fn words_come_in_three_forms() {
    for (body, expected) in [
        (r#"{"input": "hi"}"#, vec![(Role::User, vec!["hi"])]),
        (r#"{"messages": [{"role": "user", "content": "hi"}]}"#, vec![(Role::User, vec!["hi"])]),
        (
            r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}"#,
            vec![(Role::User, vec!["a", "b"])],
        ),
        (
            r#"{"messages": [{"type": "message", "role": "system", "content": "s"}, {"role": "user", "content": "u"}]}"#,
            vec![(Role::System, vec!["s"]), (Role::User, vec!["u"])],
        ),
    ] {
        assert_eq!(texts(&read(body).expect(body)), expected, "{body}");
    }
}

#[test]
fn images_come_with_their_source() {
    let body = r#"{"input": [{"type": "text", "text": "See"}, {"type": "image", "source": {"type": "url", "url": "https://h/a"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA", "detail": "low"}}]}"#;
    let request = read(body).expect("a request");
    let stored = serde_json::to_value(&request.input[0].content[1..]).expect("JSON");
    let expected = serde_json::json!([
        {"type": "image", "source": {"type": "url", "url": "https://h/a"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}, "detail": "low"},
    ]);
    assert_eq!(stored, expected);
}

#[test]
fn a_stream_is_of_steps_or_of_tokens() {
    let streaming = |more: &str| read(&format!(r#"{{"input": "x"{more}}}"#)).expect("a request").streaming;
    assert_eq!(streaming(""), Streaming::No);
    assert_eq!(streaming(r#", "stream_tokens": true"#), Streaming::No);
    assert_eq!(streaming(r#", "streaming": true"#), Streaming::Steps);
    assert_eq!(streaming(r#", "streaming": true, "stream_tokens": true"#), Streaming::Tokens);
    // The words inside a raw call can't be told apart while they arrive, so the call is shown whole.
    let raw = r#", "streaming": true, "stream_tokens": true, "use_assistant_message": false"#;
    assert_eq!(streaming(raw), Streaming::Steps);
}

#[test]
fn what_can_not_be_answered_is_refused() {
    for (body, why) in [
        ("{}", "either `messages` or `input`"),
        (r#"{"messages": [], "input": "x"}"#, "not both"),
        (r#"{"messages": "x"}"#, "('body', 'messages')"),
        (r#"{"messages": [{"content": "x"}]}"#, "needs a role"),
        (r#"{"messages": [{"role": "user"}]}"#, "needs content"),
        (r#"{"messages": [{"role": "assistant", "content": "x"}]}"#, "one of user, system"),
        (r#"{"input": [{"type": "image"}]}"#, "needs `source`"),
        (r#"{"input": [{"type": "image", "source": {"type": "letta", "file_id": "file-1"}}]}"#, "`letta`"),
        (r#"{"input": [{"type": "image", "source": {"type": "url", "url": "file:///a"}}]}"#, "http://"),
        (
            r#"{"input": [{"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "AAAA"}}]}"#,
            "image/bmp",
        ),
        (
            r#"{"input": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}]}"#,
            "base64",
        ),
        (
            r#"{"messages": [{"role": "system", "content": [{"type": "image", "source": {"type": "url", "url": "https://h/a"}}]}]}"#,
            "role user",
        ),
        (r#"{"input": [{"type": "omitted_reasoning"}]}"#, "`text` or `image`"),
        (r#"{"messages": [{"role": "user", "content": [{"type": "text"}]}]}"#, "needs `text`"),
        (r#"{"messages": [{"type": "approval", "approve": true}]}"#, "approval"),
        (r#"{"input": "x", "max_steps": "many"}"#, "('body', 'max_steps')"),
        (r#"{"input": "x", "background": true}"#, "`background`"),
        (r#"{"input": "x", "client_tools": [{"name": "f"}]}"#, "`client_tools`"),
        (r#"{"input": "x", "assistant_message_tool_name": "speak"}"#, "can only be `send_message`"),
        (r#"{"input": "x", "include_return_message_types": ["nope"]}"#, "unknown variant"),
    ] {
        let error = read(body).expect_err(body);
        assert!(error.contains(why), "{body}: {error}");
    }
}
