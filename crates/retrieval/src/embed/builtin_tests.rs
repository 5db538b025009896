//! Tests of the built-in embedder: against the original table (`tests/facts/vectors.json`) and by what it finds.

use super::*;

/// Questions of our own, and what answers them in other words.
const PARAPHRASES: [(&str, &str); 24] = [
    ("What does my sister do for a living?", "Clara works as a nurse at the children's hospital"),
    ("Which pet does the family have?", "Our old dog Bruno sleeps under the kitchen table"),
    ("When is the wedding?", "They are getting married on the last Saturday of June"),
    ("How did the trip to the mountains go?", "We hiked in the Alps for a week and it rained every day"),
    ("What food can't I eat?", "Peanuts give me an allergic reaction"),
    ("Which instrument is he learning?", "Tom takes piano lessons every Thursday"),
    ("What vehicle did we buy?", "The new car is a blue electric hatchback"),
    ("Where do her parents live?", "Mum and dad bought a house near Lisbon after they retired"),
    ("Why was the flight late?", "A storm kept the airplane on the ground for five hours"),
    ("What is the password policy?", "Employees must change their login secret every ninety days"),
    ("How much does the apartment cost?", "The rent is nine hundred euros a month"),
    ("What book was recommended?", "You should read that novel about the lighthouse keeper"),
    ("Is anybody ill?", "Grandpa caught the flu and has a high fever"),
    ("What sport does she practise?", "Mia plays football in the youth team"),
    ("What broke in the kitchen?", "The dishwasher leaks and the oven no longer heats"),
    ("Which programming language is used?", "The backend was rewritten in Rust last year"),
    ("What did the bank say?", "Our mortgage application was approved for a low interest loan"),
    ("How does he get to the office?", "Every morning he rides his bicycle to work"),
    ("What do they grow?", "Tomatoes, beans and pumpkins from the garden"),
    ("What are the plans for Christmas?", "We will spend the winter holidays with the cousins in Norway"),
    ("Which exam is next?", "The chemistry test takes place on Monday, so study hard"),
    ("What music does he like?", "His favourite band plays loud heavy metal"),
    ("Who is in charge of the project?", "Dana leads the team and decides the budget"),
    ("Did the child sleep well?", "The baby woke up crying three times during the night"),
];

fn embed(text: &str) -> Vec<f32> {
    let mut vector = Vec::new();
    Builtin::new().embed_now(text, &mut vector);
    vector
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[test]
fn vectors_are_those_of_the_original_table() {
    let facts: Vec<(String, Vec<f32>)> = serde_json::from_str(include_str!("../../tests/facts/vectors.json")).unwrap();
    for (text, original) in facts {
        let cosine = cosine(&embed(&text), &original);
        assert!((0.999..1.001).contains(&cosine), "{text:?}: {cosine}");
    }
}

#[test]
fn paraphrases_find_each_other() {
    let answers: Vec<_> = PARAPHRASES.iter().map(|(_, answer)| embed(answer)).collect();
    let rank = |at: usize| {
        let question = embed(PARAPHRASES[at].0);
        let right = cosine(&question, &answers[at]);
        answers.iter().filter(|answer| cosine(&question, answer) > right).count()
    };
    let ranks: Vec<usize> = (0..PARAPHRASES.len()).map(rank).collect();
    // By chance, one question would find its answer first and five would have it among the first five.
    let first = ranks.iter().filter(|rank| **rank == 0).count();
    let among_five = ranks.iter().filter(|rank| **rank < 5).count();
    assert!(first >= 14 && among_five >= 20, "{first} first, {among_five} among five: {ranks:?}");
}

#[test]
fn a_vector_has_length_1_and_nothing_has_zeros() {
    for text in ["one", "two words", "😀", "\u{0}", "a".repeat(100_000).as_str()] {
        assert!((cosine(&embed(text), &embed(text)) - 1.0).abs() < 1e-5, "{text:.20}");
    }
    for text in ["", "  ", "\n\t "] {
        assert_eq!(embed(text), [0.0; DIMENSIONS], "{text:?}");
    }
}

#[test]
fn what_is_beyond_the_cap_does_not_count() {
    let start = "ä ".repeat(MAX_CHARACTERS / 2);
    assert_eq!(embed(&start), embed(&format!("{start}and a tail that changes nothing")));
}

#[test]
fn rows_of_tokens_add_up_to_the_vector() {
    let builtin = Builtin::new();
    let mut sum = vec![0.0; DIMENSIONS];
    for token in builtin.tokens("rows add up") {
        let (row, scale) = builtin.row(token);
        assert_eq!(row.len(), DIMENSIONS);
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f32::from(*value) * scale);
    }
    normalise(&mut sum);
    assert!((cosine(&sum, &embed("rows add up")) - 1.0).abs() < 1e-5);
    assert_eq!(builtin.row(u32::MAX), builtin.row(0));
}

#[tokio::test]
async fn the_seam_gives_one_vector_for_each_text_in_order() {
    let builtin = Builtin::new();
    let texts: Vec<Arc<str>> = (0..600).map(|at| format!("text number {at}").into()).collect();
    let vectors = builtin.embed(&texts).await.unwrap();
    assert_eq!(vectors.len(), 600);
    assert_eq!(vectors[599], embed("text number 599"));
    assert_eq!((builtin.config().handle.as_str(), builtin.config().dimensions), ("builtin/embedding", 256));
    assert_eq!(domain::embedding::BUILTIN_EMBEDDING, "builtin/embedding");
}
