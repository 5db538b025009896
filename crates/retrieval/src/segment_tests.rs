//! Tests of the module beside this file.

use proptest::prelude::*;

use super::*;
use crate::words::{Mark, mark, term};

fn document(number: u64, text: &str) -> Document {
    Document {
        number,
        at: 1_700_000_000_000_000 + number.cast_signed(),
        role: if number.is_multiple_of(2) { Role::User } else { Role::Assistant },
        thread: (!number.is_multiple_of(5)).then_some([(number % 3) as u8; 16]),
        marks: vec![mark(Mark::Conversation, &[(number % 3) as u8])],
        person: None,
        superseded: false,
        speaker: Some("Ada".to_owned()),
        text: text.to_owned(),
    }
}

fn postings(each: impl Fn(Term, &mut dyn FnMut(u32, u32)), word: Term) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    each(word, &mut |place, frequency| found.push((place, frequency)));
    found
}

#[test]
fn a_sealed_stretch_says_what_the_open_one_said() {
    let words = Words::new();
    let mut open = OpenSegment::default();
    let texts = ["the dog and the dog", "a cat", "dogs", ""];
    let headers: Vec<Header> =
        texts.iter().zip(7..).map(|(text, number)| open.add(&document(number, text), &words)).collect();
    let (sealed, read) = SealedSegment::read(&open.seal()).unwrap();
    assert_eq!(read, headers);
    assert_eq!(headers.iter().map(|header| header.length).collect::<Vec<_>>(), [5, 2, 1, 0]);
    for word in [term("dog"), term("cat"), mark(Mark::Name, b"ada"), term("none"), mark(Mark::Conversation, &[1])] {
        let of_open = postings(|term, take| open.each(term, take), word);
        assert_eq!(postings(|term, take| sealed.each(term, take), word), of_open);
        assert_eq!((open.count(word), sealed.count(word)), (of_open.len(), of_open.len()));
    }
    assert_eq!(postings(|term, take| sealed.each(term, take), term("dog")), [(0, 2), (2, 1)]);
}

#[test]
fn any_changed_byte_is_noticed() {
    let mut open = OpenSegment::default();
    open.add(&document(3, "a dog"), &Words::new());
    let bytes = open.seal();
    for place in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[place] ^= 0x10;
        assert!(SealedSegment::read(&wrong).is_err(), "{place}");
        assert!(SealedSegment::read(&bytes[..place]).is_err(), "{place}");
    }
}

proptest! {
    #[test]
    fn any_documents_read_back(texts in prop::collection::vec("[a-c ]{0,12}", 0..40), gaps in prop::collection::vec(1_u64..1_000_000, 40)) {
        let words = Words::new();
        let mut open = OpenSegment::default();
        let mut number = 0;
        let mut headers = Vec::new();
        for (text, gap) in texts.iter().zip(gaps) {
            number += gap;
            headers.push(open.add(&document(number, text), &words));
        }
        let (sealed, read) = SealedSegment::read(&open.seal()).unwrap();
        prop_assert_eq!(read, headers);
        for word in ["a", "b", "aa", "abc"].map(term) {
            prop_assert_eq!(
                postings(|term, take| sealed.each(term, take), word),
                postings(|term, take| open.each(term, take), word)
            );
        }
    }

    #[test]
    fn no_bytes_make_it_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok((sealed, _)) = SealedSegment::read(&sealed(bytes)) {
            sealed.each(term("a"), |_, _| {});
        }
    }
}
