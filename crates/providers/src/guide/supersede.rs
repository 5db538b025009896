//! Which remembered statement a new one takes the place of.
//!
//! Two statements may stand side by side unless they give the same thing of the same somebody. Nothing here changes
//! memory: `facts` makes the edit.

use super::clause::Clause;
use super::shapes;
use super::speech::Fact;
use super::topics::{Topic, lexicon};
use super::words::{Word, contains, fold};

/// How surely `new` takes the place of `old`; `None` if both may stand.
pub(super) fn supersedes(fact: &Fact, (new, whole): (&Clause, &Clause), old: &Clause) -> Option<f32> {
    if let Some(wrong) = &fact.wrong {
        let named = fold(&old.text).contains(&fold(wrong));
        let related = new.pronoun || is_bare(new) || shares_words(new, old) || same_subject(new, old);
        return (named && related).then_some(10.0);
    }
    if (new.pronoun && new.inherited.is_empty()) || is_bare(new) {
        return None;
    }
    let hinted = fact.corrects || fact.changes;
    // Who says the same in two languages and means it to be corrected says so.
    if !hinted && new.read.language != old.read.language {
        return None;
    }
    if is_new_address(new, old) {
        return Some(4.0);
    }
    let same = same_subject(new, old);
    if same && new.denies() != old.denies() && covers_all(new, old) {
        return Some(6.0);
    }
    if !same {
        return if hinted { corrected(new, whole, old) } else { rescheduled(new, old) };
    }
    if new.speaker { speakers(fact, new, old) } else { others(hinted, new, old) }
}

/// "Our new address is …" after "we live at …".
fn is_new_address(new: &Clause, old: &Clause) -> bool {
    let grammar = new.read.grammar();
    let own = new.read.words.iter().take(3).any(|word| grammar.speakers_own.has(&word.folded));
    let address = |clause: &Clause| clause.read.words[clause.subject.clone()].iter().any(shapes::is_address);
    own && address(new) && old.speaker && old.states(Topic::Residence) && !old.is_past()
}

/// Two statements in different words: the correction names what the old one is about, and both give a value of one
/// sort or have more in common.
fn corrected(new: &Clause, whole: &Clause, old: &Clause) -> Option<f32> {
    let named = |one: &Clause, other: &Clause| {
        let mut subject = subject_words(one).peekable();
        let people =
            other.entities().any(|(_, word)| word.is_person() && !subject_words(one).any(|mine| alike(mine, word)));
        !one.speaker && !people && subject.peek().is_some() && {
            let about = |at: usize| other.speaker || other.in_subject(at);
            subject.all(|word| other.read.content().any(|(at, theirs)| about(at) && alike(word, theirs)))
        }
    };
    let overlap = predicate_overlap(new, old).max(predicate_overlap(whole, old));
    let mentions = || {
        let mut subject = subject_words(old).peekable();
        !old.speaker && subject.peek().is_some() && {
            subject.all(|word| new.read.content().any(|(_, theirs)| alike(word, theirs)))
        }
    };
    let kind = kinds(whole).iter().any(|kind| kinds(old).contains(kind));
    let value = || {
        kind && whole
            .read
            .content()
            .any(|(_, word)| old.read.content().any(|(at, other)| !old.in_subject(at) && alike(word, other)))
    };
    let about_it = named(new, old) || named(old, new) || (overlap >= 1.0 && mentions()) || value();
    if !about_it {
        return None;
    }
    let sorted = sort(new).is_some() && sort(new) == sort(old) || whole.has_name() && old.has_name();
    (overlap >= 1.0 || sorted || kind || shares_attribute(new, old)).then_some(2.0 + overlap)
}

/// "The exam in physics is on …" after "I have a physics exam on …": the same event has one time.
fn rescheduled(new: &Clause, old: &Clause) -> Option<f32> {
    let nouns = |clause: &Clause| -> Vec<Word> {
        let words = clause.read.content().filter(|(at, word)| !clause.is_time(*at) && !word.is_number());
        words.map(|(_, word)| word.clone()).collect()
    };
    let (news, olds) = (nouns(new), nouns(old));
    let within = |some: &[Word], all: &[Word]| some.iter().all(|word| all.iter().any(|other| alike(word, other)));
    let dated = new.tells_date() && old.tells_date() && new.copula.is_some() && !new.speaker;
    (dated && news.len() >= 2 && within(&news, &olds) && within(&olds, &news)).then_some(3.0)
}

/// Attributes of which a person has one at a time.
const SINGLE: [Topic; 8] =
    [Topic::Name, Topic::Age, Topic::Residence, Topic::Height, Topic::Weight, Topic::Birth, Topic::Origin, Topic::Job];

/// Two statements about the speaker.
fn speakers(fact: &Fact, new: &Clause, old: &Clause) -> Option<f32> {
    let hinted = fact.corrects || fact.changes;
    let overlap = predicate_overlap(new, old);
    let shared = SINGLE.into_iter().find(|topic| gives(new, *topic) && gives(old, *topic));
    if let Some(topic) = shared {
        let work = topic == Topic::Job && !hinted && preposition(new, Topic::Job) != preposition(old, Topic::Job);
        let place = topic == Topic::Birth && new.tells_time() != old.tells_time();
        let past = new.is_past() != old.is_past() && !fact.corrects;
        // "My work laptop is …" mentions work and is about a laptop.
        return (!work && !place && !past).then_some(4.0 + overlap);
    }
    if new.states(Topic::Like) && old.states(Topic::Like) && hinted {
        let alike = kinds(new).iter().any(|kind| kinds(old).contains(kind));
        return (alike || overlap >= 1.0).then_some(2.0 + overlap);
    }
    (hinted && overlap >= 1.0).then_some(2.0 + overlap)
}

/// Two statements about the same somebody or something else.
fn others(hinted: bool, new: &Clause, old: &Clause) -> Option<f32> {
    let of = |clause: &Clause| -> Vec<Topic> {
        clause.attributes().into_iter().filter(|topic| !matches!(topic, Topic::Like | Topic::Make)).collect()
    };
    let (news, olds) = (of(new), of(old));
    if news.iter().any(|topic| olds.contains(topic)) {
        return Some(5.0);
    }
    let named = |clause: &Clause| clause.copula.is_some_and(|at| clause.is_name(at + 1));
    if olds.contains(&Topic::Name) || news.contains(&Topic::Name) {
        return (named(new) || news.contains(&Topic::Name))
            .then_some(())
            .and_then(|()| (named(old) || olds.contains(&Topic::Name)).then_some(4.0));
    }
    if !olds.is_empty() || !news.is_empty() {
        return None;
    }
    let likes = new.states(Topic::Like) != old.states(Topic::Like);
    if likes {
        return None;
    }
    if new.copula.is_some() && old.copula.is_some() {
        let labelled = subject_words(new).any(|word| !word.is_person() && !word.topics.is_empty())
            || subject_words(new).filter(|word| !word.is_person()).count() > 1
            || new.states(Topic::Like);
        let shaped = shape(new).is_some() && shape(new) == shape(old);
        return (labelled || shaped || hinted).then_some(if labelled || shaped { 5.0 } else { 3.0 });
    }
    let overlap = predicate_overlap(new, old);
    (hinted && (overlap >= 1.0 || shape(new).is_some())).then_some(2.0 + overlap)
}

/// Whether the statement gives this attribute, in its usual words or by its form.
fn gives(clause: &Clause, topic: Topic) -> bool {
    let plain = clause.attributes().is_empty();
    let direct = match topic {
        Topic::Name => plain && clause.copula.is_some_and(|at| clause.is_name(at + 1)),
        Topic::Age => plain && clause.value_is_number() && clause.read.words.len() <= 5,
        _ => false,
    };
    let somebody = clause.read.content().find(|(at, word)| !clause.in_subject(*at) && word.is_person());
    let stated = clause.read.words.iter().position(|word| word.is_about(topic));
    let stated = stated.filter(|at| topic != Topic::Name || !clause.names_noun(*at));
    // "We call our baby …" gives somebody else a name.
    let other = topic == Topic::Name && somebody.is_some();
    direct || !other && stated.is_some_and(|at| somebody.is_none_or(|(person, _)| at < person))
}

fn preposition(clause: &Clause, topic: Topic) -> Option<&str> {
    let at = clause.read.words.iter().position(|word| word.is_about(topic))?;
    clause.read.words.get(at + 1).filter(|word| word.function).map(|word| word.folded.as_str())
}

/// What kind of value it has.
fn shape(clause: &Clause) -> Option<&'static str> {
    if clause.copula.is_some_and(|at| clause.is_name(at + 1)) {
        Some("name")
    } else if clause.value_is_number() {
        Some("number")
    } else {
        clause.tells_time().then_some("time")
    }
}

/// The nouns that a statement is about.
fn subject_words(clause: &Clause) -> impl Iterator<Item = &Word> {
    let after = clause.copula.unwrap_or_default();
    let inverted = clause.inverted;
    let counts = &lexicon(clause.read.language).numbers;
    let content = clause.read.content().filter(move |(at, word)| {
        let about = if inverted { *at > after } else { clause.in_subject(*at) && !word.is_attribute() };
        about && !clause.is_time(*at) && !word.is_number() && !counts.has(&word.folded)
    });
    content.map(|(_, word)| word).chain(clause.inherited.iter())
}

pub(super) fn same_subject(new: &Clause, old: &Clause) -> bool {
    if new.speaker || old.speaker {
        return new.speaker && old.speaker;
    }
    const PASSING: &str = "new old current present actual latest neue neuer neues nouveau nouvelle nuevo nueva nuovo nuova novo nova nieuwe";
    let words = |clause: &Clause| -> Vec<Word> {
        subject_words(clause).filter(|word| !contains(PASSING, &word.folded)).cloned().collect()
    };
    let (news, olds) = (words(new), words(old));
    let (Some(head), Some(old_head)) = (news.last(), olds.last()) else { return false };
    let within = |some: &[Word], all: &[Word]| some.iter().all(|word| all.iter().any(|other| alike(word, other)));
    // "My sister" and "my sister Ewa" are one; "my sister" and "my sister's cat" are two.
    let beside = |clause: &Clause| clause.entities().any(|(at, word)| word.is_person() && clause.is_name(at + 1));
    let heads = alike(head, old_head) || ((beside(new) || beside(old)) && news.len() + olds.len() <= 3);
    let named = olds.iter().any(|word| alike(head, word)) && head.capital;
    (heads || named) && (within(&news, &olds) || within(&olds, &news))
}

/// The same word or a synonym; a kind and its members are not alike.
pub(super) fn alike(one: &Word, other: &Word) -> bool {
    super::stems::same_stem(&one.stem, &other.stem) || one.topics.iter().any(|topic| other.topics.contains(topic))
}

fn shares_attribute(new: &Clause, old: &Clause) -> bool {
    let olds = old.attributes();
    new.attributes().iter().any(|topic| olds.contains(topic))
}

fn shares_words(new: &Clause, old: &Clause) -> bool {
    new.read.content().any(|(_, word)| old.read.content().any(|(_, other)| alike(word, other)))
}

fn covers_all(new: &Clause, old: &Clause) -> bool {
    let mut content = old.read.content().peekable();
    content.peek().is_some() && content.all(|(_, word)| new.read.content().any(|(_, other)| alike(word, other)))
}

/// How many words of both predicates mean the same; liking alone counts for little.
fn predicate_overlap(new: &Clause, old: &Clause) -> f32 {
    let words = new.read.content().filter(|(at, _)| !new.in_subject(*at));
    let shared =
        words.filter(|(_, word)| old.read.content().any(|(at, other)| !old.in_subject(at) && alike(word, other)));
    shared.map(|(_, word)| if word.is_attribute() { 0.4 } else { 1.0 }).sum()
}

fn kinds(clause: &Clause) -> Vec<Topic> {
    clause
        .read
        .words
        .iter()
        .flat_map(|word| word.kinds.iter().chain(&word.topics).copied())
        .filter(|topic| matches!(topic, Topic::Kind(_)))
        .collect()
}

/// Whether a value is a name, a number, a time or something else.
pub(super) fn sort(clause: &Clause) -> Option<&'static str> {
    shape(clause).or_else(|| clause.tells_place().then_some("place"))
}

/// A value without a sentence around it.
pub(super) fn is_bare(clause: &Clause) -> bool {
    let grammar = clause.read.grammar();
    let owned = clause.read.has_any(&grammar.speaker) || clause.read.has_any(&grammar.speakers_own);
    clause.copula.is_none() && clause.attributes().is_empty() && !owned && clause.read.words.len() <= 4
}
