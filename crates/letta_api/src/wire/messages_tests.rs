//! Shapes of messages, and what is shown of each.

use domain::{Actor, AgentId, ConversationId, Timestamp};
use serde_json::Value;

use super::*;

fn message(role: Role) -> Message {
    Message {
        id: "message-24660bb6-94b5-42b7-ac2a-ddb5dd0cc684".parse().expect("an id"),
        organization: Actor::default_user().organization,
        agent: AgentId::random(),
        conversation: ConversationId::random(),
        identity: None,
        sequence_id: 1,
        role,
        content: Arc::new([ContentPart::text("words")]),
        tool_calls: Arc::new([]),
        tool_returns: Arc::new([]),
        name: None,
        model: None,
        otid: None,
        run: Some(RunId::random()),
        step: Some(StepId::random()),
        standing: domain::Standing::Kept,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

fn tool_call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: format!("call-{name}").into(), name: name.into(), arguments: arguments.into() }
}

fn tool_return(name: &str, status: ToolStatus) -> ToolReturn {
    ToolReturn { call_id: format!("call-{name}").into(), name: name.into(), status, text: "done".into() }
}

fn shown(use_assistant_message: bool) -> Shown {
    Shown { use_assistant_message, types: None }
}

fn kinds(message: &Message, shown: &Shown) -> Vec<MessageType> {
    letta_messages(message, shown).iter().map(|one| one.message_type).collect()
}

#[test]
fn the_shapes_are_the_recorded_ones() {
    let facts: Value = serde_json::from_str(include_str!("../../tests/facts/messages.json")).expect("facts");
    let mut thinking = message(Role::Assistant);
    thinking.content = Arc::new([
        ContentPart::Reasoning { text: "hm".into(), is_native: false, signature: None },
        ContentPart::text("words"),
    ]);
    thinking.tool_calls = Arc::new([tool_call("memory_insert", "{}")]);
    let mut returned = message(Role::Tool);
    returned.tool_returns = Arc::new([tool_return("memory_insert", ToolStatus::Success)]);
    let mut seen = Vec::new();
    for message in [message(Role::System), message(Role::User), thinking, returned] {
        for one in letta_messages(&message, &shown(true)) {
            let json = serde_json::to_value(&one).expect("JSON");
            let kind = json["message_type"].as_str().expect("a type").to_owned();
            super::super::facts::check(&json, &facts[&kind]);
            seen.push(kind);
        }
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn parts_have_ids_of_their_own() {
    let high: MessageId = "message-24660bb6-94b5-42b7-ac2a-ddb5dd0cc6d6".parse().expect("an id");
    let low: MessageId = "message-24660bb6-94b5-42b7-ac2a-ddb5dd0cc637".parse().expect("an id");
    assert_eq!(part_otid(high, 0), "24660bb6-94b5-42b7-ac2a-ddb5dd0cc680");
    assert_eq!(part_otid(high, 1), "24660bb6-94b5-42b7-ac2a-ddb5dd0cc681");
    assert_eq!(part_otid(low, 0), "24660bb6-94b5-42b7-ac2a-ddb5dd0cc600");
}

#[test]
fn send_message_is_the_assistants_words() {
    use MessageType::{AssistantMessage, ToolCallMessage, ToolReturnMessage};
    let mut said = message(Role::Assistant);
    said.content = Arc::new([]);
    said.tool_calls = Arc::new([tool_call("send_message", r#"{"message": "Hello!"}"#)]);
    assert_eq!(kinds(&said, &shown(true)), [AssistantMessage]);
    assert_eq!(kinds(&said, &shown(false)), [ToolCallMessage]);
    // A call that can't be read said nothing; what came of it is shown as it is.
    said.tool_calls = Arc::new([tool_call("send_message", r#"{"invalid_arguments": "{"}"#)]);
    assert_eq!(kinds(&said, &shown(true)), [ToolCallMessage]);
    let mut returned = message(Role::Tool);
    returned.tool_returns = Arc::new([tool_return("send_message", ToolStatus::Success)]);
    assert_eq!(kinds(&returned, &shown(true)), []);
    assert_eq!(kinds(&returned, &shown(false)), [ToolReturnMessage]);
    returned.tool_returns = Arc::new([tool_return("send_message", ToolStatus::Error)]);
    assert_eq!(kinds(&returned, &shown(true)), [ToolReturnMessage]);
}

#[test]
fn several_calls_are_one_message() {
    let mut message = message(Role::Assistant);
    message.content = Arc::new([]);
    message.tool_calls = Arc::new([tool_call("a", "{}"), tool_call("b", "{}")]);
    let json = serde_json::to_value(letta_messages(&message, &shown(true))).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(1));
    assert_eq!(json[0]["tool_call"]["name"], "a");
    assert_eq!(json[0]["tool_calls"][1]["name"], "b");
}

#[test]
fn only_wanted_types_are_shown() {
    let mut message = message(Role::Assistant);
    message.tool_calls = Arc::new([tool_call("a", "{}")]);
    let wanted = Shown { use_assistant_message: true, types: Some(vec![MessageType::AssistantMessage]) };
    assert_eq!(kinds(&message, &wanted), [MessageType::AssistantMessage]);
}

#[test]
fn several_texts_stay_apart() {
    let mut message = message(Role::User);
    message.content = Arc::new([ContentPart::text("a"), ContentPart::text("b")]);
    let json = serde_json::to_value(letta_messages(&message, &shown(true))).expect("JSON");
    assert_eq!(json[0]["content"][1]["text"], "b");
    assert_eq!(json[0]["content"][0]["type"], "text");
}

#[test]
fn images_are_shown_with_their_source() {
    let image = |source: domain::ImageSource, detail| ContentPart::Image(domain::Image { source, detail });
    let at = domain::ImageSource::from_url("https://example.com/a.png").expect("an address");
    let here = domain::ImageSource::from_base64("image/png", "AAAA").expect("an image");
    let mut message = message(Role::User);
    message.content = Arc::new([
        ContentPart::text("Look."),
        image(at, None),
        image(here.clone(), None),
        image(here, Some(domain::ImageDetail::Low)),
    ]);
    let json = serde_json::to_value(letta_messages(&message, &shown(true))).expect("JSON");
    let expected = serde_json::json!([
        {"type": "text", "text": "Look.", "signature": null},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA", "detail": null}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA", "detail": "low"}},
    ]);
    assert_eq!(json[0]["content"], expected);
}
