//! The second look at the best documents, with their words at hand.
//!
//! A wanted word that a document does not have may be there in another form: the word nearest in meaning counts for a
//! part of it. Then what else was found in the same sitting speaks for a document.

use std::collections::{HashMap, HashSet};

use crate::embed::Builtin;
use crate::embed::builtin::{DIMENSIONS, normalise};
use crate::question::{Asked, Wanted, is_stop_word};
use crate::rank::{Candidate, FULL_MATCH, Ingredients, Looked, VECTORS, attainable};
use crate::search::Relevance;
use crate::words::Words;

/// How much the best possible stand-in counts, and how alike a word must be to be one at all.
const STAND_IN: f32 = 0.5;
const ALIKE: f32 = 0.3;
/// What the best of its sitting gives to a document.
const SITTING: f32 = 0.2;
/// Documents whose words are compared; those behind them keep their places.
const COMPARED: usize = 50;
/// Different words of a document that are compared.
const MAX_WORDS: usize = 400;

/// The candidates in their final order, each by its place in `looked`, and why.
pub(crate) fn second_look(
    looked: &Looked,
    texts: &[&str],
    builtin: &Builtin,
    ingredients: Ingredients,
) -> Vec<(usize, Relevance)> {
    let Looked { asked, candidates, .. } = looked;
    let (scores, text_unit) = if ingredients.second_look && ingredients.text && ingredients.vectors {
        let scores = with_stand_ins(asked, candidates, texts, builtin);
        let best = scores.iter().copied().fold(0.0_f32, f32::max);
        (scores, best.max(FULL_MATCH * attainable(&asked.wanted)).max(f32::MIN_POSITIVE))
    } else {
        (candidates.iter().map(|it| it.text + it.speaker).collect(), looked.text_unit)
    };
    let mut finals: Vec<f32> = candidates
        .iter()
        .zip(&scores)
        .map(|(candidate, text)| text / text_unit + VECTORS * candidate.vector.unwrap_or_default() + candidate.bonus)
        .collect();
    if ingredients.second_look {
        let mut sittings: HashMap<(usize, u32), f32> = HashMap::new();
        for (candidate, score) in candidates.iter().zip(&finals) {
            let best = sittings.entry(candidate.sitting).or_insert(f32::MIN);
            *best = best.max(*score);
        }
        for (candidate, score) in candidates.iter().zip(&mut finals) {
            *score += SITTING * sittings.get(&candidate.sitting).copied().unwrap_or_default();
        }
    }
    let by_text = ranks(&scores, |place| scores[place] > 0.0);
    let likeness: Vec<f32> = candidates.iter().map(|it| it.vector.unwrap_or(-1.0)).collect();
    let by_vector = ranks(&likeness, |place| candidates[place].vector.is_some());
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.retain(|place| looked.with_vectors || scores[*place] > 0.0);
    order.sort_by(|a, b| finals[*b].total_cmp(&finals[*a]).then(candidates[*a].number.cmp(&candidates[*b].number)));
    order
        .into_iter()
        .map(|place| {
            let candidate = &candidates[place];
            let relevance = Relevance {
                score: finals[place],
                fts_rank: by_text[place],
                vector_rank: by_vector[place],
                cosine: candidate.cosine,
                words: matched(&asked.wanted, candidate),
            };
            (place, relevance)
        })
        .collect()
}

/// Each place's rank by score, from 1; none where it does not count.
fn ranks(scores: &[f32], counts: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|place| counts(*place)).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    let mut ranks = vec![None; scores.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = Some(rank + 1);
    }
    ranks
}

fn matched(wanted: &[Wanted], candidate: &Candidate) -> Vec<String> {
    let pairs = wanted.iter().zip(&candidate.frequencies);
    pairs.filter(|(_, (around, _))| *around > 0.0).map(|(wanted, _)| wanted.word.clone()).collect()
}

/// The words' score of each candidate, stand-ins included.
fn with_stand_ins(asked: &Asked, candidates: &[Candidate], texts: &[&str], builtin: &Builtin) -> Vec<f32> {
    let mut meanings = Meanings { builtin, wanted: &asked.wanted, vectors: Vec::new(), likeness: HashMap::new() };
    meanings.vectors = asked.wanted.iter().map(|wanted| meanings.vector(&wanted.word)).collect();
    let words = Words::new();
    candidates
        .iter()
        .zip(texts)
        .enumerate()
        .map(|(place, (candidate, text))| {
            let missing = candidate.frequencies.iter().any(|(_, here)| *here == 0.0);
            let nearest = if missing && place < COMPARED {
                meanings.nearest(&words, text)
            } else {
                vec![0.0; asked.wanted.len()]
            };
            let frequencies = candidate.frequencies.iter().zip(nearest);
            let score: f32 = asked
                .wanted
                .iter()
                .zip(frequencies)
                .map(|(wanted, ((around, here), nearest))| {
                    let stand_in = if *here > 0.0 { 0.0 } else { stand_in(nearest) };
                    candidate.scale.score(wanted.weight, around + stand_in, here + stand_in)
                })
                .sum();
            score + candidate.speaker
        })
        .collect()
}

fn stand_in(likeness: f32) -> f32 {
    STAND_IN * ((likeness - ALIKE) / (1.0 - ALIKE)).clamp(0.0, 1.0)
}

/// How alike words are, remembered within one search.
struct Meanings<'a> {
    builtin: &'a Builtin,
    wanted: &'a [Wanted],
    vectors: Vec<Vec<f32>>,
    /// For a word its likeness with each wanted one.
    likeness: HashMap<String, Vec<f32>>,
}

impl Meanings<'_> {
    fn vector(&self, word: &str) -> Vec<f32> {
        let mut vector = vec![0.0; DIMENSIONS];
        for token in self.builtin.tokens(word) {
            self.builtin.add(token, 1.0, &mut vector);
        }
        normalise(&mut vector);
        vector
    }

    /// For each wanted word how alike the nearest word of a text is.
    fn nearest(&mut self, words: &Words, text: &str) -> Vec<f32> {
        let mut seen = HashSet::new();
        words.each(text, |word, _| {
            if seen.len() < MAX_WORDS && !is_stop_word(word) {
                seen.insert(word.to_owned());
            }
        });
        let mut nearest = vec![0.0_f32; self.wanted.len()];
        for word in seen {
            let likeness = match self.likeness.get(&word) {
                Some(likeness) => likeness,
                None => {
                    let vector = self.vector(&word);
                    let all = self.vectors.iter().map(|wanted| dot(wanted, &vector)).collect();
                    self.likeness.entry(word).or_insert(all)
                }
            };
            nearest.iter_mut().zip(likeness).for_each(|(nearest, likeness)| *nearest = nearest.max(*likeness));
        }
        nearest
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
