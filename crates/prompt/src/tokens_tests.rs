//! What texts, messages and tools count.

use std::sync::Arc;

use domain::{AgentId, ConversationId, MessageId, OrganizationId, Timestamp, ToolCall, ToolReturn, ToolStatus};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const SHOWN: HistoryOptions = HistoryOptions { inner_thoughts: false, max_return_chars: Some(100), images: true };

fn family(model: &str) -> Family {
    Family::of_model(model)
}

fn message(role: Role, content: Vec<ContentPart>) -> Message {
    Message {
        id: MessageId::random(),
        organization: OrganizationId::random(),
        agent: AgentId::random(),
        conversation: ConversationId::random(),
        identity: None,
        sequence_id: 1,
        role,
        content: content.into(),
        tool_calls: Arc::new([]),
        tool_returns: Arc::new([]),
        name: None,
        model: None,
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

#[test]
fn texts_count_what_the_vocabularies_say() {
    for (model, text, tokens) in [
        ("gpt-4o-mini", "hello world", 2),
        ("gpt-4", "hello world", 2),
        ("gpt-4o-mini", "Grüße aus Köln", 5),
        ("gpt-4o", "", 0),
        ("claude-sonnet-4", "hello world, hello world, hello world, hello", 12),
        ("guide", "123456789", 3),
    ] {
        assert_eq!(family(model).count(text), tokens, "{model}: {text}");
    }
}

#[test]
fn a_model_is_found_by_its_own_name() {
    for (model, like) in [
        ("openai/gpt-4o-mini", "gpt-4o"),
        ("gpt-4.1-nano", "gpt-4o"),
        ("o3-mini", "gpt-4o"),
        ("gpt-3.5-turbo", "gpt-4"),
        ("anthropic.claude-3-haiku-v1:0", "claude"),
        ("eu.anthropic.claude-3-haiku", "claude"),
        ("mlx-community/Qwen3-8B", "qwen"),
        ("something-else", "unheard-of"),
    ] {
        assert_eq!(family(model), family(like), "{model}");
    }
    assert_ne!(family("gpt-4"), family("gpt-4o"));
}

#[test]
fn texts_that_are_hard_to_split_neither_panic_nor_take_long() {
    let odd = ["a", " ", "\n", "\r\n ", "ä", "🙂", "a1_", "'s", "\u{3000}", "{\"", "\t\u{a0}"];
    for piece in odd {
        let text = piece.repeat(40_000 / piece.len());
        for model in ["gpt-4o", "gpt-4"] {
            let tokens = family(model).count(&text);
            assert!((1..=text.len() as u64).contains(&tokens), "{piece:?}: {tokens}");
        }
    }
}

#[test]
fn long_texts_are_counted_in_pieces_that_add_up() {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(1_000);
    let whole = tiktoken_rs::o200k_base_singleton().count_ordinary(&text) as u64;
    let pieces = family("gpt-4o").count(&text);
    assert!(pieces.abs_diff(whole) <= whole / 1_000, "{pieces} {whole}");
}

#[test]
fn a_message_counts_as_it_is_shown() {
    let family = family("gpt-4o");
    let thought = |is_native| ContentPart::Reasoning { text: "hello world".into(), is_native, signature: None };
    let plain = message(Role::User, vec![ContentPart::text("hello world")]);
    assert_eq!(message_tokens(&plain, &SHOWN, family), 2 + PER_MESSAGE);
    let hidden = message(Role::Assistant, vec![ContentPart::text("hello world"), thought(false)]);
    assert_eq!(message_tokens(&hidden, &SHOWN, family), 2 + PER_MESSAGE);
    let shown = HistoryOptions { inner_thoughts: true, ..SHOWN };
    assert_eq!(message_tokens(&hidden, &shown, family), 4 + PER_MESSAGE);
    let native = message(Role::Assistant, vec![thought(true)]);
    assert_eq!(message_tokens(&native, &SHOWN, family), 2 + PER_MESSAGE);
    let mut call = message(Role::Assistant, Vec::new());
    call.tool_calls = Arc::new([ToolCall { id: "x".into(), name: "hello".into(), arguments: "{}".into() }]);
    assert_eq!(message_tokens(&call, &SHOWN, family), 2 + PER_CALL + PER_MESSAGE);
}

#[test]
fn a_cut_return_counts_what_is_left_of_it() {
    let returned = |text: &str| {
        let mut message = message(Role::Tool, vec![ContentPart::text(text)]);
        let one = ToolReturn { call_id: "x".into(), name: "t".into(), status: ToolStatus::Success, text: text.into() };
        message.tool_returns = Arc::new([one]);
        message
    };
    let long = returned(&"word ".repeat(1_000));
    let count = message_tokens(&long, &SHOWN, family("gpt-4o"));
    assert!((20..70).contains(&count), "{count}");
    assert!(message_bytes(&long, &SHOWN) > 5_000);
}

#[test]
fn tools_count_with_their_schemas() {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Says hello.".into(),
        parameters: Arc::new(json!({"type": "object", "properties": {"to": {"type": "string"}}})),
        strict: None,
    };
    let tools = [tool("hello"), tool("world")];
    let tokens = tools_tokens(&tools, family("gpt-4o"));
    assert!((40..80).contains(&tokens), "{tokens}");
    assert!(tools_bytes(&tools) > tokens);
    assert_eq!(tools_bytes(&tools[..1]), 5 + 11 + PER_TOOL + tools[0].parameters.to_string().len() as u64);
}

proptest! {
    #[test]
    fn bytes_are_never_fewer_than_tokens(texts in prop::collection::vec("\\PC{0,80}", 1..4), thoughts: bool) {
        let content = texts.iter().map(|text| ContentPart::text(text.as_str())).collect();
        let message = message(Role::User, content);
        let options = HistoryOptions { inner_thoughts: thoughts, max_return_chars: None, images: true };
        for model in ["gpt-4o", "gpt-4"] {
            prop_assert!(message_tokens(&message, &options, family(model)) <= message_bytes(&message, &options));
        }
    }
}

#[test]
fn an_image_counts_by_its_detail_where_it_is_shown() {
    let image = |detail| {
        let source = domain::ImageSource::from_base64("image/png", &"A".repeat(40_000)).unwrap();
        message(Role::User, vec![ContentPart::text("hello world"), ContentPart::Image(Image { source, detail })])
    };
    let count = |message: &Message, options| message_tokens(message, &options, family("gpt-4o"));
    assert_eq!(count(&image(None), SHOWN), 2 + PER_MESSAGE + 1_105);
    assert_eq!(count(&image(Some(ImageDetail::High)), SHOWN), 2 + PER_MESSAGE + 1_105);
    assert_eq!(count(&image(Some(ImageDetail::Low)), SHOWN), 2 + PER_MESSAGE + 85);
    let blind = HistoryOptions { images: false, ..SHOWN };
    let marked = count(&image(None), blind);
    assert!((2 + PER_MESSAGE + 1..2 + PER_MESSAGE + 5).contains(&marked), "{marked}");
    // Bytes bound tokens here too, and have nothing to do with how long the data is.
    for options in [SHOWN, blind] {
        let bytes = message_bytes(&image(None), &options);
        assert!((count(&image(None), options)..2_000).contains(&bytes), "{bytes}");
    }
}
