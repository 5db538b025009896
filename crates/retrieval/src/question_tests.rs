//! Tests of the module beside this file.

use domain::Role;

use super::*;
use crate::document::Document;

fn index(lines: &[(&str, &str)]) -> ScopeIndex {
    let mut index = ScopeIndex::default();
    for (number, (speaker, text)) in (1..).zip(lines) {
        index.add(&Document {
            number,
            at: 0,
            role: Role::User,
            thread: Some([1; 16]),
            marks: Vec::new(),
            person: None,
            superseded: false,
            speaker: Some((*speaker).to_owned()),
            text: (*text).to_owned(),
        });
    }
    index
}

fn asked(text: &str) -> Asked {
    let index = index(&[("Ada", "the cat sleeps"), ("Ada", "the cat eats"), ("Bob", "a dog barks")]);
    Question::new(text, &Builtin::new()).asked(&[&index])
}

fn words(text: &str) -> Vec<String> {
    asked(text).wanted.into_iter().map(|wanted| wanted.word).collect()
}

#[test]
fn words_that_say_nothing_are_left_out_and_speakers_are_no_words() {
    assert_eq!(words("What does Ada's cat really like to eat, and why?"), ["cat", "eat"]);
    assert_eq!(words("cats and a cat"), ["cats"]);
    assert_eq!(words("Who is it?"), ["who", "is", "it"]);
    assert_eq!(words("Ada"), ["ada"]);
    assert_eq!(words(""), Vec::<String>::new());
}

#[test]
fn rare_words_and_rare_speakers_count_more() {
    let found = asked("dog cat Ada Bob");
    assert!(found.wanted[0].weight > found.wanted[1].weight);
    assert!(found.speakers[1].1 > found.speakers[0].1);
}

#[test]
fn dates_are_read_and_the_verb_may_is_none() {
    let check = |text: &str, months: &[i8], years: &[i16], days: &[i8]| {
        let dates = asked(text).dates;
        assert_eq!((&dates.months[..], &dates.years[..], &dates.days[..]), (months, years, days), "{text}");
    };
    check("What happened on 7 May 2023?", &[5], &[2023], &[7]);
    check("May I ask what you may know?", &[], &[], &[]);
    check("in March or in june, on the 21st", &[3, 6], &[], &[21]);
    check("1999 bottles, 45 cans", &[], &[1999], &[]);
}

#[test]
fn days_fit_what_was_named() {
    let dates = Dates { months: vec![5], years: vec![2023], days: vec![7] };
    assert_eq!(dates.fit((2023, 5, 7)), 1.5);
    assert_eq!(dates.fit((2023, 5, 8)), 1.0);
    assert_eq!(dates.fit((2024, 5, 7)), 0.0);
    let year = Dates { months: vec![], years: vec![2023], days: vec![] };
    assert_eq!((year.fit((2023, 1, 1)), year.fit((2022, 1, 1))), (0.3, 0.0));
}

#[test]
fn the_assistants_own_words_are_asked_for() {
    assert!(asked("What did you recommend for dinner?").means_assistant);
    assert!(!asked("What did I recommend for dinner?").means_assistant);
    assert!(!asked("What do you eat?").means_assistant);
}
