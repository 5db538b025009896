//! The second look at the best documents, with their words at hand.
//!
//! A wanted word that a document does not have may be there in another form: the word nearest in meaning counts for a
//! part of it, for more where no document has the words that were asked for. Then what else was found in the same sitting
//! speaks for a document.

use std::collections::HashMap;

use crate::embed::Builtin;
use crate::embed::builtin::normalise;
use crate::index::ScopeIndex;
use crate::question::{Wanted, is_stop_word, rarity};
use crate::rank::{COVERED, Candidate, FULL_MATCH, Ingredients, Looked, VECTORS, attainable};
use crate::search::Relevance;
use crate::word_meaning::meaning;
use crate::words::{Term, Words, term};

/// How much the best possible stand-in counts, and how alike a word must be to be one at all: where some document has
/// much of what was asked for in the very words, and where none has.
const STAND_IN: [f32; 2] = [0.5, 2.0];
const ALIKE: [f32; 2] = [0.3, 0.1];
/// The best match of words that counts as none.
const UNCOVERED: f32 = 0.2;
/// What the best of its sitting gives to a document.
const SITTING: f32 = 0.2;
/// Different words of a document that are compared.
const MAX_WORDS: usize = 400;

/// The candidates in their final order, each by its place in `looked`, and why.
pub(crate) fn second_look(
    looked: &Looked,
    texts: &[&str],
    scope: &Lexicon<'_>,
    ingredients: Ingredients,
) -> Vec<(usize, Relevance)> {
    let Looked { asked, candidates, .. } = looked;
    let (scores, text_unit) = if ingredients.second_look && ingredients.text && ingredients.vectors {
        let scores = with_stand_ins(looked, texts, scope);
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
fn with_stand_ins(looked: &Looked, texts: &[&str], scope: &Lexicon<'_>) -> Vec<f32> {
    let Looked { asked, candidates, .. } = looked;
    let stand_in = StandIn::new(looked.cover);
    let mut meanings = Meanings::new(scope, &asked.wanted);
    let words = Words::new();
    candidates
        .iter()
        .zip(texts)
        .map(|(candidate, text)| {
            let missing = candidate.frequencies.iter().any(|(_, here)| *here == 0.0);
            let nearest = if missing { meanings.nearest(&words, text) } else { vec![0.0; asked.wanted.len()] };
            let frequencies = candidate.frequencies.iter().zip(nearest);
            let score: f32 = asked
                .wanted
                .iter()
                .zip(frequencies)
                .map(|(wanted, ((around, here), nearest))| {
                    let more = if *here > 0.0 { 0.0 } else { stand_in.worth(nearest) };
                    candidate.scale.score(wanted.weight, around + more, here + more)
                })
                .sum();
            score + candidate.speaker
        })
        .collect()
}

/// What a word that is only near in meaning counts for: the more, the less the very words were found anywhere.
struct StandIn {
    most: f32,
    alike: f32,
}

impl StandIn {
    fn new(cover: f32) -> Self {
        let none = ((COVERED - cover) / (COVERED - UNCOVERED)).clamp(0.0, 1.0);
        let between = |[some, other]: [f32; 2]| some + none * (other - some);
        Self { most: between(STAND_IN), alike: between(ALIKE) }
    }

    fn worth(&self, likeness: f32) -> f32 {
        self.most * ((likeness - self.alike) / (1.0 - self.alike)).clamp(0.0, 1.0)
    }
}

/// What is known of words: their meaning, and how rare they are where the search was.
pub(crate) struct Lexicon<'a> {
    pub(crate) builtin: &'a Builtin,
    pub(crate) indexes: &'a [&'a ScopeIndex],
}

impl Lexicon<'_> {
    fn meaning(&self, word: &str) -> Vec<f32> {
        let mut meaning = meaning(self.builtin, word);
        normalise(&mut meaning);
        meaning
    }

    /// From 0 for a word that all documents have to 1 for one that a single document has.
    fn rarity(&self, term: Term) -> f32 {
        let documents: usize = self.indexes.iter().map(|index| index.len()).sum();
        let having: usize = self.indexes.iter().map(|index| index.estimate(term)).sum();
        rarity(documents, having.max(1)) / rarity(documents, 1).max(f32::MIN_POSITIVE)
    }
}

/// How alike words are, remembered within one search.
struct Meanings<'a> {
    scope: &'a Lexicon<'a>,
    wanted: Vec<Vec<f32>>,
    /// For a word its likeness with each wanted one.
    likeness: HashMap<String, Vec<f32>>,
}

impl<'a> Meanings<'a> {
    fn new(scope: &'a Lexicon<'a>, wanted: &[Wanted]) -> Self {
        let wanted = wanted.iter().map(|wanted| scope.meaning(&wanted.word)).collect();
        Self { scope, wanted, likeness: HashMap::new() }
    }

    /// For each wanted word how alike the nearest word of a text is. Common words are near to everything, so rare ones
    /// count more.
    fn nearest(&mut self, words: &Words, text: &str) -> Vec<f32> {
        let mut seen = HashMap::new();
        words.each(text, |word, stem| {
            if seen.len() < MAX_WORDS && !is_stop_word(word) {
                seen.entry(word.to_owned()).or_insert_with(|| term(stem));
            }
        });
        let mut nearest = vec![0.0_f32; self.wanted.len()];
        for (word, term) in seen {
            let likeness = match self.likeness.get(&word) {
                Some(likeness) => likeness,
                None => {
                    let (meaning, rarity) = (self.scope.meaning(&word), self.scope.rarity(term).sqrt());
                    let all = self.wanted.iter().map(|wanted| dot(wanted, &meaning) * rarity).collect();
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
