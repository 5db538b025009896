//! Tests of the module beside this file.

use serde_json::json;

use super::*;

fn set() -> Value {
    json!([{
        "sample_id": "one",
        "conversation": {
            "speaker_a": "Ada", "speaker_b": "Bob",
            "session_2_date_time": "2:00 pm on 3 May, 2024",
            "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Later."}],
            "session_1_date_time": "1:00 pm on 3 May, 2024",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "Hello."},
                {"speaker": "Assistant", "dia_id": "D1:2", "text": "Hi."},
            ],
            "session_10": [{"speaker": "User", "dia_id": "D10:1", "text": "Last."}],
        },
        "qa": [
            {"question": "a", "evidence": ["D1:1; D:2:01", "D1:1"], "category": 2},
            {"question": "b", "evidence": ["D7:7"], "category": "x", "before": "D10:1"},
            {"question": "c", "evidence": []},
            {"question": "d", "evidence": ["D1:2"], "before": "D5:1"},
        ],
    }])
}

#[test]
fn sessions_are_read_in_the_order_of_their_numbers() {
    let samples = read(&set().to_string()).unwrap();
    let turns = &samples[0].turns;
    assert_eq!(turns.iter().map(|turn| turn.id.as_str()).collect::<Vec<_>>(), ["D1:1", "D1:2", "D2:1", "D10:1"]);
    assert_eq!(turns[0].speaker.as_deref(), Some("Ada"));
    assert_eq!(turns.iter().map(|turn| turn.is_assistant).collect::<Vec<_>>(), [false, true, true, false]);
    assert_eq!(turns[1].speaker, None);
    let times: Vec<String> = turns.iter().map(|turn| turn.at.to_string()).collect();
    // The second session would begin too soon after the first, and the last has no time.
    assert_eq!(times[..2], ["2024-05-03T13:00:00Z", "2024-05-03T13:00:20Z"]);
    assert_eq!(times[2..], ["2024-05-03T15:00:20Z", "2024-05-04T15:00:20Z"]);
}

#[test]
fn evidence_is_repaired_and_what_no_turn_has_stays_unfound() {
    let samples = read(&set().to_string()).unwrap();
    let questions = &samples[0].questions;
    assert_eq!(questions.len(), 3);
    assert_eq!((&questions[0].evidence[..], questions[0].before), (&[Some(0), Some(2)][..], None));
    assert_eq!((&questions[1].evidence[..], questions[1].before), (&[None][..], Some(3)));
    assert_eq!(questions[2].before, Some(3));
    assert_eq!(questions.iter().map(|question| question.category.as_str()).collect::<Vec<_>>(), ["2", "x", "none"]);
}

#[test]
fn what_is_no_set_is_told() {
    for (text, expected) in [
        ("{", "the file is not JSON"),
        ("3", "the file holds no list of samples"),
        (r#"[{"qa": []}]"#, "sample `0` has no `conversation` object"),
        (r#"[{"sample_id": "s", "conversation": {}, "qa": []}]"#, "sample `s` has no turns"),
        (r#"[{"conversation": {"session_1": [{"text": "x"}]}, "qa": []}]"#, "sample `0` has a turn without `dia_id`"),
        (r#"[{"conversation": {"session_1": [{"dia_id": "D1:1"}]}}]"#, "sample `0` has no `text` in turn `D1:1`"),
        (r#"[{"conversation": {"session_1": [{"dia_id": "D1:1", "text": "x"}]}}]"#, "sample `0` has no list `qa`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
