//! Tests of the tokenizer against what the model's own tokenizer gave (`tests/facts/tokens.json`).

use proptest::prelude::*;

use super::*;

fn tokens(text: &str) -> Vec<u32> {
    Pieces::shared().tokens(text).collect()
}

/// What tokens spell, without the space in front.
fn spell(tokens: &[u32]) -> String {
    let mut bytes = Vec::new();
    for token in tokens {
        match token.checked_sub(FIRST_BYTE) {
            Some(byte) if byte < 256 => bytes.push(byte as u8),
            _ => bytes.extend_from_slice(Pieces::shared().text(*token as usize)),
        }
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn texts_have_the_tokens_of_the_models_own_tokenizer() {
    let facts: Vec<(String, Vec<u32>)> = serde_json::from_str(include_str!("../../tests/facts/tokens.json")).unwrap();
    assert!(facts.len() > 50);
    for (text, expected) in facts {
        assert_eq!(tokens(&text), expected, "{text:?}");
    }
}

#[test]
fn a_text_that_spells_a_control_token_is_text() {
    assert_eq!(spell(&tokens("old <s>price</s>")), " old <s>price</s>");
    assert!(tokens("<s>").iter().all(|token| *token > 2));
}

#[test]
fn marked_pieces_come_out_whole_and_others_do_not() {
    let pieces = Pieces::shared();
    let mut whole = 0;
    for token in 0..TOKENS {
        let text = std::str::from_utf8(pieces.text(token)).unwrap();
        let mut merging = Merging::default();
        merging.start(pieces, text, 0..text.len());
        let first = merging.next_token(text.as_bytes());
        let alone = first == Some(token as u32) && merging.next_token(text.as_bytes()).is_none();
        let marked = pieces.find(text.as_bytes()).is_some_and(|found| found & WHOLE_BIT != 0);
        assert_eq!(alone, marked, "{text:?}");
        whole += usize::from(alone);
    }
    assert!(whole > 30_000, "{whole}");
}

#[test]
fn a_word_of_any_length_takes_time_in_proportion() {
    let long = "ab".repeat(100_000);
    assert!(!tokens(&long).is_empty());
}

proptest! {
    #[test]
    fn tokens_spell_their_text(text in "\\PC{0,80}|[ a-c▁]{0,40}|(?s:.{0,40})") {
        let expected = if text.is_empty() { String::new() } else { format!(" {}", text.replace('▁', " ")) };
        prop_assert_eq!(spell(&tokens(&text)), expected);
    }
}
