//! What an extract keeps.

use domain::{Actor, AgentId, ContentPart, ConversationId, MessageId, StepId, Timestamp};
use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn said(role: Role, day: i64, text: &str) -> Arc<Message> {
    let start: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
    Arc::new(Message {
        id: MessageId::random(),
        organization: Actor::default_user().organization,
        agent: AgentId::from_bytes([2; 16]),
        conversation: ConversationId::from_bytes([3; 16]),
        identity: None,
        sequence_id: 0,
        role,
        content: Arc::new([ContentPart::text(text)]),
        tool_calls: Arc::default(),
        tool_returns: Arc::default(),
        name: None,
        model: None,
        otid: None,
        run: None,
        step: Some(StepId::from_bytes([4; 16])),
        standing: domain::Standing::Kept,
        created_at: start + jiff::SignedDuration::from_hours(24 * day),
    })
}

#[test]
fn first_sentences_names_and_dates_are_kept() {
    let messages = [
        said(Role::User, 0, "My sister Ada lives in Köln. She has a cat."),
        said(Role::Assistant, 0, "How nice, Berlin!"),
        said(Role::User, 1, "What is 3.5 times two? And I'm asking Grace's friend"),
        said(Role::User, 2, "{\n  \"type\": \"login\"\n}"),
    ];
    let first = extract(None, &messages, "UTC", 1_000);
    expect![[r#"
        Names that came up: Ada, Köln, Grace.
        Extract of earlier messages, first sentences of what the user said:
        - November 01, 2026: My sister Ada lives in Köln.
        - November 02, 2026: What is 3.5 times two?"#]]
    .assert_eq(&first);
    let second = extract(Some(&first), &[said(Role::User, 9, "Ada moved to Bonn")], "UTC", 1_000);
    expect![[r#"
        Names that came up: Ada, Köln, Grace, Bonn.
        Extract of earlier messages, first sentences of what the user said:
        - November 01, 2026: My sister Ada lives in Köln.
        - November 02, 2026: What is 3.5 times two?
        - November 10, 2026: Ada moved to Bonn"#]]
    .assert_eq(&second);
}

#[test]
fn what_is_too_much_thins_out_from_the_oldest() {
    let messages: Vec<_> =
        (0..100).map(|day| said(Role::User, day, &format!("Entry number {day} of the log."))).collect();
    let text = extract(None, &messages, "UTC", 1_000);
    assert!(text.chars().count() <= 1_000);
    assert!(text.contains("Entry number 99 ") && !text.contains("Entry number 0 "), "{text}");
}

proptest! {
    #[test]
    fn an_extract_is_no_longer_than_allowed(texts in prop::collection::vec("\\PC{0,80}", 0..20), max_chars in 1_usize..600) {
        let messages: Vec<_> = texts.iter().map(|text| said(Role::User, 1, text)).collect();
        let first = extract(None, &messages, "UTC", max_chars);
        prop_assert!(first.chars().count() <= max_chars);
        prop_assert!(extract(Some(&first), &messages, "UTC", max_chars).chars().count() <= max_chars);
    }
}

#[test]
fn an_image_without_words_leaves_a_mark() {
    let source = domain::ImageSource::from_url("https://example.com/a.png").unwrap();
    let mut look = Message::clone(&said(Role::User, 0, ""));
    look.content = Arc::new([ContentPart::Image(domain::Image { source, detail: None })]);
    let text = extract(None, &[Arc::new(look)], "UTC", 1_000);
    assert!(text.ends_with("- November 01, 2026: [image]"), "{text}");
}
