//! Which contents of messages are understood, and which are refused.

use domain::image::{MAX_IMAGE_BYTES, MAX_IMAGES};
use serde_json::json;

use super::*;

fn parse(messages: Value) -> Result<Vec<ClientMessage>, ApiError> {
    super::messages(json!({ "messages": messages }).as_object().unwrap())
}

fn said(content: Value) -> Result<ClientMessage, ApiError> {
    parse(json!([{"role": "user", "content": content}])).map(|mut messages| messages.remove(0))
}

fn image(url: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": url}})
}

#[test]
fn images_are_taken_as_parts_of_what_a_user_says() {
    let text = json!({"type": "text", "text": "See"});
    let at = json!({"type": "image", "source": {"type": "url", "url": "https://h/a"}});
    let here = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}, "detail": "low"});
    for (content, expected) in [
        (json!([text, image("https://h/a")]), json!([text, at])),
        (json!([{"type": "image_url", "image_url": "https://h/a"}]), json!([at])),
        (
            json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}, text]),
            json!([here, text]),
        ),
        (json!([{"type": "image_url", "image_url": {"url": "https://h/a", "detail": null}}]), json!([at])),
    ] {
        let message = said(content.clone()).expect("understood");
        assert_eq!(serde_json::to_value(&message.content[..]).unwrap(), expected, "{content}");
        assert!(message.has_images());
    }
}

#[test]
fn what_is_no_image_is_refused_by_name() {
    let typed = |kind: &str| json!([{"type": "text", "text": "x"}, {"type": kind}]);
    let detailed =
        |detail: Value| json!([{"type": "image_url", "image_url": {"url": "https://h/a", "detail": detail}}]);
    for (content, code, why) in [
        (typed("input_audio"), "unsupported_value", "`input_audio`"),
        (typed("file"), "unsupported_value", "`file`"),
        (typed("image_url"), "invalid_type", "`url`"),
        (json!([{"type": "image_url", "image_url": {"url": 5}}]), "invalid_type", "`url`"),
        (json!([image("file:///etc/passwd")]), "invalid_image_url", "http://"),
        (json!([image("data:image/svg+xml;base64,AAAA")]), "unsupported_value", "`image/svg+xml`"),
        (json!([image("data:image/png;base64,A-A_")]), "invalid_base64_image", "base64"),
        (detailed(json!("most")), "invalid_value", "most"),
        (detailed(json!(3)), "invalid_value", "3"),
        (json!(vec![image("https://h/a"); MAX_IMAGES + 1]), "array_above_max_length", "20 images"),
        (
            json!([image(&format!("data:image/png;base64,{}", "A".repeat(MAX_IMAGE_BYTES + 4)))]),
            "image_too_large",
            "6291456",
        ),
        (json!([{"type": "text", "text": " "}]), "invalid_value", "empty"),
    ] {
        let error = said(content).expect_err(why);
        assert_eq!((error.param, error.code), (Some("messages"), Some(code)), "{}", error.message);
        assert!(error.message.contains("messages[0]") && error.message.contains(why), "{}", error.message);
    }
}

#[test]
fn only_users_show_images() {
    let content = json!([{"type": "text", "text": "x"}, image("https://h/a")]);
    for message in [
        json!({"role": "system", "content": content}),
        json!({"role": "assistant", "content": content}),
        json!({"role": "tool", "tool_call_id": "c", "content": content}),
    ] {
        let error = parse(json!([message])).expect_err("refused");
        assert_eq!(error.code, Some("unsupported_value"), "{message}");
    }
}

#[test]
fn a_message_is_known_again_by_its_words_and_its_images() {
    let text = json!({"type": "text", "text": "See"});
    let digest = |content: Value| said(content).expect("understood").digest();
    let (one, other) = (image("https://h/a"), image("https://h/b"));
    let all = [
        digest(json!("See")),
        digest(json!([text, one])),
        digest(json!([text, other])),
        digest(json!([text, one, other])),
        digest(json!([one])),
        digest(json!([text, image("data:image/png;base64,AAAA")])),
        digest(json!([text, image("data:image/gif;base64,AAAA")])),
    ];
    for (index, digest) in all.iter().enumerate() {
        assert!(!all[..index].contains(digest), "{index}");
    }
    // How it is looked at is no part of what was said, and words alone are known as they always were.
    let close = json!({"type": "image_url", "image_url": {"url": "https://h/a", "detail": "high"}});
    assert_eq!(digest(json!([text, close])), all[1]);
    assert_eq!(digest(json!([text])), all[0]);
    assert_eq!(all[0], text_digest("See"));
}
