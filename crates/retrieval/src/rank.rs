//! The first look at a whole scope: which documents are worth a second one.
//!
//! Words are weighed by their rarity, and a document is judged with what was said around it, the more so the shorter it
//! is. Vectors are compared in the same way. The two lists are added on scales of their own: words relative to the best
//! match, but never to less than a part of what was asked for, so that a weak match of common words does not drown good
//! vectors; vectors relative to the best and the worst. Small bonuses go to what fits a date, to what people rather than
//! the assistant said, and to what opened a sitting. `docs/search.md` has what each of these adds.

use domain::Role;

use crate::calendar::civil;
use crate::filter::{Filter, Sight};
use crate::index::{NOBODY, ScopeIndex};
use crate::question::{Asked, Dates, Wanted};
use crate::vectors::QueryVector;

/// How soon repetitions of a word stop counting, and how much length counts (the constants of BM25).
pub(crate) const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;
/// Words from which on a document is judged more by itself than with its neighbours.
const OWN_WORDS: f32 = 100.0;
/// The least part of what was asked for that counts as a full match of words.
pub(crate) const FULL_MATCH: f32 = 0.3;
/// What vectors count for, against words.
pub(crate) const VECTORS: f32 = 0.8;
/// How much of its neighbours' likeness belongs to a document.
const VECTOR_NEIGHBOURS: f32 = 0.2;
const SAID_BY_PEOPLE: f32 = 0.1;
const OPENS_A_SITTING: f32 = 0.1;
const FITS_DATE: f32 = 0.2;
/// More than all bonuses of a document can be.
const MOST_BONUS: f32 = SAID_BY_PEOPLE + OPENS_A_SITTING + 1.5 * FITS_DATE + 0.01;
/// From so many documents on, words and vectors are looked at side by side.
const WORTH_TWO_THREADS: usize = 10_000;
/// Documents that are looked at twice: where some document has the words that were asked for, and where none has, so that
/// meaning has to decide.
const CANDIDATES: [usize; 2] = [100, 300];
/// The part of what was asked for that a document must have for its words to count as found.
pub(crate) const COVERED: f32 = 0.35;

/// What a ranking is made from. Everything is on, except to measure what a part adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part can be left out by itself")]
pub struct Ingredients {
    /// Words.
    pub text: bool,
    pub vectors: bool,
    /// Neighbours lend each other their words and vectors.
    pub neighbours: bool,
    /// Dates, speakers' roles and the openings of sittings.
    pub hints: bool,
    /// The second look: words that mean nearly the same, and what else the sitting has.
    pub second_look: bool,
}

impl Ingredients {
    /// All of them.
    pub const ALL: Self = Self { text: true, vectors: true, neighbours: true, hints: true, second_look: true };
}

/// A document that is worth a second look.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) number: u64,
    /// Which of the searched indexes it is in, and its sitting there.
    pub(crate) sitting: (usize, u32),
    place: usize,
    /// The score of its words, and of its speaker.
    pub(crate) text: f32,
    pub(crate) speaker: f32,
    /// From 0 for the least to 1 for the most alike; none without a vector.
    pub(crate) vector: Option<f32>,
    pub(crate) cosine: Option<f32>,
    pub(crate) bonus: f32,
    pub(crate) scale: Scale,
    /// For each wanted word how often it stands here and around, and how often here.
    pub(crate) frequencies: Vec<(f32, f32)>,
}

impl Candidate {
    /// A wanted word stands at `place`, so often, and this share of that place belongs to the candidate.
    fn count(&mut self, word: usize, place: usize, (share, frequency): (f32, f32)) {
        let (around, here) = &mut self.frequencies[word];
        *around += share * frequency;
        if self.place == place {
            *here = frequency;
        }
    }
}

/// How a document's length weighs its words.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Scale {
    /// How much it is judged by itself.
    own: f32,
    around: f32,
    here: f32,
}

impl Scale {
    /// What a word counts that stands so often here and around, and so often here.
    pub(crate) fn score(&self, weight: f32, around: f32, here: f32) -> f32 {
        let with_neighbours = around / (around + self.around);
        let alone = here / (here + self.here);
        weight * (SATURATION + 1.0) * ((1.0 - self.own) * with_neighbours + self.own * alone)
    }
}

/// What a first look found.
pub(crate) struct Looked {
    pub(crate) asked: Asked,
    /// The best first.
    pub(crate) candidates: Vec<Candidate>,
    /// What the words' score is divided by.
    pub(crate) text_unit: f32,
    /// The largest part of what was asked for, by the weight of its words, that one document has by itself.
    pub(crate) cover: f32,
    /// Whether there were vectors to compare with.
    pub(crate) with_vectors: bool,
}

/// One index to search, and the query's vector for its model.
pub(crate) type Part<'a> = (&'a ScopeIndex, Option<&'a QueryVector>);

/// Looks at all documents that `filter` allows.
pub(crate) fn first_look(parts: &[Part<'_>], asked: Asked, filter: &Filter, ingredients: Ingredients) -> Looked {
    let indexes: Vec<&ScopeIndex> = parts.iter().map(|(index, _)| *index).collect();
    let lengths = Lengths::of(&indexes, ingredients);
    let scores: Vec<Scores> =
        parts.iter().map(|part| Scores::of(*part, &asked, filter, (&lengths, ingredients))).collect();
    let best_text = scores.iter().flat_map(Scores::visible_text).fold(0.0_f32, f32::max);
    let text_unit = best_text.max(FULL_MATCH * attainable(&asked.wanted)).max(f32::MIN_POSITIVE);
    let whole = attainable(&asked.wanted) / (SATURATION + 1.0);
    let best_cover = scores.iter().map(|scores| scores.best_cover).fold(0.0_f32, f32::max);
    let cover = if whole > 0.0 { best_cover / whole } else { 0.0 };
    let (least, most) = scores
        .iter()
        .flat_map(Scores::visible_vectors)
        .fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let with_vectors = least < most || scores.iter().any(|scores| scores.vectors.is_some());
    let spread = (most - least).max(f32::MIN_POSITIVE);
    let people_first = ingredients.hints && asked.speakers.is_empty() && !asked.means_assistant;
    let mut best = Best::new(CANDIDATES[usize::from(cover < COVERED)]);
    for (part, (index, scores)) in indexes.iter().zip(&scores).enumerate() {
        let bonus = Bonus { index, people_first, dates: &asked.dates, hints: ingredients.hints };
        for place in (0..index.len()).filter(|place| scores.sight.visible[*place]) {
            let vector = scores.vector(place).map_or(0.0, |value| (value - least) / spread);
            let score = scores.text[place] / text_unit + VECTORS * vector;
            if score + MOST_BONUS > best.bar {
                best.offer(score + bonus.of(place), part, place);
            }
        }
    }
    let mut candidates: Vec<Candidate> = best
        .sorted(|part, place| indexes[part].number(place))
        .into_iter()
        .map(|(part, place)| {
            let (index, scores) = (indexes[part], &scores[part]);
            let bonus = Bonus { index, people_first, dates: &asked.dates, hints: ingredients.hints };
            Candidate {
                number: index.number(place),
                sitting: (part, index.sitting(place)),
                place,
                text: scores.text[place] - scores.speaker(place),
                speaker: scores.speaker(place),
                vector: scores.vector(place).map(|value| (value - least) / spread),
                cosine: scores.cosine(place),
                bonus: bonus.of(place),
                scale: lengths.scale(index, place),
                frequencies: Vec::new(),
            }
        })
        .collect();
    for (part, (index, scores)) in indexes.iter().zip(&scores).enumerate() {
        let mut own: Vec<&mut Candidate> = candidates.iter_mut().filter(|it| it.sitting.0 == part).collect();
        count_frequencies((index, &scores.sight), &asked.wanted, ingredients.neighbours, &mut own);
    }
    Looked { asked, candidates, text_unit, cover, with_vectors }
}

/// The score of a document that has all that was asked for, over and over.
pub(crate) fn attainable(wanted: &[Wanted]) -> f32 {
    (SATURATION + 1.0) * wanted.iter().map(|wanted| wanted.weight).sum::<f32>()
}

/// How long documents are on average.
struct Lengths {
    mean: f32,
    mean_reach: f32,
    neighbours: bool,
}

impl Lengths {
    fn of(indexes: &[&ScopeIndex], ingredients: Ingredients) -> Self {
        let documents = indexes.iter().map(|index| index.len()).sum::<usize>().max(1) as f64;
        let words = indexes.iter().map(|index| index.total_length()).sum::<u64>() as f64;
        let reach = indexes.iter().map(|index| index.total_reach()).sum::<f64>();
        Self {
            mean: (words / documents).max(1.0) as f32,
            mean_reach: (reach / documents).max(1.0) as f32,
            neighbours: ingredients.neighbours,
        }
    }

    fn scale(&self, index: &ScopeIndex, place: usize) -> Scale {
        let length = index.length(place) as f32;
        let norm = |length: f32, mean: f32| SATURATION * (1.0 - LENGTH + LENGTH * length / mean);
        let own = if self.neighbours { length / (length + OWN_WORDS) } else { 1.0 };
        Scale { own, around: norm(index.reach(place), self.mean_reach), here: norm(length, self.mean) }
    }
}

/// The scores of all documents of one index.
struct Scores {
    sight: Sight,
    /// Words and speakers together.
    text: Vec<f32>,
    /// The most weight of wanted words that one document has by itself.
    best_cover: f32,
    /// Speakers alone, where the query names one.
    speakers: Option<Vec<f32>>,
    /// Likeness with that of the neighbours, of the documents that have vectors.
    vectors: Option<Vec<f32>>,
    cosines: Vec<f32>,
}

impl Scores {
    fn of(
        (index, query): Part<'_>,
        asked: &Asked,
        filter: &Filter,
        (lengths, ingredients): (&Lengths, Ingredients),
    ) -> Self {
        let sight = filter.sight(index);
        let query = query.filter(|_| ingredients.vectors && index.vectors.table.len() > 0);
        let ((mut text, best_cover), (cosines, vectors)) = std::thread::scope(|threads| {
            let likeness =
                || query.map_or_else(Default::default, |query| likeness((index, &sight), query, ingredients));
            let words = || text_scores((index, &sight), asked, lengths, ingredients);
            if index.len() < WORTH_TWO_THREADS {
                return (words(), likeness());
            }
            let likeness = threads.spawn(likeness);
            (words(), likeness.join().unwrap_or_default())
        });
        let speakers = (ingredients.text && !asked.speakers.is_empty()).then(|| {
            let mut speakers = vec![0.0; index.len()];
            for (term, weight) in &asked.speakers {
                index.each(*term, |place, _| speakers[place] += weight);
            }
            text.iter_mut().zip(&speakers).for_each(|(text, speaker)| *text += speaker);
            speakers
        });
        Self { sight, text, best_cover, speakers, vectors, cosines }
    }

    fn speaker(&self, place: usize) -> f32 {
        self.speakers.as_ref().map_or(0.0, |speakers| speakers[place])
    }

    fn vector(&self, place: usize) -> Option<f32> {
        self.vectors.as_ref().and_then(|vectors| vectors.get(place).copied())
    }

    fn cosine(&self, place: usize) -> Option<f32> {
        self.cosines.get(place).copied()
    }

    fn visible_text(&self) -> impl Iterator<Item = f32> {
        self.text.iter().zip(&self.sight.visible).filter(|(_, visible)| **visible).map(|(text, _)| *text)
    }

    fn visible_vectors(&self) -> impl Iterator<Item = f32> {
        let vectors = self.vectors.as_deref().unwrap_or_default();
        vectors.iter().zip(&self.sight.visible).filter(|(_, visible)| **visible).map(|(vector, _)| *vector)
    }
}

/// The cosine of each document that has a vector, and its likeness with that of its neighbours.
fn likeness(
    (index, sight): (&ScopeIndex, &Sight),
    query: &QueryVector,
    ingredients: Ingredients,
) -> (Vec<f32>, Option<Vec<f32>>) {
    let mut cosines = vec![0.0; index.vectors.table.len()];
    index.vectors.table.cosines(query, &mut cosines);
    let mixed = if ingredients.neighbours { with_neighbours(index, sight, &cosines) } else { cosines.clone() };
    (cosines, Some(mixed))
}

/// What the words of each document and its neighbours count, and the most weight of words that a visible one has by
/// itself.
fn text_scores(
    (index, sight): (&ScopeIndex, &Sight),
    asked: &Asked,
    lengths: &Lengths,
    ingredients: Ingredients,
) -> (Vec<f32>, f32) {
    let mut scores = vec![0.0; index.len()];
    if !ingredients.text {
        return (scores, 0.0);
    }
    let mut covers = vec![0.0_f32; index.len()];
    let mut around = vec![0.0_f32; index.len()];
    let mut here = vec![0.0_f32; index.len()];
    let mut touched: Vec<u32> = Vec::new();
    for wanted in &asked.wanted {
        index.each(wanted.term, |place, frequency| {
            if sight.is_barred(place) {
                return;
            }
            let frequency = frequency as f32;
            let mut add = |place: usize, share: f32| {
                touched.extend((around[place] == 0.0).then_some(place as u32));
                around[place] += share * frequency;
            };
            add(place, 1.0);
            if lengths.neighbours {
                index.around(place, &mut add);
            }
            here[place] = frequency;
            covers[place] += wanted.weight;
        });
        for place in touched.drain(..).map(|place| place as usize) {
            let scale = lengths.scale(index, place);
            scores[place] += scale.score(wanted.weight, around[place], here[place]);
            (around[place], here[place]) = (0.0, 0.0);
        }
    }
    let covers = covers.iter().zip(&sight.visible).filter(|(_, visible)| **visible);
    let best_cover = covers.fold(0.0_f32, |best, (cover, _)| best.max(*cover));
    (scores, best_cover)
}

/// Each document's likeness mixed with that of its neighbours.
fn with_neighbours(index: &ScopeIndex, sight: &Sight, cosines: &[f32]) -> Vec<f32> {
    let (before, links) = (index.before(), index.links());
    // What is barred lends nothing, but what stands beyond it does.
    let lent = |place: usize| if sight.is_barred(place) { (0.0, 0.0) } else { (cosines[place], 1.0) };
    // Influence fades by a factor with each step, so what comes from one side is a running sum.
    let mut sums = vec![(0.0_f32, 0.0_f32); cosines.len()];
    for place in 0..cosines.len() {
        if before[place] != NOBODY {
            let last = before[place] as usize;
            let ((sum, weight), (cosine, one)) = (sums[last], lent(last));
            sums[place] = (links[place] * (sum + cosine), links[place] * (weight + one));
        }
    }
    let mut mixed = vec![0.0; cosines.len()];
    let mut behind = vec![(0.0_f32, 0.0_f32); cosines.len()];
    for place in (0..cosines.len()).rev() {
        let ((ahead_sum, ahead_weight), (sum, weight)) = (sums[place], behind[place]);
        let all = cosines[place] + VECTOR_NEIGHBOURS * (ahead_sum + sum);
        mixed[place] = all / (1.0 + VECTOR_NEIGHBOURS * (ahead_weight + weight));
        if before[place] != NOBODY {
            let (cosine, one) = lent(place);
            behind[before[place] as usize] = (links[place] * (sum + cosine), links[place] * (weight + one));
        }
    }
    mixed
}

/// What speaks for a document beside its words.
struct Bonus<'a> {
    index: &'a ScopeIndex,
    people_first: bool,
    dates: &'a Dates,
    hints: bool,
}

impl Bonus<'_> {
    fn of(&self, place: usize) -> f32 {
        if !self.hints {
            return 0.0;
        }
        let mut bonus = 0.0;
        if self.index.before()[place] == NOBODY {
            bonus += OPENS_A_SITTING;
        }
        if self.people_first && self.index.role(place) != Role::Assistant {
            bonus += SAID_BY_PEOPLE;
        }
        if !self.dates.is_empty() {
            bonus += FITS_DATE * self.dates.fit(civil(self.index.time(place)));
        }
        bonus
    }
}

/// Adds the places around a candidate's that may be seen, with the share that each lends.
fn look_around(
    (index, sight): (&ScopeIndex, &Sight),
    near: &mut Vec<(usize, usize, f32)>,
    (place, number): (usize, usize),
) {
    index.around(place, |place, share| {
        if !sight.is_barred(place) {
            near.push((place, number, share));
        }
    });
}

/// Counts for each candidate how often each wanted word stands there and around.
fn count_frequencies(
    (index, sight): (&ScopeIndex, &Sight),
    wanted: &[Wanted],
    neighbours: bool,
    candidates: &mut [&mut Candidate],
) {
    let mut near: Vec<(usize, usize, f32)> = Vec::new();
    for (number, candidate) in candidates.iter_mut().enumerate() {
        candidate.frequencies = vec![(0.0, 0.0); wanted.len()];
        near.push((candidate.place, number, 1.0));
        if neighbours {
            look_around((index, sight), &mut near, (candidate.place, number));
        }
    }
    near.sort_unstable_by_key(|(place, _, _)| *place);
    for (word, wanted) in wanted.iter().enumerate() {
        let mut rest = near.as_slice();
        index.each(wanted.term, |place, frequency| {
            if rest.first().is_none_or(|(next, _, _)| *next > place) {
                return;
            }
            let ahead = rest.partition_point(|(near, _, _)| *near < place);
            rest = &rest[ahead..];
            for (_, number, share) in rest.iter().take_while(|(near, _, _)| *near == place) {
                candidates[*number].count(word, place, (*share, frequency as f32));
            }
        });
    }
}

/// The documents with the highest scores.
struct Best {
    wanted: usize,
    /// Scores that are not above this need not be offered.
    bar: f32,
    found: Vec<(f32, usize, usize)>,
}

impl Best {
    fn new(wanted: usize) -> Self {
        Self { wanted, bar: f32::MIN, found: Vec::with_capacity(wanted * 4) }
    }

    fn offer(&mut self, score: f32, part: usize, place: usize) {
        if score > self.bar {
            self.found.push((score, part, place));
            if self.found.len() >= self.wanted * 4 {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.wanted {
            self.found.select_nth_unstable_by(self.wanted - 1, |(a, ..), (b, ..)| b.total_cmp(a));
            self.found.truncate(self.wanted);
            self.bar = self.found.iter().fold(f32::MAX, |bar, (score, ..)| bar.min(*score));
        }
    }

    /// The best first; of equal ones the older.
    fn sorted(mut self, number: impl Fn(usize, usize) -> u64) -> Vec<(usize, usize)> {
        self.cut();
        self.found.sort_unstable_by(|(a, part_a, place_a), (b, part_b, place_b)| {
            b.total_cmp(a).then_with(|| number(*part_a, *place_a).cmp(&number(*part_b, *place_b)))
        });
        self.found.into_iter().map(|(_, part, place)| (part, place)).collect()
    }
}
