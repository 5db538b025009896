//! Which documents a search may find, and which may not even speak for others.
//!
//! What a search is narrowed to by dates, roles or marks is a matter of taste: a document that is left out still says
//! what its neighbours were about. Whose words they are is not. Nothing of another person, or of what was superseded,
//! may come into a search at all: not as a hit, and not through a neighbour's score.

use domain::{IdentityId, Message, Role, Timestamp};

use crate::index::{NO_PERSON, ScopeIndex};
use crate::words::{Mark, Term, mark};

/// Whose words a search may find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Whose {
    /// Everybody's, for an operator.
    #[default]
    Anyone,
    /// Only those of this person; none means only what belongs to nobody.
    Person(Option<IdentityId>),
}

impl Whose {
    /// Whether a message may be found.
    pub(crate) fn allows(self, message: &Message) -> bool {
        match self {
            Self::Anyone => true,
            Self::Person(person) => message.identity == person,
        }
    }
}

/// Which documents may be found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filter {
    pub(crate) whose: Whose,
    /// Whether documents that are gone may be found: of messages those that were superseded.
    pub(crate) with_gone: bool,
    /// Documents with this mark and at least this number are as good as gone.
    pub(crate) set_aside: Option<(Term, u64)>,
    /// Empty means all.
    pub(crate) roles: Vec<Role>,
    pub(crate) from: Option<i64>,
    pub(crate) until: Option<i64>,
    /// Only numbers below.
    pub(crate) before: Option<u64>,
    /// Marks that a document must have, all of them.
    pub(crate) every: Vec<Term>,
    /// Marks of which a document must have one, unless there are none.
    pub(crate) any: Vec<Term>,
}

/// What a filter makes of one index.
pub(crate) struct Sight {
    /// For each document whether it may be found.
    pub(crate) visible: Vec<bool>,
    /// For each document whether nothing of it may come into the search; none where that holds for no document.
    barred: Option<Vec<bool>>,
}

impl Sight {
    pub(crate) fn is_barred(&self, place: usize) -> bool {
        self.barred.as_ref().is_some_and(|barred| barred[place])
    }
}

impl Filter {
    /// Only documents from one moment to just before the other.
    pub(crate) fn within(&mut self, from: Option<Timestamp>, until: Option<Timestamp>) {
        self.from = from.map(Timestamp::as_microsecond);
        self.until = until.map(Timestamp::as_microsecond);
    }

    /// What it makes of an index.
    pub(crate) fn sight(&self, index: &ScopeIndex) -> Sight {
        let (mut visible, barred) = (self.narrowed(index), self.barred(index));
        if let Some(barred) = &barred {
            visible.iter_mut().zip(barred).for_each(|(visible, barred)| *visible &= !barred);
        }
        Sight { visible, barred }
    }

    fn barred(&self, index: &ScopeIndex) -> Option<Vec<bool>> {
        let mut barred: Option<Vec<bool>> = match self.whose {
            Whose::Anyone => None,
            Whose::Person(None) if !index.has_people() => None,
            Whose::Person(person) => {
                // Somebody whom the index does not know has no documents here.
                let wanted = match person {
                    Some(person) => index.person(mark(Mark::Identity, person.as_bytes())),
                    None => Some(NO_PERSON),
                };
                Some(index.whose().iter().map(|has| Some(*has) != wanted).collect())
            }
        };
        if !self.with_gone && !index.gone().is_empty() {
            let barred = barred.get_or_insert_with(|| vec![false; index.len()]);
            index.gone().iter().for_each(|place| barred[*place as usize] = true);
        }
        if let Some((term, from)) = self.set_aside {
            let barred = barred.get_or_insert_with(|| vec![false; index.len()]);
            let first = index.numbers().partition_point(|number| *number < from);
            index.each(term, |place, _| barred[place] |= place >= first);
        }
        barred
    }

    fn narrowed(&self, index: &ScopeIndex) -> Vec<bool> {
        let mut visible = vec![true; index.len()];
        for term in &self.every {
            let mut having = vec![false; index.len()];
            index.each(*term, |place, _| having[place] = true);
            visible.iter_mut().zip(having).for_each(|(visible, having)| *visible &= having);
        }
        if !self.any.is_empty() {
            let mut having = vec![false; index.len()];
            self.any.iter().for_each(|term| index.each(*term, |place, _| having[place] = true));
            visible.iter_mut().zip(having).for_each(|(visible, having)| *visible &= having);
        }
        if let Some(before) = self.before {
            let end = index.numbers().partition_point(|number| *number < before);
            visible[end..].fill(false);
        }
        if self.from.is_some() || self.until.is_some() || !self.roles.is_empty() {
            for (place, visible) in visible.iter_mut().enumerate() {
                *visible &= self.from.is_none_or(|from| index.time(place) >= from)
                    && self.until.is_none_or(|until| index.time(place) < until)
                    && (self.roles.is_empty() || self.roles.contains(&index.role(place)));
            }
        }
        visible
    }
}
