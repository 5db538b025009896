//! Which remembered statement answers a question, if any.
//!
//! Every noun of the question must be found in the statement, what the question word asks for (a place, a time, a
//! number) must be in it too, and both must be about the same one. A doubtful match is no match: the guide must never
//! invent.

use super::clause::Clause;
use super::facts::Note;
use super::kinship::Kinship;
use super::languages::Language;
use super::recall::{Part, Question, Term, Wanted};
use super::shapes;
use super::stems::same_stem;
use super::topics::{Topic, lexicon};
use super::words::{Word, contains};

/// At most so many lines answer one question.
const MAX_LINES: usize = 3;

/// What notes say to a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Findings {
    /// These lines answer it.
    Answer(Vec<String>),
    /// Nothing answers it for certain, but this line is about the same.
    Nearest(String),
    Nothing,
}

/// How well a statement answers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Judgement {
    score: f32,
    /// False if a verb of the question was not found.
    sure: bool,
}

/// The lines of the notes that answer `question` best.
pub(super) fn find(question: &Question, notes: &[Note]) -> Findings {
    let kinship = Kinship::of(notes.iter().map(|note| &note.clause));
    let judge = |note: &Note| Case { question, clause: &note.clause, kinship: &kinship }.judge();
    let judged: Vec<(Judgement, &Note)> = notes.iter().filter_map(|note| Some((judge(note)?, note))).collect();
    let best = |sure: bool| {
        let fitting = judged.iter().filter(|(judgement, _)| judgement.sure == sure);
        fitting.map(|(judgement, _)| judgement.score).max_by(f32::total_cmp)
    };
    let Some(score) = best(true) else {
        let nearest = judged.iter().find(|(judgement, _)| Some(judgement.score) == best(false));
        return nearest.map_or(Findings::Nothing, |(_, note)| Findings::Nearest(note.line.clone()));
    };
    let mut lines: Vec<String> = Vec::new();
    for (judgement, note) in &judged {
        if judgement.sure && judgement.score + 0.05 >= score && !lines.contains(&note.line) {
            lines.push(note.line.clone());
        }
    }
    lines.truncate(MAX_LINES);
    Findings::Answer(lines)
}

/// Whether `clause` is about what `question` names: all of its words stand there, in some form.
pub(super) fn names(question: &Question, clause: &Clause) -> bool {
    let case = Case { question, clause, kinship: &Kinship::default() };
    let nouns = question.terms.iter().any(|term| !term.word.is_attribute());
    let stated = |word: &Word| word.topics.iter().any(|topic| nouns && case.states_otherwise(*topic));
    let found = |term: &Term| case.hit(&term.word).is_some() || stated(&term.word);
    !question.terms.is_empty() && question.terms.iter().all(found) && case.subject_fits(&case.hits())
}

/// Whether `clause` has half of what `question` names, a thing among it: near enough to be shown, but no answer.
pub(super) fn touches(question: &Question, clause: &Clause) -> bool {
    let case = Case { question, clause, kinship: &Kinship::default() };
    let hits = case.hits();
    let found = || question.terms.iter().zip(&hits).filter(|(_, hit)| hit.is_some_and(|hit| hit.literal));
    let known = |word: &Word| word.is_attribute() || word.is_person() || word.capital;
    let thing = |term: &Term| !known(&term.word) && !term.light && term.part != Part::Verb;
    found().any(|(term, _)| thing(term)) && 2 * found().count() >= hits.len() && case.subject_fits(&hits)
}

/// A word of a statement that a term of the question means.
#[derive(Debug, Clone, Copy)]
struct Hit {
    at: Option<usize>,
    in_subject: bool,
    literal: bool,
}

/// A question and a statement that may answer it.
struct Case<'a> {
    question: &'a Question,
    clause: &'a Clause,
    kinship: &'a Kinship,
}

impl Case<'_> {
    /// How well the statement answers; `None` if it does not.
    fn judge(&self) -> Option<Judgement> {
        let question = self.question;
        let people = || question.terms.iter().any(|term| term.word.is_person() || term.word.capital);
        if question.terms.is_empty() || (self.clause.joined && people()) || self.turns_round() {
            return None;
        }
        if !question.wanted.iter().all(|wanted| self.tells(*wanted)) {
            return None;
        }
        let hits = self.hits();
        let mut score = 0.0;
        let mut implied = false;
        let mut missed = 0;
        for (term, hit) in question.terms.iter().zip(&hits) {
            score += match hit {
                Some(hit) => weight(term, hit),
                None if self.is_implied(&term.word) => {
                    implied = true;
                    0.5
                }
                None if self.is_excused(term, &hits) => 0.0,
                None if missed == 0 && self.is_unsure(term, &hits) => {
                    missed += 1;
                    0.0
                }
                None => return None,
            };
        }
        let evidence = hits.iter().flatten().count() > 0 || implied;
        let fits = evidence && self.subject_fits(&hits) && !self.is_blocked(&hits) && !self.says_else(&hits);
        let fits = fits && !self.names_itself(&hits);
        fits.then(|| Judgement { score: score + self.likeness(), sure: missed == 0 })
    }

    /// Whether one is about what somebody does to the speaker, and the other about what the speaker does to them.
    fn turns_round(&self) -> bool {
        let (question, clause) = (self.question, self.clause);
        if question.read.language != Language::English || clause.read.language != Language::English {
            return false;
        }
        let done_to_me = question.read.has_word("me us") && !question.speaker && clause.speaker;
        let done_by_me =
            question.speaker && !clause.speaker && clause.read.has_word("me us") && clause.copula.is_none();
        let somebody = |word: &Word| word.is_person() || word.capital;
        let asked = question.terms.iter().any(|term| somebody(&term.word));
        (done_to_me && asked) || (done_by_me && asked && clause.entities().any(|(_, word)| question.asks_about(word)))
    }

    fn is_implied(&self, term: &Word) -> bool {
        term.topics.iter().any(|topic| self.states_otherwise(*topic)) || shapes::implies(term, self.clause)
    }

    /// Whether a missing term is only a verb or a kind, so that the statement is at least about the same.
    fn is_unsure(&self, term: &Term, hits: &[Option<Hit>]) -> bool {
        let plain = !term.word.is_attribute() && !term.word.is_person() && !term.word.capital;
        let found = self.question.terms.iter().zip(hits).filter(|(_, hit)| hit.is_some());
        let thing =
            |term: &Term| !term.light && !term.word.is_attribute() && !term.word.is_person() && !term.word.capital;
        let thing = found.filter(|(term, _)| thing(term)).count() > 0;
        // "Fire station" may be told as "station".
        let modifies = self.question.terms.iter().zip(hits).any(|(next, hit)| {
            let bare = |at: usize| at == 0 || self.clause.read.words[at - 1].function;
            let unmodified = hit.is_some_and(|hit| hit.literal && hit.at.is_some_and(bare));
            unmodified && term.at.checked_add(1) == Some(next.at) && !next.word.is_attribute()
        });
        let modifier = modifies && term.word.topics.is_empty() && term.word.kinds.is_empty();
        let known_kind = term.word.topics.iter().any(|topic| matches!(topic, Topic::Kind(_)));
        plain && thing && !known_kind && (term.part != Part::Needed || term.light || modifier)
    }

    /// Whether the name that is asked for is the one that the question gives.
    fn names_itself(&self, hits: &[Option<Hit>]) -> bool {
        let asks = |topic| self.question.terms.iter().any(|term| term.word.is_about(topic));
        let name = self.clause.name_value().filter(|_| asks(Topic::Name) || asks(Topic::Surname));
        let full = self.clause.gives_full_name();
        name.is_some_and(|name| {
            let given = |at: Option<usize>| at.is_some_and(|at| at == name || (at == name + 1 && !full));
            hits.iter().flatten().any(|hit| given(hit.at))
        })
    }

    fn hits(&self) -> Vec<Option<Hit>> {
        self.question.terms.iter().map(|term| self.hit(&term.word)).collect()
    }

    fn hit(&self, term: &Word) -> Option<Hit> {
        let clause = self.clause;
        let own = clause.read.content().filter(|(_, word)| term.covers(word)).map(|(at, word)| Hit {
            at: Some(at),
            in_subject: clause.in_subject(at),
            literal: same_stem(&term.stem, &word.stem),
        });
        let inherited = clause.inherited.iter().filter(|word| term.covers(word));
        let inherited = inherited.map(|_| Hit { at: None, in_subject: true, literal: true });
        let best = own.chain(inherited).max_by_key(|hit| (hit.literal, !hit.in_subject, std::cmp::Reverse(hit.at)));
        best.or_else(|| self.kin_hit(term)).or_else(|| self.compound_hit(term))
    }

    /// Somebody who is known by another word: the question says "my sister" and the statement her name.
    fn kin_hit(&self, term: &Word) -> Option<Hit> {
        let clause = self.clause;
        let same = |word: &Word| self.kinship.are_same(term, word);
        let named = clause.read.content().find(|(at, word)| clause.in_subject(*at) && same(word));
        let inherited = clause.inherited.iter().any(same);
        let at = named.map(|(at, _)| at);
        (at.is_some() || inherited).then_some(Hit { at, in_subject: true, literal: false })
    }

    /// A compound whose parts the statement has apart.
    fn compound_hit(&self, term: &Word) -> Option<Hit> {
        let long =
            term.topics.is_empty() && term.folded.chars().count() >= 7 && self.question.read.language.compounds();
        let part = |fits: &dyn Fn(&Word) -> bool| {
            self.clause.read.content().find(|(_, word)| word.folded.len() >= 3 && fits(word)).map(|(at, _)| at)
        };
        let first = part(&|word| term.folded.starts_with(&word.folded)).filter(|_| long)?;
        let last = part(&|word| term.folded.ends_with(&word.folded)).filter(|last| *last != first)?;
        Some(Hit { at: Some(last), in_subject: self.clause.in_subject(last), literal: true })
    }

    /// Whether a term that was not found may be missing.
    fn is_excused(&self, term: &Term, hits: &[Option<Hit>]) -> bool {
        let found = || self.question.terms.iter().zip(hits).filter(|(_, hit)| hit.is_some()).map(|(term, _)| term);
        let thing = found().any(|term| !term.word.is_attribute() && !term.word.is_person() && !term.light);
        let kind = found().any(|term| term.part == Part::Kind);
        let timed = self.question.wanted.iter().any(|wanted| matches!(wanted, Wanted::Time | Wanted::Place));
        if term.optional && found().any(|term| term.optional) {
            return true;
        }
        let somebody = found().any(|term| term.word.is_person()) && self.clause.numbers_something();
        if (thing || somebody) && shapes::shows(&term.word, self.clause) {
            return true;
        }
        if thing && term.word.is_about(Topic::Name) && self.question.wanted.contains(&Wanted::Person) {
            return true;
        }
        if term.place && self.clause.tells_place() {
            return true;
        }
        if term.light && (kind || (thing && (timed || self.clause.has_light_verb()))) {
            return true;
        }
        let told = found().any(|term| !term.light && term.part != Part::Kind && !term.word.is_about(Topic::Like));
        let verb = found().any(|term| !term.light && is_predicate(term)) && told;
        if term.part == Part::Kind && found().any(|verb| goes_with(&verb.word, &term.word)) {
            return true;
        }
        let repeated = found().any(|term| term.light) && found().any(|term| !term.light && !term.word.is_attribute());
        let missing =
            self.question.terms.iter().zip(hits).filter(|(term, hit)| term.part == Part::Kind && hit.is_none());
        let said = (verb || repeated) && self.repeats_preposition() && missing.count() == 1;
        term.part == Part::Kind && said && !self.of_another_kind(&term.word)
    }

    /// Whether a preposition that ends the question stands in the statement too: whom somebody plays for is not what
    /// they play.
    fn repeats_preposition(&self) -> bool {
        const PREPOSITIONS: &str = "for with at to from in on about of by";
        let last = self.question.read.words.last().map_or("", |word| word.folded.as_str());
        !contains(PREPOSITIONS, last) || self.clause.read.all_folded().any(|word| word == last)
    }

    /// Whether the statement has something of another kind than the one asked for: a violin is no sport.
    fn of_another_kind(&self, term: &Word) -> bool {
        let asked = term.topics.iter().any(|topic| matches!(topic, Topic::Kind(_)));
        let mut rest = self.clause.read.content().filter(|(at, _)| !self.clause.in_subject(*at));
        asked && rest.any(|(_, word)| !word.kinds.is_empty())
    }

    /// Whether the statement gives an attribute without its usual words: "I am <name>", "she is a nurse", "he is 12".
    fn states_otherwise(&self, topic: Topic) -> bool {
        let clause = self.clause;
        let plain = !clause.read.words[clause.subject.clone()].iter().any(Word::is_attribute);
        let whole = self.question.asks_own_attribute();
        match topic {
            Topic::Name => {
                let direct =
                    clause.names_directly() && (plain || clause.is_plain_speaker()) && !clause.states(Topic::Like);
                let beside = !whole && self.names_beside();
                direct || beside || clause.inverted
            }
            Topic::Surname => clause.gives_full_name(),
            Topic::Age => (clause.value_is_number() && plain) || (clause.states(Topic::Birth) && clause.has_year()),
            Topic::Job => clause.value_is_noun() && plain && clause.is_about_person(),
            Topic::Origin => clause.states(Topic::Birth) && clause.tells_place(),
            Topic::Height => {
                shapes::has_unit(clause, "cm m ft feet foot inches metres meters metros meter centimetres")
            }
            Topic::Weight => shapes::has_unit(clause, "kg kilos kilo pounds lbs stone kilogramm"),
            Topic::Make => (clause.value_is_noun() || clause.has_name()) && plain && clause.attributes().is_empty(),
            _ => false,
        }
    }

    /// Whether a name stands right behind somebody or something that is asked about: "my brother Tom works …".
    fn names_beside(&self) -> bool {
        let asked =
            self.clause.read.content().filter(|(_, word)| !word.is_attribute() && self.question.asks_about(word));
        asked.into_iter().any(|(at, _)| self.clause.could_be_name(at + 1))
    }

    /// Whether the statement is about the same as the question.
    fn subject_fits(&self, hits: &[Option<Hit>]) -> bool {
        let clause = self.clause;
        let asked = |word: &Word| self.question.asks_about(word) || self.is_asked_kin(word) || self.is_asked_part(word);
        if clause.inverted || self.asks_for_subject(hits) || self.names_value(hits) || self.names_aside(hits) {
            return true;
        }
        let subject: Vec<(usize, &Word)> = clause.entities().collect();
        let beside = |at: usize| {
            let near = |other: usize| clause.in_subject(other) && clause.read.words.get(other).is_some_and(asked);
            near(at + 1) || (at > 0 && near(at - 1))
        };
        let stranger = |at: usize, word: &Word| {
            let person = word.is_person() || clause.is_name(at) || clause.is_owner(at);
            person && !asked(word) && (clause.is_owner(at) || !beside(at))
        };
        let same_part = |at: usize| {
            // Of "my sister and her husband" either may be asked about.
            let joint = |word: &Word| clause.read.grammar().joints.has(&word.folded);
            let apart = |other: usize| clause.read.words[at.min(other)..at.max(other)].iter().any(joint);
            !subject.iter().any(|(other, word)| asked(word) && apart(*other))
        };
        if subject.iter().any(|(at, word)| stranger(*at, word) && same_part(*at)) {
            return false;
        }
        if clause.inherited.iter().any(|word| word.is_person() && !asked(word)) && !clause.inherited.iter().any(asked) {
            return false;
        }
        if clause.speaker {
            return true;
        }
        let head_asked =
            clause.head().is_none_or(|at| asked(&clause.read.words[at]) || (clause.could_be_name(at) && beside(at)));
        let terms = self.question.terms.iter().zip(hits);
        let named = terms.filter(|(term, hit)| hit.is_some_and(|hit| hit.literal || term.word.is_attribute())).count();
        let wanted = self.question.wanted.iter().any(|wanted| matches!(wanted, Wanted::Time | Wanted::Person));
        let found = hits.iter().flatten().any(|hit| hit.in_subject)
            || subject.iter().any(|(_, word)| asked(word))
            || clause.inherited.iter().any(asked);
        // What is said of somebody's school is not said of somebody.
        let owned = clause.head().is_some_and(|head| {
            let owner = subject
                .iter()
                .any(|(at, word)| asked(word) && (clause.is_owner(*at) || (*at > head && clause.is_genitive(*at))));
            owner && !subject.iter().any(|(at, word)| asked(word) && *at < head && !clause.is_owner(*at))
        });
        found && (head_asked || (!owned && (wanted || named >= 2)))
    }

    /// Whether it is the first or last part of a compound of the question.
    fn is_asked_part(&self, word: &Word) -> bool {
        let compounds = self.question.read.language.compounds() && word.folded.chars().count() >= 4;
        compounds
            && self.question.terms.iter().map(|term| &term.word).any(|term| {
                let phrase = term.stem.contains(' ') && term.stem.ends_with(&word.stem);
                phrase || (term.topics.is_empty() && term.folded.starts_with(&word.folded))
            })
    }

    /// Whether all that is asked stands beside somebody whom the predicate brings in: "… is my aunt Helve, phone …".
    fn names_aside(&self, hits: &[Option<Hit>]) -> bool {
        let mut places = Vec::new();
        for (term, hit) in self.question.terms.iter().zip(hits) {
            match hit {
                Some(Hit { at: Some(at), in_subject: false, .. }) => places.push((*at, term.word.is_person())),
                _ => return false,
            }
        }
        !self.clause.speaker && places.len() > 1 && places.iter().min().is_some_and(|(_, person)| *person)
    }

    fn is_asked_kin(&self, word: &Word) -> bool {
        self.question.terms.iter().any(|term| self.kinship.are_same(&term.word, word))
    }

    /// "Who …" asks for the subject of a statement whose predicate it repeats.
    fn asks_for_subject(&self, hits: &[Option<Hit>]) -> bool {
        let who = self.question.wanted.contains(&Wanted::Person);
        who && !self.clause.speaker && hits.iter().all(|hit| hit.is_none_or(|hit| !hit.in_subject))
    }

    /// Whether the question names the value and asks whose it is: "who is …", "what is …".
    fn names_value(&self, hits: &[Option<Hit>]) -> bool {
        let found = hits.iter().all(Option::is_some);
        let named = self
            .question
            .terms
            .iter()
            .zip(hits)
            .any(|(term, hit)| hit.is_some_and(|hit| !hit.in_subject && hit.literal) && !term.word.is_attribute());
        let plain = self.question.terms.iter().all(|term| !term.word.is_person());
        !self.question.speaker && !self.question.own && found && named && plain && !self.question.asks_own_attribute()
    }

    /// Whether what was found belongs to somebody whom the statement brings in: "I have a brother who lives in …" says
    /// nothing about where the speaker lives.
    fn is_blocked(&self, hits: &[Option<Hit>]) -> bool {
        let clause = self.clause;
        let somebody = clause
            .read
            .words
            .iter()
            .enumerate()
            .find(|(at, word)| word.is_person() && !clause.in_subject(*at) && !self.question.asks_about(word));
        let named = self.question.asks_own_attribute()
            && hits.iter().flatten().any(|hit| hit.at.is_some_and(|at| clause.names_noun(at)));
        let Some((somebody, _)) = somebody else { return named };
        let attributes = self.question.terms.iter().zip(hits).filter(|(term, _)| term.word.is_attribute());
        let after = attributes.filter_map(|(_, hit)| hit.and_then(|hit| hit.at)).any(|at| at > somebody);
        named || (clause.speaker && after)
    }

    /// Whether the statement is about doing something that was not asked for, and only mentions what was: "I teach at
    /// a school" does not tell which school the speaker went to.
    fn says_else(&self, hits: &[Option<Hit>]) -> bool {
        const NEAR: usize = 3;
        let Some(verb) = self.clause.main_verb().filter(|_| !self.clause.joined && !self.names_value(hits)) else {
            return false;
        };
        if self.question.asks_about(&self.clause.read.words[verb]) {
            return false;
        }
        let attribute =
            self.question.terms.iter().zip(hits).any(|(term, hit)| term.word.is_attribute() && hit.is_some());
        !attribute && !hits.iter().flatten().any(|hit| hit.at.is_some_and(|at| at.abs_diff(verb) <= NEAR))
    }

    /// A little for every small word in common, which decides between statements that are equally good.
    fn likeness(&self) -> f32 {
        let shared = self
            .clause
            .read
            .words
            .iter()
            .filter(|word| self.question.read.all_folded().any(|other| other == word.folded));
        let unasked = self.clause.entities().filter(|(_, word)| !self.question.asks_about(word));
        let joined = if self.clause.joined { 0.3 } else { 0.0 };
        let past = if self.clause.is_past() { 0.3 } else { 0.0 };
        let language = if self.clause.read.language == self.question.read.language { 0.2 } else { 0.0 };
        let introduces = if self.introduces() { 0.5 } else { 0.0 };
        language + introduces + shared.map(|_| 0.02).sum::<f32>() - unasked.map(|_| 0.1).sum::<f32>() - past - joined
    }

    /// Whether "who is …" asks for a name that the statement gives somebody.
    fn introduces(&self) -> bool {
        let [term] = self.question.terms.as_slice() else { return false };
        let named = |at: usize| self.clause.read.words.get(at).is_some_and(|word| term.word.covers(word));
        let beside = self.clause.read.words.iter().enumerate().any(|(at, word)| word.is_person() && named(at + 1));
        self.question.wanted.contains(&Wanted::Person) && (beside || self.clause.name_value().is_some_and(named))
    }

    fn tells(&self, wanted: Wanted) -> bool {
        let clause = self.clause;
        match wanted {
            Wanted::Place => clause.tells_place(),
            Wanted::Time => clause.tells_time(),
            Wanted::Person => clause.tells_person(),
            Wanted::Count => clause.tells_count(),
            Wanted::Reason => {
                clause.read.has_word(REASONS) || clause.text.contains("から") || clause.text.contains("因为")
            }
        }
    }
}

const REASONS: &str = "because since so due weil denn da wegen parce car puisque porque pues perche poiche pois omdat \
    want потому bo protoze eftersom fordi";

/// Verbs with what they are done to: who reads, reads a book.
const OBJECTS: [(&str, &str); 9] = [
    ("read", "book"),
    ("watch", "movie"),
    ("drive", "car"),
    ("ride", "bike"),
    ("speak", "language"),
    ("learn", "language"),
    ("play", "instrument"),
    ("play", "sport"),
    ("play", "game"),
];

/// Whether the verb already says what kind of thing is meant.
fn goes_with(verb: &Word, kind: &Word) -> bool {
    let means = |word: &Word, key: &str| {
        let entry = lexicon(Language::English).words.get(key);
        entry.is_some_and(|entry| entry.topics.iter().any(|topic| word.is_about(*topic)))
    };
    OBJECTS.iter().any(|(does, what)| means(verb, does) && means(kind, what))
}

/// Whether a term says what is done, so that a noun that only names the kind of the answer may be missing.
fn is_predicate(term: &Term) -> bool {
    term.part == Part::Verb || term.word.topics.iter().any(|topic| matches!(topic, Topic::Thing(_)))
}

fn weight(term: &Term, hit: &Hit) -> f32 {
    match (term.word.is_attribute(), hit.literal) {
        (true, true) => 1.2,
        (true, false) => 1.0,
        (false, true) => 2.0,
        (false, false) => 1.6,
    }
}
