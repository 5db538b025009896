//! Who goes by which name: "my sister Ewa" and "Ewa" are one person.
//!
//! Learned from the statements themselves, and only from those that say it of the speaker's own people.

use super::clause::Clause;
use super::stems::same_stem;
use super::words::Word;

/// People and animals with their names.
#[derive(Debug, Default)]
pub(super) struct Kinship {
    /// What somebody is to the speaker, and the name.
    pairs: Vec<(Word, Word)>,
}

impl Kinship {
    /// What the statements say about who is called how.
    pub(super) fn of<'a>(clauses: impl Iterator<Item = &'a Clause>) -> Self {
        Self { pairs: clauses.filter_map(pair).collect() }
    }

    /// Whether one is a name and the other what its bearer is.
    pub(super) fn are_same(&self, one: &Word, other: &Word) -> bool {
        let same = |one: &Word, other: &Word| {
            self.pairs
                .iter()
                .any(|(kin, name)| one.is_person() && one.covers(kin) && same_stem(&name.stem, &other.stem))
        };
        same(one, other) || same(other, one)
    }
}

/// The person and the name that a statement puts together.
fn pair(clause: &Clause) -> Option<(Word, Word)> {
    let grammar = clause.read.grammar();
    let words = &clause.read.words;
    let owned = words.iter().take(clause.subject.end.max(1)).any(|word| grammar.speakers_own.has(&word.folded));
    let people: Vec<(usize, &Word)> = clause.entities().filter(|(_, word)| word.is_person()).collect();
    let inherited: Vec<&Word> = clause.inherited.iter().filter(|word| word.is_person()).collect();
    if clause.inverted {
        let kin = clause.read.content().find(|(at, word)| !clause.in_subject(*at) && word.is_person())?;
        let (_, name) = clause.entities().find(|(_, word)| word.topics.is_empty())?;
        return Some((kin.1.clone(), name.clone()));
    }
    if clause.speaker {
        // "I have a twin sister, Leila".
        let people = clause.read.content().filter(|(at, word)| word.is_person() && !clause.is_owner(*at));
        let (kin, name) = people
            .into_iter()
            .find_map(|(at, kin)| Some((kin, clause.could_be_name(at + 1).then(|| &words[at + 1])?)))?;
        return Some((kin.clone(), name.clone()));
    }
    let beside = |at: usize| words.get(at + 1).filter(|word| clause.in_subject(at + 1) && is_unknown(word));
    let named = people.iter().filter(|_| owned).find_map(|(at, kin)| Some((*kin, beside(*at)?)));
    if let Some((kin, name)) = named {
        return Some((kin.clone(), name.clone()));
    }
    let kin = match (people.as_slice(), inherited.as_slice()) {
        ([(_, kin)], _) if owned => *kin,
        ([], [kin]) => *kin,
        _ => return None,
    };
    let name = clause.name_value()?;
    Some((kin.clone(), words[name].clone()))
}

fn is_unknown(word: &Word) -> bool {
    !word.function && word.topics.is_empty() && word.kinds.is_empty() && !word.is_number()
}
